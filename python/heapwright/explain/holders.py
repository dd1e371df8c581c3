# SPDX-License-Identifier: MIT
"""Snapshots of who holds which block, by holder and site."""

from __future__ import annotations

from itertools import groupby
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from heapwright.model.block_types import BlockTypes
from heapwright.model.holder_names import SEVERAL, THREAD_LOCAL, VARIABLE, name_of
from heapwright.model.names import short_name, short_type
from heapwright.report import units

if TYPE_CHECKING:
    from heapwright.explain.report import Report
    from heapwright.model import Trace
    from heapwright.model.facts.held import Held

_FAILED = "snapshot_failed\t"
NOT_TAKEN = "no snapshot was taken: record with --snapshot end"
_NEARLY_ALL = 0.9


def failures(trace: Trace) -> list[str]:
    """Why snapshots failed."""
    conditions = trace.metadata.conditions
    return [line.removeprefix(_FAILED) for line in conditions if line.startswith(_FAILED)]


def not_known(trace: Trace) -> str:
    """Why there is no answer; "" = there is one."""
    return "" if trace.snapshot_times else next(iter(failures(trace)), NOT_TAKEN)


def last(report: Report) -> Held | None:
    """The last snapshot."""
    times = report.trace.snapshot_times
    return report.trace.held_at(times[-1]) if times else None


def first(report: Report) -> Held | None:
    """The first of several."""
    times = report.trace.snapshot_times
    return report.trace.held_at(times[0]) if len(times) > 1 else None


def all_of(held: Held) -> list[Any]:
    """The holders, and as the last one what no single one retains."""
    several = SimpleNamespace(
        kind=SEVERAL, thread_id=0, module="", symbol="", blocks=held.shared_blocks, bytes=held.shared_bytes
    )
    return [*held.holders, several]


def variable_types(trace: Trace, held: Held) -> dict[tuple[str, str], str]:
    """The types of variables that hold something, by module and name, as far as they are known."""
    by_module: dict[str, list[str]] = {}
    for one in held.holders:
        if one.kind in (VARIABLE, THREAD_LOCAL) and one.symbol:
            by_module.setdefault(one.module, []).append(one.symbol)
    return {
        (module, name): short_type(found)
        for module, names in by_module.items()
        for name, found in zip(names, trace.variable_types(module, names), strict=True)
        if found
    }


def by_type(report: Report, held: Held) -> dict[str, SimpleNamespace]:
    """All live blocks; those of the key "" are of types that are not known."""
    types = BlockTypes(report.trace, held.types)
    sums: dict[str, SimpleNamespace] = {}
    for row in held.live:
        sum_ = sums.setdefault(types.of(row.stack, row.type), SimpleNamespace(blocks=0, bytes=0))
        sum_.blocks += row.blocks
        sum_.bytes += row.bytes
    return sums


def by_holder_and_site(report: Report, held: Held) -> dict[tuple[str, int], SimpleNamespace]:
    """Blocks and bytes that the holders retain."""
    names = [name_of(one.kind, one.thread_id, one.module, one.symbol) for one in all_of(held)]
    site_of_stack, types = report.sites.site_of_stack, BlockTypes(report.trace, held.types)
    steps: dict[int, list[int]] = {}
    for step in held.steps:
        steps.setdefault(step.held_site, []).append(site_of_stack[step.stack])
    sums: dict[tuple[str, int], SimpleNamespace] = {}
    for number, row in enumerate(held.held_sites):
        key = names[row.holder], site_of_stack[row.stack]
        found = sums.get(key)
        if found is None:
            through = [
                short_name(report.sites[site].location.function) for site, _ in groupby(steps.get(number, ()))
            ]
            nearest = held.ways[number] if number < len(held.ways) else None
            found = sums[key] = SimpleNamespace(
                holder=key[0], nearest=name_of(*nearest[:4]) if nearest else "", through=through,
                blocks=0, bytes=0, linked_blocks=0, table_blocks=0, types=[],
            )  # fmt: skip
        for name in ("blocks", "bytes", "linked_blocks", "table_blocks"):
            setattr(found, name, getattr(found, name) + getattr(row, name))
        _note(found.types, types.of(row.stack, row.type))
    return sums


def holder_text(holder: str, nearest: str) -> str:
    """A holder in words; of several together the nearest one stands for them."""
    return f"{nearest} and others" if nearest and nearest != holder else holder


def _note(types: list[str], one: str) -> None:
    if one and one not in types:
        types.append(one)


def lost_by_site(report: Report, held: Held) -> dict[int, SimpleNamespace]:
    """Lost blocks: the figures of LostSite, and the types."""
    sums: dict[int, SimpleNamespace] = {}
    types = BlockTypes(report.trace, held.types)
    for row in held.lost_sites:
        figures = row._asdict()
        of = types.of(figures.pop("stack"), figures.pop("type"))
        site = sums.setdefault(
            report.sites.site_of_stack[row.stack], SimpleNamespace(**dict.fromkeys(figures, 0), types=[])
        )
        for name, value in figures.items():
            setattr(site, name, getattr(site, name) + value)
        _note(site.types, of)
    return sums


class Verdicts:
    """By site: lost, or held by whom, by the last snapshot; empty without one."""

    def __init__(self, report: Report) -> None:
        held = last(report)
        self._lost = lost_by_site(report, held) if held else {}
        self._held: dict[int, list[SimpleNamespace]] = {}
        for (_, site), row in (by_holder_and_site(report, held) if held else {}).items():
            self._held.setdefault(site, []).append(row)

    def of(self, site: int) -> str:
        """ "lost", "held by …", or "" where it is not known."""
        lost = self._lost[site].bytes if site in self._lost else 0
        rows = self._held.get(site, [])
        total = lost + sum(row.bytes for row in rows)
        if not total:
            return ""
        if lost >= _NEARLY_ALL * total:
            return "lost: nothing pointed to them at the last snapshot"
        most = max(rows, key=lambda row: row.bytes)
        beside = f", {units.size(lost)} of them lost" if lost else ""
        return f"held by {holder_text(most.holder, most.nearest)}{beside}"
