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
        "tables": [
            ("With any allocator", tables.of_load(part, record)),
            *_by_allocator(part, record, document),
        ],
        "figures": [plots.figure_of(plot, part, record, names) for plot in part.plots],
    }


def _by_allocator(part: Part, record: Record, document: Record) -> list[tuple[str, tables.Shown]]:
    """One table with all figures, or, where there are several cases, one per figure; with their titles."""
    figures = [figure for figure in part.figures if not figure.of_load]
    cases, allocators = record["cases"], document["allocators"]
    if len(cases) == 1:
        columns = [(f"{figure.label} {_arrow(figure)}", cases[0], figure) for figure in figures]
        return [("", tables.by_allocator(columns, allocators))]
    return [
        (
            f"{figure.label} {_arrow(figure)}",
            tables.by_allocator([(case["name"], case, figure) for case in cases], allocators),
        )
        for figure in figures
    ]


def _arrow(figure: Figure) -> str:
    return "(lower is better)" if figure.better == "lower" else "(higher is better)"
