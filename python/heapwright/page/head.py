# SPDX-License-Identifier: MIT
"""The page's first screen: what ran, its reliability, what stands out. It needs no script."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from heapwright.explain import first_screen
from heapwright.report import units
from heapwright.report.markup import Markup, joined, tag
from heapwright.report.sentences import capitalized

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
# What a reader wants to know first, if there is something to report.
_OF_RESIDENT_MEMORY = ("cause", "residency")
_FIGURE = re.compile(
    r"[-+±<]?\d[\d,.]*\s?(?:[KMGT]iB|[BkMG]?B|%|ns|µs|ms|min|M|G|s)(?:/s)?(?![\w])|(?<![\w.:#])(?<!\w\()\d[\d,]*(?![\w.:])"
)


def first(summary: Answer, answers: Answer) -> Markup:
    """What stands out: the heaviest finding as the headline, then the others, each with its evidence."""
    findings = summary["findings"]
    if not findings:
        peak = units.size(summary["peak"]["live_bytes"])
        nothing = f"Nothing stands out: at most {peak} were live."
        return joined(tag("h1", _with_figures(nothing)), warnings(summary))
    heaviest = next((of for of in findings if of["question"] in _OF_RESIDENT_MEMORY), findings[0])
    text = _sentence(heaviest)
    return joined(
        tag("h1", _with_figures(f"{capitalized(text)}.")),
        _naming(heaviest),
        _links(heaviest, answers),
        warnings(summary),
        _findings([of for of in findings if of is not heaviest], answers),
    )


def title(summary: Answer) -> str:
    """Of the window."""
    program = summary["program"].rsplit("/", 1)[-1] or "a program"
    return f"{program} – heapwright"


def warnings(summary: Answer) -> Markup:
    """How complete the recording is."""
    lines = first_screen.warnings(summary)
    return joined(*(tag("p", line.plain, class_=f"warning {line.style}") for line in lines))


def who(summary: Answer) -> Markup:
    """What ran."""
    line = first_screen.headline(summary).plain
    command = summary["command"] or summary["program"]
    return tag("p", tag("b", command), line.removeprefix(command), class_="who")


def _findings(findings: list[Answer], answers: Answer) -> Markup:
    rows = [
        tag("li", tag("p", _with_figures(_sentence(finding))), _naming(finding), _links(finding, answers))
        for finding in findings
    ]
    return tag("ol", *rows, class_="findings") if rows else Markup()


def _naming(finding: Answer) -> Markup:
    return tag("p", finding["naming"], class_="warning yellow") if finding["naming"] else Markup()


def _sentence(finding: Answer) -> str:
    parts = f"; parts: {', '.join(finding['parts'])}" if finding["parts"] else ""
    return f"{finding['text']}{parts}"


def _links(finding: Answer, answers: Answer) -> Markup:
    """Links to the panel that shows it, and to its figures."""
    question = finding["question"]
    figures = tag("a", "The figures", href=f"#answer-{question}")
    link = _LINKS.get(question)
    if link is None:
        return tag("p", figures, class_="go")
    site = _site_of(finding["text"], answers.get(question, {}))
    measure = link.measure or None
    shown = tag("a", "Show it", href=f"#{link.panel}", data_measure=measure, data_site=site, class_="show")
    return tag("p", Markup(f"{shown} {figures}"), class_="go")


def _site_of(text: str, answer: Answer) -> str | None:
    """The name of the site that a finding is about."""
    for rows in answer.values():
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and row.get("name") and row["name"] in text and "site" in row:
                return str(row["site"])
    return None


def _with_figures(text: str) -> Markup:
    """The text with its figures highlighted."""
    parts: list[Markup | str] = []
    at = 0
    for found in _FIGURE.finditer(text):
        parts += [text[at : found.start()], tag("b", found[0])]
        at = found.end()
    return joined(*parts, text[at:])
