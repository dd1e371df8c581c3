#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts bench/results/cause.json into docs/truth.md: see bench/documents.py for the options."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

MEBIBYTE = 1 << 20
BLOCK = re.compile(r"(<!-- figures: bench/results/cause\.json -->\n).*?(<!-- /figures -->)", re.DOTALL)


def mebibytes(count: int) -> str:
    return f"{count / MEBIBYTE:.1f}"


def off(truth: dict[str, Any]) -> str:
    """How far what was said is from the truth, of the truth."""
    said, real = truth["said_bytes"], truth["real_bytes"]
    if abs(said - real) < MEBIBYTE:
        return "< 1 MiB"
    return f"{100 * (said - real) / real:+.0f} %" if real > 0 else "said too much"


def row(of: dict[str, Any]) -> str:
    said = f"{of['verdict']}: {of['cause']}" if of["cause"] else of["verdict"]
    truths = "; ".join(
        f"{truth['what']}: {'at most ' if truth['is_bound'] else ''}{mebibytes(truth['said_bytes'])}, "
        f"really {mebibytes(truth['real_bytes'])} ({off(truth)})"
        for truth in of["truths"]
    )
    right = "yes" if of["is_right"] else "**no**"
    return (
        f"| {of['name']} | {of['real']} | {said} | {right} | {mebibytes(of['free_bytes'])} of "
        f"{mebibytes(of['resident_bytes'])} | {truths or '–'} | {of['seconds']:.0f} |"
    )


def main() -> int:
    result = json.loads((project / "bench/results/cause.json").read_text())
    rows = result["scenarios"]
    lines = [
        "| scenario | real cause | said | right | free, MiB | said and found without the recorder, MiB | s |",
        "|---|---|---|---|--:|---|--:|",
        *map(row, rows),
        "",
        f"{sum(of['is_right'] for of in rows)} of {len(rows)} verdicts are right. {sources.said([result])}",
    ]
    document = project / "docs/truth.md"
    text = document.read_text(encoding="utf-8")
    return documents.give(
        document, BLOCK.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], text)
    )


if __name__ == "__main__":
    sys.exit(main())
