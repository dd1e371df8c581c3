# SPDX-License-Identifier: MIT
"""The matrix of docs/systems.md, of bench/results/matrix.json."""

import documents
from heapwright.report import markdown
from taken import fields

TAKEN = {"matrix": fields({})}
COLUMNS = ("record", "--pid", "count", "stacks", "residency", "kernel events", "replay")


def render() -> str:
    """A row for each system and allocator; "no" and a number where it is no, and why below."""
    result = documents.read("matrix")
    reasons: list[str] = []

    def cell(text: str) -> str:
        if text == "yes":
            return text
        why = _without_names(text)
        if why not in reasons:
            reasons.append(why)
        return f"no ({reasons.index(why) + 1})"

    named = ("system", "libc", "linked", "allocator")
    rows = [
        [*(row[of] for of in named), *(cell(row["cells"][of]) for of in COLUMNS)] for row in result["rows"]
    ]
    heads = ["system", "C library", "linked", "allocator", *COLUMNS]
    lines = [
        *markdown.table(heads, rows, "l" * len(heads)),
        *([""] if reasons else []),
        *(f"{number}. {why}" for number, why in enumerate(reasons, 1)),
        "",
        documents.machine_of(result) + ". " + documents.said([result]),
    ]
    return "\n".join(lines)


def _without_names(text: str) -> str:
    """What was said, without the process and the file it was said of."""
    said = text.removeprefix("heapwright: ")
    if said.startswith("process "):
        said = said.partition(": ")[2]
    if " cannot be replayed" in said:
        said = f"it cannot be replayed{said.partition(' cannot be replayed')[2]}"
    return said.partition(" in linked")[0]


BLOCKS = [documents.below("docs/systems.md", "matrix", render)]
