# SPDX-License-Identifier: MIT
"""heapwright count: its figures against a recording of the same program, and what forks or fails meanwhile."""

import json
import os
import re
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import Record, Trace, command, programs
from counting import Counted, ask, count, environment, library, only


def recorded(trace: Trace) -> Counter[str]:
    """A trace's calls as the counters group them."""
    groups: Counter[str] = Counter()
    for kind, calls in trace.facts["called"].items():
        if "delete" in kind or kind.startswith("free"):
            groups["released"] += calls
        elif "align" in kind or kind in ("valloc", "pvalloc"):
            groups["aligned"] += calls
        elif kind in ("realloc", "reallocarray"):
            groups["realloc"] += calls
        elif kind in ("malloc", "calloc"):
            groups[kind] += calls
        elif "new" in kind:
            groups["new"] += calls
    for _, _, calls in trace.facts["failed"]:
        groups["failed"] += calls
    return groups


@pytest.mark.parametrize(
    "program",
    ["all_entry_points", "threads_come_and_go", "ten_thousand_threads", "tls_destructor_free", "atexit_free",
     "calloc_in_dlsym_storm", "own_operator_new", "libc_allocates", "locale_at_start", "small_stacks", "stacks",
     "fixed_addresses"],
)  # fmt: skip
def test_counts_are_those_of_a_recording(record: Record, program: str) -> None:
    trace = record(program).trace()
    wanted = recorded(trace)
    assert wanted.pop("failed", 0) == 0
    process = only(count(programs / program))
    calls = Counter({name: n for name, n in process["calls"].items() if name not in ("free", "delete") and n})
    calls["released"] = process["calls"]["free"] + process["calls"]["delete"] + process["null_releases"]
    assert +calls == +wanted
    kinds = ("mmap", "mremap", "brk", "sbrk")
    asked = sum(size * n for kind, size, n in trace.facts["allocated"] if kind not in kinds)
    assert process["requested_bytes"] == asked
    assert sum(row["requests"] for row in process["sizes"]) == sum(
        n for kind, _, n in trace.facts["allocated"] if kind not in kinds
    )
    assert process["live_blocks"] == trace.facts["live_blocks"]


def said_by_timed_calls(output: str) -> dict[str, int]:
    """What its calls took on the processor, and all of it."""
    words = (line.split() for line in output.splitlines() if line.startswith("note "))
    return {name: int(value) for _, name, value in words}


def least_ns(process: Counted) -> int:
    """What its calls took at least."""
    parts = process["making"], process["releasing"]
    return sum(int(part["time_ns"] - part["time_error_ns"]) for part in parts)


@pytest.mark.parametrize("threads", [1, 32])
def test_calls_take_no_more_than_the_processors_gave(threads: int) -> None:
    """Where threads wait for a processor, calls that lost it take long by the clock."""
    result = ask("count", "--json", "--", str(programs / "timed_calls"), str(threads), "500")
    process = only(json.loads(result.stdout))
    parts = process["making"], process["releasing"]
    assert least_ns(process) <= said_by_timed_calls(result.stderr)["processor_ns"]
    if threads > 1:
        assert sum(part["waited_calls"] for part in parts) > 0


def test_calls_take_no_more_than_the_processors_gave_while_attached() -> None:
    with subprocess.Popen([programs / "timed_calls", "32", "100000"], stdout=subprocess.DEVNULL) as program:
        result = ask("count", "--json", "--pid", str(program.pid), "--duration", "1")
        fields = Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()
        program.kill()
    assert result.stdout, result.stderr
    process = only(json.loads(result.stdout))
    parts = process["making"], process["releasing"]
    processor_ns = (int(fields[11]) + int(fields[12])) * 10**9 // os.sysconf("SC_CLK_TCK")
    assert least_ns(process) <= processor_ns
    assert sum(part["waited_calls"] for part in parts) > 0


def test_failures_are_counted_and_make_no_block(record: Record) -> None:
    trace = record("realloc_patterns").trace()
    process = only(count(programs / "realloc_patterns"))
    assert process["failed"] == sum(n for _, _, n in trace.facts["failed"]) == 2
    assert process["live_blocks"] == trace.facts["live_blocks"]
    assert process["calls"]["realloc"] + process["failed"] == trace.facts["called"]["realloc"] + trace.facts[
        "called"
    ].get("reallocarray", 0)


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_any_allocator_is_counted(allocator: str) -> None:
    path = Path("/usr/lib/x86_64-linux-gnu") / allocator
    if not path.exists():
        pytest.skip(f"{allocator} is not here")
    plain = only(count(programs / "threads_come_and_go"))
    document = count("env", f"LD_PRELOAD={library}:{path}", programs / "threads_come_and_go")
    other = next(one for one in document["processes"] if one["program"] == "threads_come_and_go")
    assert allocator.split(".")[0] in other["allocator"]
    assert other["calls"]["malloc"] >= plain["calls"]["malloc"] - 10
    # tcmalloc calls operator new for itself, once.
    assert other["calls"]["new"] - plain["calls"]["new"] in (0, 1)
    assert other["calls"]["delete"] == plain["calls"]["delete"]
    assert other["usable_bytes"] >= other["requested_bytes"] > 126_000_000
    assert 0 <= other["live_bytes"] < 1_000_000


def test_usable_bytes_are_those_the_allocator_tells() -> None:
    """1000 blocks of 1 to 1000 bytes, each asked by the program itself."""
    script = """
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc_usable_size.argtypes = [ctypes.c_void_p]
libc.malloc_usable_size.restype = ctypes.c_size_t
import os, struct, sys
blocks = [libc.malloc(size) for size in range(1, 1001)] + [libc.malloc(1 << 22)]
usable = sum(map(libc.malloc_usable_size, blocks))
print(usable)
"""
    twice = []
    for text in (script, script.replace("range(1, 1001)] + [libc.malloc(1 << 22)]", "()]")):
        target = [str(command), "count", "--json", "--", "/usr/bin/python3.11", "-S", "-E", "-c", text]
        result = subprocess.run(
            target, capture_output=True, text=True, check=True, timeout=60, env=environment
        )
        process = only(json.loads(result.stdout.splitlines()[-1]))
        twice.append((int(result.stderr.split()[0]), process["live_bytes"]))
    (usable, live), (_, live_without) = twice
    assert usable > (1 << 22) + 500_500
    assert abs(live - live_without - usable) < 50_000


def test_a_forks_child_starts_from_zero() -> None:
    script = (
        "import os\nkept = [bytearray(700) for _ in range(5000)]\n"
        "if os.fork() == 0:\n    more = [bytearray(900) for _ in range(300)]\n    os._exit(0)\nos.wait()"
    )
    document = count("/usr/bin/python3.11", "-S", "-E", "-c", script)
    parent, child = document["processes"]
    assert (parent["generation"], child["generation"]) == (0, 1)
    assert parent["made_blocks"] > 5000
    assert 300 <= child["made_blocks"] < 1000
    assert child["threads_begun"] == 1


def test_the_programs_exit_code_and_output_are_its_own() -> None:
    result = subprocess.run(
        [str(command), "count", "--", "/bin/sh", "-c", "echo out; exit 7"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert (result.returncode, result.stdout) == (7, "out\n")
    assert "live at the end" in result.stderr
    killed = count("/bin/sh", "-c", "kill -9 $$")
    assert killed["exit_code"] == 128 + signal.SIGKILL
    assert killed["processes"][0]["wall_ns"] is None


@pytest.mark.parametrize("program", ["own_malloc", "own_realloc"])
def test_a_program_with_its_own_malloc_keeps_it(program: str) -> None:
    document = count(programs / program)
    process = only(document)
    assert document["exit_code"] == 0
    assert process["has_own_malloc"]
    assert process["made_blocks"] == 0


def test_a_stripped_static_program_is_told_of(tmp_path: Path) -> None:
    source = tmp_path / "static.c"
    source.write_text("int main(void) { return 3; }\n")
    subprocess.run(["gcc", "-static", "-s", source, "-o", tmp_path / "static"], check=True, timeout=60)
    document = count(tmp_path / "static")
    assert (document["exit_code"], document["processes"]) == (3, [])
    assert "static" in document["notes"][0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("./sleeps; true", "it is static"),
        ("exec ./sleeps", "it is static"),
        ("(sleep 0.1; ./sleeps) & wait", "it is static"),
        ("env -i sleep 3; true", "without LD_PRELOAD"),
    ],
)
def test_a_program_of_the_tree_that_is_not_counted_is_named(tmp_path: Path, line: str, reason: str) -> None:
    source = tmp_path / "sleeps.c"
    source.write_text("#include <unistd.h>\nint main(void) { return (int)sleep(3); }\n")
    subprocess.run(["gcc", "-static", str(source), "-o", str(tmp_path / "sleeps")], check=True, timeout=60)
    document = count("/bin/bash", "-c", f"cd {tmp_path}; {line}")
    assert document["exit_code"] == 0
    (note,) = document["notes"]
    assert re.match(r"sleeps? \(process \d+\) was not counted: ", note)
    assert reason in note
    assert {"bash"} <= {process["program"] for process in document["processes"]} <= {"bash", "sleep", "env"}


def with_small_folder(size: str, *line: object) -> Counted:
    """In a mount namespace whose /dev/shm has this much room, or none at all."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("needs a mount namespace")
    mount = f'mount -t tmpfs -o size={size} tmpfs /dev/shm && exec "$@"'
    return count(*line, prefix=("unshare", "-m", "sh", "-c", mount, "sh"))


def test_a_program_in_another_root_is_counted_to_its_end(tmp_path: Path) -> None:
    """There its page has another name, which count does not know."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("needs a mount namespace")
    made = "[bytes(600) for _ in range(5000)]"
    python = f"import time; first = {made}; time.sleep(1.5); second = {made}"
    script = 'mount --rbind / "$0" && exec chroot "$0" /usr/bin/python3 -c "$1"'
    document = count("unshare", "-m", "sh", "-c", script, tmp_path, python)
    assert document["exit_code"] == 0
    assert document["processes"][-1]["program"].startswith("python3")
    assert document["processes"][-1]["made_blocks"] > 10_000


def test_without_room_the_program_runs_on() -> None:
    document = with_small_folder("4k", programs / "stacks")
    assert (document["exit_code"], document["processes"]) == (0, [])
    assert "is full" in document["notes"][0]


def test_threads_without_room_for_a_table_share_one() -> None:
    process = only(with_small_folder("12k", programs / "threads_come_and_go"))
    assert process["calls"]["malloc"] == 42_001
    assert (process["threads_begun"], process["threads_ended"]) == (2001, 2000)


slow_allocator = """
#include <stddef.h>
#include <time.h>
extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
static void wait(void) { struct timespec t = {0, 60000}; clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0); }
void* malloc(size_t size) { wait(); return __libc_malloc(size); }
void free(void* block) { __libc_free(block); }
"""


def test_one_call_in_64_is_timed_and_slow_ones_are_seen(tmp_path: Path) -> None:
    """An allocator that sleeps for 60 us in each malloc, and does not tell usable sizes."""
    source, allocator = tmp_path / "slow.c", tmp_path / "slow.so"
    source.write_text(slow_allocator)
    command_line = ["gcc", "-shared", "-fPIC", "-fno-builtin", str(source), "-o", str(allocator)]
    subprocess.run(command_line, check=True, timeout=60)
    document = count("env", f"LD_PRELOAD={library}:{allocator}", programs / "threads_come_and_go", 100, 100)
    process = next(one for one in document["processes"] if one["program"] == "threads_come_and_go")
    making = process["making"]
    # Strides are even between 1 and 127: their mean is 64, their deviation 37.
    timed = making["calls"] / 64
    assert abs(making["timed_calls"] - timed) < 5 * (37 / 64) * timed**0.5 + 2 * 100
    assert making["waited_calls"] >= making["calls"] * 0.95
    assert making["waited_ns"] / making["waited_calls"] >= 50_000
    assert process["live_bytes"] is process["usable_bytes"] is None


def test_about_one_call_in_64_is_timed() -> None:
    making = only(count(programs / "atexit_free"))["making"]
    assert making["timed_calls"] <= making["calls"]
    process = only(count(programs / "realloc_patterns"))
    timed = process["making"]["timed_calls"] + process["releasing"]["timed_calls"]
    expected = (process["making"]["calls"] + process["releasing"]["calls"]) / 64
    assert abs(timed - expected) < 5 * (37 / 64) * expected**0.5 + 10


def test_bad_requests_get_one_line() -> None:
    for line, word in (
        (["count"], "name a program"),
        (["count", "--", "/nowhere/at/all"], "cannot start"),
        (["count", "--pid", "no-such-name"], "no process is called no-such-name"),
        (["count", "--pid", "1", "--duration", "0"], "above 0"),
        (["count", "--interval", "1ms", "--", "true"], "at least 0.1s"),
        (["top", "no-such-name", "--once"], "no process is called no-such-name"),
        (["top", "--sort", "colour"], "unknown column"),
        (["top", "--sort", "residents"], "did you mean resident?"),
    ):
        result = ask(*line)
        assert result.returncode == 2, line
        assert word in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1
