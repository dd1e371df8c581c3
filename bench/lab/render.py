#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the results in docs/lab.md from bench/results/lab-*.json; no figure there is typed by hand.

The results stand between two marks in the document; options as in bench/documents.py.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heapwright.lab import catalogue, findings, tables
from heapwright.measure.experiment import Experiment
from heapwright.report import markdown, units

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

document_path = project / "docs/lab.md"
Record = Mapping[str, Any]


def in_markdown(shown: tables.Shown) -> list[str]:
    rows = [
        [row.name, *(f"**{text}**" if is_best else text for text, is_best in row.cells)] for row in shown.rows
    ]
    return markdown.table(["", *shown.headings], rows)


def section(experiment: Experiment, document: Record, path: Path) -> list[str]:
    (record,) = document["experiments"]
    lines = [f"### {experiment.title} (`heapwright lab {experiment.name}`)", ""]
    lines += [f"<!-- figures: {path.relative_to(project).as_posix()} -->", ""]
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
        path = project / f"bench/results/lab-{experiment.name}.json"
        if not path.is_file():
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        found.append(document)
        lines += section(experiment, document, path)
    if found:
        lines = [machine_line(found[0]["machine"]), "", sources.said(found), "", *lines]
    return "\n".join(lines)


def main() -> int:
    return documents.give_results(document_path, render())


if __name__ == "__main__":
    sys.exit(main())
