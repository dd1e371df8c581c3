# SPDX-License-Identifier: MIT
"""The results in docs/lab.md, of bench/results/lab-*.json."""

from collections.abc import Mapping
from typing import Any

import documents
from heapwright.lab import catalogue, findings, tables
from heapwright.measure.experiment import Experiment
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


def render() -> str:
    lines: list[str] = []
    found: list[Record] = []
    for experiment in catalogue.EXPERIMENTS:
        name = f"lab-{experiment.name}"
        document = documents.read_if_there(name)
        if document:
            found.append(document)
            lines += section(experiment, document, name)
    if found:
        lines = [machine_line(found[0]["machine"]), "", documents.said(found), "", *lines]
    return "\n".join(lines)


TAKEN = {f"lab-{experiment.name}": taken(experiment) for experiment in catalogue.EXPERIMENTS}
BLOCKS = [documents.marked("docs/lab.md", "results", render)]
