"""The account of a step: what was spent too much in one place is made up for in the next."""

from paceline.lab.padding_account import Account


def test_work_fills_up_to_the_target() -> None:
    account = Account()
    account.spend(30)
    assert account.owed(100) == 70
    account.pay(100, 70)
    assert (account.behind, account.asked, account.overrun, account.late()) == (0, 100, 0, 0)


def test_sleeping_too_long_is_made_up_for() -> None:
    account = Account()
    account.pay(100, 115)
    assert account.owed(100) == 85


def test_an_overrun_is_seen_even_if_it_is_made_up_for() -> None:
    account = Account()
    account.spend(130)
    assert account.owed(100) == 0
    account.pay(100, 0)
    account.spend(10)
    assert account.owed(100) == 60
    account.pay(100, 60)
    assert (account.overrun, account.late(), account.own) == (30, 0, 140)


def test_what_cannot_be_made_up_for_is_late() -> None:
    account = Account()
    account.spend(300)
    account.owed(100)
    account.pay(100, 0)
    assert account.late() == 200


def test_expected_compute_is_left_free() -> None:
    account = Account()
    assert account.owed(100, expected=40) == 60
    account.pay(100, 60)
    assert account.behind == -40
    account.spend(45)
    assert account.owed(100, expected=40) == 55
