# SPDX-License-Identifier: MIT
"""A replay as an offline page without a script: the chart is SVG, and all texts are in the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heapwright.measure.verdict import BETTER, WORSE
from heapwright.replay import figure_words, kernel_words, latency_words, own_load, show, site_words, spread
from heapwright.replay.decision import best_of
from heapwright.replay.details import Detail
from heapwright.replay.figures import FIGURES
from heapwright.replay.result import Document
from heapwright.report import chart, html, units
from heapwright.report.columns import Column, Record
from heapwright.report.markup import Child, Markup, joined, tag

_OWN_STYLE = Path(__file__).parent / "page.css"
_MOST_LINES = 6  # more are indistinguishable


def render(document: Document, shown: show.Shown) -> str:
    """The whole page as text."""
    program = document.program.rsplit("/", 1)[-1] or "a program"
    return html.page(f"{program} replayed – heapwright", _OWN_STYLE, _body(document, shown))


def _body(document: Document, shown: show.Shown) -> list[Markup]:
    answer, *others = show.verdict(document)
    who = tag("p", tag("b", document.program), f"   recorded on {document.recorded_on}", class_="who")
    return [
        tag("header", who),
        tag("h1", answer),
        *(tag("p", line, class_="second") for line in others),
        _section("Every candidate", _decision(document)),
        *_own_load(document),
        *_memory(document),
        *_sites(document, shown),
        *_latency(document, shown),
        *_kernel(document),
        *_spread(document),
        _section("Reliability", *(tag("p", line, class_="note") for line in show.below(document))),
        _section("Next", tag("p", tag("code", show.next_command(document)))),
        tag("footer", _machine(document)),
    ]


def _section(title: str, *children: Child) -> Markup:
    return tag("section", tag("h2", title), *children)


def _verdict_class(row: Record, column: Column) -> str:
    found = row["candidate"].figures.get(column.key)
    is_judged = found and not row["is_reference"]
    return {BETTER: "better", WORSE: "worse"}.get(found.verdict, "") if is_judged else ""


def _decision(document: Document) -> Markup:
    return joined(
        html.table(show.COLUMNS, figure_words.rows(document), _verdict_class),
        tag("p", "=: no difference beyond the noise and the error below.", class_="note"),
    )


def _own_load(document: Document) -> list[Markup]:
    found = own_load.rows(document)
    return [_section("At the program's load", html.table(own_load.COLUMNS, found))] if found else []


def _lines(document: Document) -> list[tuple[str, Sequence[float]]]:
    """The recording, the reference, the best, then the others in order."""
    recorded = document.moments.recorded_bytes
    first = [("recorded", recorded)] if recorded else []
    measured = [one for one in document.candidates if one.resident_bytes]
    best = [found.name for figure in FIGURES[:2] if (found := best_of(document, figure))]
    measured.sort(key=lambda one: (one.name != document.reference, one.name not in best))
    return [*first, *((one.name, one.resident_bytes) for one in measured[:_MOST_LINES])]


def _memory(document: Document) -> list[Markup]:
    times, lines = document.moments.time_ns, _lines(document)
    if len(times) < 2 or not lines:
        return []
    left_out = sum(1 for one in document.candidates if one.resident_bytes) - _MOST_LINES
    rest = f"; {left_out} more in the table above" if left_out > 0 else ""
    return [
        _section(
            "Resident memory over the recorded time",
            _picture(times, lines),
            tag("p", f"Read at the same {len(times)} moments of the recording{rest}.", class_="note"),
        )
    ]


def _picture(times_ns: Sequence[float], lines: Sequence[tuple[str, Sequence[float]]]) -> Markup:
    # The recording is 0, even if missing, so that a candidate keeps its colour.
    first = 0 if lines[0][0] == "recorded" else 1
    return chart.curves(
        [
            chart.Curve(
                name,
                list(zip(times_ns, values, strict=True)),
                number,
                f"at most {units.size(max(values))}",
            )
            for number, (name, values) in enumerate(lines, first)
        ],
        chart.Axis(units.duration),
        chart.Axis(units.size),
        "resident memory over time",
    )


def _sites(document: Document, shown: show.Shown) -> list[Markup]:
    both = {
        "Where the time differs": site_words.about_times(document, shown.sites),
        "Where the memory differs": site_words.about_memory(document, shown.sites),
    }
    return [
        _section(
            heading,
            tag("p", lines[0]),
            tag("ul", *(tag("li", line.strip()) for line in lines[1:]), class_="sites"),
        )
        for heading, lines in both.items()
        if lines
    ]


def _latency(document: Document, shown: show.Shown) -> list[Markup]:
    details = {
        "by function and size": latency_words.detail(document),
        "at these call sites": latency_words.site_detail(document, shown.sites),
    }
    tables = [_folded(summary, detail) for summary, detail in details.items() if detail.rows]
    return [_section("Call latency", *tables)] if tables else []


def _folded(summary: str, detail: Detail) -> Markup:
    about, table = tag("p", detail.about), html.table(detail.columns, detail.rows)
    return tag("details", tag("summary", summary), about, table)


def _kernel(document: Document) -> list[Markup]:
    detail = kernel_words.detail(document)
    if not detail.rows:
        return []
    return [_section("Use of the kernel", _folded("faults, switches, system calls by kind", detail))]


def _spread(document: Document) -> list[Markup]:
    detail = spread.detail(document)
    if not detail.rows:
        return []
    return [_section("Spread of the runs", _folded("median, minimum and maximum of each figure", detail))]


def _machine(document: Document) -> str:
    machine = document.machine
    memory = units.size(machine["memory_bytes"])
    return f"{document.runs} runs of each, on {machine['cpu']}, {machine['cpus']} CPUs, {memory}."
