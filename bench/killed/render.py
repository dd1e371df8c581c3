#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a table in docs/count.md from bench/results/killed.json; no figure there is typed by hand.

It stands between two marks in the document; options as in bench/documents.py.
"""

import sys
from pathlib import Path

from heapwright.report import markdown

sys.path.append(str(Path(__file__).resolve().parents[1]))
import documents


def render() -> str:
    """The table."""
    document = documents.read("killed")
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
        documents.figures_of("killed"),
        "",
        "`kill -9` of heapwright-attach at evenly spaced moments from its start, on "
        f"{document['machine']['cpus']} CPUs with load average {document['machine']['load_average']}:",
        "",
        documents.said([document]),
        "",
        *markdown.table(
            ["process", "within", "kills", "processes that ended", "dangerous time of an attach"], rows
        ),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(documents.give_results(documents.project / "docs/count.md", render(), "killed"))
