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


class Edit(NamedTuple):
    """What would mend a result, in its file. begin, end: line and column from 1, the end behind the last."""

    what: str
    begin: tuple[int, int]
    end: tuple[int, int]
    text: str


class Result(NamedTuple):
    """level: ERROR, WARNING or NOTE. fingerprint: its name and value, the same while the finding is."""

    rule: str
    level: str
    message: str
    file: str
    line: int
    fingerprint: tuple[str, str]
    column: int = 0  # 0 = not known
    edit: Edit | None = None
    end_line: int = 0  # 0 = the same as line


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
    if result.end_line > result.line:
        region["endLine"] = result.end_line
    place = {"artifactLocation": {"uri": _relative(result.file)}, "region": region}
    name, value = result.fingerprint
    whole: dict[str, object] = {
        "ruleId": result.rule,
        "level": result.level,
        "message": {"text": result.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {name: value},
    }
    if result.edit is not None:
        whole["fixes"] = [_fix(result.edit, place["artifactLocation"])]
    return whole


def _fix(edit: Edit, file: object) -> dict[str, object]:
    region = {
        "startLine": edit.begin[0],
        "startColumn": edit.begin[1],
        "endLine": edit.end[0],
        "endColumn": edit.end[1],
    }
    replacement = {"deletedRegion": region, "insertedContent": {"text": edit.text}}
    return {
        "description": {"text": edit.what},
        "artifactChanges": [{"artifactLocation": file, "replacements": [replacement]}],
    }


def _relative(file: str) -> str:
    """Below the folder that the command runs in: what a build server knows."""
    path = Path(os.path.normpath(file))
    here = Path.cwd()
    if path.is_absolute() and path.is_relative_to(here):
        path = path.relative_to(here)
    from urllib.parse import quote  # only where a file is written

    return quote(os.fsencode(path))
