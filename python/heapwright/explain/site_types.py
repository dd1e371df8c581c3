# SPDX-License-Identifier: MIT
"""What the blocks of a site are, in every table of sites."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from heapwright.model.block_types import MostType, by_site
from heapwright.report.columns import Column, fields_of

if TYPE_CHECKING:
    from heapwright.explain.report import Answer, Report


class SiteTypes:
    """The types of the blocks of some sites of a report."""

    def __init__(self, report: Report, sites: Collection[int]) -> None:
        """sites: numbers."""
        self._site_of_stack = report.sites.site_of_stack
        stacks: list[int] = []
        if not report.sites.is_no_code:
            calls = report.facts.stacks["allocations"].tolist()
            stacks = [
                stack for stack, site in enumerate(self._site_of_stack) if site in sites and calls[stack]
            ]
        self._types = report.trace.types_of(stacks) if stacks else {}
        self.are_known = any(self._types.values())

    def complete(self, records: Sequence[Answer], weights: Sequence[int]) -> None:
        """Adds "type" to these rows where one is known. weights: by stack, what their shares are of."""
        found = by_site(self._site_of_stack, self._types, weights)
        for record in records:
            if record["site"] in found:
                record["type"] = found[record["site"]]._asdict()


_UNITS = {"name": "text", "share": "share", "is_most": "flag"}
FIGURES: tuple[Column, ...] = tuple(
    column._replace(unit=_UNITS.get(column.key, "count")) for column in fields_of(MostType)
)


def in_words(row: Answer) -> str:
    """A site's type in a table; "" if none is known.

    >>> in_words({"type": {"name": "Widget", "weight": 6, "share": 0.6, "others": 3, "is_most": True}})
    'Widget, 3 more'
    >>> in_words({"type": {"name": "Widget", "weight": 1, "share": 0.2, "others": 1, "is_most": False}})
    'partly Widget'
    """
    if not row.get("type"):
        return ""
    found = MostType(**row["type"])
    others = found.others if found.is_most else found.others - 1  # what is not known is said by the word
    more = f", {others} more" if others else ""
    return f"{'' if found.is_most else 'partly '}{found.name}{more}"
