# SPDX-License-Identifier: MIT
"""A verdict as text, for terminals and Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heapwright.gate.document import OVER, UNDER, WITHIN
from heapwright.gate.limits import PROGRAM
from heapwright.report import markdown, terminal, units
from heapwright.report.columns import TEXT, WORD, Column, Record

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]
_MOST_LINES = 3
_VERDICTS = {WITHIN: "ok", OVER: "OVER", UNDER: "tighten"}


def title(check: Record) -> str:
    """The subject of the check: program, site parse_line."""
    return check["kind"] if check["kind"] == PROGRAM else f"{check['kind']} {check['name']}"


def sentence(check: Record) -> str:
    """What is wrong, in one line."""
    value, limit = (units.number(check[name], check["unit"]) for name in ("value", "limit"))
    run = f" in {check['run']}" if check["run"] not in ("", check["name"]) else ""
    what = f"{title(check)}: {check['label']} {value}{run}"
    if check["verdict"] == UNDER:
        return f"{what}, far below the limit of {limit}: tighten it"
    more = units.number(check["value"] - check["limit"], check["unit"])
    where = "; ".join(_place(site, check["unit"]) for site in check["sites"])
    if any(site["value"] and site["difference"] is None for site in check["sites"]):
        where = f"most are {where}" if check["unit"] == "count" else f"most is {where}"
    return f"{what}, {more} above the limit of {limit}{f': {where}' if where else ''}"


def _place(site: Record, unit: str) -> str:
    place = _named(site)
    if site["difference"] is not None:
        rise = f"+{units.number(site['difference'], unit)}"
        return f"{rise} at {place}{' (new)' if site['is_new'] else ''}"
    return f"{units.number(site['value'], unit)} at {place}" if site["value"] else f"at {place}"


def _named(site: Record) -> str:
    """A function with all its lines: the budget does not know which of them grew."""
    file = site["file"].rpartition("/")[2]
    if not file:
        return str(site["name"])
    lines = ",".join(map(str, sorted(site["lines"])[:_MOST_LINES]))
    return f"{site['name']} {file}:{lines}{',…' if len(site['lines']) > _MOST_LINES else ''}"


def answer(document: Document) -> list[str]:
    """The verdict, and a line for each broken limit."""
    broken = [check for check in document["checks"] if check["verdict"] != WITHIN]
    number = units.counted(len(document["checks"]), "limit")
    if not broken:
        return [f"Within budget: {number} of {document['budget']} kept."]
    return [f"Outside the budget: {len(broken)} of {number} broken.", *map(sentence, broken)]


COLUMNS = (
    Column("verdict", WORD, "verdict", text=lambda check, _: _VERDICTS[check["verdict"]]),
    Column("value", WORD, "value", text=lambda check, _: units.number(check["value"], check["unit"])),
    Column("limit", WORD, "limit", text=lambda check, _: units.number(check["limit"], check["unit"])),
    Column("what", TEXT, "of", text=lambda check, _: f"{title(check)}: {check['figure']}"),
)


def on_console(document: Document, console: Console) -> None:
    """Answer first, then all limits."""
    for line in answer(document):
        console.print(line)
    console.print()
    console.print(terminal.table(COLUMNS, document["checks"]))
    for note in document["notes"]:
        console.print(f"note: {note}")


def as_markdown(document: Document) -> str:
    """The same as Markdown."""
    ordered = (COLUMNS[-1], COLUMNS[1], COLUMNS[2], COLUMNS[0])
    rows = [
        [markdown.escaped(column.written(check, {})) for column in ordered] for check in document["checks"]
    ]
    first, *others = answer(document)
    lines = [f"### Heap budget: {markdown.escaped(first)}", ""]
    lines += [*(f"- {markdown.escaped(line)}" for line in others), ""] if others else []
    lines += markdown.table([str(column.label) for column in ordered], rows)
    lines += [f"- note: {markdown.escaped(note)}" for note in document["notes"]]
    return "\n".join(lines) + "\n"


def next_command(document: Document, is_whole: bool) -> str:
    """The next command. is_whole: the recordings are complete; others give no limits, or too low ones."""
    if document["is_within"] or not is_whole:
        return f"heapwright explain {shlex.quote(document['recordings'][0])}"
    words = [document["budget"], document["recordings"][0]]
    words += ["--toolchain", document["toolchain"]] if document["toolchain"] else []
    return f"heapwright gate {shlex.join(words)} --accept --reason 'why it is right'"
