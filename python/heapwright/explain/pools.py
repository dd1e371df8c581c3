# SPDX-License-Identifier: MIT
"""What do the pools and regions named by the program (heapwright/annotate.h) hold?"""

from __future__ import annotations

from collections.abc import Iterable

from heapwright.explain.annotations import Annotations, Mark, has_any, named
from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report
from heapwright.report import units
from heapwright.report.columns import Column, Table

# A change belongs to the pool last created at its address before it; a pool
# created before the recording has the number -1. A block taken twice without a
# free between was resized.
_CONTENTS = """
with change as (
  select kind = 'pool_allocate' as is_taken, begin_ns, thread, sequence, address as block, size,
    usable as home
  from event where kind in ('pool_allocate', 'pool_free')
), placed as (
  select change.*, coalesce(pool.number, -1) as number
  from change asof left join pool on change.home = pool.address and change.begin_ns >= pool.begin_ns
), paired as (
  select *, coalesce(lag(is_taken) over earlier, false) as was_taken, lag(size) over earlier as old_size
  from placed window earlier as (partition by number, home, block order by begin_ns, thread, sequence)
), moved as (
  select *, is_taken::int - was_taken::int as blocks,
    case when is_taken then size::hugeint else 0 end - case when was_taken then old_size else 0 end as bytes
  from paired
), running as (
  select *, sum(blocks) over through as live_blocks, sum(bytes) over through as live_bytes
  from moved window through as (partition by number, home order by begin_ns, thread, sequence)
)
select number, count(*) filter (is_taken), sum(size) filter (is_taken), max(live_bytes),
  arg_max(live_blocks, (begin_ns, thread, sequence)), arg_max(live_bytes, (begin_ns, thread, sequence))
from running group by number, home
"""


class Pool:
    """One pool from its creation to its destruction; live figures are for the end of the recording."""

    def __init__(self, name: str, address: int, begin_ns: int) -> None:
        self.name = name
        self.address = address
        self.begin_ns = begin_ns
        self.is_open = True
        self.allocations = 0
        self.requested_bytes = 0
        self.peak_bytes = 0
        self.live_blocks = 0
        self.live_bytes = 0


class _Sums:
    """All pools of one name."""

    def __init__(self, name: str, pools: list[Pool]) -> None:
        self.name = name
        self.pools = len(pools)
        self.allocations = sum(pool.allocations for pool in pools)
        self.requested_bytes = sum(pool.requested_bytes for pool in pools)
        self.peak_bytes = max(pool.peak_bytes for pool in pools)
        self.live_blocks = sum(pool.live_blocks for pool in pools)
        self.live_bytes = sum(pool.live_bytes for pool in pools)


class Region:
    """The regions of one name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.regions = 0
        self.bytes = 0


class _Named:
    """Pools by the highest peak of one of them, and regions. A destroyed pool holds nothing."""

    def __init__(self, report: Report) -> None:
        self.pools: list[_Sums] = []
        self.regions: list[Region] = []
        if not has_any(report.facts, "pool_create", "pool_allocate", "region_named"):
            return
        annotations = Annotations(report.trace)
        marks = sorted(annotations.marks(), key=lambda mark: mark.begin_ns)
        pools = pools_of(marks)
        _fill(pools, annotations)
        names = dict.fromkeys(pool.name for pool in pools)
        sums = [_Sums(name, [pool for pool in pools if pool.name == name]) for name in names]
        self.pools = sorted(sums, key=lambda pool: -pool.peak_bytes)[: report.top]
        self.regions = regions_of(marks)[: report.top]


def pools_of(marks: Iterable[Mark]) -> list[Pool]:
    """Pools from marks in time order."""
    pools: list[Pool] = []
    open_pools: dict[int, Pool] = {}
    for mark in marks:
        if mark.kind == "pool_create":
            pools.append(Pool(mark.name, mark.address, mark.begin_ns))
            open_pools[mark.address] = pools[-1]
        elif mark.kind == "pool_destroy" and mark.address in open_pools:
            open_pools.pop(mark.address).is_open = False
    return pools


def regions_of(marks: Iterable[Mark]) -> list[Region]:
    """Named regions, largest first; a region named again has its last name and size."""
    last = {mark.address: mark for mark in marks if mark.kind == "region_named"}
    regions: dict[str, Region] = {}
    for mark in last.values():
        region = regions.setdefault(mark.name, Region(mark.name))
        region.regions += 1
        region.bytes += mark.size
    return sorted(regions.values(), key=lambda region: -region.bytes)


def _fill(pools: list[Pool], annotations: Annotations) -> None:
    """Adds what each pool handed out, including pools from before the recording, without a name."""
    rows = [(number, pool.address, pool.begin_ns) for number, pool in enumerate(pools)]
    annotations.add_table("pool", {"number": "bigint", "address": "ubigint", "begin_ns": "ubigint"}, rows)
    for number, allocations, requested_bytes, peak_bytes, blocks, live_bytes in annotations.ask(_CONTENTS):
        if number < 0:
            pools.append(Pool("", 0, 0))
        pool = pools[number]
        pool.allocations, pool.requested_bytes = allocations, int(requested_bytes or 0)
        pool.peak_bytes = int(peak_bytes)
        if pool.is_open:
            pool.live_blocks, pool.live_bytes = int(blocks), int(live_bytes)


def _gist(answer: Answer) -> str:
    for row in answer["pools"][:1]:
        return f"{row['name']} is the largest, {units.size(row['peak_bytes'])} at its peak"
    return ""


# Only the program's author knows what a pool should hold: there are no findings.
QUESTION = Question(
    "pools",
    "Pools and regions that the program named",
    tables=(
        Table(
            "pools",
            (
                Column("peak_bytes", "bytes", "peak of one"),
                Column("live_bytes", "bytes", "live at the end"),
                Column("live_blocks", "count", "in blocks"),
                Column("allocations", "count", "handed out"),
                Column("requested_bytes", "bytes", "requested"),
                Column("pools", "count", "pools"),
                named("pool"),
            ),
            lambda found: found.pools,
        ),
        Table(
            "regions",
            (Column("bytes", "bytes", "size"), Column("regions", "count", "regions"), named("region")),
            lambda found: found.regions,
            title="Regions",
        ),
    ),
    prepare=_Named,
    gist=_gist,
)
