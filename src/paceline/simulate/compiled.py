"""The one way in which this room compiles its hot loops.

Machine code is kept beside the source (or in the user's cache), so only the first run ever waits
for the compiler. numba keeps it as long as the function's own file stays the same, whatever becomes
of the functions that it calls from other files; so its name carries a digest of the whole room.
Division follows numpy, so that loops carry no hidden checks. Without numba's run time (`_nrt`)
nothing counts references, which else takes a fifth of the time; so compiled functions allocate
nothing and fill what they are handed. A bare 0 handed from one compiled function to another
compiles a version of its own: hence int(np.int64(0)).
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

Given = ParamSpec("Given")
Result = TypeVar("Result")


OPTIONS: dict[str, Any] = {
    "cache": True, "nogil": True, "error_model": "numpy", "_nrt": False,
}  # fmt: skip


@cache
def room_digest() -> str:
    """Changes with any source file of this room."""
    digest = hashlib.blake2b(digest_size=4)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def compiled(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function as machine code, compiled when first called."""
    function.__qualname__ = f"{function.__qualname__}_{room_digest()}"
    return cast(Callable[Given, Result], numba.njit(**OPTIONS)(function))
