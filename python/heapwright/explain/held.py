# SPDX-License-Identifier: MIT
"""Who holds the memory, and which blocks does nobody hold?"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Finding, Report, share
from heapwright.explain.tables import sites
from heapwright.model import Site
from heapwright.report import units
from heapwright.report.columns import WORD, Choice, Column, Table

# By number, as trace::RootKind.
KINDS = ("variable", "stack", "registers", "thread-local", "mapping", "several")
_VARIABLE, _STACK, _REGISTERS, _THREAD_LOCAL, _MAPPING, _SEVERAL = range(len(KINDS))
_FAILED = "snapshot_failed\t"
_NOT_TAKEN = "no snapshot was taken: record with --snapshot end"


def not_known(report: Report) -> str:
    """Why there is no answer; "" = there is one."""
    if report.trace.held.is_known:
        return ""
    failed = [line for line in report.trace.metadata.conditions if line.startswith(_FAILED)]
    return failed[0].removeprefix(_FAILED) if failed else _NOT_TAKEN


def name_of(kind: int, thread_id: int, module: str, symbol: str) -> str:
    """A holder in words."""
    library = module.rpartition("/")[2]
    if kind == _VARIABLE:
        return f"{symbol} of {library}" if symbol else f"a variable of {library}"
    if kind == _MAPPING:
        return f"the mapping {library}" if library else "memory that the program mapped"
    if kind == _SEVERAL:
        return "several holders together"
    return f"{KINDS[kind]} of thread {thread_id}"


class _Source:
    """Sums by site, of the whole snapshot."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.held = report.trace.held
        self.not_known = not_known(report)
        several = SimpleNamespace(
            kind=_SEVERAL, thread_id=0, module="", symbol="",
            blocks=self.held.shared_blocks, bytes=self.held.shared_bytes,
        )  # fmt: skip
        self._all: list[Any] = [*self.held.holders, several]

    def lost(self) -> list[tuple[Site, Any]]:
        """By site, most bytes first."""
        sums: dict[int, dict[str, int]] = {}
        for row in self.held.lost_sites:
            site = sums.setdefault(self.report.sites.site_of_stack[row.stack], {})
            for name, value in row._asdict().items():
                site[name] = site.get(name, 0) + value
        ordered = sorted(sums.items(), key=lambda item: (-item[1]["bytes"], -item[1]["blocks"], item[0]))
        return [(self.report.sites[site], SimpleNamespace(**row)) for site, row in ordered[: self.report.top]]

    def holders(self) -> list[Any]:
        """Those that retain most, and what no single one does."""
        ordered = sorted(self._all, key=lambda holder: -holder.bytes)
        return [holder for holder in ordered if holder.blocks][: self.report.top]

    def held_sites(self) -> list[tuple[Site, Any]]:
        """What the holders retain, by site."""
        sums: dict[tuple[int, int], SimpleNamespace] = {}
        for row in self.held.held_sites:
            key = row.holder, self.report.sites.site_of_stack[row.stack]
            holder = self._all[row.holder]
            place = holder.kind, holder.thread_id, holder.module, holder.symbol
            found = sums.setdefault(key, SimpleNamespace(holder=name_of(*place), blocks=0, bytes=0))
            found.blocks += row.blocks
            found.bytes += row.bytes
        ordered = sorted(sums.items(), key=lambda item: (-item[1].bytes, item[0]))
        return [(self.report.sites[site], row) for (_, site), row in ordered[: self.report.top]]


def _findings(answer: Answer) -> list[Finding]:
    if not answer["lost_blocks"]:
        return []
    lost = units.counted(answer["lost_blocks"], "block")
    text = f"{units.size(answer['lost_bytes'])} in {lost} are lost: nothing points to them any longer"
    if answer["lost"]:
        text += f"; most from {answer['lost'][0]['name']}"
    return [Finding(min(1.0, 0.2 + share(answer["lost_bytes"], answer["bytes"])), text)]


def _title(answer: Answer) -> str:
    if answer["not_known"]:
        return f"Who holds it: not known ({answer['not_known']})"
    blocks = units.counted(answer["blocks"], "block")
    if not answer["lost_blocks"]:
        return f"Who holds it: {units.size(answer['bytes'])} in {blocks}, none of them lost"
    lost = f"{units.count(answer['lost_blocks'])} of them lost, {units.size(answer['lost_bytes'])}"
    return f"Who holds it: {units.size(answer['bytes'])} in {blocks}, {lost}"


def _notes(answer: Answer) -> list[str]:
    reason = answer["not_known"]
    if reason and reason != _NOT_TAKEN:
        return [f"The snapshot before the exit failed: {reason}."]
    return []


def _gist(answer: Answer) -> str:
    """Only of a recording with a snapshot: the others were not asked for one."""
    if answer["not_known"]:
        return ""
    lost = f"{units.size(answer['lost_bytes'])} in {units.counted(answer['lost_blocks'], 'block')}"
    said = (
        f"{lost} are lost"
        if answer["lost_blocks"]
        else f"no block of {units.count(answer['blocks'])} is lost"
    )
    for holder in answer["holders"][:1]:
        return f"{said}; {holder['holder']} holds most, {units.size(holder['bytes'])}"
    return said


def _figure(key: str, unit: str = "count", about: str = "") -> Column:
    return Column(key, unit, value=f"held.{key}", about=about)


_HOLDERS = Table(
    "holders",
    (
        Column("bytes", "bytes", "bytes"),
        Column("share", "share", "share", lambda row, of: share(row.bytes, of["bytes"])),
        Column("blocks", "count", "blocks"),
        Column("kind", Choice(KINDS), "", lambda row, _: KINDS[row.kind]),
        Column(
            "holder", WORD, "held by",
            lambda row, _: name_of(row.kind, row.thread_id, row.module, row.symbol),
        ),
        Column("thread_id", about="As the kernel numbers it; 0 = of no thread."),
        Column("module", "text"),
        Column("symbol", "text", about='The variable; "" = not known.'),
    ),
    lambda source: source.holders(),
    about="Blocks and bytes that would go with the holder. Stacks and registers hold what nothing else does.",
)  # fmt: skip

QUESTION = Question(
    "held",
    "Who holds it",
    (
        Column("not_known", "text", about='Why there is no answer; "" = there is one.'),
        _figure("time_ns", "ns", "When the snapshot was taken. Filters do not apply to it."),
        _figure("stopped_ns", "ns", "How long the program stood still for it."),
        _figure("blocks"),
        _figure("bytes", "bytes"),
        _figure("lost_blocks", about="That no pointer leads to, from anywhere."),
        _figure("lost_bytes", "bytes"),
        _figure("shared_blocks", about="That no single holder retains."),
        _figure("shared_bytes", "bytes"),
        _figure("interior_blocks", about="That only pointers into them reach, not to their begin."),
        _figure("interior_bytes", "bytes"),
    ),
    (
        sites(
            Column("bytes", "bytes", "lost"),
            Column("share", "share", "share", lambda row, of: share(row.bytes, of["lost_bytes"])),
            Column("blocks", "count", "blocks"),
            Column("direct_blocks", "count", "directly", about="No other lost block points to them."),
            Column("direct_bytes", "bytes"),
            Column("cycle_blocks", "count", "in rings", about="They point to each other."),
            Column("cycle_bytes", "bytes"),
            rows=lambda source: source.lost(),
            key="lost",
            about="Lost blocks by site; those neither direct nor in rings are lost with their owners.",
        ),
        _HOLDERS,
        sites(
            Column("bytes", "bytes", "bytes"),
            Column("share", "share", "share", lambda row, of: share(row.bytes, of["bytes"])),
            Column("blocks", "count", "blocks"),
            Column("holder", WORD, "held by"),
            rows=lambda source: source.held_sites(),
            key="held",
            about="What the holders retain, by the blocks' site.",
        ),
    ),
    prepare=_Source,
    title_of=_title,
    findings=_findings,
    notes=_notes,
    gist=_gist,
    if_nothing="A snapshot (heapwright record --snapshot end) has blocks if some were live at that time.",
    unsampled="samples do not have every block",
)
