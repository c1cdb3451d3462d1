"""Which operation a collective is: all-reduce, all-gather, and so on.

Traces name collectives as their frameworks do (`gloo:all_reduce`, `ncclDevKernel_AllReduce_...`),
so only the letters of a name count. A name that says no operation at all ("grads 0") stands for
gradients reduced together: an all-reduce.
"""

from paceline.model.graph import Work

# The first that a name contains; `reduce` last of those that contain it.
OPERATIONS = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "broadcast",
    "barrier",
    "gather",
    "scatter",
    "reduce",
)
_LETTERS = tuple(name.replace("_", "") for name in OPERATIONS)


def operation(work: Work) -> int:
    """Position in OPERATIONS of what a collective work does."""
    letters = "".join(mark for mark in work.name.lower() if mark.isalpha())
    found = (at for at, name in enumerate(_LETTERS) if name in letters)
    return next(found, 0)
