"""Tables of comma-separated values as lists of mappings."""

from pathlib import Path

import pytest

from paceline.model import InputError
from paceline.read.csv_text import rows
from paceline.read.yaml_text import Value


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    return path


def test_rows_are_mappings_with_lines(tmp_path: Path):
    path = table(tmp_path, '\ufeffname, zone\r\n"a, b", z \r\n\r\nc,\r\n')
    assert rows(path) == [
        Value(2, {"name": Value(2, "a, b", True), "zone": Value(2, "z", True)}),
        Value(4, {"name": Value(4, "c", True), "zone": Value(4, "", True)}),
    ]


def test_an_empty_cell_is_not_given(tmp_path: Path):
    (row,) = rows(table(tmp_path, "a,b\n1,\n"))
    assert [row.content[name].absent for name in "ab"] == [False, True]


def test_a_table_without_rows_is_empty(tmp_path: Path):
    assert rows(table(tmp_path, "a,b\n")) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no columns"),
        ("\n\na\n", "holds no columns"),
        (",,\n", "holds no columns"),
        ("a,b,a\n", "column 'a' is named twice"),
        ("a,b\n1\n", "line 2: a row of 1 cells"),
        ("a,b\n1,2\n1,2,3\n", "line 3: a row of 3 cells"),
        ('a,b\n"1,2\n', "this is not CSV"),
        ('a,b\n"1"x,2\n', "this is not CSV"),
        ("a,b\n1," + "x" * 200_000, "this is not CSV"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, words: str):
    with pytest.raises(InputError) as caught:
        rows(table(tmp_path, text))
    assert words in str(caught.value)
    assert "t.csv: " in str(caught.value)


def test_a_header_of_very_many_columns_takes_no_time(tmp_path: Path):
    names = ",".join(f"c{index}" for index in range(200_000))
    assert len(rows(table(tmp_path, f"{names}\n"))) == 0


def test_lines_may_end_in_any_way(tmp_path: Path):
    assert [row.line for row in rows(table(tmp_path, "a\rb\r\nc\nd"))] == [2, 3, 4]
