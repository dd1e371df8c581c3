# SPDX-License-Identifier: MIT
"""A comparison as plain data: heapwright.compare/1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from heapwright.compare import advised, noise
from heapwright.compare.advised import OUTCOMES, Said
from heapwright.compare.figures import EXACT, FIGURES, LIVE, SITE_FIGURES, Figure
from heapwright.compare.noise import VERDICTS, Difference
from heapwright.compare.recorded import Run
from heapwright.compare.sites import ADDED, GONE, STATES, SUMS, Pair, pairs_of
from heapwright.model.names import short_name
from heapwright.report.columns import Choice, Column, Many, Record, Table, record

SCHEMA = "heapwright.compare/1"


class Side(NamedTuple):
    """Recordings that count as repeats of one another, or of runs of a command."""

    files: tuple[str, ...]
    command: str
    program: str
    host: str
    allocator: str
    runs: tuple[Run, ...]

    def loads(self) -> list[float]:
        """What work is divided by, run by run."""
        return [run.load for run in self.runs]


class Comparison(NamedTuple):
    """What is compared; per: the unit of the loads, empty: nothing is divided; is_timed: by duration."""

    a: Side
    b: Side
    per: str
    notes: tuple[str, ...]
    advice: tuple[Said, ...] = ()
    is_timed: bool = False

    @property
    def is_single_thread(self) -> bool:
        """Whether live figures are as certain as the calls."""
        return all(run.threads == 1 for side in (self.a, self.b) for run in side.runs)

    @property
    def is_whole(self) -> bool:
        """Otherwise counts are incomplete, or estimates."""
        return all(run.is_whole for side in (self.a, self.b) for run in side.runs)


class _Compared(NamedTuple):
    figure: Figure
    found: Difference
    is_exact: bool
    values_a: Sequence[float]
    values_b: Sequence[float]


class _Site(NamedTuple):
    pair: Pair
    figures: Mapping[str, Record]


_FIGURE = (
    Column("key", "text", value="figure.key"),
    Column("label", "text", value="figure.label"),
    Column("unit", Choice(("count", "bytes", "ns")), value="figure.unit"),
    Column("is_exact", "flag", about="It is the same in every run of a deterministic program."),
    Column("a", "number", value="found.a", about="The median of A's runs."),
    Column("b", "number", value="found.b"),
    Column("difference", "signed", value="found.difference", about="B minus A."),
    Column(
        "relative_difference",
        "maybe_signed",
        value="found.relative",
        about="Relative to A; null if A has none.",
    ),
    Column(
        "band",
        "maybe_signed",
        value="found.band",
        about="The spread of one side's runs; null: not known.",
    ),
    Column("verdict", Choice(VERDICTS), value="found.verdict", about="same: within the band."),
    Column("values_a", Many("number"), about="Of each run."),
    Column("values_b", Many("number")),
)
_SITE_FIGURE = (
    Column("a", "number"),
    Column("b", "number"),
    Column("difference", "signed"),
    Column("relative_difference", "maybe_signed", value="relative"),
    Column("band", "maybe_signed"),
    Column("verdict", Choice(VERDICTS)),
)
_SITE = (
    Column("name", "text", value=lambda site, _: short_name(site.pair.location.function)),
    Column("function", "text", value="pair.location.function"),
    Column("file", "text", value="pair.location.file"),
    Column("lines", Many("count"), value=lambda site, _: list(site.pair.lines)),
    Column("library", "text", value="pair.location.library"),
    Column("state", Choice(STATES), value="pair.state"),
    Column(
        "was",
        "text",
        value="pair.was",
        about="renamed: its name in A; inlined: the function that is part of it on one side.",
    ),
    Column("figures", "site_figures"),
)
_SIDE = (
    Column("files", Many("text"), value=lambda side, _: list(side.files)),
    Column("command", "text", about="From --run; otherwise empty."),
    Column("program", "text"),
    Column("host", "text"),
    Column("allocator", "text"),
    Column("runs", "count", value=lambda side, _: len(side.runs)),
    Column("duration_ns", "number", value=lambda side, _: median(run.duration_ns for run in side.runs)),
    Column("load", "number", value=lambda side, _: median(side.loads()), about="Work is divided by this."),
)
DOCUMENT = (
    Column("a", _SIDE, value=lambda of, _: record(_SIDE, of.a, {})),
    Column("b", _SIDE, value=lambda of, _: record(_SIDE, of.b, {})),
    Column("per", "text", about="The unit that calls, bytes and time are divided by; empty: none."),
    Column(
        "false_alarms_at_most",
        "share",
        value=lambda of, _: min(1.0, noise.false_alarms_at_most(len(of.a.runs), len(of.b.runs))),
        about="The expected share of noisy figures called different by chance.",
    ),
    Column("notes", Many("text"), value=lambda of, _: list(of.notes)),
)
TOTALS = Table("totals", _FIGURE, lambda comparison: _totals(comparison))
SITES = Table("sites", _SITE, lambda comparison: [], about="Sites that differ, largest difference first.")
HOLDERS = Table(
    "holders",
    (Column("name", "text"), *_SITE_FIGURE),
    lambda comparison: [],
    about="Who retains other bytes, by the last snapshots of both sides; empty without them.",
)
SITE_FIGURE = _SITE_FIGURE
OUTCOME = (
    Column("said", "number", about="Estimated by explain's advice."),
    Column("figure", "site_figure", about="Sum of its sites."),
    Column(
        "is_in_all",
        "flag",
        about="The sites are gone: judged by the whole run, since others may do their work.",
    ),
    Column("outcome", Choice(OUTCOMES)),
)
REPLAYED = (
    Column("figure", "text"),
    Column("unit", "text"),
    Column("difference", "signed"),
    Column("relative_difference", "signed"),
    Column("verdict", "text"),
    Column("on", "text"),
)
_ADVICE = (
    Column("rule", "text"),
    Column("name", "text", about="The site with most of it."),
    Column("gain_is_least", "flag", about="The estimate is not an upper bound."),
    Column("replay_change", "text"),
    Column("calls", "site_figure", about="Sum of the allocations of its sites."),
    Column("outcomes", "outcomes", about="By figure with an estimated gain."),
    Column("replayed", Many(REPLAYED), about="What a replay of A measured (--replayed)."),
)
ADVICE = Table("advice", _ADVICE, lambda comparison: comparison.advice, about="On A; with --advice.")


def make(comparison: Comparison) -> dict[str, Any]:
    """The document."""
    totals = [record(_FIGURE, row, {}) for row in _totals(comparison)]
    pairs = pairs_of(comparison.a.runs, comparison.b.runs)
    rows, same = _sites(comparison, pairs, {row["key"]: max(row["a"], row["b"]) for row in totals})
    return {
        "schema": SCHEMA,
        **record(DOCUMENT, comparison, {}),
        "totals": totals,
        "sites": rows,
        "same_sites": same,
        "holders": _holders(comparison),
        "advice": [_advice(comparison, said, advised.pairs_of(said, pairs)) for said in comparison.advice],
    }


def _advice(comparison: Comparison, said: Said, pairs: Sequence[Pair]) -> Record:
    """pairs: of its sites."""
    figures = _figures_of(comparison, _together(pairs))
    is_gone = not figures["calls"].b
    judged = {one.figure.key: one.found for one in _totals(comparison)} if is_gone else figures
    outcomes = {
        figure: {
            "said": said.advised.gains[gain],
            "figure": record(_SITE_FIGURE, figures[figure], {}),
            "is_in_all": is_gone,
            "outcome": advised.outcome(said.advised.gains[gain], said.advised.is_least, judged[figure]),
        }
        for gain, figure in advised.FIGURES.items()
        if said.advised.gains[gain] and figure in figures
    }
    return {
        "rule": said.advised.rule,
        "name": said.advised.name,
        "gain_is_least": said.advised.is_least,
        "replay_change": said.advised.replay_change,
        "calls": record(_SITE_FIGURE, figures["calls"], {}),
        "outcomes": outcomes,
        "replayed": list(said.advised.replayed),
    }


def _together(pairs: Sequence[Pair]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """For each additive figure: the sums of the runs of A and B."""
    sides = ([pair.a for pair in pairs], [pair.b for pair in pairs])
    a, b = (
        {
            name: [sum(values) for values in zip(*(of[name] for of in side), strict=True)]
            for name in SUMS
            if all(name in of for of in side)
        }
        for side in sides
    )
    return a, b


def _is_exact(comparison: Comparison, figure: Figure) -> bool:
    if not comparison.is_whole or (comparison.is_timed and figure.is_work):
        return False
    return figure.kind == EXACT or (figure.kind == LIVE and comparison.is_single_thread)


def _totals(comparison: Comparison) -> list[_Compared]:
    found = []
    for figure in FIGURES:
        values = [
            [_per_load(figure, run.totals[figure.key], run) for run in side.runs if figure.key in run.totals]
            for side in (comparison.a, comparison.b)
        ]
        if len(values[0]) == len(comparison.a.runs) and len(values[1]) == len(comparison.b.runs):
            is_exact = _is_exact(comparison, figure)
            found.append(_Compared(figure, noise.compare(values[0], values[1], is_exact), is_exact, *values))
    return found


def _holders(comparison: Comparison) -> list[Record]:
    """Most different first."""
    sides = [[run.held for run in side.runs if run.held is not None] for side in (comparison.a, comparison.b)]
    if [len(side) for side in sides] != [len(comparison.a.runs), len(comparison.b.runs)]:
        return []
    is_exact = comparison.is_whole and comparison.is_single_thread
    rows = []
    for name in dict.fromkeys(name for side in sides for held in side for name in held):
        in_a, in_b = ([held.get(name, 0) for held in side] for side in sides)
        found = noise.compare(in_a, in_b, is_exact, 1 if is_exact else noise.SITE_BANDS)
        if found.difference and found.verdict != noise.SAME:
            rows.append({"name": name, **record(_SITE_FIGURE, found, {})})
    return sorted(rows, key=lambda row: -abs(row["difference"]))


def _per_load(figure: Figure, value: float, run: Run) -> float:
    return value / run.load if figure.is_work and run.load != 1 else value


def _sites(
    comparison: Comparison, pairs: Sequence[Pair], whole: Mapping[str, float]
) -> tuple[list[Record], int]:
    """Sites that differ, most important first, and the number of others."""
    rows = []
    same = 0
    for pair in pairs:
        figures = _figures_of(comparison, (pair.a, pair.b))
        weight = max((_weight(key, found, whole) for key, found in figures.items()), default=0.0)
        if weight == 0 and pair.state not in (GONE, ADDED):
            same += 1
            continue
        own = {key: record(_SITE_FIGURE, found, {}) for key, found in figures.items()}
        rows.append((weight, record(_SITE, _Site(pair, own), {})))
    rows.sort(key=lambda row: -row[0])
    return [row for _, row in rows], same


def _weight(key: str, found: Difference, whole: Mapping[str, float]) -> float:
    """The difference as a share of the whole."""
    if found.verdict not in (noise.LESS, noise.MORE) or key == "p99_ns":
        return 0.0
    return abs(found.difference) / (whole.get(key) or 1)


def _figures_of(
    comparison: Comparison, values_of: tuple[Mapping[str, list[float]], Mapping[str, list[float]]]
) -> dict[str, Difference]:
    """values_of: of A and B, by figure, run by run."""
    found = {}
    in_a, in_b = values_of
    for figure in SITE_FIGURES:
        if figure.key not in in_a or figure.key not in in_b:
            continue
        if figure.key == "time_ns" and not any("time_ns" in run.totals for run in comparison.a.runs):
            continue
        sides = ((in_a, comparison.a), (in_b, comparison.b))
        values = [
            [_per_load(figure, value, run) for value, run in zip(of[figure.key], side.runs, strict=True)]
            for of, side in sides
        ]
        is_exact = _is_exact(comparison, figure)
        bands = 1 if is_exact else noise.SITE_BANDS
        found[figure.key] = noise.compare(values[0], values[1], is_exact, bands)
    return found
