# SPDX-License-Identifier: MIT
"""SARIF 2.1.0: what build servers read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ERROR, WARNING, NOTE = "error", "warning", "note"


class Rule(NamedTuple):
    """What results refer to by id."""

    id: str
    title: str
    help: str


class Result(NamedTuple):
    """level: ERROR, WARNING or NOTE. fingerprint: its name and value, the same while the finding is."""

    rule: str
    level: str
    message: str
    file: str
    line: int
    fingerprint: tuple[str, str]
    column: int = 0  # 0 = not known


def written(rules: Sequence[Rule], results: Sequence[Result]) -> str:
    """The whole file."""
    driver = {
        "name": "heapwright",
        "rules": [
            {"id": rule.id, "shortDescription": {"text": rule.title}, "help": {"text": rule.help}}
            for rule in rules
        ],
    }
    whole = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(result) for result in results]}],
    }
    return json.dumps(whole, indent=1) + "\n"


def _result(result: Result) -> dict[str, object]:
    region = {"startLine": max(1, result.line)}
    if result.column:
        region["startColumn"] = result.column
    place = {"artifactLocation": {"uri": _relative(result.file)}, "region": region}
    name, value = result.fingerprint
    return {
        "ruleId": result.rule,
        "level": result.level,
        "message": {"text": result.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {name: value},
    }


def _relative(file: str) -> str:
    """Below the folder that the command runs in: what a build server knows."""
    path = Path(os.path.normpath(file))
    here = Path.cwd()
    if path.is_absolute() and path.is_relative_to(here):
        path = path.relative_to(here)
    from urllib.parse import quote  # only where a file is written

    return quote(os.fsencode(path))
