# SPDX-License-Identifier: MIT
"""A comparison as text, as tables for terminals and Markdown, and the next command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heapwright.compare import advised
from heapwright.compare.figures import FIGURES, SITE_FIGURES, Figure
from heapwright.compare.noise import LESS, MORE, UNKNOWN
from heapwright.compare.sites import ADDED, GONE, INLINED, RENAMED, UNNAMED
from heapwright.measure.verdict import LEAST_RUNS
from heapwright.report import markdown, terminal, units
from heapwright.report.columns import TEXT, WORD, Column, Record

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]
_BY_KEY = {figure.key: figure for figure in FIGURES}
_LEAST_SHARE = 0.05  # of a difference, at one site, that is mentioned
_NONE = "–"
_HEADINGS = {
    "calls": "calls",
    "bytes": "bytes",
    "peak_live_bytes": "at peak",
    "live_at_end_bytes": "at end",
    "time_ns": "time",
    "p99_ns": "p99",
}


def verdict(document: Document) -> list[str]:
    """How B differs from A, the most certain figures first; then what is the same or not known."""
    lines = []
    per = f" per {document['per']}" if document["per"] else ""
    for row in document["totals"]:
        if row["verdict"] in (LESS, MORE) and not _is_told_by_bytes(row, document):
            lines.append(f"B {_phrase(row, per)}{_of_other_calls(document, row)}{_where(document, row)}.")
    if not lines:
        lines.append(_no_difference(document))
    unsure = [row for row in document["totals"] if row["verdict"] == UNKNOWN and row["difference"]]
    if unsure:
        lines.append(_not_known(unsure))
    return lines


def _is_told_by_bytes(row: Record, document: Document) -> bool:
    """Whether the row repeats another one: blocks at the end after bytes at the end."""
    ends = {one["key"]: one["verdict"] for one in document["totals"]}
    return bool(row["key"] == "live_at_end_blocks" and ends["live_at_end_bytes"] in (LESS, MORE))


def _phrase(row: Record, per: str) -> str:
    figure = _BY_KEY[row["key"]]
    amount = units.number(abs(row["difference"]), figure.unit)
    phrase = (figure.less if row["verdict"] == LESS else figure.more).format(amount)
    percent = units.signed_percent(row["relative_difference"])
    return f"{phrase}{per if figure.is_work else ''}{f' ({percent})' if percent else ''}"


def _of_other_calls(document: Document, row: Record) -> str:
    """With fewer fast calls, slow ones are a larger share, although no call became slower."""
    change = next(one["relative_difference"] for one in document["totals"] if one["key"] == "calls")
    if row["key"] != "p99_ns" or change is None or abs(change) < _LEAST_SHARE:
        return ""
    return (
        f", but the calls differ: there are {units.percent(abs(change))} {'fewer' if change < 0 else 'more'}"
    )


def _where(document: Document, row: Record) -> str:
    """The site with most of the difference, if its share is significant."""
    same_way = [
        (site["figures"][row["key"]]["difference"] / row["difference"], site)
        for site in document["sites"]
        if row["key"] in site["figures"] and site["figures"][row["key"]]["verdict"] in (LESS, MORE)
    ]
    share, site = max(same_way, key=lambda one: one[0], default=(0.0, None))
    if site is None or share < _LEAST_SHARE:
        return ""
    if share > 1.005:
        amount = units.signed(site["figures"][row["key"]]["difference"], row["unit"])
        return f"; {amount} at {_place(site)}, partly offset elsewhere"
    return f"; {100 * share:.0f} % of {'them' if row['unit'] == 'count' else 'it'} at {_place(site)}"


def _no_difference(document: Document) -> str:
    compared = [row["label"] for row in document["totals"] if row["verdict"] != UNKNOWN]
    return f"No difference in {_and(compared)}." if compared else "No known difference."


def _not_known(rows: Sequence[Record]) -> str:
    parts = [f"{row['label']} {units.signed(row['difference'], row['unit'])}" for row in rows]
    return (
        f"Not certain: {', '.join(parts)}; the variation between runs is not known: give at least "
        f"{LEAST_RUNS} recordings per side, or use --run."
    )


def _and(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def _place(site: Record) -> str:
    """parse_line parse.cpp:12, or the library."""
    name, file = site["name"], site["file"].rpartition("/")[2]
    if not file:
        return (
            name if not site["library"] or name.startswith(site["library"]) else f"{name} {site['library']}"
        )
    lines = ",".join(map(str, site["lines"][:3])) + (",…" if len(site["lines"]) > 3 else "")
    return f"{name} {file}:{lines}" if lines else f"{name} {file}"


def _titled(site: Record) -> str:
    state = {
        GONE: "gone: ",
        ADDED: "new: ",
        RENAMED: f"was {site['was']}: ",
        INLINED: f"with {site['was']}: ",
    }.get(site["state"], "")
    return f"{state}{_place(site)}"


def _is_shown(document: Document, figure: Figure) -> bool:
    rows = [site["figures"].get(figure.key) for site in document["sites"]]
    return any(row is not None and row["verdict"] in (LESS, MORE) for row in rows)


def _site_column(figure: Figure) -> Column:
    heading = _HEADINGS[figure.key]

    def text(site: Record, _: Record) -> str:
        row = site["figures"].get(figure.key)
        if row is None:
            return _NONE
        return units.signed(row["difference"], figure.unit) if row["verdict"] in (LESS, MORE) else "="

    return Column(figure.key, WORD, heading, text=text)


def site_columns(document: Document) -> list[Column]:
    """The figures that differ at a site, and its name."""
    shown = [_site_column(figure) for figure in SITE_FIGURES if _is_shown(document, figure)]
    return [*shown, Column("site", TEXT, "call site", text=lambda site, _: _titled(site))]


def _band(row: Record) -> str:
    if row["band"] is None:
        return "not known"
    return "exact" if row["is_exact"] and not row["band"] else f"±{units.number(row['band'], row['unit'])}"


def _change(row: Record) -> str:
    if row["verdict"] in (LESS, MORE):
        percent = units.signed_percent(row["relative_difference"])
        return f"{units.signed(row['difference'], row['unit'])} {percent}".strip()
    return "=" if row["verdict"] != UNKNOWN else f"{units.signed(row['difference'], row['unit'])} ?"


TOTALS = (
    Column("label", WORD, "in total"),
    Column("a", WORD, "A", text=lambda row, _: units.number(row["a"], row["unit"])),
    Column("b", WORD, "B", text=lambda row, _: units.number(row["b"], row["unit"])),
    Column("difference", WORD, "B − A", text=lambda row, _: _change(row)),
    Column("band", WORD, "run spread", text=lambda row, _: _band(row)),
)


HOLDERS = (
    Column("difference", WORD, "B − A", text=lambda row, _: _change({**row, "unit": "bytes"})),
    Column("a", WORD, "A", text=lambda row, _: units.size(row["a"])),
    Column("b", WORD, "B", text=lambda row, _: units.size(row["b"])),
    Column("name", TEXT, "held by"),
)


def below(document: Document, top: int) -> list[str]:
    """The reliability, and notes."""
    lines = []
    hidden = len(document["sites"]) - top
    if hidden > 0:
        lines.append(
            f"{units.counted(hidden, 'more call site')} with a difference: --top {len(document['sites'])}"
        )
    if document["same_sites"]:
        lines.append(f"{units.counted(document['same_sites'], 'call site')} without a difference")
    runs = [document[side]["runs"] for side in "ab"]
    if min(runs) >= LEAST_RUNS:
        lines.append(
            f"{runs[0]} and {runs[1]} runs: chance alone calls at most "
            f"{units.percent(document['false_alarms_at_most'])} of the figures with a band different"
        )
    return [*lines, *(f"note: {note}" for note in document["notes"])]


def advice(document: Document) -> list[str]:
    """The estimates of advice on A, compared to the result."""
    totals = {row["key"]: row for row in document["totals"]}
    return [advised.sentence(row, totals) for row in document["advice"]]


def sides(document: Document) -> list[str]:
    """A line each on A and B."""
    lines = []
    for name in "ab":
        side = document[name]
        what = side["command"] or side["files"][0]
        more = f" and {side['runs'] - 1} more" if side["runs"] > 1 and not side["command"] else ""
        runs = f", {units.counted(side['runs'], 'run')}" if side["command"] else ""
        lines.append(f"{name.upper()}: {what}{more}{runs}, {units.duration(side['duration_ns'])}")
    return lines


def on_console(document: Document, top: int, console: Console) -> None:
    """Answer first, then the sites, then the totals."""
    for line in (*verdict(document), "", *sides(document), ""):
        console.print(line)
    if document["sites"]:
        console.print(terminal.table(site_columns(document), document["sites"][:top]))
        console.print()
    if document["holders"]:
        console.print(terminal.table(HOLDERS, document["holders"][:top]))
        console.print()
    console.print(terminal.table(TOTALS, document["totals"]))
    for line in advice(document):
        console.print(f"advice on A: {line}")
    for line in below(document, top):
        console.print(line)


def as_markdown(document: Document, top: int) -> str:
    """The same as Markdown."""
    columns = site_columns(document)
    ordered = [columns[-1], *columns[:-1]]  # Markdown's first column is left-aligned
    rows = [
        [markdown.escaped(column.written(site, {})) for column in ordered] for site in document["sites"][:top]
    ]
    totals = [[column.written(row, {}) for column in TOTALS] for row in document["totals"]]
    lines = [
        "### Heap: B compared to A",
        "",
        *(f"- {markdown.escaped(line)}" for line in verdict(document)),
        "",
    ]
    if rows:
        lines += markdown.table([str(column.label) for column in ordered], rows)
    if document["holders"]:
        ordered = [HOLDERS[-1], *HOLDERS[:-1]]
        held = [
            [markdown.escaped(column.written(row, {})) for column in ordered]
            for row in document["holders"][:top]
        ]
        lines += markdown.table([str(column.label) for column in ordered], held)
    lines += markdown.table([str(column.label) for column in TOTALS], totals)
    advised = (f"advice on A: {line}" for line in advice(document))
    lines += [f"- {markdown.escaped(line)}" for line in (*advised, *sides(document), *below(document, top))]
    return "\n".join(lines) + "\n"


def next_command(document: Document) -> str:
    """The next command."""
    first = document["sites"][0] if document["sites"] else None
    file = shlex.quote(document["b"]["files"][0])
    if first is None or first["state"] == GONE or first["function"] in ("", UNNAMED):
        return f"heapwright explain {file}"
    return f"heapwright explain {file} --site {shlex.quote(re.escape(first['name']))}"
