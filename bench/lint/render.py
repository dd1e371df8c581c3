#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables in docs/lint.md and docs/lint-checks.md: kinds and checks from the code, results from
bench/results/lint.json and bench/results/lint_checks.json.

Options as in bench/documents.py.
"""

import json
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from heapwright.lint.checks.kinds import CHECKS, STOCK
from heapwright.lint.kinds import RECORDED, Kind
from heapwright.report import markdown, units

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

document_path = project / "docs/lint.md"
results_path = project / "bench/results/lint.json"
judged_path = project / "bench/lint/judged.json"
checks_path = project / "docs/lint-checks.md"
checked_path = project / "bench/results/lint_checks.json"
judged_checks_path = project / "bench/lint/judged_checks.json"


def kinds(known: Iterable[Kind]) -> str:
    """A table of them."""
    rows = [[f"`{kind.rule_id}`", kind.what, kind.fix, kind.when_not] for kind in known]
    lines = markdown.table(["id", "what", "fix", "not if"], rows)
    lines[1] = "|---|---|---|---|"
    return "\n".join(lines).rstrip()


def results() -> str:
    """What was measured, and what was judged."""
    document = json.loads(results_path.read_text(encoding="utf-8"))
    judged = json.loads(judged_path.read_text(encoding="utf-8"))
    rows = [
        [
            f"{name} ({base['does']})",
            units.count(base["coverage"]["allocations"]),
            units.percent(base["coverage"]["explained_share"]),
            str(base["coverage"]["lines"]),
            str(base["coverage"]["files"]),
            "; ".join(
                f"{row['reason']} {units.percent(row['allocations'], base['coverage']['allocations'])}"
                for row in base["coverage"]["not_explained"][:2]
            ),
            f"{base['seconds']:.1f} s",
        ]
        for name, base in document["bases"].items()
    ]
    sample = document["sample"]
    verdicts = [judged["findings"].get(f"{row['base']} {row['id']}") for row in sample]
    missing = [row["id"] for row, verdict in zip(sample, verdicts, strict=True) if verdict is None]
    if missing:
        raise SystemExit(f"{judged_path.name} says nothing of {', '.join(missing)}")
    named = sum(verdict["named"] for verdict in verdicts)
    few = sum("are few" in row["action"] for row in sample)
    fits = sum(verdict["fix"] for verdict in verdicts) - few
    lines = [
        f"<!-- figures: {results_path.relative_to(project).as_posix()} -->",
        "",
        sources.said([document]),
        "",
        *markdown.table(
            ["program", "allocations", "explained", "lines", "files", "the rest, most first", "lint took"],
            rows,
        ),
        f"{len(sample)} of these findings, drawn at random, were read in the sources: {named} name the "
        f"expression, its type and its owner correctly; {few} concern few blocks, of which only the size "
        f"matters; {fits} of the other {len(sample) - few} propose something that works there. "
        f"{judged['before']} Wrong findings:",
        "",
    ]
    for row, verdict in zip(sample, verdicts, strict=True):
        if not (verdict["named"] and verdict["fix"]):
            lines.append(f"- {row['base']} {row['file']}:{row['line']}, `{row['rule']}`: {verdict['why']}")
    return "\n".join(lines).rstrip()


def precision() -> str:
    """What the checks found in packages, and what was judged."""
    document = json.loads(checked_path.read_text(encoding="utf-8"))
    judged = json.loads(judged_checks_path.read_text(encoding="utf-8"))
    rules = [kind.rule_id for kind in CHECKS]
    rows = [
        [
            f"{name} {row['version']}",
            units.count(round(row["lines"] / 1000)),
            row["flags"],
            f"{row['files']:,}",
            f"{row['likely']:,}",
            f"{row['parsed']:,} ({round(row['parsed_lines'] / 1000)} kLOC)",
            str(row["with_errors"]),
            *(str(row["findings"][rule]) for rule in rules),
        ]
        for name, row in document["packages"].items()
    ]
    heads = [
        "package",
        "kLOC",
        "flags",
        "files",
        "likely",
        "parsed",
        "with errors",
        *(f"`{rule}`" for rule in rules),
    ]
    lines = [
        f"<!-- figures: {checked_path.relative_to(project).as_posix()} -->",
        "",
        sources.said([document]),
        "",
        *markdown.table(heads, rows),
        *(line for rule in rules for line in _verdicts(rule, document["sample"], judged)),
    ]
    lines += ["", judged["before"]]
    if "time" in document:
        lines += ["", _time(document["time"])]
    return "\n".join(lines).rstrip()


def _verdicts(rule: str, sample: list[dict[str, Any]], judged: dict[str, Any]) -> list[str]:
    """Of one check: how many were drawn and are right, and what is wrong with the others."""
    drawn = [row for row in sample if row["rule"] == rule]
    verdicts = [judged["findings"].get(f"{row['package']} {row['id']}") for row in drawn]
    missing = [row["id"] for row, verdict in zip(drawn, verdicts, strict=True) if verdict is None]
    if missing:
        raise SystemExit(f"{judged_checks_path.name} says nothing of {', '.join(missing)}")
    if not drawn:
        return [f"- `{rule}`: nothing was found, so its accuracy is unknown."]
    right = sum(verdict["right"] for verdict in verdicts)
    lines = [f"- `{rule}`: {right} of {len(drawn)} drawn are right in shape."]
    lines += [
        f"    - {row['package']} {row['file']}:{row['line']}: {verdict['why']}"
        for row, verdict in zip(drawn, verdicts, strict=True)
        if not verdict["right"]
    ]
    return lines


def _time(row: dict[str, Any]) -> str:
    middle = {name: statistics.median(values) for name, values in row["cpu_seconds"].items()}
    return (
        f"Lint took {middle['lint']:.1f} s of CPU time over {row['files']} files of {row['package']} "
        f"that must be parsed, `clang -fsyntax-only` (clang {row['clang']}) "
        f"{middle['clang']:.1f} s over the same files: {row['ratio']:.2f} times. "
        f"Medians of {len(row['cpu_seconds']['lint'])} runs in turns."
    )


def main() -> int:
    """The exit code."""
    blocks = {
        document_path: {"kinds": kinds(RECORDED), "checks": kinds(CHECKS), "results": results()},
        checks_path: {"stock": kinds(STOCK), "precision": precision()},
    }
    worst = 0
    for path, of in blocks.items():
        text = path.read_text(encoding="utf-8")
        for name, inner in of.items():
            begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
            before, _, rest = text.partition(begin)
            text = f"{before}{begin}\n\n{inner}\n\n{end}{rest.partition(end)[2]}"
        worst = max(worst, documents.give(path, text))
    return worst


if __name__ == "__main__":
    sys.exit(main())
