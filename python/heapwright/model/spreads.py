# SPDX-License-Identifier: MIT
"""How far a sampled trace's estimates may be off: src/analyze/spreads.hpp's sums."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from heapwright.model.native import Facts as NativeFacts


class Spread(NamedTuple):
    """An unbiased estimate of an estimate's variance, and the root of its largest term."""

    variance: float
    largest: float


class CallSpread(NamedTuple):
    """Of what was allocated."""

    allocations: Spread
    bytes: Spread
    overhead: Spread


class LiveSpread(NamedTuple):
    """Of what lived at the peak's moment and at the end."""

    peak_blocks: Spread
    peak_bytes: Spread
    end_blocks: Spread
    end_bytes: Spread


class StepSpread(NamedTuple):
    """Variances of one step of the timeline."""

    live_bytes: float
    allocations: float


class Spreads(NamedTuple):
    """For each table of facts, in its order; by_size counts from size class 0 (the bits of a size)."""

    totals: CallSpread
    total_live: LiveSpread
    site_calls: tuple[CallSpread, ...]
    site_live: tuple[LiveSpread, ...]
    class_calls: tuple[CallSpread, ...]
    class_live: tuple[LiveSpread, ...]
    thread_calls: tuple[CallSpread, ...]
    steps: tuple[StepSpread, ...]


def _rows(kind: type[Any], columns: Mapping[str, bytes]) -> tuple[Any, ...]:
    def numbers(name: str) -> list[float]:
        return [float(value) for value in memoryview(columns[name]).cast("d")]

    if kind is StepSpread:
        return tuple(map(kind._make, zip(*(numbers(name) for name in kind._fields), strict=True)))
    spreads = [
        list(map(Spread, numbers(f"{name}.variance"), numbers(f"{name}.largest"))) for name in kind._fields
    ]
    return tuple(kind(*row) for row in zip(*spreads, strict=True))


def spreads_of(native: "NativeFacts") -> Spreads | None:
    """None when every call was recorded: then nothing is estimated."""
    totals = _rows(CallSpread, native.table("total_calls"))
    if not totals:
        return None
    return Spreads(
        totals[0],
        _rows(LiveSpread, native.table("total_live"))[0],
        _rows(CallSpread, native.table("site_calls")),
        _rows(LiveSpread, native.table("site_live")),
        _rows(CallSpread, native.table("class_calls")),
        _rows(LiveSpread, native.table("class_live")),
        _rows(CallSpread, native.table("thread_calls")),
        _rows(StepSpread, native.table("steps")),
    )
