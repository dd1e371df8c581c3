# SPDX-License-Identifier: MIT
"""Recording processes that run: the trace has every call that they made meanwhile, and they never notice."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attaching import Server, changed_code
from conftest import Trace, collector, command, end_recorder_lost, programs, read_trace
from counting import ask
from recorded_processes import Recording, check_equal, run_for

pytestmark = pytest.mark.full


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as one:
        yield one


def recorded_as_called(server: Server, path: Path) -> Trace:
    """While it runs, with all its threads; the trace has what it called."""
    before = run_for(server, 0.1)
    recording = Recording(server.pid, path)
    after = run_for(server, 0.4)
    trace = recording.end()
    check_equal(trace, before, after)
    assert len(trace.facts["threads"]) == 8
    return trace


def test_the_trace_has_what_the_program_called(server: Server, tmp_path: Path) -> None:
    trace = recorded_as_called(server, tmp_path / "a.heapwright")
    assert "attached\tyes" in trace.facts["conditions"]
    assert trace.facts["allocator"].startswith("glibc 2")
    assert changed_code(server.pid) == []
    run_for(server, 0.1)
    assert server.quit() == 0


def explained(path: Path, question: str) -> dict[str, Any]:
    line = [command, "explain", path, "--unchecked", "--json", "--question", question]
    done = subprocess.run(line, capture_output=True, check=True, timeout=120)
    answer: dict[str, Any] = json.loads(done.stdout)["questions"][question]
    return answer


def test_pages_from_before_are_told_from_what_is_not_the_heap(server: Server, tmp_path: Path) -> None:
    run_for(server, 0.2)
    recording = Recording(server.pid, tmp_path / "a.heapwright")
    run_for(server, 0.4)
    trace = recording.end()
    assert server.quit() == 0
    states = [line for line in trace.facts["conditions"] if line.startswith("kernel_events\t")]
    alone = ask("record", "--output", tmp_path / "b.heapwright", "--", "true")
    assert alone.returncode == 0, alone.stderr
    others = read_trace(tmp_path / "b.heapwright").facts["conditions"]
    assert states == [line for line in others if line.startswith("kernel_events\t")]
    answer = explained(recording.path, "cause")
    by_kind = {row["kind"]: row["bytes"] for row in answer["kinds"]}
    assert sum(by_kind.values()) == answer["resident_bytes"] > 0
    assert by_kind["earlier"] > 0
    assert answer["verdict"] == "unknown"


def test_a_program_on_our_heap_with_its_confined_thread_is_recorded(tmp_path: Path) -> None:
    library = collector.parent.parent / "lib/libheapwright.so"
    with Server(preload=str(library)) as server:
        run_for(server, 0.1)
        recording = Recording(server.pid, tmp_path / "a.heapwright")
        run_for(server, 0.2)
        trace = recording.end()
        assert server.quit() == 0
    assert trace.problems() == []
    assert trace.facts["events"] > 100


maps = """
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) void map_own(void) {
  munmap(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 8192);
}
int main(int count, char** arguments) {
  for (;;) {
    FILE* file = fopen(arguments[0], "rm");  // libc maps it
    if (fgetc(file) == EOF) return 1;
    fclose(file);
    map_own();
    usleep(1000);
  }
}
"""


def test_what_libc_maps_for_itself_is_not_the_programs(tmp_path: Path) -> None:
    program = tmp_path / "maps"
    subprocess.run(
        ["gcc", "-x", "c", "-", "-g", "-o", program], input=maps, text=True, check=True, timeout=60
    )
    with subprocess.Popen([program]) as process:
        path = tmp_path / "a.heapwright"
        told = ask("record", "--pid", str(process.pid), "--duration", "0.5", "--output", path)
        process.kill()
    assert told.returncode == 0, told.stderr
    sites = explained(path, "mappings")["sites"]
    assert [row["function"] for row in sites] == ["map_own"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make namespaces")
@pytest.mark.parametrize("prefix", [("--mount",), ("--mount", "--pid", "--fork", "--mount-proc")])
def test_a_process_in_a_container_is_recorded_from_outside(tmp_path: Path, prefix: tuple[str, ...]) -> None:
    """A sidecar's view, which shares the PID namespace, and the host's, which does not."""
    forks = () if "--fork" in prefix else ("--fork",)
    with Server(prefix=("unshare", *prefix, *forks)) as server:
        trace = recorded_as_called(server, tmp_path / "a.heapwright")
        assert trace.facts["process_id"] == server.pid
        assert changed_code(server.pid) == []
        run_for(server, 0.1)
        assert server.quit() == 0


def test_a_static_program_that_runs_is_recorded(tmp_path: Path) -> None:
    program = subprocess.Popen([programs / "pins_static"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    path = tmp_path / "a.heapwright"
    told = ask("record", "--pid", str(program.pid), "--duration", "0.3", "--output", path)
    program.kill()
    program.wait()
    assert told.returncode == 0, told.stderr
    assert read_trace(path).facts["allocator"] == "glibc (static)"


@pytest.mark.parametrize("program", ["steady_server", "steady_server_with_gaps"])
def test_the_stacks_lead_to_the_first_frame(program: str, tmp_path: Path) -> None:
    with Server(program=program) as server:
        recording = Recording(server.pid, tmp_path / "a.heapwright")
        run_for(server, 0.1)
        recording.end()
        assert server.quit() == 0
    trace = read_trace(recording.path, 25)  # what strdup asks for, among others
    stacks = trace.facts["stacks"]
    assert stacks
    for stack in stacks:
        paths = [frame[0] if isinstance(frame, list) else frame for frame in stack]
        assert paths[-1].endswith("libc.so.6"), paths  # clone
        assert str(programs / program) in paths, paths
        assert not [path for path in paths if path.startswith("(")], paths
    modules = [module for module in trace.facts["modules"] if module["path"] == str(programs / program)]
    assert modules and all(module["build_id"] for module in modules)


@pytest.mark.parametrize("options", [[], ["--sample", "4k"]])
def test_libraries_that_take_each_others_place(tmp_path: Path, options: list[str]) -> None:
    line = ["loads_libraries", "plugin.so", "turns", "100000", "twin_plugin.so"]
    words = [str(programs / word) if "lib" in word or "so" in word else word for word in line]
    with subprocess.Popen(words) as program:
        path = tmp_path / "a.heapwright"
        Recording(program.pid, path, "--duration", "1", *options).wait()
        program.kill()
    for size, name in ((3109, "plugin.so"), (3111, "twin_plugin.so")):
        trace = read_trace(path, size)
        assert trace.problems() == []
        assert {stack[0][0].rsplit("/", 1)[-1] for stack in trace.facts["stacks"]} == {name}


def test_a_second_recording_begins_anew(server: Server, tmp_path: Path) -> None:
    """In the same memory: nothing of the first one is in it. Counting may come in between."""
    for number in range(4):
        before = server.pause()
        recording = Recording(server.pid, tmp_path / f"{number}.heapwright")
        after = run_for(server, 0.2)
        check_equal(recording.end(), before, after)
        assert ask("count", "--pid", str(server.pid), "--duration", "0.1").returncode == 0
    assert changed_code(server.pid) == []
    assert server.quit() == 0


def test_recordings_of_a_busy_server_lose_no_request(server: Server, tmp_path: Path) -> None:
    """Ended in the middle of calls; what was mapped for them is given back."""
    server.go()
    for number in range(10):
        path = tmp_path / f"{number}.heapwright"
        recording = Recording(server.pid, path, "--duration", "0.05")
        recording.wait()
        assert read_trace(path).problems() == []
    assert changed_code(server.pid) == []
    assert "memfd:heapwright" not in Path(f"/proc/{server.pid}/maps").read_text()
    server.pause()
    assert server.quit() == 0


def address_space_kib(process: int) -> int:
    line = re.search(r"VmSize:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert line
    return int(line[1])


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_recording_gives_its_address_space_back(server: Server, tmp_path: Path, is_busy: bool) -> None:
    """A program with `ulimit -v` needs it. What stays is the agent's code and its table of threads."""
    most_kib = 600 << 10 if is_busy else 4 << 10  # eight arenas come meanwhile
    if is_busy:
        server.go()
    before = address_space_kib(server.pid)
    for number in range(4):
        Recording(server.pid, tmp_path / f"{number}.heapwright", "--duration", "0.05").wait()
        grown = address_space_kib(server.pid) - before
        assert grown < most_kib, (number, grown)
    server.pause()
    assert server.quit() == 0


@pytest.fixture
def held() -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen([programs / "held_in_calloc"], stdout=subprocess.PIPE, text=True) as program:
        yield program
        program.kill()


def test_a_thread_that_stays_in_a_call_keeps_plain_memory(
    held: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    """A handler runs on top of it for longer than a detach looks, through other recordings as well."""
    assert held.stdout is not None
    assert held.stdout.readline() == "ready\n"
    recording = Recording(held.pid, tmp_path / "a.heapwright")
    time.sleep(0.2)
    before = address_space_kib(held.pid)
    held.send_signal(signal.SIGUSR1)
    time.sleep(0.1)
    recording.end()
    assert "memfd:heapwright" not in Path(f"/proc/{held.pid}/maps").read_text()
    assert address_space_kib(held.pid) > before - (1 << 20)
    for name in "bc":
        Recording(held.pid, tmp_path / name, "--duration", "0.05").wait()
    held.send_signal(signal.SIGUSR2)
    assert held.wait(timeout=60) == 0


def test_a_killed_recorder_leaves_no_patch(server: Server, tmp_path: Path) -> None:
    server.go()
    recording = Recording(server.pid, tmp_path / "a.heapwright")
    recording.recorder.kill()
    recording.recorder.communicate()
    deadline = time.monotonic() + 20
    while changed_code(server.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert changed_code(server.pid) == []
    server.pause()
    assert server.quit() == 0


@pytest.mark.parametrize("next_one", ["record", "count"])
def test_a_killed_attacher_is_healed_by_the_next(server: Server, tmp_path: Path, next_one: str) -> None:
    server.go()
    recording = Recording(server.pid, tmp_path / "a.heapwright")
    time.sleep(0.1)
    os.kill(recording.attacher(), signal.SIGKILL)
    errors = recording.recorder.communicate(timeout=60)[1]
    assert "heapwright-attach was killed" in errors
    assert recording.recorder.returncode == 1
    assert read_trace(recording.path).facts["end_reason"] == end_recorder_lost
    assert changed_code(server.pid) != []
    # The patched program goes on although nobody reads any more.
    answered = server.pause()["answered"]
    assert run_for(server, 0.1)["answered"] > answered
    if next_one == "count":
        assert ask("count", "--pid", str(server.pid), "--duration", "0.1").returncode == 0
    else:
        before = server.pause()
        recording = Recording(server.pid, tmp_path / "b.heapwright")
        after = run_for(server, 0.2)
        check_equal(recording.end(), before, after)
    assert changed_code(server.pid) == []
    assert server.quit() == 0


def test_both_are_refused_while_one_is_there(server: Server, tmp_path: Path) -> None:
    recording = Recording(server.pid, tmp_path / "a.heapwright")
    for line in (
        ["count", "--pid", str(server.pid), "--duration", "0.1"],
        ["record", "--pid", str(server.pid), "--output", str(tmp_path / "b.heapwright")],
    ):
        second = ask(*line)
        assert second.returncode == 2, second
        assert "being recorded already, by process" in second.stderr
        assert second.stderr.count("\n") == 1
    recording.end()
    assert not (tmp_path / "b.heapwright").exists()
    assert server.quit() == 0


def test_five_hundred_threads(tmp_path: Path) -> None:
    with Server(500) as server:
        before = run_for(server, 0.2)
        recording = Recording(server.pid, tmp_path / "a.heapwright")
        after = run_for(server, 0.5)
        trace = recording.end()
        check_equal(trace, before, after)
        assert len(trace.facts["threads"]) == 500
        assert server.quit() == 0


def test_bad_requests_get_one_line(server: Server) -> None:
    pid = str(server.pid)
    for line, word in (
        (["--pid", pid, "--", "true"], "omit the program"),
        (["--pid", "no-such-name"], "no-such-name"),
        (["--pid", "99999999"], "no such process"),
        (["--despite-seccomp", "--", "true"], "needs --pid"),
    ):
        result = ask("record", "--output", "/tmp/never.heapwright", *line)
        assert result.returncode == 2, line
        assert word in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1
    assert server.quit() == 0


def test_a_running_server_is_sampled(server: Server, tmp_path: Path) -> None:
    """Its bytes are found again, as exactly as samples say; none of its releases is taken for another block's."""
    run_for(server, 0.1)
    before = server.pause()
    recording = Recording(server.pid, tmp_path / "a.heapwright", "--sample", "16k")
    after = run_for(server, 0.6)
    trace = recording.end()
    assert trace.problems() == []
    assert trace.facts["unknown_releases"] == 0
    assert trace.facts["live_blocks"] == 0
    assert trace.facts["null_frees"] == 0
    summary = json.loads(ask("explain", str(recording.path), "--json").stdout)["summary"]
    assert summary["is_attached"]
    low, high = summary["totals"]["intervals"]["requested_bytes"]
    truth = after["requested"] - before["requested"]
    assert low - (high - low) <= truth <= high + (high - low)  # six deviations
    assert high - low < truth / 10
    # The set of sampled blocks is new: a whole recording finds none of them.
    before = server.pause()
    recording = Recording(server.pid, tmp_path / "b.heapwright")
    after = run_for(server, 0.2)
    check_equal(recording.end(), before, after)
    assert changed_code(server.pid) == []
    assert server.quit() == 0
