# SPDX-License-Identifier: MIT
"""explain --json --over-time: bins that sum up to the figures of the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
from heapwright.explain import schema
from written_traces import run_command, small_trace


def document_of(path: Path, *options: object) -> dict[str, Any]:
    said = run_command("explain", path, "--json", *options, cwd=path.parent)
    assert said.code == 0, said.err
    return json.loads(said.out)  # type: ignore[no-any-return]


def test_bins_sum_up_to_the_totals(tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / "small.heapwright")
    document = document_of(path, "--over-time")
    jsonschema.Draft202012Validator(schema.schema()).validate(document)
    found, totals = document["over_time"], document["summary"]["totals"]
    assert sum(found["paths"]["allocations"]) == totals["allocations"] > 0
    assert sum(found["paths"]["bytes"]) == totals["requested_bytes"]
    assert sum(found["threads"]["allocations"]) == totals["allocations"]
    assert sum(found["threads"]["releases"]) == totals["releases"] - totals["reallocs"]
    calls = zip(found["latencies"]["is_release"], found["latencies"]["calls"], strict=True)
    assert sum(many for is_release, many in calls if not is_release) == totals["allocations"]
    assert max(found["paths"]["bin"]) <= len(found["bin_end_ns"])
    live: dict[int, int] = {}
    for stack, held in zip(found["paths"]["stack"], found["paths"]["live_bytes"], strict=True):
        live[stack] = held
    assert sum(live.values()) == document["summary"]["live_at_end_bytes"]
    assert len(found["stacks"]["parent"]) == len(found["stacks"]["site"]) > max(live)


def test_it_is_there_only_when_asked_for_and_only_in_json(tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / "small.heapwright")
    assert "over_time" not in document_of(path)
    said = run_command("explain", path, "--over-time", cwd=tmp_path)
    assert said.code == 2
    assert "--over-time needs --json" in said.err
