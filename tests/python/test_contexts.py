# SPDX-License-Identifier: MIT
"""heapwright.context: what it tells a recorder's function (journeys/test_contexts.py: a real one)."""

import ctypes
from collections.abc import Iterator

import heapwright
import pytest
from heapwright import contexts

Told = list[bytes | None]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """The names that a recorder's function was called with; it returns the one before, as the real one does."""
    names: Told = [None]
    addresses: list[int | None] = [None]

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    def annotate(address: int | None) -> int | None:
        before = addresses[-1]
        addresses.append(address)
        names.append(ctypes.string_at(address) if address else None)
        return before

    class Process:
        heapwright_annotate_context = annotate

    monkeypatch.setattr(ctypes, "CDLL", lambda _name: Process)
    contexts._function.cache_clear()
    yield names
    contexts._function.cache_clear()


def test_contexts_nest_and_end_however_they_are_left(told: Told) -> None:
    with heapwright.context("outer"):
        with heapwright.context("inner é"):
            pass
        with pytest.raises(ZeroDivisionError), heapwright.context("fails"):
            raise ZeroDivisionError
    outer = b"outer"
    assert told[1:] == [outer, "inner é".encode(), outer, b"fails", outer, None]


def test_without_a_recorder_nothing_happens() -> None:
    contexts._function.cache_clear()
    with heapwright.context("alone"):
        assert contexts._function() is None
