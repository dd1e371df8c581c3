# SPDX-License-Identifier: MIT
"""Which sites requested the most bytes?"""

from __future__ import annotations

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, share
from heapwright.explain.tables import sites
from heapwright.report import units
from heapwright.report.columns import OPEN, Column


def _gist(answer: Answer) -> str:
    for site in answer["sites"][:1]:
        return f"{units.size(answer['bytes'])}, {units.percent(site['share'])} of it by {site['name']}"
    return ""


# Volume alone is not a finding: calls and time are.
QUESTION = Question(
    "volume",
    "Most bytes allocated",
    (Column("bytes", "bytes", value="facts.totals.requested_bytes", sampled="bytes"),),
    (
        sites(
            Column("bytes", "bytes", "bytes", sampled="bytes"),
            Column("share", "share", "share", lambda site, of: share(site.bytes, of["bytes"])),
            Column("allocations", "count", "calls", sampled="allocations"),
            Column(
                "mean_bytes",
                "bytes",
                "mean",
                lambda site, _: site.bytes // max(1, site.allocations),
                sampled=OPEN,
            ),
            most=lambda site: site.bytes,
        ),
    ),
    gist=_gist,
)
