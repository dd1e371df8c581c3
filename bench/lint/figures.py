# SPDX-License-Identifier: MIT
"""The tables in docs/lint.md and docs/lint-checks.md: kinds and checks from the code, results
from bench/results/lint.json and lint_checks.json.
"""

import json
from collections.abc import Iterable
from functools import partial
from typing import Any

import documents
from heapwright.lint.checks.kinds import CHECKS, STOCK
from heapwright.lint.kinds import RECORDED, Kind
from heapwright.report import markdown, units
from taken import counted, each, fields, only

judged_path = documents.bench / "lint/judged.json"
judged_checks_path = documents.bench / "lint/judged_checks.json"


def kinds(known: Iterable[Kind]) -> str:
    """A table of them."""
    rows = [[f"`{kind.rule_id}`", kind.what, kind.fix, kind.when_not] for kind in known]
    lines = markdown.table(["id", "what", "fix", "not if"], rows)
    lines[1] = "|---|---|---|---|"
    return "\n".join(lines).rstrip()


def results() -> str:
    """What was measured, and what was judged."""
    document = documents.read("lint")
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
        documents.figures_of("lint"),
        "",
        documents.said([document]),
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
    document = documents.read("lint_checks")
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
        documents.figures_of("lint_checks"),
        "",
        documents.said([document]),
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
    middle = {name: of["median"] for name, of in row["cpu_seconds"].items()}
    return (
        f"Lint took {middle['lint']:.1f} s of CPU time over {row['files']} files of {row['package']} "
        f"that must be parsed, `clang -fsyntax-only` (clang {row['clang']}) "
        f"{middle['clang']:.1f} s over the same files: {row['ratio']:.2f} times. "
        f"Medians of {row['cpu_seconds']['lint']['runs']} runs in turns."
    )


coverage = fields({"not_explained": lambda rows: each(fields({}, but=("where",)))(rows[:2])})
TAKEN = {
    "lint": fields(
        {
            "bases": each(fields({"coverage": coverage}, but=("notes",))),
            "sample": each(only("base", "id", "rule", "file", "line", "action")),
        }
    ),
    "lint_checks": fields(
        {
            "sample": each(only("package", "id", "rule", "file", "line")),
            "time": fields({"cpu_seconds": each(counted)}),
        },
        but=("found",),
    ),
}
wide = partial(documents.marked, gap="\n\n")
BLOCKS = [
    wide("docs/lint.md", "kinds", partial(kinds, RECORDED)),
    wide("docs/lint.md", "checks", partial(kinds, CHECKS)),
    wide("docs/lint.md", "results", results),
    wide("docs/lint-checks.md", "stock", partial(kinds, STOCK)),
    wide("docs/lint-checks.md", "precision", precision),
]
