# SPDX-License-Identifier: MIT
"""Counters of processes as plain data: heapwright.count/1."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from heapwright.live import contention, figures
from heapwright.live.counted_run import Counted
from heapwright.live.layout import FUNCTIONS, MAKING, RELEASING
from heapwright.live.memory_columns import MEMORY
from heapwright.live.page import Calls, HeapFigures
from heapwright.report.columns import Column, Many, Record, record

SCHEMA = "heapwright.count/1"
WHILE_READING = "live_blocks may be too high by this number; 0: all values are from one moment."
_ESTIMATED = "Estimated from the timed calls; null: fewer than 30 were."


def _known(value: int, calls: Calls) -> int | None:
    return None if calls.has_unknown_usable else value


def _timing(part: str, functions: Sequence[str]) -> Any:
    return lambda calls, _: figures.estimate(
        getattr(calls, part), sum(calls.by_function[name] for name in functions), calls.clock_ns
    )


TIMING = (
    Column("calls"),
    Column("timed_calls"),
    Column("mean_ns", "maybe", about=_ESTIMATED),
    Column("time_ns", "maybe", about="CPU time. " + _ESTIMATED),
    Column("time_error_ns", "maybe", about="Half of the 95 % interval of time_ns."),
    Column(
        "p50_ns",
        "maybe",
        about="The upper edge of its bin, up to a quarter wide; null: too few beyond it.",
    ),
    Column("p99_ns", "maybe"),
    Column("p999_ns", "maybe"),
    Column("slow_calls", "maybe", about=_ESTIMATED),
    Column("slow_ns", "maybe", about=_ESTIMATED),
    Column("waited_calls", "maybe", about="Calls that left the CPU. " + _ESTIMATED),
    Column("waited_ns", "maybe", about="Time off the CPU, not in time_ns. " + _ESTIMATED),
)
CONTENTION = (
    Column(
        "collisions",
        "maybe",
        about="Calls that waited for a lock; libheapwright.so counts them itself. " + _ESTIMATED,
    ),
    Column("collisions_low", "maybe", about="The 95 % interval."),
    Column("collisions_high", "maybe"),
    Column("lost_ns", "maybe", about="Time off the CPU in these, summed over threads. " + _ESTIMATED),
    Column("lost_low_ns", "maybe", about="The 95 % interval."),
    Column("lost_high_ns", "maybe", about="Null: no wait was seen, so its length is not known."),
    Column("preempted_ns", "maybe", about="Time in which the kernel had taken the CPU. " + _ESTIMATED),
    Column("other_ns", "maybe", about="Time off the CPU for another reason. " + _ESTIMATED),
    Column(
        "is_contended",
        "maybe_flag",
        about="Whether locks cost heap calls more than 1 ms per second, in all the time that was counted; "
        "of a program: one of its images. Null: what was seen does not tell.",
    ),
)
SIZE = (Column("from_bytes"), Column("to_bytes", about="Inclusive."), Column("requests"))
CONTEXT = (
    Column("context", "text", about="Empty: all calls in no context."),
    Column("calls"),
    Column("made", about="Of these, those that allocate."),
    Column("requested_bytes"),
    Column("usable_bytes", "maybe"),
    Column(
        "net_bytes",
        "maybe_signed",
        about="usable_bytes less those of blocks released in it, whoever made them: its live bytes where it "
        "releases its own.",
    ),
    Column("timed_calls"),
    Column("time_ns", "maybe", about="CPU time. " + _ESTIMATED),
)
FUNCTION_CALLS = tuple(Column(name) for name in FUNCTIONS)
CALLS = (
    Column("program", "text"),
    Column("allocator", "text", about="The file that provides malloc; empty: not known."),
    Column("has_own_malloc", "flag", about="The program has its own malloc, whose calls are not seen."),
    Column("is_attached", "flag", about="Counting began while the process ran."),
    Column("is_patched", "flag", about="By changed code: the allocator inside the program is counted, too."),
    Column("calls", FUNCTION_CALLS, value=lambda calls, _: dict(calls.by_function)),
    Column("failed"),
    Column("null_releases", about="Not among the calls."),
    Column("made_blocks", value=lambda calls, _: figures.made_blocks(calls)),
    Column("released_blocks", value=lambda calls, _: figures.released_blocks(calls)),
    Column(
        "live_blocks",
        "signed",
        value=lambda calls, _: figures.live_blocks(calls),
        about="A change since counting began if is_attached, or if generation is above 0.",
    ),
    Column("requested_bytes"),
    Column("usable_bytes", "maybe", value=lambda calls, _: _known(calls.usable_bytes, calls)),
    Column("released_bytes", "maybe", value=lambda calls, _: _known(calls.released_bytes, calls)),
    Column(
        "live_bytes",
        "maybe_signed",
        value=lambda calls, _: figures.live_bytes(calls),
        about="As live_blocks.",
    ),
    Column("threads_begun", about="A lower bound if is_patched."),
    Column("threads_ended", about="Not known, and 0, if is_patched."),
    Column("timed_one_in", value="mean_stride"),
    Column("slow_from_ns"),
    Column("making", TIMING, value=_timing("making", MAKING)),
    Column("releasing", TIMING, value=_timing("releasing", RELEASING)),
    Column("contention", CONTENTION, value=lambda calls, _: contention.describe(calls)),
    Column("sizes", Many(SIZE), value=lambda calls, _: figures.size_rows(calls.sizes)),
    Column(
        "contexts",
        Many(CONTEXT),
        value=lambda calls, _: figures.context_rows(calls),
        about="What the program works for, as it said (heapwright/annotate.h), and the rest. Empty: nothing.",
    ),
    Column("calls_while_reading", about=WHILE_READING),
)
IMAGE = (
    Column("process", value="page.process"),
    Column("generation", value="page.generation", about="Forks since the program was executed."),
    Column("is_running", "flag"),
    Column(
        "wall_ns", "maybe", value=lambda counted, _: _wall_ns(counted), about="Null: its end was not seen."
    ),
    Column(
        "memory",
        "memory",
        about="At the last look, one a second while it ran; growth of its life but for the first quarter. "
        "Null: it ended before the first.",
    ),
)
# Of Counted.memory.
OF_MEMORY = (Column("resident_bytes"), *MEMORY)
IMAGES = (
    Column("images", value=lambda images, _: len(images)),
    Column("running", value=lambda images, _: sum(one.is_running for one in images)),
)
INTERVAL = (
    Column("time_ns", about="Since counting began."),
    Column("calls_per_s", "number"),
    Column("requested_bytes_per_s", "number"),
    Column("live_bytes", "signed", about="Of running processes that report them."),
    Column("calls_while_reading", about="live_bytes may be too high by this number of blocks."),
    Column("processes"),
    Column("anonymous_bytes", about="Of running processes, at a look up to a second ago."),
)
ATTACH = (
    Column("stopped_ns", about="How long all threads were stopped."),
    Column("detach_stopped_ns"),
    Column("threads"),
    Column("patched", Many("text"), about="Functions, by linker name."),
    Column("has_healed", "flag", about="An earlier attach had been killed, and was reverted."),
)
DOCUMENT = (
    Column("exit_code", "maybe_signed", about="As in a shell; null: count did not start the program."),
    Column("wall_ns", "maybe", about="Of the program that count started."),
    Column("processes", Many((*IMAGE, *CALLS)), about="Every image, including those replaced by an exec."),
    Column("programs", Many((*IMAGES, *CALLS)), about="Sums over the images of each, busiest first."),
    Column("intervals", Many(INTERVAL)),
    Column("attach", "attach"),
    Column("notes", Many("text")),
)


def describe_calls(calls: Calls, is_contended: bool | None = None, heap: HeapFigures | None = None) -> Record:
    """The totals of one image. heap: what our own heap says of it, where that is what it uses."""
    found = record(CALLS, calls, {})
    if heap:
        exact = contention.describe_counted(heap)
        found["contention"] |= {name: value for name, value in exact.items() if value is not None}
    found["contention"]["is_contended"] = is_contended
    return found


def describe(counted: Counted) -> Record:
    """The same, and which image it is."""
    calls = counted.page.calls
    assert calls is not None
    return record(IMAGE, counted, {}) | describe_calls(calls, _is_contended(counted), counted.heap)


def _is_contended(counted: Counted) -> bool | None:
    calls = counted.page.calls
    assert calls is not None
    end_ns = calls.ended_ns or counted.seen_ns
    took_s = (end_ns - calls.started_ns) / 1e9
    if took_s <= 0:
        return None
    if counted.heap:
        return contention.is_contended_as_counted(None, counted.heap, took_s)
    return contention.is_contended(calls, took_s, calls, took_s, counted.waits)


def _is_any_contended(images: Sequence[Counted]) -> bool | None:
    """None: of some it is not known, and none of the others is."""
    verdicts = {_is_contended(one) for one in images}
    return True if True in verdicts else None if None in verdicts else False


def describe_programs(all_counted: Sequence[Counted]) -> list[Record]:
    """The totals of all images of each program, the busiest first."""
    images: dict[str, list[Counted]] = {}
    for counted in all_counted:
        assert counted.page.calls is not None
        images.setdefault(counted.page.calls.program, []).append(counted)
    programs = [
        record(IMAGES, own, {})
        | describe_calls(
            figures.total([one.page.calls for one in own if one.page.calls]), _is_any_contended(own)
        )
        for own in images.values()
    ]
    return sorted(programs, key=lambda program: -sum(program["calls"].values()))


def make_document(
    all_counted: Sequence[Counted],
    intervals: Sequence[Record] = (),
    notes: Sequence[str] = (),
    *,
    exit_code: int | None = None,
    wall_ns: int | None = None,
    attach: Record | None = None,
) -> Record:
    """Everything that count prints."""
    return {
        "schema": SCHEMA,
        "exit_code": exit_code,
        "wall_ns": wall_ns,
        "processes": [describe(one) for one in all_counted],
        "programs": describe_programs(all_counted),
        "intervals": list(intervals),
        "attach": attach,
        "notes": list(notes),
    }


def _wall_ns(counted: Counted) -> int | None:
    """The document of counting."""
    calls = counted.page.calls
    assert calls is not None
    if calls.ended_ns:
        return calls.ended_ns - calls.started_ns
    return time.monotonic_ns() - calls.started_ns if counted.is_running else None
