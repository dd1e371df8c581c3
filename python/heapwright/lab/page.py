# SPDX-License-Identifier: MIT
"""Results as an offline page, without a script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from heapwright.lab import findings, tables
from heapwright.measure.allocators import OURS
from heapwright.measure.experiment import Experiment, Figure, Part, Plot
from heapwright.report import chart, html, units
from heapwright.report.markup import Child, Markup, joined, tag

Record = Mapping[str, Any]
_OWN_STYLE = Path(__file__).parent / "page.css"
_OURS, _OTHERS = 3, (2, 4, 5, 6, 7, 8)  # colours of curves; ours is the bars' blue


def render(experiments: Sequence[Experiment], document: Record) -> str:
    """The whole page as text."""
    by_name = {experiment.name: experiment for experiment in experiments}
    chosen = [(by_name[record["name"]], record) for record in document["experiments"]]
    contents = [tag("li", tag("a", experiment.title, href=f"#{experiment.name}")) for experiment, _ in chosen]
    body = [
        tag("h1", "heapwright lab"),
        tag("p", _lead(document), class_="lead"),
        _pairs(_circumstances(document)),
        tag("ul", *contents, class_="contents"),
        *(_section(experiment, record, document) for experiment, record in chosen),
    ]
    return html.page("heapwright lab", _OWN_STYLE, body)


def _lead(document: Record) -> str:
    return (
        f"Experiments on heap cost, run on {len(document['allocators'])} allocators. Every repetition is a "
        "fresh process, the allocators alternate, and a figure is the median of the runs; ± is the median "
        f"distance from it. {tables.BEST} marks the best and those equal to it: a difference within the "
        "spread, or below the noise of an allocator against itself, does not count. If all are equal, or "
        "ran once, nothing is marked."
    )


def _circumstances(document: Record) -> Iterable[tuple[str, Child]]:
    machine = document["machine"]
    yield (
        "machine",
        f"{machine['cpu']}{' (virtual)' if machine['is_virtual'] else ''}, {machine['cpus']} CPUs, "
        f"{units.number(machine['memory_bytes'], 'bytes')}, {machine['system']}, Linux {machine['kernel']}, "
        f"{machine['libc']}, huge pages {machine['transparent_huge_pages']}",
    )
    yield "allocators", ", ".join(tables.title_of(allocator) for allocator in document["allocators"])
    if document["missing"]:
        yield (
            "not installed",
            ", ".join(f"{one['name']} ({one['brought_by']})" for one in document["missing"]),
        )
    pinned = document["pinned_to"]
    where = "" if pinned is None else f", single-threaded loads pinned to CPU {pinned}"
    yield "load", f"seed {document['seed']}, scale {document['scale']}{where}"


def _pairs(pairs: Iterable[tuple[str, Child]]) -> Markup:
    terms = (joined(tag("dt", name), tag("dd", text)) for name, text in pairs)
    return tag("dl", *terms, class_="pairs")


def _section(experiment: Experiment, record: Record, document: Record) -> Markup:
    parts = {part.name: part for part in experiment.parts}
    found = [(parts[part["name"]], part) for part in record["parts"]]
    problem = record.get("problem")
    return tag(
        "section",
        tag("h2", experiment.title),
        tag("p", " ".join(experiment.explained), class_="lead"),
        *([tag("p", f"Did not finish: {problem}", class_="warning red")] if problem else []),
        _pairs(
            [
                ("reported", experiment.reported),
                ("seen here", joined(*_seen(found))),
                ("for your program", experiment.meaning),
            ]
        ),
        *(child for part, part_record in found for child in _part(part, part_record, document)),
        tag("p", "Run it: ", tag("code", f"heapwright lab {experiment.name}"), class_="note"),
        id=experiment.name,
    )


def _seen(found: Sequence[tuple[Part, Record]]) -> Iterable[Markup]:
    for part, record in found:
        title = tag("b", f"{part.title}. ") if len(found) > 1 else ""
        yield tag("p", title, findings.seen(part, record))


def _part(part: Part, record: Record, document: Record) -> Iterable[Markup]:
    names = [allocator["name"] for allocator in document["allocators"]]
    yield tag("h3", part.title)
    for plot in part.plots:
        yield tag(
            "figure", tag("figcaption", f"{plot.title}: {plot.y_title}"), _picture(plot, part, record, names)
        )
    load = tables.of_load(part, record)
    if load:
        yield _table("For every allocator", load)
    for title, shown in _by_allocator(part, record, document):
        yield _table(title, shown)
    noise = findings.noise_of(record, tables.shown_figure(part))
    yield tag("p", f"{record['runs']} runs of each; noise floor up to {100 * noise:.2g} %.", class_="note")


def _by_allocator(part: Part, record: Record, document: Record) -> Iterable[tuple[str, tables.Shown]]:
    """One table with all figures, or, where there are several cases, one per figure; with their titles."""
    figures = [figure for figure in part.figures if not figure.of_load]
    cases, allocators = record["cases"], document["allocators"]
    if len(cases) == 1:
        columns = [(f"{figure.label} {_arrow(figure)}", cases[0], figure) for figure in figures]
        yield "", tables.by_allocator(columns, allocators)
        return
    for figure in figures:
        columns = [(case["name"], case, figure) for case in cases]
        yield f"{figure.label} {_arrow(figure)}", tables.by_allocator(columns, allocators)


def _arrow(figure: Figure) -> str:
    return "(lower is better)" if figure.better == "lower" else "(higher is better)"


def _table(title: str, shown: tables.Shown) -> Markup:
    head = [
        tag("th", shown.first, class_="text"),
        *(tag("th", text, class_="num") for text in shown.headings),
    ]
    rows = [
        tag(
            "tr",
            tag("td", tables.name_of(row), class_="text nowrap"),
            *(
                tag(
                    "td",
                    f"{tables.BEST} {text}" if is_best else text,
                    class_="num best" if is_best else "num",
                )
                for text, is_best in row.cells
            ),
            class_="ours" if row.is_ours else None,
        )
        for row in shown.rows
    ]
    caption = [tag("caption", title)] if title else []
    made = tag("table", *caption, tag("thead", tag("tr", *head)), tag("tbody", *rows))
    return tag("div", made, class_="scroll")


def _picture(plot: Plot, part: Part, record: Record, allocators: Sequence[str]) -> Markup:
    if plot.kind == "bars":
        figure = next(figure for figure in part.figures if figure.key == plot.y)
        return _bars(plot, figure, record, allocators)
    lines = (
        _series(plot, part, record, allocators) if plot.kind == "series" else _cases(plot, record, allocators)
    )
    drawn = [
        chart.Curve(name, points, _OURS if _is_ours(name) else _OTHERS[number % len(_OTHERS)])
        for number, (name, points) in enumerate(lines)
    ]
    across = chart.Axis(units.count, plot.x_title, plot.log_x)
    return chart.curves(drawn, across, chart.Axis(units.count, is_log=plot.log_y), plot.title)


def _is_ours(name: str) -> bool:
    return name == OURS or "(ours)" in name


def _bars(plot: Plot, figure: Figure, record: Record, allocators: Sequence[str]) -> Markup:
    groups = []
    for case in record["cases"]:
        bars = []
        for name in allocators:
            summary = findings.result_of(case, name)["summary"].get(plot.y)
            value, spread = (summary["median"], summary["spread"]) if summary else (None, 0.0)
            text, _ = tables.cell(case, name, figure)
            bars.append(chart.Bar(name, value, spread, text, _is_ours(name)))
        groups.append((case["name"] if len(record["cases"]) > 1 else "", bars))
    return chart.bars(groups, plot.log_y)


Line = tuple[str, list[tuple[float, float]]]


def _cases(plot: Plot, record: Record, allocators: Sequence[str]) -> Iterable[Line]:
    for name in allocators:
        found = [
            (case["x"], findings.result_of(case, name)["summary"].get(plot.y)) for case in record["cases"]
        ]
        yield name, [(x, summary["median"]) for x, summary in found if summary]


def _series(plot: Plot, part: Part, record: Record, allocators: Sequence[str]) -> Iterable[Line]:
    cases = {case["name"]: case for case in record["cases"]}
    if plot.lines == "cases":
        chosen = [(name, findings.result_of(case, allocators[0])) for name, case in cases.items()]
    else:
        case = cases[plot.case or part.cases[0].name]
        chosen = [(name, findings.result_of(case, name)) for name in allocators]
    for name, result in chosen:
        series = result["series"]
        yield name, list(zip(series.get(plot.x, []), series.get(plot.y, []), strict=True))
