# SPDX-License-Identifier: MIT
"""A trace holds no argument and no environment value unless asked for, and only its owner may read it."""

import json
import os
import subprocess
from pathlib import Path

from conftest import Record, Recording, collector, programs, read_trace

secret = "correct-horse-battery-staple"


def everything_readable(path: Path) -> str:
    """The file's bytes and everything the reader gives, as one text."""
    raw = path.read_bytes().decode("latin-1")
    return raw + json.dumps(read_trace(path).facts)


def test_arguments_and_environment_stay_out(record: Record) -> None:
    recording = record("exits_with", 0, secret, environment={"PASSWORD": secret})
    assert recording.status == 0, recording.errors
    assert secret not in everything_readable(recording.paths()[0])
    assert secret not in recording.errors


def test_arguments_are_kept_when_asked_for(record: Record) -> None:
    recording = record(
        "exits_with", 0, secret, options=["--keep-arguments"], environment={"PASSWORD": "x" + secret}
    )
    trace = recording.trace()
    assert secret in trace.facts["command"]
    assert "x" + secret not in everything_readable(trace.path)


def test_only_the_owner_may_read_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "x.heapwright"
    line = [collector, "--output", path, "--", programs / "exits_with"]
    old = os.umask(0)
    try:
        subprocess.run([str(p) for p in line], check=True, capture_output=True, timeout=60)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o600


def test_children_see_neither_the_preload_nor_the_session(record: Record) -> None:
    recording = record(Path("/bin/sh"), "-c", "/usr/bin/env; exit 0")
    assert recording.status == 0
    assert "HEAPWRIGHT_SESSION" not in recording.output
    assert "libheapwright" not in recording.output


def conditions(recording: Recording) -> dict[str, str]:
    return dict(line.split("\t", 1) for line in recording.trace().facts["conditions"])


def test_only_settings_of_an_allocator_are_kept_of_the_environment(record: Record) -> None:
    environment = {"MALLOC_ARENA_MAX": "3", "MALLOC_TRACE": secret, "MALLOC_ARENA_MAXIMUM": secret}
    recording = record("exits_with", 0, environment=environment)
    assert conditions(recording)["MALLOC_ARENA_MAX"] == "3"
    assert secret not in everything_readable(recording.paths()[0])


def test_settings_are_left_out_when_asked_for(record: Record) -> None:
    recording = record("exits_with", 0, options=["--no-settings"], environment={"MALLOC_ARENA_MAX": "3"})
    found = conditions(recording)
    assert "MALLOC_ARENA_MAX" not in found
    assert int(found["cpus"]) >= 1
