# SPDX-License-Identifier: MIT
"""Text about candidates whose memory depends on when they return it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heapwright.measure.verdict import UNKNOWN
from heapwright.replay.decision import FIGURES, Figure
from heapwright.report import units


def _is_open(candidate: Mapping[str, Any], figure: Figure) -> bool:
    found = candidate["figures"].get(figure.key)
    return found is not None and found["verdict"] == UNKNOWN and found["at_once"] is not None


def is_open(document: Mapping[str, Any], figure: Figure) -> bool:
    """Whether a verdict depends on the clock."""
    return any(_is_open(candidate, figure) for candidate in document["candidates"])


def about(document: Mapping[str, Any]) -> list[str]:
    """A line for each candidate whose verdict does."""
    lines = []
    for candidate in document["candidates"]:
        ends = [
            f"{figure.label} {_ends(candidate['figures'][figure.key])}"
            for figure in FIGURES
            if _is_open(candidate, figure)
        ]
        if ends:
            lines.append(
                f"{candidate['name']} returns memory by the clock, which decides figures with ?: "
                f"{'; '.join(ends)}."
            )
    return lines


def _ends(found: Mapping[str, Any]) -> str:
    at_once = f"{units.size(found['at_once'])} if at once"
    return at_once if found["never"] is None else f"{at_once}, {units.size(found['never'])} if never"
