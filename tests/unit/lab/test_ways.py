from hypothesis import given
from hypothesis import strategies as st

from paceline.lab.ways import ways

MS = 1_000_000


def walked(found: tuple[tuple[int | None, ...], ...], links: list, at: int, to: int) -> list[int]:
    """The links of a way, as packets go it, one choice at a place."""
    taken: list[int] = []
    while at != to:
        number = found[at][to]
        assert number is not None
        taken.append(number)
        a, b, _ = links[number]
        at = b if at == a else a
        assert len(taken) <= len(found)
    return taken


def test_the_way_of_least_latency_is_taken_and_then_that_of_fewest_links() -> None:
    links = [(0, 1, 5 * MS), (0, 2, 2 * MS), (2, 1, 2 * MS)]
    assert walked(ways(3, links), links, 0, 1) == [1, 2]
    links = [(0, 1, 4 * MS), (0, 2, 2 * MS), (2, 1, 2 * MS)]
    assert walked(ways(3, links), links, 0, 1) == [0]


def test_nothing_leads_to_an_island() -> None:
    found = ways(4, [(0, 1, 0), (2, 3, 0)])
    assert found[0][1] == 0
    assert found[0][2] is None
    assert found[3][2] == 1


def test_equal_spines_are_all_used() -> None:
    # machines 0 to 3, leaves 4 and 5, spines 6 and 7
    links = [(0, 4, 0), (1, 4, 0), (2, 5, 0), (3, 5, 0), (4, 6, 0), (4, 7, 0), (5, 6, 0), (5, 7, 0)]
    found = ways(8, links)
    assert {found[4][2], found[4][3]} == {4, 5}


@given(st.data())
def test_every_way_arrives_and_no_other_is_shorter(data: st.DataObject) -> None:
    places = data.draw(st.integers(2, 7))
    pairs = [(a, b) for a in range(places) for b in range(a)]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    links = [(a, b, data.draw(st.integers(0, 3)) * MS) for a, b in chosen]
    found = ways(places, links)
    far = [[0 if a == b else 10**18 for b in range(places)] for a in range(places)]
    for a, b, latency in links:
        far[a][b] = far[b][a] = latency * (places + 1) + 1
    for k in range(places):
        for a in range(places):
            for b in range(places):
                far[a][b] = min(far[a][b], far[a][k] + far[k][b])
    for a in range(places):
        for b in range(places):
            if far[a][b] >= 10**18:
                assert found[a][b] is None
            elif a != b:
                taken = walked(found, links, a, b)
                assert sum(links[n][2] * (places + 1) + 1 for n in taken) == far[a][b]
