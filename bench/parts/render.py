#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/parts/performance.md from bench/results/parts-*.json; no figure in it is typed by hand.

Without options prints it; --write writes it; --check fails when they disagree.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

project = Path(__file__).resolve().parents[2]
results = project / "bench/results"
document = project / "docs/parts/performance.md"
ours = ("heapwright", "heapwright_compact")
Rows = list[dict[str, Any]]

vector_text = {
    "fill_mostly_small": "1,000 vectors, 50 % empty, 49 % one element, 1 % eight; per vector",
    "build_7_inline": "build a vector of 7 inline numbers; per element",
    "push_back_1000": "1,000 numbers into one vector; per element",
    "push_back_1000_bytes": "1,000 bytes into one vector; per element",
    "random_index": "dependent random `[]`; per access",
    "sum_inline": "sum 1,000 vectors of 3; per element",
    "move_inline": "move a vector of 4 inline numbers; per move",
    "insert_front_strings": "64 strings, each inserted at the front; per insertion",
}


def load(name: str) -> tuple[dict[str, Any], Any]:
    found = json.loads((results / f"parts-{name}.json").read_text(encoding="utf-8"))
    return found["machine"], found["results"]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def medians(rows: Rows, field: str, group: str = "library") -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        found.setdefault(str(row.get("name", "")), {}).setdefault(str(row[group]), []).append(
            float(row[field])
        )
    return {name: {g: statistics.median(v) for g, v in groups.items()} for name, groups in found.items()}


def vector_lines(rows: Rows) -> list[str]:
    by_name = medians(rows, "ns")
    libraries = list(next(iter(by_name.values())))
    body, losses = [], []
    for name, values in by_name.items():
        best = min(values.values())
        cells = [f"**{values[x]:.2f}**" if values[x] == best else f"{values[x]:.2f}" for x in libraries]
        body.append([vector_text.get(name, name), *cells])
        better = [x for x in libraries if x not in ours and values[x] < 0.97 * values["heapwright"]]
        if better:
            said = ", ".join(f"{x} ({values['heapwright'] / values[x]:.2f}×)" for x in better)
            losses.append(f"- {vector_text.get(name, name)}: {said}")
    fill = by_name["fill_mostly_small"]
    lines = table(["ns, median", *libraries], body)
    lines += [
        f"Filling mostly small vectors: {fill['std'] / fill['heapwright']:.1f} × as fast as `std::vector`.",
        "",
    ]
    if losses:
        lines += ["Where another library is faster than `small_vector`, and by how much:", "", *losses, ""]
    return lines


def object_lines(rows: Rows) -> list[str]:
    by_name = medians(rows, "ns")
    values = by_name["objects"]
    body = [[x, f"{ns:.2f}", f"{values['std'] / ns:.1f}"] for x, ns in values.items()]
    lines = table(["100,000 objects of 104 bytes, made and freed", "ns per object", "× new and delete"], body)
    names = sorted((n for n in by_name if n.startswith("buffers/")), key=lambda n: int(n.split("/")[1]))
    body = [[n.split("/")[1], f"{by_name[n]['std']:.1f}", f"{by_name[n]['heapwright']:.1f}"] for n in names]
    lines += table(["buffer taken and given back, bytes", "operator new, ns", "buffer_cache, ns"], body)
    return [*lines, f"`deferred_free::defer`: {by_name['defer_only']['heapwright']:.1f} ns.", ""]


def figure_lines(found: dict[str, Any]) -> list[str]:
    body = []
    for row in found["caches"]:
        percents = [f"{row['hit_percent']:.1f}", f"{row['used_percent']:.1f}"]
        body.append([row["policy"], row["load"], *percents, f"{row['peak_retained_bytes']:,}"])
    lines = ["## buffer_cache on the poisoning load", ""]
    lines += table(["policy", "load", "hits %", "used %", "most bytes held"], body)
    pool = found["pool"]
    lines += ["## object_pool after one spike in each of 1,000 objects", ""]
    lines += table(["", "bytes retained"], [[name.replace("_", " "), f"{n:,}"] for name, n in pool.items()])
    lines += ["## Sizes", ""]
    lines += table(["type", "bytes"], [[f"`{name}`", str(n)] for name, n in found["sizes"].items()])
    count = found["defer_instructions"]
    lines += [f"Enqueueing a deferred free takes {count:.1f} instructions (callgrind).", ""]
    return lines


def compile_lines(rows: Rows) -> list[str]:
    seconds = medians(rows, "cpu_seconds")[""]
    text = medians(rows, "text_bytes")[""]
    body = [[x, f"{seconds[x]:.2f}", f"{text[x]:.0f}"] for x in seconds]
    return table(["library", "CPU seconds to compile", "bytes of code"], body)


def render() -> str:
    machine, vectors = load("vectors")
    lines = [
        "# How fast the parts are",
        "",
        "Made by `bench/parts/render.py` from the results in `bench/results/`, which",
        "`bench/parts/measure.py` writes: one process for each library, in turns, medians.",
        "Lower is better; the best is bold.",
        "",
        f"Machine: {machine['cores']} cores, {machine['cpu']}; {machine['compiler']}, -O2; load average "
        f"{machine['load_before']} before, {machine['load_after']} after.",
        "Libraries as in Debian 12: Boost 1.74, Abseil 20220623, LLVM 19.",
        "",
        "## small_vector",
        "",
        *vector_lines(vectors),
        "### Build time and code size",
        "",
        "One function that pushes, inserts, erases and resizes.",
        "",
        *compile_lines(load("compile")[1]),
        "## arena, buffer_cache, deferred_free",
        "",
        *object_lines(load("objects")[1]),
        *figure_lines(load("figures")[1]),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = render()
    if args.write:
        document.write_text(text, encoding="utf-8")
    elif args.check:
        if not document.exists() or document.read_text(encoding="utf-8") != text:
            print("docs/parts/performance.md differs from the results: run bench/parts/render.py --write")
            return 1
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
