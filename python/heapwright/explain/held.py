# SPDX-License-Identifier: MIT
"""Who holds the memory, and which blocks does nobody hold?"""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import Any

from heapwright.explain import holders
from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Finding, Report, share
from heapwright.explain.tables import sites
from heapwright.model import Site
from heapwright.model.facts.held import Held
from heapwright.model.holder_names import KINDS, OLDER, name_of
from heapwright.report import units
from heapwright.report.columns import WORD, Choice, Column, Many, Table

_NOTHING = Held(False, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (), (), (), (), (), (), ())


class _Source:
    """Sums by site, of the whole snapshot."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.held = holders.last(report) or _NOTHING
        self.not_known = holders.not_known(report.trace)
        self.failures = holders.failures(report.trace)
        self.snapshots = len(report.trace.snapshot_times)
        self.sample_bytes = report.trace.metadata.sample_mean_bytes
        self.older_blocks = sum(one.blocks for one in self.held.holders if one.kind == OLDER)
        first = holders.first(report)
        self.first_ns = first.time_ns if first else 0
        self.first_bytes = first.bytes if first else 0
        self._grown = self._growth(first) if first else []

    def lost(self) -> list[tuple[Site, Any]]:
        """By site, most bytes first."""
        sums = holders.lost_by_site(self.report, self.held)
        ordered = sorted(sums.items(), key=lambda item: (-item[1].bytes, -item[1].blocks, item[0]))
        return [(self.report.sites[site], row) for site, row in ordered[: self.report.top]]

    def holders(self) -> list[Any]:
        """Those that retain most, and what no single one does."""
        ordered = sorted(holders.all_of(self.held), key=lambda holder: -holder.bytes)
        return [holder for holder in ordered if holder.blocks][: self.report.top]

    @cached_property
    def variable_types(self) -> dict[tuple[str, str], str]:
        """By module and variable."""
        return holders.variable_types(self.report.trace, self.held)

    def held_sites(self) -> list[tuple[Site, Any]]:
        """What the holders retain, by site."""
        sums = holders.by_holder_and_site(self.report, self.held)
        ordered = sorted(sums.items(), key=lambda item: (-item[1].bytes, item[0]))
        return [(self.report.sites[site], row) for (_, site), row in ordered[: self.report.top]]

    def types(self) -> list[Any]:
        """What is live, most bytes first; nothing where no type is known."""
        sums = holders.by_type(self.report, self.held)
        if not any(sums):
            return []
        ordered = sorted(sums.items(), key=lambda item: (-item[1].bytes, item[0]))
        return [
            SimpleNamespace(type=name, blocks=row.blocks, bytes=row.bytes)
            for name, row in ordered[: self.report.top]
        ]

    def _growth(self, first: Held) -> list[tuple[int, SimpleNamespace]]:
        before = holders.by_holder_and_site(self.report, first)
        after = holders.by_holder_and_site(self.report, self.held)
        none = SimpleNamespace(blocks=0, bytes=0, nearest="")
        rows = []
        for key in {**before, **after}:
            old, new = before.get(key, none), after.get(key, none)
            grown = {
                "holder": key[0], "nearest": new.nearest or old.nearest,
                "before_bytes": old.bytes, "after_bytes": new.bytes,
                "bytes": new.bytes - old.bytes, "blocks": new.blocks - old.blocks,
            }  # fmt: skip
            rows.append((key[1], SimpleNamespace(**grown)))
        return sorted(rows, key=lambda row: (-row[1].bytes, row[0]))

    def grown(self) -> list[tuple[Site, Any]]:
        """What is more than at the first snapshot, by holder and site."""
        more = [(self.report.sites[site], row) for site, row in self._grown if row.bytes > 0]
        return more[: self.report.top]


def _blocks(answer: Answer, figure: str) -> str:
    return units.counted(answer[figure], "sampled block" if answer["sample_bytes"] else "block")


def _findings(answer: Answer) -> list[Finding]:
    if not answer["lost_blocks"]:
        return []
    lost = _blocks(answer, "lost_blocks")
    text = f"{units.size(answer['lost_bytes'])} in {lost} are lost: nothing points to them any longer"
    if answer["lost"]:
        text += f"; most from {answer['lost'][0]['name']}"
    return [Finding(min(1.0, 0.2 + share(answer["lost_bytes"], answer["bytes"])), text)]


def _title(answer: Answer) -> str:
    if answer["not_known"]:
        return f"Who holds it: not known ({answer['not_known']})"
    blocks, at = _blocks(answer, "blocks"), units.duration(answer["time_ns"])
    lost = "none of them lost"
    if answer["lost_blocks"]:
        lost = f"{units.count(answer['lost_blocks'])} of them lost, {units.size(answer['lost_bytes'])}"
    return f"Who holds it at {at}: {units.size(answer['bytes'])} in {blocks}, {lost}"


def _notes(answer: Answer) -> list[str]:
    notes = [f"A snapshot failed: {reason}." for reason in answer["failures"]]
    if answer["sample_bytes"]:
        notes.append(
            f"Of the sampled blocks only, one per {units.size(answer['sample_bytes'])} on average. Nothing "
            "points to those that are lost; what others that are lost point to counts as held."
        )
    if answer["older_blocks"] and not answer["sample_bytes"]:
        notes.append(
            "The recording does not have every block: not those of before it began, of a parent, of a "
            "pause, or of dropped calls. What only they may point to counts as held: "
            f"{_blocks(answer, 'older_blocks')}, of which it is not known whether they are lost."
        )
    if answer["copies"]:
        notes.append(_about_copies(answer))
    if answer["snapshots"] > 1:
        more = units.size(abs(answer["bytes"] - answer["first_bytes"]))
        way = "more" if answer["bytes"] >= answer["first_bytes"] else "less"
        last, first = units.duration(answer["time_ns"]), units.duration(answer["first_ns"])
        notes.append(
            f"Of {answer['snapshots']} snapshots this is the last, after {last}; "
            f"{more} {way} are live than at the first, after {first}."
        )
    return notes


def _about_copies(answer: Answer) -> str:
    """What the answer is worth of a program that ran on: a pointer that moves may be in no copy."""
    if answer["copies"] == 1:
        return "The program ran while it was copied."
    told = (
        f"The program ran while it was copied, {answer['copies']} times. "
        "No copy has a pointer to what is lost."
    )
    if not answer["missed_blocks"]:
        return f"{told} The last two found nothing that those before had not."
    missed = f"The last two had pointers to {_blocks(answer, 'missed_blocks')} that no copy before had"
    if not answer["lost_blocks"]:
        return f"{told} {missed}."
    most = min(answer["missed_blocks"], answer["lost_blocks"])
    return f"{told} {missed}: up to {units.count(most)} of the lost ones may be held as well."


def _gist(answer: Answer) -> str:
    """Only of a recording with a snapshot: the others were not asked for one."""
    if answer["not_known"]:
        return ""
    lost = f"{units.size(answer['lost_bytes'])} in {_blocks(answer, 'lost_blocks')}"
    said = (
        f"{lost} are lost"
        if answer["lost_blocks"]
        else f"no block of {units.count(answer['blocks'])} is lost"
    )
    for grown in answer["grown"][:1]:
        holder = holders.holder_text(grown["holder"], grown["nearest"])
        return f"{said}; {holder} grew most, by {units.size(grown['bytes'])}"
    for holder in answer["holders"][:1]:
        return f"{said}; {holder['holder']} holds most, {units.size(holder['bytes'])}"
    return said


_FEW, _MOST = 16, 0.9


def _shape(row: Any) -> str:
    """What most of them are parts of, by their pointers."""
    if row.blocks < _FEW:
        return ""
    if row.table_blocks >= _MOST * row.blocks:
        return "table"
    if row.linked_blocks >= _MOST * (row.blocks - 1):
        return "list"
    return "hash" if row.linked_blocks + row.table_blocks >= _MOST * row.blocks else ""


_TYPE_LETTERS = 40
_UNKNOWN_TYPE = "not known"
_TYPES = Column("types", Many("text"), about="What the blocks are, as far as it is known; most bytes first.")

_NEAREST = Column("nearest", WORD, about="Where the shortest way to them begins.")
_HOLDER = Column(
    "holder", WORD, "held by",
    text=lambda row, _: holders.holder_text(row["holder"], row["nearest"]),
)  # fmt: skip


def _figure(key: str, unit: str = "count", about: str = "") -> Column:
    return Column(key, unit, value=f"held.{key}", about=about)


def _with_type(holder: Any, types: dict[tuple[str, str], str]) -> SimpleNamespace:
    names = ("bytes", "blocks", "kind", "thread_id", "module", "symbol")
    figures = {name: getattr(holder, name) for name in names}
    return SimpleNamespace(**figures, type=types.get((holder.module, holder.symbol), ""))


def _typed(holder: str, type_: str) -> str:
    """A variable and its type, as in the source."""
    short = type_ if len(type_) <= _TYPE_LETTERS else f"{type_[: _TYPE_LETTERS - 1]}…"
    return f"{holder}: {short}" if type_ else holder


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
            text=lambda row, _: _typed(row["holder"], row["type"]),
        ),
        Column("thread_id", about="As the kernel numbers it; 0 = of no thread."),
        Column("module", "text"),
        Column("symbol", "text", about='The variable; of a stack its function, of a mapping who mapped it.'),
        Column("type", "text", about='Of a variable, by debug info; "" = not known.'),
    ),
    lambda source: [_with_type(one, source.variable_types) for one in source.holders()],
    about="Blocks and bytes that would go with the holder. Stacks and registers hold what nothing else does.",
)  # fmt: skip

_BY_TYPE = Table(
    "types",
    (
        Column("bytes", "bytes", "bytes"),
        Column("share", "share", "share", lambda row, of: share(row.bytes, of["bytes"])),
        Column("blocks", "count", "blocks"),
        Column("type", WORD, "type", text=lambda row, _: row["type"] or _UNKNOWN_TYPE),
    ),
    lambda source: source.types(),
    about='Live blocks by type: of virtual tables, and of names in stacks. "" = not known.',
)

QUESTION = Question(
    "held",
    "Who holds it",
    (
        Column("not_known", "text", about='Why there is no answer; "" = there is one.'),
        Column("failures", Many("text"), about="Why snapshots failed."),
        Column("sample_bytes", about="Of sampled blocks, one per so many bytes on average; 0 = of all."),
        Column("snapshots", about="How many there are; the answer is the last one's."),
        Column("first_ns", "ns", about="With several: when the first was taken."),
        Column("first_bytes", "bytes", about="And what was live then."),
        _figure("time_ns", "ns", "When the snapshot was taken. Filters do not apply to it."),
        _figure("stopped_ns", "ns", "How long the program stood still for it."),
        _figure("copies", about="That were compared, of a program that ran meanwhile; 0 = it stood still."),
        _figure("missed_blocks", about="That only the last two copies had; as many lost ones may be held."),
        _figure("blocks"),
        _figure("bytes", "bytes"),
        _figure("lost_blocks", about="That no pointer leads to, from anywhere."),
        _figure("lost_bytes", "bytes"),
        Column("older_blocks", about="That only blocks may hold which the recording does not have."),
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
            _TYPES,
            rows=lambda source: source.lost(),
            key="lost",
            about="Lost blocks by site; those neither direct nor in rings are lost with their owners.",
        ),
        sites(
            Column(
                "bytes",
                "integer",
                "more",
                lambda row, _: row.bytes,
                text=lambda row, _: units.size(row["bytes"]),
            ),
            Column("before_bytes", "bytes", "before"),
            Column("after_bytes", "bytes", "now"),
            Column("blocks", "integer", "blocks", text=lambda row, _: f"{row['blocks']:,}"),
            _HOLDER,
            _NEAREST,
            rows=lambda source: source.grown(),
            key="grown",
            about="With several snapshots: what holders retain more than at the first one.",
        ),
        _HOLDERS,
        sites(
            Column("bytes", "bytes", "bytes"),
            Column("share", "share", "share", lambda row, of: share(row.bytes, of["bytes"])),
            Column("blocks", "count", "blocks"),
            _HOLDER,
            Column("linked_blocks", about="Another of their size and type points to them, as in a list."),
            Column("table_blocks", about="A block points to them and to many others, as an array does."),
            Column(
                "shape",
                WORD,
                "as",
                lambda row, _: _shape(row),
                about='What most of them are parts of, by their pointers; "" = nothing known.',
            ),
            _NEAREST,
            _TYPES,
            Column("through", Many("text"), about="Sites of the blocks on that way, up to these."),
            rows=lambda source: source.held_sites(),
            key="held",
            about="What the holders retain, by the blocks' site.",
        ),
        _BY_TYPE,
    ),
    prepare=_Source,
    title_of=_title,
    findings=_findings,
    notes=_notes,
    gist=_gist,
    if_nothing="A snapshot (heapwright record --snapshot end) has blocks if some were live at that time.",
)
