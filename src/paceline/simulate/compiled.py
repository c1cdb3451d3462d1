"""The one way in which this room compiles its hot loops.

Machine code is kept beside the source (or in the user's cache), so only the first run ever waits
for the compiler. Division follows numpy, so that loops carry no hidden checks. Without numba's
run time (`_nrt`) nothing counts references, which else takes a fifth of the time; so compiled
functions allocate nothing and fill what they are handed. A bare 0 handed from one compiled function
to another compiles a version of its own: hence int(np.int64(0)).
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

Given = ParamSpec("Given")
Result = TypeVar("Result")


OPTIONS: dict[str, Any] = {
    "cache": True, "nogil": True, "error_model": "numpy", "_nrt": False,
}  # fmt: skip


def compiled(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function as machine code, compiled when first called."""
    return cast(Callable[Given, Result], numba.njit(**OPTIONS)(function))
