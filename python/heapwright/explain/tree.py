# SPDX-License-Identifier: MIT
"""One measure as a call tree: from the outermost callers inward, or from the allocations outward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from heapwright.explain import details
from heapwright.explain.report import Answer, Report, share
from heapwright.model.call_tree import Branch, Callees, Callers
from heapwright.model.sites import MARKS
from heapwright.report import units, widgets

ENDS = ("callers", "allocation")


class Measure(NamedTuple):
    """Which columns of the stacks a tree sums, and how it writes them."""

    columns: tuple[str, ...]
    title: str
    text: Callable[[int], str]


MEASURES: dict[str, Measure] = {
    "peak": Measure(("live_at_peak_bytes",), "bytes live at the peak", units.size),
    "leaked": Measure(("live_at_end_bytes",), "bytes live at the end", units.size),
    "bytes": Measure(("bytes",), "bytes allocated", units.size),
    "calls": Measure(("allocations",), "allocations", units.count),
    "temporaries": Measure(("temporaries",), "temporaries", units.count),
    "time": Measure(("allocator_ns", "release_ns"), "time in the allocator", units.duration),
}
_DEEPEST = 200


class Wanted(NamedTuple):
    """Which tree: its measure, where it starts, and the share below which a branch is left out."""

    measure: str = "peak"
    begin: str = "callers"
    min_share: float = 0.01


def answer(report: Report, wanted: Wanted) -> Answer:
    """The tree; it includes plumbing only if sites are whole stacks."""
    tree, sites = report.trace.stack_columns, report.sites
    symbols = report.trace.symbols()
    stacks = details.weights(report, MEASURES[wanted.measure].columns)
    locations = sites.locations
    if sites.is_whole:
        locations = lambda frame: (MARKS[frame],) if frame in MARKS else tuple(symbols.locations(frame))  # noqa: E731
    kind = Callers if wanted.begin == "allocation" else Callees
    branches = kind(tree["parent"], tree["frame"], locations)
    root = branches.root((stack, weight) for stack, weight in enumerate(stacks) if weight)
    least = max(1, wanted.min_share * root.weight)
    return {
        "measure": wanted.measure,
        "from": wanted.begin,
        "min_share": wanted.min_share,
        "weight": root.weight,
        "branches": _records(branches, root, root.weight, least, _DEEPEST),
    }


def _records(
    branches: Callers | Callees, above: Branch, whole: int, least: float, depth: int
) -> list[Answer]:
    found = branches.of(above) if depth else []
    records = [
        {
            **details.location_record(branch.location),
            "weight": branch.weight,
            "share": share(branch.weight, whole),
            "branches": _records(branches, branch, whole, least, depth - 1),
        }
        for branch in found
        if branch.location is not None and branch.weight >= least
    ]
    seen = Counter(record["name"] for record in records)
    for record in records:
        if seen[record["name"]] > 1:  # overloads
            record["name"] = ", ".join(filter(None, (record["function"], record["file"], record["library"])))
    return records


def show(answer: Answer) -> widgets.RenderableType:
    """Heaviest first; a branch without siblings is not indented further."""
    measure = MEASURES[answer["measure"]]
    end = "the outermost callers" if answer["from"] == "callers" else "the allocations"
    least = units.percent(answer["min_share"], 1)
    title = widgets.Text(f"{measure.title[0].upper()}{measure.title[1:]}", style="bold")
    title.append(
        f" from {end}: {measure.text(answer['weight'])}; branches below {least} left out", style="not bold"
    )
    rows = [
        [units.percent(branch["share"], 1), measure.text(branch["weight"]), "  " * level + branch["name"]]
        for level, branch in _lines(answer["branches"], 0, 0)
    ]
    return widgets.Group(
        title, widgets.Columns(["share", answer["measure"], "call"], rows, text_columns=(2,))
    )


def _lines(branches: list[Answer], level: int, above: int) -> Iterator[tuple[int, Answer]]:
    for branch in branches:
        goes_on = len(branches) == 1 and branch["weight"] > 0.99 * above > 0
        own = level - 1 if goes_on else level
        yield own, branch
        yield from _lines(branch["branches"], own + 1, branch["weight"])
