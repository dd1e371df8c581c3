# SPDX-License-Identifier: MIT
"""A comparison of two replays as plain data: heapwright.compare-replays/1.

A candidate's figure differs if no run of one side lies between those of the other, and the medians are
further apart than the runs of either side, than the errors of both replays together, and than 1 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from heapwright.compare import noise
from heapwright.compare.noise import VERDICTS
from heapwright.compare.replays.reading import Candidate, Measured, Replay
from heapwright.measure import verdict
from heapwright.replay.decision import LEAST_DIFFERENCE
from heapwright.replay.figures import FIGURES, Figure
from heapwright.report.columns import Choice, Column, Many, Record, Table, record

SCHEMA = "heapwright.compare-replays/1"


class Pair(NamedTuple):
    """The two replays."""

    a: Replay
    b: Replay


class _Both(NamedTuple):
    a: Candidate
    b: Candidate
    figures: dict[str, Record]


class _Compared(NamedTuple):
    a: Measured
    b: Measured
    band: float | None
    error: float
    verdict: str


_FIGURE = (
    Column("a", "number", value="a.figure.value", about="The median of A's runs."),
    Column("b", "number", value="b.figure.value"),
    Column("difference", "signed", value=lambda row, _: _difference(row), about="B minus A."),
    Column(
        "relative_difference",
        "maybe_signed",
        value=lambda row, _: _difference(row) / row.a.figure.value if row.a.figure.value else None,
        about="Relative to A; null if A has none.",
    ),
    Column(
        "band", "maybe_signed", about="The spread of one side's runs; null: fewer than three runs, not known."
    ),
    Column("error", "number", about="The sum of the errors of both replays."),
    Column("verdict", Choice(VERDICTS), about="same: within the band, the error, or 1 %."),
)
_CANDIDATE = (
    Column("name", "text", value="a.name", about="The same on both sides, with settings and change."),
    Column("version_a", "text", value="a.version"),
    Column("version_b", "text", value="b.version"),
    Column("failure_a", "text", value="a.failure", about="How it failed there; empty: it did not."),
    Column("failure_b", "text", value="b.failure"),
    Column("figures", "figures"),
)
_SIDE = (
    Column("file", "text"),
    Column("trace", "text"),
    Column("program", "text"),
    Column("recorded_on", "text"),
    Column("reference", "text", about="The reference of its replay."),
    Column("calls", "count", about="Operations of its plan."),
    Column("runs", "count"),
)
DOCUMENT = (
    Column("a", _SIDE, value=lambda pair, _: record(_SIDE, pair.a, {})),
    Column("b", _SIDE, value=lambda pair, _: record(_SIDE, pair.b, {})),
    Column(
        "false_alarms_at_most",
        "share",
        value=lambda pair, _: min(1.0, noise.false_alarms_at_most(pair.a.runs, pair.b.runs)),
        about="The share of figures that noise alone may call different.",
    ),
    Column(
        "only_a", Many("text"), value=lambda pair, _: _only(pair.a, pair.b), about="Candidates only in A."
    ),
    Column("only_b", Many("text"), value=lambda pair, _: _only(pair.b, pair.a)),
    Column("notes", Many("text"), value=lambda pair, _: list(_notes(pair.a, pair.b))),
)
CANDIDATES = Table(
    "candidates", _CANDIDATE, lambda pair: _both(pair), about="Candidates of both sides, in A's order."
)
FIGURE = _FIGURE


def make(pair: Pair) -> dict[str, Any]:
    """The document."""
    rows = [record(_CANDIDATE, both, {}) for both in _both(pair)]
    return {"schema": SCHEMA, **record(DOCUMENT, pair, {}), "candidates": rows}


def _both(pair: Pair) -> Iterator[_Both]:
    for name, a in pair.a.candidates.items():
        b = pair.b.candidates.get(name)
        if b is not None:
            yield _Both(a, b, _figures(pair, a, b))


def _figures(pair: Pair, a: Candidate, b: Candidate) -> dict[str, Record]:
    return {
        figure.key: record(_FIGURE, _compare(figure, pair, a.figures[figure.key], b.figures[figure.key]), {})
        for figure in FIGURES
        if figure.key in a.figures and figure.key in b.figures
    }


def _compare(figure: Figure, pair: Pair, a: Measured, b: Measured) -> _Compared:
    error = a.error + b.error
    is_one_kind = not figure.is_memory or pair.a.is_true == pair.b.is_true  # of a process, or of only a heap
    least = max(error, LEAST_DIFFERENCE * abs(a.figure.value))
    found = verdict.by_runs(b.figure, a.figure, least)
    if found.below is None or not is_one_kind:
        is_same = a.figure[:3] == b.figure[:3]  # as in every run of the same recording
        return _Compared(a, b, None, error, noise.SAME if is_same else noise.UNKNOWN)
    return _Compared(a, b, verdict.band_of(a.figure, b.figure), error, noise.WORDS[found.side])


def _difference(row: _Compared) -> float:
    return row.b.figure.value - row.a.figure.value


def _only(own: Replay, other: Replay) -> list[str]:
    return [name for name in own.candidates if name not in other.candidates]


def _notes(a: Replay, b: Replay) -> Iterator[str]:
    """Notes before the figures."""
    for name, side in (("A", a), ("B", b)):
        yield from (f"{name}: {note}" for note in side.notes)
    for what in ("program", "recorded_on"):
        one, other = getattr(a, what), getattr(b, what)
        if one != other:
            yield f"{what.replace('_', ' ')} differs: A {one or 'unknown'}, B {other or 'unknown'}"
    if (a.processor, a.processors) != (b.processor, b.processors):
        yield "A and B were replayed on different machines: differences in time may be theirs"
    if a.is_paced != b.is_paced:
        paced = "A" if a.is_paced else "B"
        yield (f"only {paced} was replayed as slowly as the program: memory returned after a delay differs")
    if a.is_true != b.is_true:
        known = "A" if a.is_true else "B"
        yield f"the accuracy of memory is known only for {known}: memory is not compared"
    if a.trace == b.trace and a.window != b.window:
        yield "A and B cover different parts of the recording"
    if a.trace != b.trace:
        yield (
            "each side replays one recording: the bands do not include variation between runs of the "
            "program; compare repeated recordings for that"
        )
    for both in _both(Pair(a, b)):
        if both.a.version != both.b.version:
            yield f"{both.a.name}: {both.a.version or 'unknown'} in A, {both.b.version or 'unknown'} in B"
