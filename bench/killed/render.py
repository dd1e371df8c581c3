#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a table in docs/count.md from bench/results/killed.json; no figure there is typed by hand.

It stands between two marks in the document; options as in bench/documents.py.
"""

import json
import sys
from pathlib import Path

from heapwright.report import markdown

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

document_path = project / "docs/count.md"
results_path = project / "bench/results/killed.json"


def render() -> str:
    """The table."""
    document = json.loads(results_path.read_text(encoding="utf-8"))
    rows = [
        [
            f"{document['threads']} threads, {name}",
            f"{found['span_ms']:.0f} ms",
            str(found["kills"]),
            str(found["ended"]),
            f"{found['span_ms'] * found['ended'] / found['kills']:.1f} ms",
        ]
        for name, found in document["processes"].items()
    ]
    lines = [
        f"<!-- figures: {results_path.relative_to(project).as_posix()} -->",
        "",
        "`kill -9` of heapwright-attach at even moments from its start on, on "
        f"{document['machine']['cpus']} CPUs with load average {document['machine']['load_average']}:",
        "",
        sources.said([document]),
        "",
        *markdown.table(
            ["process", "within", "kills", "processes that ended", "dangerous time of an attach"], rows
        ),
    ]
    return "\n".join(lines)


def main() -> int:
    """The exit code."""
    return documents.give_results(document_path, render(), "killed")


if __name__ == "__main__":
    sys.exit(main())
