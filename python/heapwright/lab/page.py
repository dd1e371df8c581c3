# SPDX-License-Identifier: MIT
"""Results as one offline page: plotly.js inside, nothing fetched."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heapwright.lab import findings, plots, tables
from heapwright.measure.allocators import OURS
from heapwright.measure.errors import MeasureError
from heapwright.measure.experiment import Experiment, Figure, Part
from heapwright.report import units

Record = Mapping[str, Any]


def check_packages() -> None:
    """MeasureError unless the packages that draw the page are installed."""
    for name in ("jinja2", "plotly"):
        if not _is_installed(name):
            raise MeasureError(f"a page needs the package {name}: pip install 'heapwright[lab]'")


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def render(experiments: Sequence[Experiment], document: Record) -> str:
    """The whole page as text."""
    # Slow to import, and needed by this page only.
    from jinja2 import Environment, FileSystemLoader
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    by_name = {experiment.name: experiment for experiment in experiments}
    allocators = [allocator["name"] for allocator in document["allocators"]]
    sections: list[dict[str, Any]] = []
    figures: list[plots.Trace] = []
    for record in document["experiments"]:
        section = _section(by_name[record["name"]], record, document)
        for part in section["parts"]:
            part["plot_ids"] = list(range(len(figures), len(figures) + len(part["figures"])))
            figures += part["figures"]
        sections.append(section)
    return environment.get_template("page.html.j2").render(
        document=document,
        memory=units.number(document["machine"]["memory_bytes"], "bytes"),
        allocators=document["allocators"],
        allocator_names=allocators,
        ours=OURS,
        best=tables.BEST,
        sections=sections,
        figures=_script_json(figures),
        plotly=get_plotlyjs(),
    )


def _script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def _section(experiment: Experiment, record: Record, document: Record) -> dict[str, Any]:
    parts = {part.name: part for part in experiment.parts}
    return {
        "experiment": experiment,
        "problem": record.get("problem", ""),
        "parts": [_part(parts[found["name"]], found, document) for found in record["parts"]],
    }


def _part(part: Part, record: Record, document: Record) -> dict[str, Any]:
    names = [allocator["name"] for allocator in document["allocators"]]
    figure = tables.shown_figure(part)
    return {
        "title": part.title,
        "seen": findings.seen(part, record),
        "runs": record["runs"],
        "noise": f"{100 * findings.noise_of(record, figure):.2g} %",
        "tables": [_load_table(part, record), *_allocator_tables(part, record, document)],
        "figures": [plots.figure_of(plot, part, record, names) for plot in part.plots],
    }


def _load_table(part: Part, record: Record) -> dict[str, Any] | None:
    figures = [figure for figure in part.figures if figure.of_load]
    if not figures:
        return None
    rows = []
    for case in record["cases"]:
        summary = case["results"][0]["summary"]
        cells = [(units.number(summary.get(f.key, {}).get("median"), f.unit), False) for f in figures]
        rows.append({"name": case["name"], "is_ours": "(ours)" in case["name"], "cells": cells})
    headings = [figure.label for figure in figures]
    return {"title": "Whichever allocator serves", "first": "", "headings": headings, "rows": rows}


def _allocator_tables(part: Part, record: Record, document: Record) -> list[dict[str, Any]]:
    """One table with all figures, or, where there are several cases, one per figure."""
    figures = [figure for figure in part.figures if not figure.of_load]
    cases = record["cases"]
    if len(cases) == 1:
        columns = [(f"{f.label} {_arrow(f)}", cases[0], f) for f in figures]
        return [_table("", columns, document)]
    return [
        _table(f"{figure.label} {_arrow(figure)}", [(case["name"], case, figure) for case in cases], document)
        for figure in figures
    ]


def _arrow(figure: Figure) -> str:
    return "(lower is better)" if figure.better == "lower" else "(higher is better)"


def _table(title: str, columns: Sequence[tuple[str, Record, Figure]], document: Record) -> dict[str, Any]:
    rows = [
        {
            "name": f"{allocator['name']} {allocator['version']}",
            "is_ours": allocator["name"] == OURS,
            "cells": [tables.cell(case, allocator["name"], figure) for _, case, figure in columns],
        }
        for allocator in document["allocators"]
    ]
    return {"title": title, "first": "allocator", "headings": [c[0] for c in columns], "rows": rows}
