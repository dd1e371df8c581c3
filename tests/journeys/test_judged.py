# SPDX-License-Identifier: MIT
"""Programs that a report misjudged once: what it says now, and the same remedy in the program itself."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Record, collector, command, programs

pytestmark = pytest.mark.full
MEBIBYTE = 1 << 20


def explained(path: Path, *options: str, is_checked: bool = False) -> dict[str, Any]:
    words = [command, "explain", path, "--json", *(["--check"] if is_checked else []), *options]
    environment = {**os.environ, "HEAPWRIGHT_BIN": str(collector.parent)}
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=True, timeout=120, env=environment
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def notes_alone(*arguments: str, **environment: str) -> dict[str, int]:
    """What the program says of itself, without the recorder."""
    line = [str(programs / "judged"), *arguments]
    done = subprocess.run(
        line, capture_output=True, text=True, check=True, timeout=60, env={**os.environ, **environment}
    )
    return {name: int(value) for _, name, value in map(str.split, done.stdout.splitlines())}


def headline(document: dict[str, Any]) -> str:
    found = document["summary"]["findings"]
    return next((str(one["text"]) for one in found if one["question"] == "cause"), "")


def test_a_remedy_is_judged_by_the_memory_of_the_scan_and_not_of_the_calls_before(record: Record) -> None:
    """The last reading before the scan is the peak's, the next comes after a long rest without a call."""
    document = explained(record("judged", "rests").trace().path, is_checked=True)
    first = document["questions"]["cause"]["remedies"][0]
    assert (first["kind"], first["rank"], first["judged"]) == ("trim", 1, "measured"), headline(document)
    assert first["returns_bytes"] == pytest.approx(notes_alone("rests", "trim")["trimmed"], rel=0.1)


def test_ends_of_arenas_come_back_by_trim_and_less_by_the_thresholds(record: Record) -> None:
    document = explained(record("judged", "shared").trace().path, is_checked=True)
    remedies = {row["kind"]: row for row in document["questions"]["cause"]["remedies"]}
    trim, threshold = remedies["trim"], remedies["end"]
    assert (trim["rank"], trim["judged"], threshold["judged"]) == (1, "measured", "measured")
    assert "malloc_trim(0)" in headline(document)
    as_is = notes_alone("shared", "trim")
    assert trim["returns_bytes"] == pytest.approx(as_is["trimmed"], rel=0.1)
    fixed = notes_alone("shared", MALLOC_TRIM_THRESHOLD_="131072", MALLOC_MMAP_THRESHOLD_="131072")
    assert threshold["returns_bytes"] == pytest.approx(as_is["resident"] - fixed["resident"], rel=0.1)


def test_live_memory_that_only_huge_pages_make_resident_is_told(record: Record) -> None:
    recording = record("judged", "sparse")
    if recording.note("resident") < 64 * MEBIBYTE:
        pytest.skip("the kernel makes no huge pages here")
    path = recording.trace().path
    assert explained(path)["questions"]["cause"]["huge_bytes"] >= 100 * MEBIBYTE
    said = subprocess.run(
        [command, "explain", path, "--unchecked"], capture_output=True, text=True, check=True, timeout=60
    )
    text = " ".join(said.stdout.split())
    assert "are on huge pages, resident as a whole once any part is touched" in text
    assert "nothing to fix" not in text


def test_untouched_memory_of_calloc_stays_untouched(record: Record) -> None:
    recording = record("judged", "untouched")
    path = recording.trace().path
    environment = {**os.environ, "HEAPWRIGHT_BIN": str(collector.parent)}
    words = [command, "replay", path, "--on", "glibc", "--runs", "3", "--json"]
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=True, timeout=300, env=environment
    )
    document = json.loads(done.stdout)
    [glibc] = [row for row in document["candidates"] if row["name"] == "glibc"]
    assert glibc["figures"]["peak_bytes"]["value"] < 16 * MEBIBYTE, "of 191 MiB"
    finding = next(one for one in explained(path)["summary"]["findings"] if one["question"] == "advice")
    assert finding["is_nothing"], "address space is no gain"


def test_a_pool_names_its_callers_by_the_option_that_is_told(record: Record) -> None:
    path = record("judged", "pieces").trace().path
    found = explained(path)["summary"]["findings"]
    texts = [one["text"] for one in found if one["question"] in ("leaks", "growth")]
    [told] = [text for text in texts if "--skip" in text]
    pattern = shlex.split(told.split("--skip ")[1].split(" names its")[0])[0]
    sites = explained(path, "--skip", pattern)["questions"]["peak"]["sites"]
    assert "row_palloc" in told and "make_row" in sites[0]["name"]


def test_the_librarys_start_is_in_no_row_of_the_peak(record: Record) -> None:
    peak = explained(record("judged", "sparse").trace().path)["questions"]["peak"]
    assert 64 << 10 <= peak["start_up_bytes"] <= 80 << 10
    assert not [row for row in peak["sites"] if "libstdc++" in row["name"]]
