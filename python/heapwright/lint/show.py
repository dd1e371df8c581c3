# SPDX-License-Identifier: MIT
"""Findings as text for terminals, and as SARIF."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heapwright.lint.document import ALL_KINDS, page
from heapwright.lint.expression import (
    ARGUMENT,
    ELEMENT,
    GIVEN,
    GLOBAL,
    LOCAL,
    MEMBER,
    PARAMETER,
    RETURNED,
    STATIC,
    TEMPORARY,
    THROWN,
)
from heapwright.lint.kinds import PREFIX
from heapwright.report import sarif as sarif_file
from heapwright.report import units, widgets
from heapwright.report.columns import Record
from heapwright.report.sentences import capitalized

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]
_LEAST_REASON = 0.005
_MOST = 0.9
_MOST_LINES = 4  # shown for a member
_OWNERS = {
    LOCAL: "the local {}",
    STATIC: "the static {}",
    GLOBAL: "the global {}",
    PARAMETER: "the caller, by the parameter {}",
    MEMBER: "the member {}",
    GIVEN: "the receiver of the pointer {}",
    RETURNED: "the caller: {} is returned",
    ELEMENT: "an element of {}",
    ARGUMENT: "none after the call of {}",
    TEMPORARY: "none: a temporary",
    THROWN: "the catcher",
}


def on_console(document: Document, top: int, console: Console) -> None:
    """Coverage first, then the findings, most first."""
    for line in head(document):
        console.print(line)
    shown = document["findings"][:top]
    for number, row in enumerate(shown, 1):
        console.print()
        console.print(widgets.Text(f"{number}. {title(row)}", style="bold"))
        console.print(widgets.Pairs([(f"   {name}", widgets.Text(text)) for name, text in _pairs(row)]))
    console.print()
    for line in foot(document, top):
        console.print(line)


def head(document: Document) -> list[str]:
    """How much is explained, and why the rest is not."""
    coverage = document["coverage"]
    if coverage is None:
        number = len(document["findings"])
        return [f"{units.counted(number, 'finding')} in {document['sources']}, without a recording."]
    estimated = "about " if document["is_sampled"] else ""
    lines = [
        f"{units.percent(coverage['explained'], coverage['allocations'])} of {estimated}"
        f"{coverage['allocations']:,} recorded allocations are explained by "
        f"{units.counted(coverage['lines'], 'line')}."
    ]
    whole = max(1, coverage["allocations"])
    rest = [
        f"{units.percent(row['allocations'], whole)} {row['reason']} ({', '.join(row['where'][:2])})"
        for row in coverage["not_explained"]
        if row["allocations"] >= _LEAST_REASON * whole
    ]
    if rest:
        lines.append(f"Not explained: {'; '.join(rest)}.")
    return lines


def title(row: Record) -> str:
    """Where it is, and its rule."""
    return f"{row['file']}:{row['line']}  {row['what']}  [{row['rule']}]"


def _pairs(row: Record) -> list[tuple[str, str]]:
    loop = ", in a loop" if row["is_in_loop"] else ""
    code = (
        row["expression"] or f"{row['calls'] or 'nothing'} (from the recording; not visible in the sources)"
    )
    pairs = [("code", f"{code}   in {row['function']}{loop}" if row["function"] else code)]
    if row["allocations"]:
        pairs.append(("costs", costs(row)))
    if life := lifetime(row):
        pairs.append(("owner", life))
    if row["growing"]:
        pairs.append(("grows", growth(row["growing"])))
    if row["other_lines"]:
        also = row["other_lines"][:_MOST_LINES]
        more = len(row["other_lines"]) - len(also)
        pairs.append(("also at", ", ".join(also) + (f" and {more} more" if more else "")))
    if row["called_from"]:
        pairs.append(("from", ", ".join(row["called_from"])))
    pairs.append(("do", row["action"] + (f"   (docs/parts/{row['part']}.md)" if row["part"] else "")))
    if gain(row):
        pairs.append(("gain", f"{gain(row)}: {row['gain_is_of']}"))
    if row["fix"]:
        written = "   (applied)" if row["is_fixed"] else "   (--fix applies it)"
        pairs.append(("edit", f"{_one_line(row['fix']['old'])} → {_one_line(row['fix']['text'])}{written}"))
    if row["when_not"]:
        pairs.append(("not if", row["when_not"]))
    if row["replay_change"]:
        pairs.append(("measure", f"heapwright replay FILE --change {shlex.quote(row['replay_change'])}"))
    return pairs


def _one_line(text: str) -> str:
    return " ".join(text.split())


def costs(row: Record) -> str:
    """Its share and figures."""
    parts = [
        f"{units.percent(row['share'])} of the allocations ({units.count(row['allocations'])})",
        units.size(row["bytes"]),
    ]
    if row["time_ns"]:
        parts.append(units.duration(row["time_ns"]))
    if row["live_at_peak_bytes"]:
        parts.append(f"{units.size(row['live_at_peak_bytes'])} at the peak")
    if row["pinned_bytes"]:
        parts.append(f"pins {units.size(row['pinned_bytes'])}")
    return ", ".join(parts)


def growth(growing: Record) -> str:
    """How it grows, and whether by more or by larger blocks."""
    means = [units.size(growing[f"mean_bytes_at_{end}"]) for end in ("begin", "end")]
    sizes = means[1] if means[0] == means[1] else " → ".join(means)
    blocks = units.counted(growing["blocks_at_end"], "block")
    slope = f"by {units.rate(growing['bytes_per_s'])}, " if growing["bytes_per_s"] else ""
    return f"{slope}to {blocks} of {sizes} on average ({growing['kind']})"


def lifetime(row: Record) -> str:
    """Who owns the blocks, and for how long."""
    parts = []
    if row["owner"] in _OWNERS:
        name = row["owner_name"]
        parts.append(
            _OWNERS[row["owner"]].format(name or ("it" if row["owner"] == RETURNED else "(unnamed)"))
        )
    if not row["allocations"]:
        return ""
    if row["freed"]:
        parts.append(f"blocks live {units.duration(row['lifetime_ns'])} on average")
    if row["temporaries"] >= _MOST * row["allocations"]:
        parts.append("nearly all are freed by the next call")
    if row["live_at_end_blocks"] >= _MOST * row["allocations"]:
        parts.append("they stay to the end")
    return "; ".join(parts)


def gain(row: Record) -> str:
    """The bound; "" = not known."""
    gains = []
    if row["gain_ns"]:
        gains.append(
            f"{units.duration(row['gain_ns'])} ({units.percent(row['gain_time_share'])} of its time)"
        )
    if row["gain_bytes"]:
        share = units.percent(row["gain_bytes_share"])
        gains.append(f"{units.size(row['gain_bytes'])} ({share} of the peak)")
    return f"at most {' and '.join(gains)}" if gains else ""


def foot(document: Document, top: int) -> list[str]:
    """What is not shown, and notes."""
    lines = []
    more = len(document["findings"]) - top
    if more > 0:
        lines.append(f"{units.counted(more, 'more finding')}: --top {len(document['findings'])}")
    hidden = [
        f"{number} {words}"
        for key, words in (
            ("nolint", "by NOLINT"),
            ("baseline", "in the baseline"),
            ("unchanged", "on unchanged lines"),
        )
        if (number := document["hidden"][key])
    ]
    if hidden:
        lines.append(f"not shown: {', '.join(hidden)}")
    return [*lines, *(f"note: {note}" for note in document["notes"])]


def sarif(document: Document, folder: Path) -> str:
    """A result for each finding."""
    used = sorted({row["rule"] for row in document["findings"]})
    kinds = [ALL_KINDS[rule.removeprefix(PREFIX)] for rule in used]
    rules = [
        sarif_file.Rule(
            kind.rule_id, kind.what, f"{kind.fix}. Not if: {kind.when_not}. See {page(kind.name)}."
        )
        for kind in kinds
    ]
    results = [
        sarif_file.Result(
            row["rule"],
            sarif_file.NOTE if row["allocations"] else sarif_file.WARNING,
            sentence(row),
            str(folder / row["file"]),
            row["line"],
            ("finding/v1", row["id"]),
            row["column"],
            _edit(row),
        )
        for row in document["findings"]
    ]
    return sarif_file.written(rules, results)


def _edit(row: Record) -> sarif_file.Edit | None:
    fix = row["fix"]
    if not fix or row["is_fixed"]:
        return None
    begin, end = (fix["begin_line"], fix["begin_column"]), (fix["end_line"], fix["end_column"])
    return sarif_file.Edit(row["action"], begin, end, fix["text"])


def sentence(row: Record) -> str:
    """A finding on one line."""
    parts = [row["what"]]
    if row["allocations"]:
        parts.append(costs(row))
    bound = f" ({gain(row)})" if gain(row) else ""
    return f"{': '.join(parts)}. {capitalized(row['action'])}{bound}."


def next_command(document: Document) -> str:
    """The next command."""
    file = shlex.quote(document["recording"]) if document["recording"] else ""
    if not file and any(row["fix"] and not row["is_fixed"] for row in document["findings"]):
        return f"heapwright lint --sources {shlex.quote(document['sources'])} --fix"
    if not file:
        return f"heapwright lint --with FILE.heapwright --sources {shlex.quote(document['sources'])}"
    changes = [row["replay_change"] for row in document["findings"] if row["replay_change"]]
    if changes:
        return f"heapwright replay {file} --change {shlex.quote(changes[0])}"
    return f"heapwright explain {file} --question advice"
