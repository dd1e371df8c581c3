# SPDX-License-Identifier: MIT
"""The table of docs/systems.md, of bench/results/systems.json."""

from collections.abc import Mapping
from typing import Any

import documents
from heapwright.report import markdown
from taken import fields

TAKEN = {"systems": fields({})}


def _whole(one: Mapping[str, Any]) -> str:
    return f"{one['stacks'] - one['too_deep'] - one['cut']:,} of {one['stacks'] - one['too_deep']:,}"


def render() -> str:
    """What was recorded in each system, and whether the programs noticed."""
    result = documents.read("systems")
    rows = [
        [
            system,
            found["libc"],
            name,
            f"{one['calls']:,}",
            f"{one['dropped']:,}",
            _whole(one),
            "yes" if one["is_same_recorded"] else "no",
            "yes" if one["is_same_counted"] else "no",
        ]
        for system, found in result["systems"].items()
        for name, one in found["programs"].items()
    ]
    heads = [
        "Debian",
        "C library",
        "program",
        "calls",
        "dropped",
        "whole stacks",
        "same, recorded",
        "same, counted",
    ]
    lines = [
        *markdown.table(heads, rows, "lllrrrll"),
        "",
        documents.machine_of(result) + ". " + documents.said([result]),
    ]
    return "\n".join(lines)


BLOCKS = [documents.below("docs/systems.md", "systems", render)]
