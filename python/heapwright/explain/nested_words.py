# SPDX-License-Identifier: MIT
"""What is said of sites that get blocks through a nested allocator, and of sites that seem to be one."""

from __future__ import annotations

from collections.abc import Sequence

from heapwright.explain import pool_names
from heapwright.explain.report import Answer, Report
from heapwright.model.through import Through
from heapwright.report import units

_SHOWN = 2
_MOST_SHARE = 0.5  # of what the question is about: more in one site says little
_MANY, _MANY_OF_POOL = 8, 3
_LEAST_BLOCK, _HEADER = 1 << 10, 64  # bytes: of a block to cut up; what an allocator keeps of it


def beside(row: Answer) -> str:
    """Through which functions a site's blocks come, to stand after its name; "" if through none.

    >>> beside({"nested": {"functions": ["palloc"], "is_all": True}}), beside({})
    (', through palloc', '')
    >>> beside({"nested": {"functions": ["palloc", "palloc0", "repalloc"], "is_all": False}})
    ', partly through palloc, palloc0, …'
    """
    return passing(Through(**row["nested"])) if row.get("nested") else ""


def passing(through: Through) -> str:
    """The same of a site itself."""
    if not through.functions:
        return ""
    more = ["…"] if len(through.functions) > _SHOWN else []
    return f", {'' if through.is_all else 'partly '}through {', '.join([*through.functions[:_SHOWN], *more])}"


def notes(rows: Sequence[Answer], seen: Sequence[Answer] = ()) -> list[str]:
    """What a table with these sites leaves open: a line for each nested allocator, one for a site to skip.

    seen: rows of which that is said already.
    """
    told = {row["site"] for row in seen[:1]}
    to_skip = [row for row in rows[:1] if row.get("skip") and row["site"] not in told]
    known = _by_allocator(seen)
    shared = [through for allocator, through in _by_allocator(rows).items() if allocator not in known]
    return [*map(_shared, shared), *(f"{row['name']}: {skip_hint(row)}" for row in to_skip)]


def _by_allocator(rows: Sequence[Answer]) -> dict[str, Answer]:
    """Those whose blocks are shared, with the first site's functions."""
    found: dict[str, Answer] = {}
    for row in rows:
        through = row.get("nested")
        if through and through["is_shared"]:
            found.setdefault(through["allocator"], through)
    return found


def _shared(through: Answer) -> str:
    switch = f"; with {through['switch']} each object is one of its own" if through["switch"] else ""
    return f"blocks got through {through['functions'][0]} are shared by later callers{switch}"


def skip_hint(row: Answer) -> str:
    """How to see who asks a site that has a skip option."""
    return f"--skip {row['skip']} names its {units.counted(row['callers'], 'caller')}"


def skip_of(report: Report, record: Answer, callers: int) -> str:
    """What --skip takes to name the site's callers, if it holds most and they are many; "" otherwise.

    callers: different functions; fewer suffice where its name or its blocks' sizes say that it is a pool.
    """
    if record["share"] <= _MOST_SHARE or not record["library"]:
        return ""
    is_pool = pool_names.is_pool(record["function"]) or _asks_for_whole_blocks(report, record["site"])
    needed = _MANY_OF_POOL if is_pool else _MANY
    return pool_names.pattern(record["function"]) if callers >= needed else ""


def _asks_for_whole_blocks(report: Report, site: int) -> bool:
    """Most of its blocks are of one size, or of powers of two, large enough to be cut up."""
    sizes = report.facts.site_sizes[site]
    return sizes.counted > 1 and all(map(_is_whole, (sizes.p50_bytes, sizes.p90_bytes)))


def _is_whole(size: int) -> bool:
    """About a power of two, without what an allocator keeps at either end.

    >>> [_is_whole(size) for size in (8192, 65520, 4128, 5000, 64)]
    [True, True, True, False, False]
    """
    if size < _LEAST_BLOCK:
        return False
    nearest = 1 << (size + _HEADER).bit_length() - 1
    return abs(size - nearest) <= _HEADER
