# SPDX-License-Identifier: MIT
"""A verdict as JUnit XML and as SARIF, for build servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from heapwright.gate import show
from heapwright.gate.document import UNDER, WITHIN
from heapwright.gate.limits import FIGURES
from heapwright.report import sarif as sarif_file
from heapwright.report.columns import Record

Document = Mapping[str, Any]
_HELP = "A limit of the budget file. --accept --reason TEXT writes the current figures."


def junit(document: Document) -> str:
    """One test case for each limit."""
    broken = [check for check in document["checks"] if check["verdict"] != WITHIN]
    suite = ElementTree.Element(
        "testsuite",
        name="heapwright gate",
        tests=str(len(document["checks"])),
        failures=str(len(broken)),
        errors="0",
        skipped="0",
    )
    for check in document["checks"]:
        name = f"{show.title(check)}: {check['figure']}"
        case = ElementTree.SubElement(suite, "testcase", classname=_xml(document["budget"]), name=_xml(name))
        if check["verdict"] != WITHIN:
            text = _xml(show.sentence(check))
            ElementTree.SubElement(case, "failure", message=text, type=check["verdict"]).text = text
    ElementTree.indent(suite)
    text = ElementTree.tostring(suite, encoding="unicode")
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{text}\n"


def _xml(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return "".join(letter if _is_of_xml(letter) else "\ufffd" for letter in text)


def _is_of_xml(letter: str) -> bool:
    # File names that are not UTF-8 contain lone surrogates.
    return letter >= " " and letter not in "\ufffe\uffff" and not "\ud800" <= letter <= "\udfff"


def sarif(document: Document) -> str:
    """A result for each broken limit: at the lines of the call site if known, otherwise at the budget
    file."""
    broken = [check for check in document["checks"] if check["verdict"] != WITHIN]
    used = sorted({check["figure"] for check in broken})
    rules = [
        sarif_file.Rule(_rule(figure), f"Heap budget: {FIGURES[figure].label}", _HELP) for figure in used
    ]
    return sarif_file.written(rules, [_result(check, document["budget"]) for check in broken])


def _rule(figure: str) -> str:
    return f"heap-{figure.replace('_', '-')}"


def _result(check: Record, budget: str) -> sarif_file.Result:
    place = next((site for site in check["sites"] if site["file"] and site["line"]), None)
    file, lines = (place["file"], place["lines"]) if place else (budget, [1])
    return sarif_file.Result(
        _rule(check["figure"]),
        sarif_file.WARNING if check["verdict"] == UNDER else sarif_file.ERROR,
        show.sentence(check),
        file,
        min(lines),
        ("limit/v1", f"{show.title(check)}: {check['figure']}"),
        end_line=max(lines),
    )
