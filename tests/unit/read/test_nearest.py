"""The nearest known word."""

from paceline.read.nearest import nearest


def test_a_misspelled_word_finds_its_like():
    assert nearest("durration_ns", ["start_ns", "duration_ns", "lane"]) == "duration_ns"


def test_case_does_not_matter_and_the_known_spelling_is_returned():
    assert nearest("MASTER_port", ["Master_Port"]) == "Master_Port"


def test_a_word_far_from_all_finds_nothing():
    assert nearest("zzz", ["start_ns", "lane"]) == ""
    assert nearest("lane", []) == ""


def test_a_monstrous_word_costs_nothing():
    assert nearest("lane" * 10**6, ["lane", "l" * 10]) == ""
