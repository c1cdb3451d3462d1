"""Dependencies from pairs in any order: compiled, since there are several for each message."""

from paceline.model import I32, I64
from paceline.simulate.compiled import compiled


@compiled
def gathered(
    rows: I32, values: I32, starts: I64, out: I32
) -> None:  # fmt: skip
    """Fills `out` with the values of each row, in the order in which the pairs come.

    Row i is to begin at `starts[i + 1]`; when all is done it ends there, and begins at `starts[i]`.
    """
    for at in range(len(rows)):
        place = starts[rows[at] + 1]
        out[place] = values[at]
        starts[rows[at] + 1] = place + 1
