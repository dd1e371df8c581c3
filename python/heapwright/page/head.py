# SPDX-License-Identifier: MIT
"""The page's first screen: what ran, how far it can be trusted, what stands out. It needs no script."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from heapwright.explain import first_screen
from heapwright.page.markup import Markup, joined, tag
from heapwright.report import units

Answer = dict[str, Any]


class Link(NamedTuple):
    """Where the evidence is: a panel of the page, and the measure it shows."""

    panel: str
    measure: str = ""


# Questions without an entry have only their answer.
_LINKS = {
    "timeline": Link("memory"),
    "peak": Link("where", "peak"),
    "residency": Link("pages", "pinned"),
    "cause": Link("pages", "pinned"),
    "advice": Link("advice"),
    "calls": Link("where", "calls"),
    "leaks": Link("where", "live"),
    "growth": Link("growth", "growth"),
    "volume": Link("where", "bytes"),
    "temporaries": Link("where", "calls"),
    "time": Link("where", "time"),
    "latency": Link("latency"),
    "slow_calls": Link("slow"),
    "lifetimes": Link("lifetimes"),
    "threads": Link("threads"),
}
# What a reader who opens a page wants to know first, where there is something to say.
_OF_RESIDENT_MEMORY = ("cause", "residency")
_FIGURE = re.compile(
    r"[-+±<]?\d[\d,.]*\s?(?:[KMGT]iB|[BkMG]?B|%|ns|µs|ms|min|M|G|s)(?:/s)?(?![\w])|(?<![\w.:#])\d[\d,]*(?![\w.:])"
)


def first(summary: Answer, answers: Answer) -> Markup:
    """What stands out: the heaviest finding as the headline, and all of them with their evidence."""
    findings = summary["findings"]
    return joined(tag("h1", _headline(summary, findings)), warnings(summary), _findings(findings, answers))


def title(summary: Answer) -> str:
    """Of the window."""
    program = summary["program"].rsplit("/", 1)[-1] or "a program"
    return f"{program} – heapwright"


def warnings(summary: Answer) -> Markup:
    """How far the recording is whole."""
    lines = first_screen.warnings(summary)
    return joined(*(tag("p", line.plain, class_=f"warning {line.style}") for line in lines))


def who(summary: Answer) -> Markup:
    """What ran."""
    line = first_screen.headline(summary).plain
    command = summary["command"] or summary["program"]
    return tag("p", tag("b", command), line.removeprefix(command), class_="who")


def _headline(summary: Answer, findings: list[Answer]) -> Markup:
    """The heaviest finding; without one, what was live."""
    if findings:
        about_memory = [finding for finding in findings if finding["question"] in _OF_RESIDENT_MEMORY]
        text = (about_memory or findings)[0]["text"]
        return _with_figures(f"{text[:1].upper()}{text[1:]}.")
    peak = units.size(summary["peak"]["live_bytes"])
    return _with_figures(f"Nothing stands out: at most {peak} were live.")


def _findings(findings: list[Answer], answers: Answer) -> Markup:
    rows = [_finding(finding, answers.get(finding["question"], {})) for finding in findings]
    return tag("ol", *rows, class_="findings") if rows else Markup()


def _finding(finding: Answer, answer: Answer) -> Markup:
    question = finding["question"]
    parts = f"; parts for it: {', '.join(finding['parts'])}" if finding["parts"] else ""
    link = _LINKS.get(question)
    links = [tag("a", "The figures", href=f"#answer-{question}")]
    if link is not None:
        shown = tag(
            "a",
            "Show it",
            href=f"#{link.panel}",
            data_measure=link.measure or None,
            data_site=_site_of(finding["text"], answer),
            class_="show",
        )
        links.insert(0, shown)
    return tag(
        "li", tag("p", _with_figures(finding["text"] + parts)), tag("p", Markup(" ".join(links)), class_="go")
    )


def _site_of(text: str, answer: Answer) -> str | None:
    """The name of the site that a finding is about."""
    for rows in answer.values():
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and row.get("name") and row["name"] in text and "site" in row:
                return str(row["site"])
    return None


def _with_figures(text: str) -> Markup:
    """The text with its figures made to stand out."""
    parts: list[Markup | str] = []
    at = 0
    for found in _FIGURE.finditer(text):
        parts += [text[at : found.start()], tag("b", found[0])]
        at = found.end()
    return joined(*parts, text[at:])
