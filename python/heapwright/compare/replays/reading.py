# SPDX-License-Identifier: MIT
"""Reads the parts of heapwright replay --json that a comparison needs."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from heapwright.measure.verdict import VERDICTS, Figure
from heapwright.model.values import clean
from heapwright.replay.figures import AT_THE_END, FIGURES, KEYS, SCHEMA

_KIND = SCHEMA.rpartition("/")[0]


class ReplayFileError(Exception):
    """An error in one line that says what to do."""


class Measured(NamedTuple):
    """A figure of a candidate. error: the possible error of the replay, besides the noise of its runs.

    difference: to the replay's reference, with the replay's own verdict.
    """

    figure: Figure
    error: float
    difference: float
    relative_difference: float
    verdict: str


class Candidate(NamedTuple):
    """figures: by key; empty after a failure. change: the value of --change; empty: as recorded.

    variables: the settings, as NAME=VALUE.
    """

    name: str
    version: str
    change: str
    variables: tuple[str, ...]
    failure: str
    figures: dict[str, Measured]


class Replay(NamedTuple):
    """window: its begin and end in the recording. is_true: the accuracy of its memory is known.

    recording_start_unix_ns: 0 in older documents.
    """

    file: str
    trace: str
    program: str
    recording_start_unix_ns: int
    recorded_on: str
    reference: str
    processor: str
    processors: int
    calls: int
    runs: int
    window: tuple[int, int]
    is_paced: bool
    is_true: bool
    notes: tuple[str, ...]
    candidates: dict[str, Candidate]


def is_document(path: Path) -> bool:
    """Whether the file has JSON and not a recording."""
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(64).removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"{"
    except OSError:
        return False


def read(path: Path) -> Replay:
    """Reads a file; raises ReplayFileError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
        schema = _word(document["schema"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ReplayFileError(
            f"{path} is not a complete output of heapwright replay --json; create it again"
        ) from None
    if schema != SCHEMA:
        kind, _, version = schema.rpartition("/")
        why = f"of version {version}, which is unknown" if kind == _KIND else f"a document of {schema}"
        raise ReplayFileError(f"{path} is {why}; heapwright replay FILE --json writes {SCHEMA}")
    try:
        return _replay(str(path), document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise ReplayFileError(
            f"{path} lacks fields of {SCHEMA}, or they are inconsistent; create it again with replay --json"
        ) from None


def _replay(path: str, document: Mapping[str, Any]) -> Replay:
    truth, plan, machine = document["fidelity"], document["plan"], document["machine"]
    errors = {key: _amount(truth["errors"][key]) for key in KEYS} if truth else {}
    errors["time_ns"] = _amount(document.get("dry_range_ns", 0.0))  # missing in older documents
    errors["gaps_time_ns"] = _amount((document.get("gaps") or {}).get("error_ns") or 0.0)
    return Replay(
        path,
        _word(document["trace"]),
        _word(document["program"]),
        int(document.get("recording_start_unix_ns", 0)),
        _word(document["recorded_on"]),
        _word(document["reference"]),
        _word(machine.get("cpu", "")),
        int(machine.get("cpus", 0)),
        int(plan["operations"]),
        _runs(document["runs"]),
        (int(plan["begin_ns"]), int(plan["end_ns"])),
        document["pace"] > 0,
        truth is not None,
        tuple(map(_word, document["notes"])),
        {_word(one["name"]): _candidate(one, errors) for one in document["candidates"]},
    )


def _candidate(record: Mapping[str, Any], errors: Mapping[str, float]) -> Candidate:
    figures = {
        figure.key: _measured(
            record["figures"][figure.key], errors.get(AT_THE_END.get(figure.key, figure.key), 0.0)
        )
        for figure in FIGURES
        if figure.key in record["figures"]
    }
    failure = _word(record["failure"])
    name, version, change = (_word(record[key]) for key in ("name", "version", "change"))
    variables = tuple(f"{_word(key)}={_word(value)}" for key, value in record.get("variables", {}).items())
    return Candidate(name, version, change, variables, failure, {} if failure else figures)


def _measured(record: Mapping[str, Any], error: float) -> Measured:
    low, value, high = (_amount(record[key]) for key in ("low", "value", "high"))
    verdict = _word(record["verdict"])
    difference, relative = _finite(record["difference"]), _finite(record["relative_difference"])
    if verdict not in VERDICTS or difference * relative < 0:
        raise ValueError(verdict)
    return Measured(Figure(low, value, high, _runs(record["runs"])), error, difference, relative, verdict)


def _word(value: object) -> str:
    """Removes control characters: documents are untrusted."""
    return clean(str(value))


def _amount(value: Any) -> float:
    amount = _finite(value)
    if amount < 0:
        raise ValueError(amount)
    return amount


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _runs(value: Any) -> int:
    runs = int(value)
    if runs < 1:
        raise ValueError(runs)
    return runs
