# SPDX-License-Identifier: MIT
"""The table of killed attachers in docs/count.md, of bench/results/killed.json."""

import documents
from heapwright.report import markdown
from taken import as_is


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


TAKEN = {"killed": as_is}
BLOCKS = [documents.marked("docs/count.md", "killed", render)]
