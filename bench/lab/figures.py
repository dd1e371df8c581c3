# SPDX-License-Identifier: MIT
"""The verdicts in docs/lab.md and the tables in docs/lab-measured.md, of bench/results/lab-*.json."""

import math
from collections.abc import Mapping
from typing import Any

import documents
from heapwright.lab import catalogue, findings, tables
from heapwright.measure.experiment import Experiment, Part
from heapwright.report import markdown, units
from taken import Figure, Take, each, fields, only

Record = Mapping[str, Any]


def taken(experiment: Experiment) -> Take:
    """Of each case and allocator the summaries of the figures that the experiment shows."""
    shown = only(*dict.fromkeys(figure.key for part in experiment.parts for figure in part.figures))
    names = ("median", "spread", "runs", "rank")
    summary = each(lambda of: Figure({name: of[name] for name in names}))
    result = fields({"summary": lambda found: summary(shown(found))}, but=("runs", "control_runs", "series"))
    case = fields({"noise": shown, "results": each(result)})
    part = fields({"cases": each(case)})
    return fields({"experiments": each(fields({"parts": each(part)}))}, but=("missing",))


def in_markdown(shown: tables.Shown) -> list[str]:
    rows = [
        [row.name, *(f"**{text}**" if is_best else text for text, is_best in row.cells)] for row in shown.rows
    ]
    return markdown.table(["", *shown.headings], rows)


def section(experiment: Experiment, document: Record, name: str) -> list[str]:
    (record,) = document["experiments"]
    lines = [f"### {experiment.title} (`heapwright lab {experiment.name}`)", ""]
    lines += [documents.figures_of(name), ""]
    lines += [" ".join(experiment.explained), "", f"*Reported:* {experiment.reported}", ""]
    parts = {part.name: part for part in experiment.parts}
    for part_record in record["parts"]:
        part = parts[part_record["name"]]
        lines += [f"*Seen here, {part.title}:* {findings.seen(part, part_record)}", ""]
        load = tables.of_load(part, part_record)
        lines += in_markdown(load) if load else []
        for of_all, columns in tables.of_allocators(part, part_record):
            noise = units.number(findings.noise_of(part_record, of_all or tables.shown_figure(part)), "share")
            what = f"{of_all.label}; " if of_all else ""
            lines += [f"{what}{part_record['runs']} runs, noise floor up to {noise}:", ""]
            lines += in_markdown(tables.by_allocator(columns, document["allocators"]))
    return [*lines, f"*For your program:* {experiment.meaning}", ""]


def machine_line(machine: Record) -> str:
    virtual = " (virtual)" if machine["is_virtual"] else ""
    memory = units.number(machine["memory_bytes"], "bytes")
    return (
        f"Measured on {machine['cpu']}{virtual}, {machine['cpus']} CPUs, {memory}, {machine['system']}, "
        f"Linux {machine['kernel']}, {machine['libc']}, "
        f"transparent huge pages {machine['transparent_huge_pages']}, "
        f"load average {machine['load_average']} at the start. "
        "Bold marks the best and all that equal it within the noise, if something is worse beyond it."
        " Nothing is bold after a single run."
    )


def measured() -> list[tuple[Experiment, Record, str]]:
    """Each experiment that has results: it, its document and the name of that."""
    names = [(experiment, f"lab-{experiment.name}") for experiment in catalogue.EXPERIMENTS]
    found = [(experiment, documents.read_if_there(name), name) for experiment, name in names]
    return [(experiment, document, name) for experiment, document, name in found if document]


def heads(found: list[tuple[Experiment, Record, str]]) -> list[str]:
    """On what all of it was measured, and of which code."""
    records = [document for _, document, _ in found]
    return [machine_line(records[0]["machine"]), "", documents.said(records), ""] if found else []


def gaps_of(part: Part, record: Record) -> list[tuple[float, str]]:
    """Of each case of a part: how many times its worst allocator is apart from its best, and in words."""
    figure = part.figures[0]
    found = []
    for case in record["cases"]:
        rows = findings.ranked(case, figure)
        values = [value for _, value, _ in rows]
        if not values or rows[0][2] == rows[-1][2]:
            continue
        best, last = (f"{name} {units.number(value, figure.unit)}" for name, value, _ in (rows[0], rows[-1]))
        times = max(values) / min(values) if min(values) > 0 else math.inf
        found.append((times, f"{figure.label}, {case['name']}: {best}, {last}"))
    return found


def verdict_of(experiment: Experiment, document: Record) -> str:
    """The widest gap between allocators, or between the ways where no allocator matters."""
    (record,) = document["experiments"]
    parts = {part.name: part for part in experiment.parts}
    pairs = [(parts[one["name"]], one) for one in record["parts"]]
    gaps = [gap for part, one in pairs if not part.figures[0].of_load for gap in gaps_of(part, one)]
    return max(gaps)[1] if gaps else findings.seen(*pairs[0])


def verdicts() -> str:
    found = measured()
    rows = [
        [f"`{experiment.name}`", experiment.title, verdict_of(experiment, document)]
        for experiment, document, _ in found
    ]
    return "\n".join(
        markdown.table(["lab", "what it is about", "the widest gap seen here: best, last"], rows, "lll")
    )


def render() -> str:
    found = measured()
    lines = heads(found)
    for experiment, document, name in found:
        lines += section(experiment, document, name)
    return "\n".join(lines)


TAKEN = {f"lab-{experiment.name}": taken(experiment) for experiment in catalogue.EXPERIMENTS}
BLOCKS = [
    documents.marked("docs/lab.md", "verdicts", verdicts),
    documents.marked("docs/lab-measured.md", "results", render),
]
