# SPDX-License-Identifier: MIT
"""SARIF as a reader that is not ours reads it: its models are those of the standard, and refuse what it has not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sarif_pydantic
from heapwright.report import sarif
from pydantic import ValidationError

RULES = [sarif.Rule("heap-calls", "Allocations", "What to do."), sarif.Rule("heap-bytes", "Bytes", "Less.")]
RESULTS = [
    sarif.Result(
        "heap-calls", sarif.ERROR, 'above "the" limit – é\n', "src/a b.cpp", 12, ("limit/v1", "x"), 7
    ),
    sarif.Result("heap-bytes", sarif.WARNING, "below", "/elsewhere/ü.cpp", 0, ("limit/v1", "y")),
]


def test_a_reader_finds_every_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = sarif_pydantic.Sarif.model_validate_json(sarif.written(RULES, RESULTS))
    (run,) = log.runs
    assert [rule.id for rule in run.tool.driver.rules or []] == ["heap-calls", "heap-bytes"]
    first, second = run.results or []
    assert (first.rule_id, first.message.text) == ("heap-calls", 'above "the" limit – é\n')
    assert (first.level, second.level) == (sarif_pydantic.Level.ERROR, sarif_pydantic.Level.WARNING)
    place = (first.locations or [])[0].physical_location
    assert place is not None and place.artifact_location is not None and place.region is not None
    assert place.artifact_location.uri == "src/a%20b.cpp"
    assert (place.region.start_line, place.region.start_column) == (12, 7)
    other = (second.locations or [])[0].physical_location
    assert other is not None and other.artifact_location is not None and other.region is not None
    assert other.artifact_location.uri == "/elsewhere/%C3%BC.cpp"
    assert (other.region.start_line, other.region.start_column) == (1, None)


@pytest.mark.parametrize(
    ("old", "new"), [('"message"', '"massage"'), ('"error"', '"severe"'), ('"driver"', '"river"')]
)
def test_that_reader_refuses_what_is_no_sarif(old: str, new: str) -> None:
    text = sarif.written(RULES, RESULTS)
    assert old in text
    with pytest.raises(ValidationError):
        sarif_pydantic.Sarif.model_validate_json(text.replace(old, new))
    assert json.loads(text)["version"] == "2.1.0"
