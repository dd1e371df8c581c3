# SPDX-License-Identifier: MIT
"""A verdict as JUnit's XML and as SARIF: what build servers read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from heapwright.gate import show
from heapwright.gate.document import UNDER, WITHIN
from heapwright.gate.limits import FIGURES
from heapwright.report.columns import Record

Document = Mapping[str, Any]
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_HELP = "A limit of the budget file. --accept --reason TEXT writes what is measured now."


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
    """Without what XML cannot hold."""
    return "".join(letter if _is_of_xml(letter) else "\ufffd" for letter in text)


def _is_of_xml(letter: str) -> bool:
    # File names that are not UTF-8 have halves of surrogate pairs.
    return letter >= " " and letter not in "\ufffe\uffff" and not "\ud800" <= letter <= "\udfff"


def sarif(document: Document) -> str:
    """A result for each broken limit: at the call site's line where it is known, else at the budget file."""
    broken = [check for check in document["checks"] if check["verdict"] != WITHIN]
    used = sorted({check["figure"] for check in broken})
    driver = {
        "name": "heapwright",
        "rules": [
            {
                "id": f"heap-{figure.replace('_', '-')}",
                "shortDescription": {"text": f"Heap budget: {FIGURES[figure].label}"},
                "help": {"text": _HELP},
            }
            for figure in used
        ],
    }
    results = [_result(check, document["budget"]) for check in broken]
    whole = {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(whole, indent=1) + "\n"


def _result(check: Record, budget: str) -> Record:
    place = next((site for site in check["sites"] if site["file"] and site["line"]), None)
    file, line = (place["file"], place["line"]) if place else (budget, 1)
    return {
        "ruleId": f"heap-{check['figure'].replace('_', '-')}",
        "level": "warning" if check["verdict"] == UNDER else "error",
        "message": {"text": show.sentence(check)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _relative(file)},
                    "region": {"startLine": line},
                }
            }
        ],
        "partialFingerprints": {"limit/v1": f"{show.title(check)}: {check['figure']}"},
    }


def _relative(file: str) -> str:
    """Below the folder that the command runs in: what a build server knows."""
    path = Path(os.path.normpath(file))
    here = Path.cwd()
    if path.is_absolute() and path.is_relative_to(here):
        path = path.relative_to(here)
    from urllib.parse import quote  # only where a file is written

    return quote(os.fsencode(path))
