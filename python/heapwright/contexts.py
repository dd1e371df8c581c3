# SPDX-License-Identifier: MIT
"""What Python code works for, told to the recorder that the process runs under (heapwright/annotate.h)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_FUNCTION = "heapwright_annotate_context"


@lru_cache(maxsize=1)
def _function() -> Callable[[Any], Any] | None:
    """The recorder's, which takes and returns addresses of names; None: the process runs under none."""
    import ctypes  # takes milliseconds, and only who names contexts needs it

    try:
        found = getattr(ctypes.CDLL(None), _FUNCTION)
    except (AttributeError, OSError):
        return None
    found.argtypes, found.restype = (ctypes.c_char_p,), ctypes.c_void_p
    return lambda name: found(name if isinstance(name, bytes) else ctypes.cast(name, ctypes.c_char_p))


@contextmanager
def context(name: str) -> Iterator[None]:
    """Heap calls of this thread belong to the context of this name, for `explain --by context` and `count`.

    Contexts nest. Without a recorder it does nothing. Not around an await or a yield: other tasks of the
    thread would be in it as well. At most 255 names are told apart, by their first 120 bytes.

    >>> with context("report"):
    ...     len([bytearray(100) for _ in range(3)])
    3
    """
    function = _function()
    if function is None:
        yield
        return
    kept = name.encode(errors="replace")  # must live as long as the context
    before = function(kept)
    try:
        yield
    finally:
        function(before)
        del kept
