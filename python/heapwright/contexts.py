# SPDX-License-Identifier: MIT
"""What Python code works for, told to the recorder that the process runs under (heapwright/annotate.h)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_FUNCTION = "heapwright_annotate_context"

Swap = Callable[[int | None], int | None]
"""Sets the thread's context by its name's address, None for none, and returns the one before."""


@lru_cache(maxsize=1)
def swap() -> Swap | None:
    """The recorder's function; None: the process runs under none."""
    import ctypes  # takes milliseconds, and only who names contexts needs it

    try:
        found = getattr(ctypes.CDLL(None), _FUNCTION)
    except (AttributeError, OSError):
        return None
    found.argtypes, found.restype = (ctypes.c_void_p,), ctypes.c_void_p
    function: Swap = found
    return function


@lru_cache(maxsize=256)
def kept(name: str) -> tuple[int, Any]:
    """A name's address, and what must live as long as a context of that name."""
    import ctypes

    text = ctypes.create_string_buffer(name.encode(errors="replace"))
    return ctypes.addressof(text), text


@contextmanager
def context(name: str) -> Iterator[None]:
    """Heap calls of this thread belong to the context of this name, for `explain --by context` and `count`.

    Contexts nest. Without a recorder it does nothing. Around an await only in tasks that name_tasks()
    follows, or in greenlets that name_greenlets() does: otherwise others of the thread would be in it as
    well. Not around a yield. At most 255 names are told apart, by their first 120 bytes.

    >>> with context("report"):
    ...     len([bytearray(100) for _ in range(3)])
    3
    """
    function = swap()
    if function is None:
        yield
        return
    address, text = kept(name)
    before = function(address)
    try:
        yield
    finally:
        function(before)
        del text
