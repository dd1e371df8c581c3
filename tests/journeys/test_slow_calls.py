# SPDX-License-Identifier: MIT
"""Why calls were slow: programs that know it by a clock around the call and the kernel's counters."""

import errno
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Record, Recording, command, programs

pytestmark = pytest.mark.full

MILLISECOND = 1_000_000
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


def slow_calls(recording: Recording) -> dict[str, Any]:
    """Of the latest trace in the recording's folder."""
    path = max(recording.paths(), key=lambda path: path.stat().st_mtime_ns)
    line = [command, "explain", path, "--json", "--top", "40"]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True, timeout=120)
    document: dict[str, Any] = json.loads(done.stdout)
    answer: dict[str, Any] = document["questions"]["slow_calls"]
    answer["findings"] = [
        one["text"] for one in document["summary"]["findings"] if one["question"] == "slow_calls"
    ]
    answer["totals"] = document["summary"]["totals"]
    for rows in (answer["causes"], answer["by_size"], [*answer["by_site"], answer["further_sites"]]):
        assert sum(row["calls"] for row in rows) == answer["calls_over"]
        assert sum(row["duration_ns"] for row in rows) == answer["duration_ns"]
        assert sum(row["descheduled_ns"] for row in rows) == answer["descheduled_ns"]
    return answer


def time_by_cause(answer: dict[str, Any]) -> Counter[str]:
    times: Counter[str] = Counter()
    for row in answer["causes"]:
        times[row["cause"]] += row["duration_ns"]
    return times


def needs_kernel_events(answer: dict[str, Any]) -> None:
    if answer["kernel_events"] != "recorded":
        pytest.skip(f"the kernel does not tell here: {answer['kernel_events']}")


def assert_is_what_the_clock_saw(call: dict[str, Any], recording: Recording) -> None:
    """The program's own clock has the hook around the call as well, and what interrupts that."""
    truth_ns = recording.note("slow_ns")
    assert truth_ns / 4 <= call["duration_ns"] <= truth_ns


def test_consolidation_is_named_with_the_frees_that_caused_it(record: Record) -> None:
    recording = record("slow_calls", "consolidation")
    answer = slow_calls(recording)
    # Its release gives the merged memory back, which can take longer.
    [call] = [one for one in answer["calls"] if (one["kind"], one["size_bytes"]) == ("malloc", 2000)]
    assert call["work"] == "consolidation"
    assert_is_what_the_clock_saw(call, recording)
    assert call["small_frees"] == pytest.approx(recording.note("small_frees"), rel=0.01)
    [pattern] = [one for one in answer["patterns"] if one["name"] == "consolidation"]
    assert "from small_block" in pattern["evidence"]
    assert any(text.startswith("consolidation: ") for text in answer["findings"])


def test_consolidation_is_told_without_the_kernels_records(record: Record) -> None:
    answer = slow_calls(record("slow_calls", "consolidation", options=["--no-kernel-events"]))
    assert answer["kernel_events"] == "off"
    assert "consolidation" in {call["cause"] for call in answer["calls"] if call["kind"] == "malloc"}
    assert not any(answer["kernel"].values())


def test_page_faults_within_a_call_are_the_kernels_count(record: Record) -> None:
    recording = record("slow_calls", "faults")
    answer = slow_calls(recording)
    needs_kernel_events(answer)
    [call] = [one for one in answer["calls"] if one["kind"] == "calloc"][:1]
    assert call["work"] == "page faults"
    # The recorder's own first steps fault as well, around the call.
    assert recording.note("faults") - 16 <= call["faults"] <= recording.note("faults")
    assert 0 < call["fault_ns"] < call["duration_ns"]


def test_waiting_for_the_allocators_lock_is_told_from_its_work(record: Record) -> None:
    recording = record("slow_calls", "lock", environment={"MALLOC_ARENA_MAX": "1"})
    answer = slow_calls(recording)
    needs_kernel_events(answer)
    off_ns = answer["kernel"]["waited_ns"] + answer["kernel"]["preempted_ns"]
    # Off the processor at other times as well: at the start, and in the recorder.
    assert off_ns <= recording.note("off_ns") * 1.3
    if answer["kernel"]["waits"] < 1000:
        pytest.skip("the threads hardly met")
    [pattern] = [one for one in answer["patterns"] if one["name"] == "lock"]
    assert "MALLOC_ARENA_MAX=1" in pattern["evidence"]
    assert "raise MALLOC_ARENA_MAX" in pattern["remedy"]


def test_growth_by_mprotect_is_named(record: Record) -> None:
    recording = record("slow_calls", "growth")
    answer = slow_calls(recording)
    needs_kernel_events(answer)
    assert answer["kernel"]["mapping_calls"] == pytest.approx(recording.note("blocks"), rel=0.1)
    assert answer["kernel"]["arena_growths"] >= recording.note("blocks") * 0.9
    [pattern] = [one for one in answer["patterns"] if one["name"] == "growth in small steps"]
    assert "MALLOC_TOP_PAD_=67108864" in pattern["remedy"]
    remedy = dict(re.findall(r"(MALLOC_\w+)=(\d+)", pattern["remedy"]))
    assert set(remedy) == {"MALLOC_TOP_PAD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"}
    padded = slow_calls(record("slow_calls", "growth", environment=remedy))
    assert padded["kernel"]["mapping_calls"] < recording.note("blocks") * 0.1, "the remedy helps"
    assert not [one for one in padded["patterns"] if one["name"] == "growth in small steps"]


def test_the_free_that_raised_the_mmap_threshold_is_named(record: Record) -> None:
    recording = record("slow_calls", "threshold")
    answer = slow_calls(recording)
    [pattern] = [one for one in answer["patterns"] if one["name"] == "mmap threshold"]
    assert "from picture" in pattern["evidence"]
    assert f"{recording.note('later')} large blocks" in pattern["evidence"]
    fixed = slow_calls(record("slow_calls", "threshold", environment={"MALLOC_MMAP_THRESHOLD_": "131072"}))
    assert not fixed["patterns"]


def test_a_trim_stall_is_named(record: Record) -> None:
    recording = record("slow_calls", "trim")
    answer = slow_calls(recording)
    [call] = [one for one in answer["calls"] if one["kind"] == "malloc_trim"]
    assert call["work"] == "trimming"
    assert_is_what_the_clock_saw(call, recording)


def test_time_off_the_processor_is_not_the_allocators(record: Record) -> None:
    recording = record("slow_calls", "preempted")
    answer = slow_calls(recording)
    needs_kernel_events(answer)
    kernel = answer["kernel"]
    assert 0 < kernel["preemptions"] <= recording.note("preemptions") + 5
    # Nearly all its time is spent in calloc; heap calls before and after it are preempted as well.
    off_ns = kernel["preempted_ns"] + kernel["waited_ns"]
    assert recording.note("off_ns") * 0.9 <= off_ns <= recording.note("off_ns") * 1.05
    assert time_by_cause(answer).most_common(1)[0][0] == "preempted"
    assert answer["totals"]["allocator_ns"] <= 1_100 * MILLISECOND - off_ns
    assert not answer["findings"], "nothing to mend in the allocator"


def test_a_slow_free_has_its_own_stack_and_that_of_its_block(record: Record) -> None:
    recording = record("slow_calls", "slow_free")
    answer = slow_calls(recording)
    call = max((one for one in answer["calls"] if one["kind"] == "free"), key=lambda one: one["duration_ns"])
    assert_is_what_the_clock_saw(call, recording)
    assert call["function"] == "drop_buffer"
    freeing = [frame["function"] for frame in call["call_frames"]]
    assert freeing[0] == call["function"]
    assert freeing[1].endswith("::slow_free()")
    assert "slow_free  programs/slow_calls.cpp:" in call["block_name"]
    assert call["block_frames"][0]["function"].endswith("::slow_free()")
    # Frees that are not slow pay for no stack.
    path = max(recording.paths(), key=lambda path: path.stat().st_mtime_ns)
    question = "select count(*), count_if(free_stack <> 0) from block where is_freed"
    line = [command, "sql", path, question, "--csv"]
    said = subprocess.run(list(map(str, line)), capture_output=True, check=True, text=True, timeout=120)
    frees, with_stack = map(int, said.stdout.splitlines()[1].split(","))
    assert frees > 1000
    assert 1 <= with_stack <= 0.1 * frees


def test_a_quiet_program_has_nothing_slow(record: Record) -> None:
    answer = slow_calls(record("slow_calls", "quiet"))
    assert not answer["patterns"]
    assert not answer["findings"]


def test_records_that_the_kernel_drops_are_counted_and_said(record: Record) -> None:
    recording = record("slow_calls", "lost")
    answer = slow_calls(recording)
    needs_kernel_events(answer)
    faults = recording.note("faults")
    assert faults > 30_000
    lost = answer["kernel_events_lost"]
    # Two records a fault, less those that the rings hold: half a MiB each, 40 bytes a record at least. What
    # a ring lost that nobody writes to again is not told.
    assert faults / 2 < lost <= 2 * faults * 1.1
    [call] = [one for one in answer["calls"] if one["size_bytes"] == 128 << 20 and one["kind"] == "calloc"]
    assert (call["cause"], call["work"]) == ("unknown", "unknown")
    assert call["faults"] < faults / 2
    assert 1 <= answer["kernel"]["incomplete_calls"] <= 5
    assert f"note: the kernel dropped at least {lost} of its records" in recording.errors
    line = [command, "explain", recording.paths()[0], "--question", "slow_calls", "--wide", "--unchecked"]
    shown = subprocess.run(list(map(str, line)), capture_output=True, text=True, check=True, timeout=120)
    assert f"the kernel dropped at least {lost:,} records" in shown.stdout
    assert "within all heap calls: at least " in shown.stdout


def refused(tmp_path: Path, error: int, *around: object) -> tuple[dict[str, Any], str]:
    """What is said, and what the collector says, where perf_event_open answers with this error."""
    recording = Recording(0, "", "", tmp_path)
    line: list[object] = [*around, programs / "forbids_perf", error, command, "record", "--output"]
    line += [tmp_path / "refused.heapwright", "--", programs / "slow_calls", "consolidation"]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    [said] = [text for text in done.stderr.splitlines() if "are not seen" in text]
    return slow_calls(recording), said


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (errno.EPERM, "not allowed here (a container's rules, or no memory to lock)"),
        (errno.ENOSYS, "this kernel has no perf events, or a filter hides them"),
    ],
)
def test_a_filter_that_refuses_is_said_and_verdicts_become_inferred(
    tmp_path: Path, error: int, why: str
) -> None:
    answer, said = refused(tmp_path, error)
    if error == errno.EPERM and int(PARANOID.read_text()) > 2:
        why = f"not allowed: kernel.perf_event_paranoid is {PARANOID.read_text().strip()}; 2 is enough"
    assert said == f"heapwright: note: page faults and waits within calls are not seen: {why}"
    assert answer["kernel_events"] == why
    evidence = {row["cause"]: row["evidence"] for row in answer["causes"]}
    assert evidence.pop("consolidation") == "inferred"
    assert set(evidence) <= {"unknown", "own mapping"}
    assert evidence.get("unknown", "not known") == "not known"
    assert answer["descheduled_ns"] == 0
    assert not any(answer["kernel"].values())


def test_a_paranoid_kernel_is_named_with_what_would_do(tmp_path: Path) -> None:
    """Debian's 3 answers EACCES; in a mount namespace the setting reads 3 for these processes alone."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root for a mount namespace")
    level = tmp_path / "paranoid"
    level.write_text("3\n")
    hide = ["unshare", "--mount", "sh", "-c", f'mount --bind "{level}" "{PARANOID}" && exec "$@"', "sh"]
    if subprocess.run([*hide, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no mount namespace here")
    before = PARANOID.read_text()
    answer, said = refused(tmp_path, errno.EACCES, *hide)
    assert PARANOID.read_text() == before
    why = "not allowed: kernel.perf_event_paranoid is 3; 2 is enough"
    assert said.endswith(why)
    assert answer["kernel_events"] == why


def test_what_is_touched_between_calls_does_not_make_the_trace_grow(record: Record, tmp_path: Path) -> None:
    source = tmp_path / "touches.c"
    source.write_text(
        "#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n"
        "int main(void) { for (int i = 0; i < 40; i++) {"
        " char *p = mmap(0, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"
        " memset(p, 1, 16 << 20); free(malloc(3001)); munmap(p, 16 << 20); } return 0; }\n"
    )
    program = tmp_path / "touches"
    subprocess.run(["cc", "-O0", "-o", program, source], check=True, timeout=60)
    [with_records] = record(program, options=["--no-residency"]).paths()
    options = ["--no-residency", "--no-kernel-events"]
    [without] = set(record(program, options=options).paths()) - {with_records}
    faults = 40 * (16 << 20) // 4096
    # Samples of memory in a longer run are the rest.
    assert with_records.stat().st_size - without.stat().st_size < faults / 10, f"{faults:,} page faults"
