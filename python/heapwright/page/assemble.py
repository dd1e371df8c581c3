# SPDX-License-Identifier: MIT
"""Assembles the page from its parts, and keeps it within its size limit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template
from typing import Any

from heapwright.explain.report import Report
from heapwright.page import head, held, packing, sections, slow
from heapwright.page.data import Data, data_of
from heapwright.report import units
from heapwright.report.markup import STYLES, policy, tag

MAX_BYTES = 5_000_000
_ROWS = 250_000  # of call paths by bins, to begin with
_FEWEST_ROWS = 2_000

_PARTS = Path(__file__).parent / "parts"
_STYLE_FILES = (
    _PARTS / "../uplot/uPlot.min.css",
    *(STYLES / name for name in ("colours.css", "text.css", "tables.css")),
    _PARTS / "pictures.css",
    _PARTS / "paper.css",
)
_SCRIPTS = ("format.js", "dom.js", "data.js", "measures.js", "trees.js", "state.js", "bar.js", "memory.js",
            "icicle.js", "sites.js", "holders.js", "growth.js", "pages.js", "causes.js", "latency.js",
            "lifetimes.js", "threads.js", "slow.js", "folding.js",
            "keys.js", "print.js", "main.js")  # fmt: skip


def render(report: Report, document: dict[str, Any], max_bytes: int = MAX_BYTES) -> str:
    """The page. Combines small call paths until it is no larger than max_bytes."""
    rows = _ROWS
    while True:
        data = data_of(report, document["questions"], rows)
        text = _page(report, document, data)
        if len(text.encode()) <= max_bytes or rows <= _FEWEST_ROWS:
            return text
        rows //= 2


def _page(report: Report, document: dict[str, Any], data: Data) -> str:
    summary, questions = document["summary"], document["questions"]
    style, script = _style(), _script()
    template = Template((_PARTS / "page.html").read_text(encoding="utf-8"))
    calls = questions.get("slow_calls", {}).get("calls", [])
    own = {**data.document, "slow": [call["begin_ns"] for call in calls]}
    return template.substitute(
        policy=policy(style, script),
        title=tag("x", head.title(summary))[3:-4],
        style=style,
        script=script,
        who=head.who(summary),
        first=head.first(summary, questions),
        memory_lead=_memory_lead(own),
        cutoff=tag("p", _cutoff(own), class_="note") if own["cutoff"] else "",
        held=held.panel(own["held"]),
        no_pages=_no_pages(report),
        no_latency=_no_latency(own),
        latency_lead=" Frees are not included: which of them belong to the selection is not known."
        if own["isFiltered"]
        else "",
        cause_note=_cause_note(questions),
        slow=slow.panel(document),
        advice=sections.panel(document, "advice", ("cause", "advice")),
        trust=sections.trust(document, _limits(own)),
        answers=sections.answers(document),
        footer=_footer(report),
        data=_script_json(own),
        packed=packing.spelt(data.packed),
    )


def _style() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in _STYLE_FILES)


def _script() -> str:
    """The script in one function, so that it defines no global names."""
    plot = (_PARTS / "../uplot/uPlot.iife.min.js").read_text(encoding="utf-8")
    own = "".join((_PARTS / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return f'{plot}\n(() => {{\n"use strict";\n{own}}})();\n'


def _script_json(value: Any) -> str:
    """JSON that cannot end its script element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return re.sub("[<>\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _memory_lead(own: dict[str, Any]) -> str:
    if own["hasBridge"]:
        scans = units.counted(len(own["scanNs"]), "scan")
        return (
            f"At each of {scans} the parts were counted page by page; between scans only the kernel’s figure "
            "(the line) and live bytes are known, and the other parts are interpolated."
        )
    if any(own["timeline"]["resident"]):
        return (
            "The line is the kernel’s figure. The parts in between are not known: the recording has no scan "
            "of pages."
        )
    return "Resident memory was not recorded."


def _cutoff(own: dict[str, Any]) -> str:
    least = units.percent(own["cutoff"])
    return (
        f"Call paths with less than {least} of every measure are combined, by call site or among the "
        "smaller ones."
    )


def _limits(own: dict[str, Any]) -> list[str]:
    steps = units.counted(len(own["binEndNs"]), "step")
    lines = [
        f"Spans are whole steps: the run is divided into {steps}, and an allocation counts where it ended."
    ]
    return [*lines, _cutoff(own)] if own["cutoff"] else lines


def _no_pages(report: Report) -> str:
    if report.facts.spreads is not None:
        return "Not available from samples: knowing which pages hold blocks takes every block."
    return "The recording has no scan of resident pages."


def _no_latency(own: dict[str, Any]) -> str:
    if own["isSampled"]:
        return "Not available from samples: sampled calls are slower."
    return "Times were not recorded (--no-durations)." if not own["hasDurations"] else "There were no calls."


def _cause_note(questions: dict[str, Any]) -> str:
    known = questions.get("slow_calls", {}).get("kernel_events", "recorded")
    said = f"Page faults and waits within calls are not known: {known}."
    return "" if known == "recorded" else tag("p", said, class_="note")


def _footer(report: Report) -> str:
    version = report.trace.metadata.recorder_version
    recorded = f" of a recording by {version}" if version else ""
    text = f"Made by heapwright{recorded}. This page fetches nothing."
    return tag("x", text)[3:-4]
