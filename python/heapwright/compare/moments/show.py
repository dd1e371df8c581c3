# SPDX-License-Identifier: MIT
"""What grew between two moments as text, and as a table for terminals and Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from heapwright.report import markdown, terminal, units
from heapwright.report.columns import TEXT, WORD, Column, Record

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]


def _grew(row: Record) -> str:
    return units.signed(row["difference_bytes"], "bytes")


def _interval(row: Record) -> str:
    if row["low_bytes"] == row["high_bytes"]:
        return "exact"
    return f"{units.signed(row['low_bytes'], 'bytes')} to {units.signed(row['high_bytes'], 'bytes')}"


def _place(row: Record) -> str:
    if row["file"]:
        return f"{row['name']}  {row['file'].rpartition('/')[2]}:{row['line']}"
    return str(row["name"] or row["library"])


COLUMNS = (
    Column("", WORD, "grew", text=lambda row, _: _grew(row)),
    Column("", WORD, "95 %", text=lambda row, _: _interval(row)),
    Column("", WORD, "a second", text=lambda row, _: units.rate(row["growth_bytes_per_s"])),
    Column(
        "", WORD, "live", text=lambda row, _: f"{units.size(row['a_bytes'])} → {units.size(row['b_bytes'])}"
    ),
    Column("", TEXT, "call site", text=lambda row, _: _place(row)),
)


def verdict(document: Document) -> list[str]:
    """The answer in one or two lines."""
    total, span = document["total"], units.duration(document["span_ns"])
    is_sure = total["difference_bytes"] and total["low_bytes"] * total["high_bytes"] > 0
    lines = [f"In {span} live bytes changed by {_grew(total)}, which may be chance."]
    if not total["difference_bytes"]:
        lines = [f"In {span} live bytes did not change."]
    elif is_sure:
        word = "grew" if total["difference_bytes"] > 0 else "fell"
        by, rate = units.size(abs(total["difference_bytes"])), units.rate(total["growth_bytes_per_s"])
        lines = [f"In {span} live bytes {word} by {by} ({rate}){_most(document)}."]
    if document["outside_bytes"]:
        hint = f": {document['outside_hint']}" if document["outside_hint"] else ""
        lines.append(
            f"Outside malloc anonymous memory grew by {units.size(document['outside_bytes'])}{hint}."
        )
    return lines


def _most(document: Document) -> str:
    total, sites = document["total"]["difference_bytes"], document["sites"]
    if total <= 0 or not sites or sites[0]["difference_bytes"] <= 0:
        return ""
    first = sites[0]["difference_bytes"]
    share = "all" if first >= total else units.percent(first, total)
    return f"; {share} of it at {_place(sites[0])}"


def sides(document: Document) -> list[str]:
    """Of which process, and when."""
    sampled = document["sample_mean_bytes"]
    how = f", a sample of one block in {units.size(sampled)}" if sampled else ""
    lines = [f"{document['program']}, process {document['process']}{how}"]
    for name in "ab":
        at = units.duration(document[name]["time_ns"])
        lines.append(f"{name.upper()}: {document[name]['file']}, {at} after its start")
    return lines


def below(document: Document, top: int) -> Iterator[str]:
    """What is left out, and notes."""
    if len(document["sites"]) > top:
        yield f"{units.counted(len(document['sites']) - top, 'more call site')}: --top"
    if document["unsure_sites"]:
        yield f"{units.counted(document['unsure_sites'], 'call site')} changed by no more than chance"
    yield from (f"note: {note}" for note in document["notes"])


def on_console(document: Document, top: int, console: Console) -> None:
    """Answer first, then the table."""
    for line in (*verdict(document), "", *sides(document), ""):
        console.print(line)
    if document["sites"]:
        console.print(terminal.table(COLUMNS, document["sites"][:top]))
    for line in below(document, top):
        console.print(line)


def as_markdown(document: Document, top: int) -> str:
    """The same as Markdown."""
    rows = [
        [markdown.escaped(column.written(row, {})) for column in COLUMNS] for row in document["sites"][:top]
    ]
    lines = ["### Heap: two moments of a process", ""]
    lines += [*(f"- {markdown.escaped(line)}" for line in verdict(document)), ""]
    if rows:
        lines += markdown.table([str(column.label) for column in COLUMNS], rows, "rrrrl")
    lines += [f"- {markdown.escaped(line)}" for line in (*sides(document), *below(document, top))]
    return "\n".join(lines) + "\n"


def next_command(document: Document) -> str:
    """The next command."""
    return f"heapwright explain {shlex.quote(document['b']['file'])} --question growth"
