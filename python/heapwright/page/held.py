# SPDX-License-Identifier: MIT
"""The last snapshot's holders for the page: a tree of what each retains, without its small ends."""

from __future__ import annotations

from typing import Any

from heapwright.explain.browsed_holders import HolderTrees
from heapwright.explain.report import Report
from heapwright.report.markup import Markup, tag

_MOST_NODES = 3_000

_LEAD = (
    "What would go with each holder, and through which call sites it holds that. "
    "Of the last snapshot, whatever span is selected. "
)
_HINT = "A click goes in; the boxes above lead back."


def data_of(report: Report) -> dict[str, Any] | None:
    """None without a snapshot. Rows: parent, name, place, library; bytes and blocks with all behind it."""
    if not report.trace.snapshot_times:
        return None
    trees = HolderTrees(report, "")
    columns = trees.retained()
    sizes = columns["bytes"]
    kept = _kept(columns["parent"], sizes)
    number_of = {number: at for at, number in enumerate(kept)}
    texts: dict[str, int] = {"": 0}
    rows = [_row(trees, columns, number, number_of, texts) for number in kept]
    return {
        "ns": report.trace.snapshot_times[-1],
        "texts": list(texts),
        "rows": rows,
        "left": len(sizes) - len(kept),
    }


def _kept(parents: Any, sizes: Any) -> list[int]:
    """The largest ones; nothing retains more than what it is behind, so these come with them."""
    if len(sizes) <= _MOST_NODES:
        return list(range(len(sizes)))
    largest = sorted(range(len(sizes)), key=lambda number: (-sizes[number], number))[:_MOST_NODES]
    found = {0}
    for number in sorted(largest):  # each is behind its parent
        if parents[number] in found:
            found.add(number)
    return sorted(found)


def _row(
    trees: HolderTrees, columns: dict[str, Any], number: int, number_of: dict[int, int], texts: dict[str, int]
) -> list[int]:
    name, place = trees.about(number)
    library = place.module.rpartition("/")[2]
    line = f"{place.file.rpartition('/')[2]}:{place.line}" if place.file else ""
    words = [texts.setdefault(text, len(texts)) for text in (name, line, "" if library in name else library)]
    return [
        number_of[columns["parent"][number]],
        *words,
        columns["bytes"][number],
        columns["blocks"][number],
    ]


def panel(data: dict[str, Any] | None) -> Markup:
    """Nothing without a snapshot."""
    if data is None:
        return Markup()
    head = tag(
        "div",
        tag("h2", "Who holds it"),
        tag("p", _LEAD, tag("span", _HINT, class_="hint"), class_="lead", id="held-lead"),
    )
    choices = tag(
        "div",
        tag("div", class_="choice", id="held-measure", role="radiogroup", aria_label="Measure of holders"),
        class_="choices",
    )
    picture = tag(
        "div",
        tag("div", class_="icicle", id="holders", role="tree", aria_label="Holders, and what they retain"),
        class_="icicle-frame",
    )
    left = data["left"]
    note = (
        tag("p", f"{left:,} nodes that retain least are counted with what holds them.", class_="note")
        if left
        else ""
    )
    return tag(
        "section",
        tag("div", head, choices, class_="head"),
        tag("p", class_="crumb", id="held-path", aria_label="Path from the holder"),
        picture,
        tag("div", tag("table", id="held-table"), class_="scroll"),
        note,
        id="held",
        class_="needs-script",
    )
