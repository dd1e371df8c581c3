#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the results in docs/lab.md from bench/results/lab-*.json; no figure there is typed by hand.

Without options prints them; --write puts them between the marks in the
document; --check fails when the document and the results disagree.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heapwright.lab import catalogue, findings, tables, words
from heapwright.lab.experiment import Experiment, Part

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

document_path = project / "docs/lab.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
Record = Mapping[str, Any]


def markdown_table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def load_table(part: Part, record: Record) -> list[str]:
    figures = [figure for figure in part.figures if figure.of_load]
    rows = []
    for case in record["cases"]:
        summary = case["results"][0]["summary"]
        values = [words.number(summary.get(f.key, {}).get("median"), f.unit) for f in figures]
        rows.append([case["name"], *values])
    return markdown_table(["", *(figure.label for figure in figures)], rows)


def allocator_table(part: Part, record: Record, document: Record) -> list[str]:
    columns = tables.columns_of(part, record)
    rows = []
    for allocator in document["allocators"]:
        row = [f"{allocator['name']} {allocator['version']}"]
        for _, case, figure in columns:
            text, is_best = tables.cell(case, allocator["name"], figure)
            row.append(f"**{text}**" if is_best else text)
        rows.append(row)
    return markdown_table(["", *(heading for heading, _, _ in columns)], rows)


def section(experiment: Experiment, document: Record, path: Path) -> list[str]:
    (record,) = document["experiments"]
    lines = [f"### {experiment.title} (`heapwright lab {experiment.name}`)", ""]
    lines += [f"<!-- figures: {path.relative_to(project).as_posix()} -->", ""]
    lines += [" ".join(experiment.explained), "", f"*Reported:* {experiment.reported}", ""]
    parts = {part.name: part for part in experiment.parts}
    for part_record in record["parts"]:
        part = parts[part_record["name"]]
        lines += [f"*Seen here, {part.title}:* {findings.seen(part, part_record)}", ""]
        if any(figure.of_load for figure in part.figures):
            lines += load_table(part, part_record)
        shown = tables.shown_figure(part)
        noise = words.number(findings.noise_of(part_record, shown), "share")
        what = "" if len(part_record["cases"]) == 1 else f"{shown.label}; "
        lines += [f"{what}{part_record['runs']} runs, noise floor up to {noise}:", ""]
        lines += allocator_table(part, part_record, document)
    return [*lines, f"*For your program:* {experiment.meaning}", ""]


def machine_line(machine: Record) -> str:
    virtual = " (virtual)" if machine["is_virtual"] else ""
    memory = words.number(machine["memory_bytes"], "bytes")
    return (
        f"Measured on {machine['cpu']}{virtual}, {machine['cpus']} CPUs, {memory}, {machine['system']}, "
        f"Linux {machine['kernel']}, {machine['libc']}, "
        f"transparent huge pages {machine['transparent_huge_pages']}, "
        f"load average {machine['load_average']} at the start. "
        "Bold is the best and what equals it within the noise, where something is worse beyond it."
        " Nothing is bold after a single run."
    )


def render() -> str:
    lines: list[str] = []
    documents: list[Record] = []
    for experiment in catalogue.EXPERIMENTS:
        path = project / f"bench/results/lab-{experiment.name}.json"
        if not path.is_file():
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        documents.append(document)
        lines += section(experiment, document, path)
    if documents:
        lines = [machine_line(documents[0]["machine"]), "", sources.said(documents), "", *lines]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rendered = render()
    if not options.write and not options.check:
        print(rendered)
        return 0
    text = document_path.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}\n{rendered}\n{END}{after}"
    if options.check and wanted != text:
        print("docs/lab.md disagrees with bench/results/lab-*.json; type: bench/lab/render.py --write")
        return 1
    if options.write:
        document_path.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
