# SPDX-License-Identifier: MIT
"""Memory that is given back and taken again: the verdict on it, whose remedy is then applied for real."""

import errno
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Record, Recording, command, programs

pytestmark = pytest.mark.full

JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
MESSAGES = 400


def explained(recording: Recording) -> dict[str, Any]:
    path = max(recording.paths(), key=lambda path: path.stat().st_mtime_ns)
    line = [command, "explain", path, "--json"]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True, timeout=120)
    document: dict[str, Any] = json.loads(done.stdout)
    if document["questions"]["slow_calls"]["kernel_events"] != "recorded":
        pytest.skip(f"the kernel does not tell here: {document['questions']['slow_calls']['kernel_events']}")
    return document


def advised(document: dict[str, Any]) -> dict[str, Any]:
    """The advice to keep memory, which must be the first."""
    row: dict[str, Any] = document["questions"]["advice"]["advice"][0]
    assert row["rule"] == "refaults", row
    return row


def named_settings(action: str) -> dict[str, str]:
    return dict(re.findall(r"\b([A-Z][A-Z_]+)=(\S+?)(?=[,;\s]|$)", action))


def faults_of(program: str, *arguments: object, environment: Mapping[str, str]) -> int:
    line = [str(programs / program), *map(str, arguments)]
    done = subprocess.run(
        line, capture_output=True, text=True, check=True, timeout=120, env={**os.environ, **environment}
    )
    return int(done.stdout.split()[2])


@contextmanager
def other_load() -> Iterator[None]:
    """Two busy loops for each processor."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def test_the_heaps_end_that_comes_and_goes_is_told_with_a_pair_of_thresholds(record: Record) -> None:
    recording = record("refault_echo", MESSAGES)
    document = explained(recording)
    faults = document["questions"]["page_faults"]
    assert faults["not_seen"] == ""
    # Each of a message's three buffers has 256 pages; the first is new memory the first time.
    assert faults["again_of_heap"] >= 0.8 * recording.note("faults")
    assert faults["minor_faults"] >= recording.note("faults")
    assert faults["again_of_heap_ns"] <= faults["cpu_ns"]
    names = {row["name"] for row in faults["sites"]} | {row["freed_by"] for row in faults["sites"]}
    assert any("serialize" in name or "take_payload" in name for name in names), names
    row = advised(document)
    assert row["time_share"] >= 0.3
    settings = named_settings(row["action"])
    assert set(settings) == {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"}, "alone each makes it slower"
    as_is = faults_of("refault_echo", MESSAGES, environment={})
    fixed = faults_of("refault_echo", MESSAGES, environment=settings)
    assert fixed < as_is / 20, (fixed, as_is)
    again = explained(record("refault_echo", MESSAGES, environment=settings))
    assert not [row for row in again["questions"]["advice"]["advice"] if row["rule"] == "refaults"]


def test_other_load_changes_no_verdict(record: Record) -> None:
    quiet = advised(explained(record("refault_echo", MESSAGES)))
    with other_load():
        loaded = advised(explained(record("refault_echo", MESSAGES)))
    assert loaded["action"] == quiet["action"]
    assert loaded["confidence"] == quiet["confidence"]


@pytest.mark.skipif(not JEMALLOC.exists(), reason="jemalloc is not installed")
def test_jemallocs_decay_of_nothing_is_accused(record: Record) -> None:
    environment = {"LD_PRELOAD": str(JEMALLOC), "MALLOC_CONF": "dirty_decay_ms:0"}
    recording = record("refault_decay", environment=environment)
    document = explained(recording)
    faults = document["questions"]["page_faults"]
    assert faults["again_of_heap"] >= 0.7 * recording.note("faults")
    row = advised(document)
    assert "remove dirty_decay_ms:0 from MALLOC_CONF" in row["action"]
    assert row["time_share"] >= 0.3
    del environment["MALLOC_CONF"]
    assert faults_of("refault_decay", environment=environment) < recording.note("faults") / 10
    again = explained(record("refault_decay", environment=environment))
    assert not [row for row in again["questions"]["advice"]["advice"] if row["rule"] == "refaults"]


def test_without_the_kernels_records_the_verdict_is_unknown(record: Record) -> None:
    path = record("refault_echo", MESSAGES, options=["--no-kernel-events"]).paths()[0]
    line = [command, "explain", path, "--json"]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True, timeout=120)
    document = json.loads(done.stdout)
    assert document["questions"]["page_faults"]["not_seen"]
    found = [one["text"] for one in document["summary"]["findings"] if one["question"] == "advice"]
    assert any("unknown: page faults could not be seen" in text for text in found), found
    assert not any("worth trying" in text for text in found)


def test_where_the_kernel_refuses_the_verdict_is_unknown(tmp_path: Path) -> None:
    trace = tmp_path / "refused.heapwright"
    line = [programs / "forbids_perf", errno.EACCES, command, "record", "--output", trace, "--",
            programs / "refault_echo", MESSAGES]  # fmt: skip
    subprocess.run(list(map(str, line)), check=True, capture_output=True, timeout=120)
    told = subprocess.run(
        [str(command), "explain", str(trace), "--unchecked"], check=True, capture_output=True, text=True
    )
    text = " ".join(told.stdout.split())
    assert "unknown: page faults could not be seen" in text
    assert "worth trying" not in text


@pytest.mark.parametrize("pointers", ["vector", "array"])
def test_the_call_that_merges_is_named_and_not_the_end_of_a_mapping(record: Record, pointers: str) -> None:
    recording = record("consolidates", 10_000_000, pointers)
    path = recording.paths()[0]
    line = [command, "explain", path, "--json", "--top", "20"]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True, timeout=300)
    answer = json.loads(done.stdout)["questions"]["slow_calls"]
    merging = [call for call in answer["calls"] if call["cause"] == "consolidation"]
    assert [(call["kind"], call["size_bytes"]) for call in merging] == [("malloc", 1024)]
    assert merging[0]["small_frees"] >= 9_990_000
    [pattern] = [one for one in answer["patterns"] if one["name"] == "consolidation"]
    assert "malloc of 1.00 KiB" in pattern["evidence"]
