# SPDX-License-Identifier: MIT
"""The JSON of info: its schema holds for traces of each kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from heapwright.cli import run_command, schemas
from written_traces import MALLOC, MadeTrace


def document_of(trace: MadeTrace, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run_command(["info", str(trace.write(folder / "t.heapwright")), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("has_end", [True, False])
def test_the_schema_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str], has_end: bool) -> None:
    trace = MadeTrace()
    trace.meta("program", "/opt/shop/server").meta("allocator", "glibc 2.36")
    trace.event(MALLOC, 0x1000, 10)
    trace.has_end = has_end
    schema = schemas.of("info")
    found = document_of(trace, tmp_path, capsys)
    assert bool(found["damage"]) is not has_end
    jsonschema.validate(found, schema)
    found["threads"][0]["colour"] = "blue"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema)
