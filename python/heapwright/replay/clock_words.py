# SPDX-License-Identifier: MIT
"""Text about candidates whose memory depends on when they return it."""

from __future__ import annotations

from heapwright.measure.verdict import UNKNOWN
from heapwright.replay.figures import FIGURES, Figure
from heapwright.replay.result import Document, Judged, Outcome
from heapwright.report import units


def _is_open(candidate: Outcome, figure: Figure) -> bool:
    return candidate.has_verdict(figure.key, UNKNOWN) and candidate.figures[figure.key].at_once is not None


def is_open(document: Document, figure: Figure) -> bool:
    """Whether a verdict depends on the clock."""
    return any(_is_open(candidate, figure) for candidate in document.candidates)


def about(document: Document) -> list[str]:
    """A line for each candidate whose verdict does."""
    lines = []
    for candidate in document.candidates:
        ends = [
            f"{figure.label} {_ends(candidate.figures[figure.key])}"
            for figure in FIGURES
            if _is_open(candidate, figure)
        ]
        if ends:
            lines.append(
                f"{candidate.name} returns memory by the clock, which decides figures with ?: "
                f"{'; '.join(ends)}."
            )
    return lines


def _ends(found: Judged) -> str:
    at_once = f"{units.size(found.at_once or 0)} if at once"
    return at_once if found.never is None else f"{at_once}, {units.size(found.never)} if never"
