"""The one way in which this room compiles its hot loops.

Machine code is kept beside the source (or in the user's cache), so only the first run ever waits
for the compiler. numba keeps it as long as the function's own file stays the same, so kernels of
this room call no function of another file.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

Given = ParamSpec("Given")
Result = TypeVar("Result")

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def compiled(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function as machine code, compiled when first called."""
    return cast(Callable[Given, Result], numba.njit(**OPTIONS)(function))
