# SPDX-License-Identifier: MIT
"""Reads recordings and compares two sides of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from heapwright.compare.advised import Advised, with_keys
from heapwright.compare.document import Comparison, Side
from heapwright.compare.matching import (
    PROGRAM,
    Key,
    Known,
    by_function,
    is_unnamed,
    keys_of,
    library_of,
    rebuilt,
    unlike,
)
from heapwright.compare.recorded import Progress, known_of, measure
from heapwright.model import Facts, Trace
from heapwright.model.session import name_of

_MUCH_LONGER = 1.5  # then figures of the whole run may come from different loads

Load = Callable[[Trace, Facts], float]


class Recordings(NamedTuple):
    """The recordings of one side; command: the recorded command, empty if not known."""

    traces: Sequence[Trace]
    command: str = ""


class Per(NamedTuple):
    """What work is divided by: in words (empty: nothing), and for each side. is_timed: by duration, which
    differs from run to run."""

    text: str
    loads: tuple[Load, Load]
    is_timed: bool = False


def compare(
    sides: tuple[Recordings, Recordings],
    per: Per,
    caveats: Sequence[str],
    progress: Progress,
    wants_paths: bool = False,
    advice: Sequence[Advised] = (),
) -> Comparison:
    """Reads all calls. caveats: notes before the figures. advice: on A's first recording."""
    knowns = [[known_of(trace) for trace in side.traces] for side in sides]
    keys = keys_of(knowns)
    everything = [known for side in knowns for known in side]
    nameless = by_function(everything) if wants_paths else None
    a, b = (_side(*args, progress, nameless) for args in zip(sides, keys, per.loads, strict=True))
    is_one_build = not rebuilt(everything)
    builds = _about_builds(knowns, is_one_program=a.program == b.program)
    notes = [*caveats, *_about_sides(a, b, is_one_build), *builds, *_about_time(a, b, per)]
    return Comparison(a, b, per.text, tuple(notes), with_keys(advice, keys[0][0]), per.is_timed)


def _side(
    side: Recordings,
    keys: Sequence[Sequence[Key]],
    load: Load,
    progress: Progress,
    nameless: set[str] | None,
) -> Side:
    first = side.traces[0]
    runs = tuple(
        measure(trace, own, load, progress, nameless) for trace, own in zip(side.traces, keys, strict=True)
    )
    files = tuple(trace.path for trace in side.traces)
    metadata = first.metadata
    return Side(files, side.command, name_of(first), metadata.host, metadata.allocator, runs)


def _about_sides(a: Side, b: Side, is_one_build: bool) -> Iterator[str]:
    for what in ("program", "host", "allocator"):
        one, other = getattr(a, what), getattr(b, what)
        if one != other:
            yield f"{what}s differ: A {one or 'unknown'}, B {other or 'unknown'}"
    if min(len(a.runs), len(b.runs)) > 1:
        return
    if is_one_build and not _is_same_work(a, b):
        yield (
            "a single recording per side of the same build: its input differs, or its calls vary from "
            "run to run; use several recordings of each side to tell"
        )
    else:
        yield (
            "a single recording: its calls and bytes are assumed for every run; if the program varies, "
            "give several"
        )


def _about_builds(sides: Sequence[Sequence[Known]], is_one_program: bool) -> Iterator[str]:
    """Which sites are matched by name, and which cannot be matched."""
    everything = [known for side in sides for known in side]
    changed = rebuilt(everything)
    if PROGRAM in changed:
        how = "the program was rebuilt: its" if is_one_program else "of two programs,"
        yield f"{how} call sites are matched by function"
    for name, side in zip("AB", sides, strict=True):
        unnamed = Counter(
            library_of(location.library, known.program)
            for known in side
            for location in known.locations
            if is_unnamed(location)
        )
        for library in sorted(changed & unnamed.keys()):
            what = "was rebuilt and has" if library or is_one_program else "has"
            yield (
                f"{name}'s {library or 'program'} {what} no symbols here, so its call sites "
                f"are one row; give that build's folder with --{name.lower()}-root"
            )
        yield from _about_symbols(name, side, everything)


def _about_symbols(name: str, side: Sequence[Known], everything: Sequence[Known]) -> Iterator[str]:
    """Libraries for which the other side has more symbols of the same build."""
    for library in sorted(unlike(everything) - rebuilt(everything)):
        most = max(_symbols_of(library, everything))
        if min(_symbols_of(library, side), default=most) < most:
            yield (
                f"{name}'s {library or 'program'} is of the same build with fewer symbols, so call sites "
                f"are matched by function, or are one row; --{name.lower()}-root FOLDER has symbols"
            )


def _symbols_of(library: str, recordings: Iterable[Known]) -> list[int]:
    return [
        source
        for known in recordings
        for file, source in known.symbols.items()
        if library_of(file, known.program) == library
    ]


def _is_same_work(a: Side, b: Side) -> bool:
    """Whether all runs requested the same bytes."""
    return len({(run.totals["calls"], run.totals["bytes"]) for run in (*a.runs, *b.runs)}) == 1


def _about_time(a: Side, b: Side, per: Per) -> Iterator[str]:
    if _is_same_work(a, b):
        return
    times = [median(run.duration_ns for run in side.runs) for side in (a, b)]
    if not per.text and max(times) > _MUCH_LONGER * min(times) > 0:
        yield "the runs have different durations: --per-second divides by them, --per by each side's load"
