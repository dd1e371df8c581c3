# SPDX-License-Identifier: MIT
"""A setting that helps where no rule knows one: found by a quick replay of the recording."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import Record, collector, command

pytestmark = pytest.mark.full

# Three buffers of 1 MiB overlap: glibc gives the heap's end back and takes it again, time after time.
REFAULTS = """
wire = b'a' * (1 << 20)
for _ in range(400):
    request = bytearray(wire)
    message = bytearray(request)
    reply = bytearray(message)
    del request, message, reply
"""


def test_a_pair_of_thresholds_is_found_and_kept(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(collector.parent))
    (file,) = record("/usr/bin/python3", "-c", REFAULTS, environment={"PYTHONMALLOC": "malloc"}).paths()
    words = [command, "explain", str(file), "--check", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    advice = json.loads(done.stdout)["questions"]["advice"]
    tried = {row["setting"]: row["judged"] for row in advice["searched"]}
    # Where the kernel shows page faults, a rule advises it with values for this program.
    tried |= {row["replay_set"]: row["judged"] for row in advice["advice"] if row["rule"] == "refaults"}
    pairs = [judged for name, judged in tried.items() if "trim_threshold" in name.lower()]
    assert pairs == ["measured"], (tried, done.stderr)
    assert Path(f"{file}.checked.json").stat().st_mode & 0o777 == 0o600


def test_a_report_for_people_is_checked_unless_it_is_told_not_to(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(collector.parent))
    (file,) = record("/usr/bin/python3", "-c", REFAULTS, environment={"PYTHONMALLOC": "malloc"}).paths()
    kept = Path(f"{file}.checked.json")
    for options in (["--unchecked"], ["--json"]):
        subprocess.run([command, "explain", str(file), *options], capture_output=True, check=True, timeout=60)
        assert not kept.exists(), options
    done = subprocess.run(
        [command, "explain", str(file)], capture_output=True, text=True, check=True, timeout=60
    )
    said = " ".join(done.stdout.split())
    assert "measured by replay: " in said and "time in the heap −" in said, said
    assert kept.exists()


def test_malloc_trim_is_judged_by_a_replay_as_other_remedies_are(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(collector.parent))
    recording = record("keeps_pages", "untrimmed")
    (file,) = recording.paths()
    words = [command, "explain", str(file), "--check", "--json", "--question", "cause"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    document = json.loads(done.stdout)
    first = document["questions"]["cause"]["remedies"][0]
    assert (first["kind"], first["rank"], first["judged"]) == ("trim", 1, "measured"), first
    real = recording.note("resident") - recording.note("trimmed")
    assert first["returns_bytes"] == pytest.approx(real, rel=0.1)
    said = next(one["text"] for one in document["summary"]["findings"] if one["question"] == "cause")
    assert "less by malloc_trim(0) from time to time; measured by replay: −" in said
