# SPDX-License-Identifier: MIT
"""Large blocks that are hardly touched: request less."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import LOW, Advice, Rule
from heapwright.model.facts import UntouchedSite
from heapwright.report import units

_LEAST_SHARE = 0.5
_LEAST_BYTES = 8 << 20


def _find(of: Evidence) -> Iterator[Advice]:
    seen: dict[int, list[UntouchedSite]] = {}
    for row in of.facts.untouched:
        seen.setdefault(row.site, []).append(row)
    swapped = sum(scan.swapped_bytes for scan in of.facts.residency)
    for site, rows in seen.items():
        # The scan at which most of the site was touched: others may precede its use.
        least = min(rows, key=lambda row: row.untouched_bytes / row.live_bytes)
        is_much = least.untouched_bytes >= max(_LEAST_BYTES, _LEAST_SHARE * least.live_bytes)
        if swapped or not is_much or of.is_a_pool(site):
            continue
        last = of.facts.residency[least.scan]
        yield Advice(
            (site,),
            f"{units.size(least.untouched_bytes)} of its {units.counted(least.blocks, 'large block')} "
            f"({units.size(least.live_bytes)}) were never touched",
            (
                f"at the scan {units.duration(last.time_ns)} into the run, and no less at "
                f"{units.counted(len(rows) - 1, 'other')}",
            ),
            "address space, which counts against limits; resident memory does not shrink",
            LOW,
            "the kernel has no page there; whether that is intended, only its author knows",
            0,
            least.untouched_bytes,
        )


RULE = Rule(
    "untouched_tails",
    "",
    "request what is used, and grow; or map address space if a reserve is intended",
    _find,
    (
        "the rest is used after this recording",
        "it is an intended reserve: untouched pages cost no memory",
    ),
    "request what is used, and grow",
    prelude="""\
#include <cstddef>
#include <vector>
void fill(std::vector<char>&);
extern std::size_t expected;""",
    before="""\
std::vector<char> buffer;
buffer.reserve(std::size_t{64} << 20);  // for the largest input there may be
fill(buffer);""",
    after="""\
std::vector<char> buffer;
buffer.reserve(expected);
fill(buffer);""",
    unsampled="knowing which pages hold blocks takes every block",
)
