# SPDX-License-Identifier: MIT
"""Who holds the resident memory: programs that know it, and the kernel's own counts."""

import json
import os
import shutil
import subprocess
from itertools import dropwhile, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from conftest import Record, command

pytestmark = pytest.mark.full

MEBIBYTE = 1 << 20
SURVIVORS = 2000
USABLE = 1400 + 8
PAGE = 4096
MILLISECOND = 1_000_000
LIBRARY_BYTES = 128 * 1024  # the C++ library's reserve for exceptions, buffers, threads


def explained(path: Path, *options: str) -> dict[str, Any]:
    line = [command, "explain", path, "--json", "--top", "100", *options]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True, timeout=120)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def residency(path: Path, *options: str) -> dict[str, Any]:
    document = explained(path, *options)
    answer: dict[str, Any] = document["questions"]["residency"]
    answer["findings"] = [
        one["text"] for one in document["summary"]["findings"] if one["question"] == "cause"
    ]
    return answer


PARTS = ("live_resident", "rounding", "partly_free", "free_page", "allocator", "other")


def assert_sums(moment: dict[str, Any]) -> None:
    """All pages have an owner, and their sum is the kernel's, or lies between two of its readings."""
    assert sum(moment[f"{part}_bytes"] for part in PARTS) == moment["resident_bytes"]
    kernel = sorted((moment["kernel_before_bytes"], moment["kernel_after_bytes"]))
    assert kernel[0] - 320 * 1024 <= moment["resident_bytes"] <= kernel[1] + 320 * 1024
    if kernel[0] == kernel[1]:
        assert moment["resident_bytes"] == kernel[0]


@pytest.mark.parametrize(("program", "allocator"), [("pins", "glibc 2."), ("pins_static", "glibc")])
def test_planted_owners_are_found(record: Record, program: str, allocator: str) -> None:
    recording = record(program)
    assert recording.status == 0, recording.errors
    answer = residency(recording.trace().path)
    for moment in answer["moments"]:
        assert_sums(moment)
    assert answer["kernel_before_bytes"] == answer["kernel_after_bytes"], "the program rests"
    assert answer["resident_bytes"] == answer["kernel_before_bytes"], "to the page"
    assert answer["untouched_bytes"] == pytest.approx(80 * MEBIBYTE, abs=LIBRARY_BYTES)

    owners: dict[str, int] = {}
    for owner in answer["owners"]:
        of_files = 0 if owner["kind"] == "program" else owner["file_bytes"]  # libc's as well, if it is static
        owners[owner["kind"]] = owners.get(owner["kind"], 0) + owner["anonymous_bytes"] + of_files
    in_bss = 5 * MEBIBYTE
    tables = (SURVIVORS + 50 * SURVIVORS) * 8
    assert owners["program"] == pytest.approx(in_bss + tables, abs=128 * 1024)
    assert owners["own mapping"] == 3 * MEBIBYTE
    assert owners["thread stack"] == pytest.approx(2 * MEBIBYTE, abs=64 * 1024)
    assert "unknown" not in owners or owners["unknown"] < 256 * 1024
    assert [of["name"] for of in answer["owners"] if of["kind"] == "thread stack"] == [f"{program} #1"]
    assert answer["allocator"].startswith(allocator)

    pin = answer["sites"][0]
    assert pin["function"] == "session"
    assert pin["blocks"] == SURVIVORS
    # 50 blocks of 1008 bytes and one survivor of 1408, over and over: all of it lies below the last survivor.
    heap = SURVIVORS * (50 * 1008 + USABLE)
    assert pin["held_bytes"] == pytest.approx(heap - SURVIVORS * USABLE, rel=0.01)
    # A survivor lies on one page, or on two.
    crossing = USABLE / PAGE
    expected = SURVIVORS * ((1 + crossing) * PAGE - USABLE)
    assert pin["pinned_bytes"] == pytest.approx(expected, rel=0.1)
    assert answer["free_bytes"] == pytest.approx(heap - SURVIVORS * USABLE, rel=0.02)
    assert len(answer["findings"]) == 1
    assert "held by 2,000 blocks from session" in answer["findings"][0]


def test_pages_and_their_blocks_have_an_age(record: Record) -> None:
    path = record("pins").trace().path
    cause = explained(path)["questions"]["cause"]
    pin = cause["sites"][0]
    assert pin["function"] == "session"
    ages = [row for row in cause["ages"] if row["function"] == "session"]
    for sum_of in ("blocks", "pages", "pinned_bytes"):
        assert sum(row[sum_of] for row in ages) == pin[sum_of]
    mean = sum(row["at_least_ns"] * row["blocks"] for row in ages) / pin["blocks"]
    assert mean <= pin["mean_age_ns"] <= 10 * mean + MILLISECOND


def scans_of(path: Path) -> list[dict[str, Any]]:
    """In order of time; not those that are interpolated between two."""
    (end_ns,) = (moment["time_ns"] for moment in residency(path)["moments"] if moment["is_last"])
    scans: dict[int, dict[str, Any]] = {}
    for part in range(1, 9):  # the scans around each of these times are joined
        for moment in residency(path, "--at", f"{end_ns * part // 9}ns")["moments"]:
            if any(value for name, value in moment.items() if name.startswith("is_")):
                scans[moment["time_ns"]] = moment
    return [scans[time_ns] for time_ns in sorted(scans)]


def test_a_program_that_moves_its_blocks_adds_up(record: Record) -> None:
    recording = record("pins", 60)
    assert recording.status == 0, recording.errors
    scans = scans_of(recording.trace().path)
    for moment in scans:
        assert_sums(moment)
    # The threads move on for as long as a scan is off its processor: in half of the scans it is not.
    assert median(moment["ambiguous_bytes"] / moment["resident_bytes"] for moment in scans) <= 0.01


def test_what_lives_is_known_while_blocks_move(record: Record) -> None:
    """The program's blocks are as many bytes at any time."""
    rounds, until_rest = 2, 25
    recording = record("pins", rounds, until_rest)
    assert recording.status == 0, recording.errors
    moved = recording.note("moved")

    def tolerance(moment: dict[str, Any]) -> float:
        """What moves between the scan's first window and its last can be in both, or in neither. The threads
        rest for 1 ms behind so many blocks of 1,015 bytes, and may be in the midst of them when it begins."""
        return 1015 * 2 * until_rest * (2 + moment["duration_ns"] / MILLISECOND) + LIBRARY_BYTES

    every = scans_of(recording.trace().path)
    # The first ones may see how the places are filled.
    scans = [*dropwhile(lambda moment: moment["live_bytes"] < moved - tolerance(moment), every)]
    assert len(scans) > 2
    for moment in scans:
        assert_sums(moment)
        assert moment["ambiguous_bytes"] <= 0.01 * moment["resident_bytes"]
        assert moment["live_bytes"] == pytest.approx(moved, abs=tolerance(moment))
        assert moment["live_resident_bytes"] == pytest.approx(moved, abs=tolerance(moment)), "all was touched"


PERIOD, BEFORE_EXIT = 1, 2
SCANS = {"trim": 3, "phase": 4}
PAUSE_IN_SCANS = 50


def test_scans_take_two_percent_of_a_core(record: Record) -> None:
    recording = record("pins", 2, 25)
    assert recording.status == 0, recording.errors
    scans = [scan for scan in recording.trace().facts["scans"] if scan[0] == PERIOD]
    assert len(scans) > 2
    for (*_, begin_ns, cpu_ns), (*_, next_ns, _) in pairwise(scans):
        assert cpu_ns > 0
        assert next_ns - begin_ns >= max(100 * MILLISECOND, PAUSE_IN_SCANS * cpu_ns)
    span_ns = scans[-1][3] - scans[0][3]
    assert sum(cpu_ns for *_, cpu_ns in scans[:-1]) <= 0.02 * span_ns + MILLISECOND / PAUSE_IN_SCANS


@pytest.mark.parametrize("cause", SCANS)
def test_a_scan_follows_what_a_program_did(record: Record, cause: str) -> None:
    """After malloc_trim, and when a phase has ended: with what the kernel counts then."""
    recording = record("scanned", cause)
    assert recording.status == 0, recording.errors
    scans = recording.trace().facts["scans"]
    found = [anonymous for of, is_whole, anonymous, *_ in scans if of == SCANS[cause] and is_whole]
    assert len(found) == 1, scans
    assert found[0] == pytest.approx(recording.note("resident"), abs=MEBIBYTE)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_program_that_gave_up_root_is_scanned(record: Record) -> None:
    recording = record("scanned", "user")
    assert recording.status == 0, recording.errors
    cause, is_whole, anonymous, *_ = recording.trace().facts["scans"][-1]
    assert (cause, is_whole) == (BEFORE_EXIT, 1)
    assert anonymous == pytest.approx(recording.note("resident"), abs=MEBIBYTE)
    answer = residency(recording.trace().path)
    (last,) = (moment for moment in answer["moments"] if moment["is_last"])
    assert_sums(last)
    assert last["live_resident_bytes"] == pytest.approx(12_000 * 5000, rel=0.01)


def test_samples_and_recordings_without_scans_say_so(record: Record, tmp_path: Path) -> None:
    for options in (["--sample", "64k"], ["--no-residency"]):
        recording = record("pairs", 1000, 1, options=[*options, "--force"])
        assert recording.status == 0, recording.errors
        answer = residency(max(recording.paths(), key=lambda path: path.stat().st_mtime))
        if options[0] == "--sample":
            assert "every block" in answer["not_answered"]
        else:
            assert answer["moments"] == []
        shutil.rmtree(tmp_path / "traces")


@pytest.mark.skipif(shutil.which("python3") is None, reason="python3 is not installed")
def test_python_keeps_what_it_freed(record: Record) -> None:
    script = "x = [bytes(600) for _ in range(100_000)]; y = x[::50]; del x; import time; time.sleep(1)"
    recording = record(Path("/usr/bin/python3"), "-c", script)
    assert recording.status == 0, recording.errors
    path = recording.trace().path
    answer = residency(path)
    assert answer["moments"]
    for moment in answer["moments"]:
        assert_sums(moment)
    assert answer["free_bytes"] > 10 * MEBIBYTE


@pytest.mark.skipif(shutil.which("python3") is None, reason="python3 is not installed")
def test_of_a_forks_child_what_is_free_is_an_upper_bound(record: Record) -> None:
    script = (
        "import os, time; old = [bytes(600) for _ in range(20_000)]; child = os.fork()\n"
        "if child: os.waitpid(child, 0)\n"
        "else:\n"
        " import ctypes; marks = ctypes.CDLL(None); x = [bytes(600) for _ in range(100_000)]; y = x[::50]; del x\n"
        " marks.heapwright_annotate_phase_begin(b'kept'); marks.heapwright_annotate_phase_end(b'kept')\n"
        " time.sleep(1)"
    )  # a phase's end asks for a scan: the next one by time may be seconds away on a busy machine
    recording = record(Path("/usr/bin/python3"), "-c", script, options=["--children"])
    assert recording.status == 0, recording.errors
    parent, child = sorted(map(residency, recording.paths()), key=lambda of: bool(of["has_unseen_blocks"]))
    assert not parent["has_unseen_blocks"]
    assert child["has_unseen_blocks"]
    assert "besides, at most " in child["findings"][0]
    assert all("at most" not in text for text in parent["findings"])


@pytest.mark.parametrize("program", ["leaves_memory", "leaves_memory_static"])
def test_what_a_short_program_held_at_its_exit_is_seen(record: Record, program: str) -> None:
    recording = record(program, 32)
    assert recording.status == 0, recording.errors
    (last,) = (moment for moment in residency(recording.trace().path)["moments"] if moment["is_last"])
    assert last["live_resident_bytes"] == pytest.approx(32 * MEBIBYTE, rel=0.01)
