# SPDX-License-Identifier: MIT
"""Remedies tried on real programs: what helps, what does not, and what cannot be tried."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import collector, command, programs, project
from heapwright.cli import schemas

PYTHON = "/usr/bin/python3"
# Three buffers of 1 MiB overlap: glibc gives the heap's end back and takes it again, time after time.
REFAULTS = """
wire = b"a" * (1 << 20)
for _ in range(200):
    request = bytearray(wire)
    message = bytearray(request)
    reply = bytearray(message)
    del request, message, reply
"""
KEEPS = "set:glibc.mmap_threshold=32M,trim_threshold=64M"


def tried(*words: object, code: int = 0, **more: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HEAPWRIGHT_BIN": str(collector.parent)}
    line = [str(command), "try", *map(str, words)]
    done = subprocess.run(
        line, capture_output=True, text=True, check=False, timeout=240, env=environment, **more
    )
    assert done.returncode == code, done.stderr
    return done


def document(*words: object, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tried("--json", *words, **more).stdout)
    jsonschema.validate(found, schemas.of("try"))
    return found


def test_the_documents_example(tmp_path: Path) -> None:
    """Its commands as they stand, and the sentences that stand there."""
    text = (project / "docs/try.md").read_text(encoding="utf-8")
    block = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0]
    environment = {"PATH": f"{command.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    said = ""
    for line in block.splitlines():
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False
        )  # fmt: skip
        assert done.returncode == 0, (line, done.stderr)
        said += " ".join(done.stdout.split()) + "\n"
    assert re.search(r"set:glibc.trim_threshold=\d+,mmap_threshold=\d+: .*CPU time −[89]\d %", said), said
    assert "replay had said of set:glibc.trim_threshold=" in said
    assert re.search(
        r"systemd Environment=\"MALLOC_TRIM_THRESHOLD_=\d+\" \"MALLOC_MMAP_THRESHOLD_=\d+\"", said
    )
    assert "on:heapwright: " in said.splitlines()[-1]


def test_a_setting_that_gives_a_factor_is_the_best() -> None:
    words = (
        "--remedy",
        KEEPS,
        "--remedy",
        "set:glibc.arena_max=1",
        "--runs",
        3,
        "--",
        PYTHON,
        "-c",
        REFAULTS,
    )
    found = document(*words)
    assert found["best"] == KEEPS
    as_it_is, keeps, arenas = (row["figures"] for row in found["remedies"])
    assert keeps["minor_faults"]["relative_difference"] < -0.9
    assert keeps["cpu_ns"]["verdict"] == "better"
    assert as_it_is["minor_faults"]["runs"] == 6
    assert arenas["minor_faults"]["verdict"] == "same", "a program of one thread"
    assert keeps["peak_bytes"]["value"] > 8 << 20
    variables = found["remedies"][1]["variables"]
    kept = subprocess.run(
        ["env", *(f"{name}={value}" for name, value in variables.items()), PYTHON, "-c", "print(1)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert kept.stdout == "1\n"


def test_where_nothing_helps_that_is_the_first_line() -> None:
    words = ("--remedy", "set:glibc.arena_max=1", "--runs", 5, "--", PYTHON, "-c", "print(1)")
    assert tried(*words).stdout.startswith("Nothing that was tried helps.\n")


def test_another_allocator_is_in_use_and_its_other_output_is_noticed() -> None:
    tells = "import time; time.sleep(.3); print('libheapwright.so' in open('/proc/self/maps').read())"
    words = ("--remedy", "on:heapwright", "--runs", 3, "--same-output", "--", PYTHON, "-c", tells)
    done = tried(*words, code=2)
    assert "on:heapwright: the program writes something else" in " ".join(done.stdout.split())
    assert tried(*words[:4], *words[5:]).stdout


def test_remedies_without_a_site_need_no_recording_and_say_that_they_did_nothing(tmp_path: Path) -> None:
    words = (
        "--remedy",
        "skip-frees-at-exit",
        "--remedy",
        "trim:60000",
        "--runs",
        3,
        "--",
        "/bin/sleep",
        "0.1",
    )
    done = tried(*words, cwd=tmp_path)
    said = " ".join(done.stdout.split())
    assert said.startswith("Nothing that was tried helps. ")
    assert (
        "trim:60000: no difference, as it did nothing; trim:60000 did nothing: the program was never idle"
        in said
    )
    assert (tmp_path / "remedy.trim:60000.toml").exists()


@pytest.mark.skipif(not Path("/usr/bin/redis-server").exists(), reason="redis-server is not installed")
def test_a_server_under_its_load(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    words = [
        "--remedy", "on:heapwright", "--runs", 3, "--idle", "200ms",
        "--ready", f"redis-cli -p {port} ping",
        "--while", f"redis-benchmark -p {port} -n 20000 -r 20000 -d 200 -t set -P 50 --csv",
        "--metric", "tail -1 | cut -d, -f2 | tr -d '\"' | sed 's/$/ req\\/s/'",
        "--", "redis-server", "--port", port, "--save", "", "--dir", tmp_path,
    ]  # fmt: skip
    found = document(*words)
    assert found["metric_has_more"] and found["metric_unit"] == "req/s"
    for row in found["remedies"]:
        assert row["failure"] == ""
        assert {"metric", "idle_bytes", "peak_bytes", "cpu_ns", "wall_ns"} <= row["figures"].keys()
    assert found["remedies"][0]["figures"]["metric"]["low"] > 100
    with socket.socket() as again, pytest.raises(OSError):
        again.connect(("127.0.0.1", port))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--remedy", "set:glibc.arena_may=1", "--", "ls"], "glibc has no setting arena_may; did you mean arena_max?"),
        (["--remedy", "pool@f", "--", "ls"], "no remedy 'pool@f'; a remedy is set:glibc.arena_max=1, on:jemalloc,"),
        (["--remedy", "segregate@f", "--", "ls"], "segregate@f cannot be tried"),
        (["--remedy", "on:rpmallok", "--", "ls"], "no allocator rpmallok; did you mean"),
        (["--remedy", "on:heapwright", "--", "./gone"], "cannot run ./gone: it does not exist"),
        (["--remedy", "on:heapwright", "--", "/sbin/ldconfig", "-p"], "/sbin/ldconfig is linked statically"),
        (["--remedy", "on:heapwright", "--", "{setuid}"], "setuid or setgid: the loader ignores preloaded libraries"),
        (["--remedy", "on:heapwright", "--", "false"], "false fails without any remedy, so none can be tried"),
        (["--remedy", "on:heapwright", "--while", "echo no; false", "--", "sleep", "60"], "--while 'echo no; false' failed: no"),
        (["--remedy", "on:heapwright", "--metric", "cat", "--", "ls"], "--metric 'cat' gives no number"),
        (["--remedy", "on:heapwright", "--metric", "echo 1", "--", "ls"], "add --better more or --better less"),
        (["--remedy", "on:heapwright", "--same-output", "--", "date", "+%N"], "date writes something else in each run"),
        (["--", "ls"], "try needs a recording that says what to try, or a remedy"),
        (["--remedy", "on:heapwright"], "try needs a program"),
        (["{folder}/gone.heapwright", "--", "ls"], "no such file: "),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line(words: list[str], said: str, tmp_path: Path) -> None:
    setuid = tmp_path / "setuid"
    shutil.copy("/bin/true", setuid)
    setuid.chmod(0o4755)
    given = [word.format(setuid=setuid, folder=tmp_path) for word in words]
    done = tried(*given, code=2)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr, done.stderr


def test_ctrl_c_shows_what_was_measured_and_leaves_no_process(tmp_path: Path) -> None:
    mark = f"try-{time.monotonic_ns()}"
    words = ["--remedy", "set:glibc.arena_max=1", "--runs", "50", "--", "sh", "-c", f": {mark}; sleep 0.2"]
    # In the background of a shell SIGINT is ignored, and what it starts inherits that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    running = subprocess.Popen(
        [command, "try", *words],
        env={**os.environ, "HEAPWRIGHT_BIN": str(collector.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(signal.SIGINT, before)
    time.sleep(6)
    running.send_signal(signal.SIGINT)
    said, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert "note: interrupted: these are the runs until then" in said
    left = subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True, check=False).stdout
    assert left == ""


def test_threads_arenas_as_the_ranked_list_says(tmp_path: Path) -> None:
    """From the recording to the proof: what explain ranks is tried, beside what a replay had said."""
    program = [str(programs / "keeps_memory"), "arenas"]
    trace = tmp_path / "arenas.heapwright"
    subprocess.run(
        [command, "record", "--quiet", "-o", trace, "--", *program],
        check=True,
        timeout=60,
        capture_output=True,
    )
    found = document(trace, "--runs", 3, "--", *program)
    row = next(row for row in found["remedies"] if row["remedy"] == "set:glibc.arena_max=1")
    assert row["figures"]["peak_bytes"]["difference"] < 0  # how much depends on when its threads run
    assert {one["figure"] for one in row["replayed"]} >= {"peak", "CPU time"}
    assert any(row["remedy"].startswith("trim:") for row in found["remedies"])


def test_a_sites_own_heap_returns_what_a_replay_said(tmp_path: Path) -> None:
    program = [str(programs / "keeps_memory"), "pinned"]
    trace = tmp_path / "pinned.heapwright"
    subprocess.run(
        [command, "record", "--quiet", "-o", trace, "--", *program],
        check=True,
        timeout=60,
        capture_output=True,
    )
    found = document(trace, "--remedy", "segregate@survivor", "--runs", 3, "--", *program)
    (row,) = found["remedies"][1:]
    assert (row["failure"], found["best"]) == ("", "segregate@survivor")
    really = row["figures"]["steady_bytes"]["difference"]
    said = next(one["difference"] for one in row["replayed"] if one["figure"] == "at the scan")
    assert really == pytest.approx(said, rel=0.1)
    assert really < -30 << 20
    done = tried(trace, "--remedy", "segregate@gone", "--", *program, code=2)
    assert done.stderr == "heapwright: no call site gone in the recording; heapwright explain names them\n"


def test_survivors_of_a_recording_have_pages_of_their_own_in_our_heap(tmp_path: Path) -> None:
    """One size, so that the heap alone keeps them on one page with what goes."""
    program = [str(programs / "keeps_memory"), "alike"]
    trace = tmp_path / "alike.heapwright"
    recorded = [command, "record", "--quiet", "-o", trace, "--", *program]
    subprocess.run(recorded, check=True, timeout=60, capture_output=True)
    placed = "on:heapwright+segregate@survivor"
    named = ("--remedy", "on:heapwright", "--remedy", placed)
    found = document(trace, *named, "--runs", 3, "--unchecked", "--", *program)
    alone, apart = (row["figures"]["steady_bytes"] for row in found["remedies"][1:])
    assert alone["value"] > 40 << 20 and apart["value"] < 12 << 20
    assert found["best"] == placed
    replay = [command, "replay", trace, "--on", "heapwright", "--change", "segregate@survivor", "--json"]
    done = subprocess.run([*replay, "--runs", "1"], check=True, timeout=240, capture_output=True)
    ends = {
        one["name"]: one["runs"]["memory"][0]["end_bytes"] for one in json.loads(done.stdout)["candidates"]
    }
    saved = ends["heapwright"] - ends["heapwright segregate@survivor"]
    assert saved == pytest.approx(alone["value"] - apart["value"], rel=0.15)


CALLS = "my @a; for my $i (1..400000) { push @a, {k => $i}; @a = () if $i % 1000 == 0 }"


def test_the_tail_of_heap_calls_is_measured_of_many_calls_with_each_allocator() -> None:
    made = document("--remedy", "on:heapwright", "--runs", "3", "--", "/usr/bin/perl", "-e", CALLS)
    for row in made["remedies"]:
        assert 20 < row["figures"]["call_tail_ns"]["value"] < 1e6
    assert made["remedies"][0]["figures"]["call_tail_ns"]["runs"] == 6


def test_few_calls_have_no_tail() -> None:
    made = document("--remedy", "on:heapwright", "--runs", "3", "--", "/usr/bin/perl", "-e", "1")
    assert all("call_tail_ns" not in row["figures"] for row in made["remedies"])


MISUSES = """
#include <cstdlib>
#include <cstring>
[[gnu::noinline]] char* make_text() { return static_cast<char*>(std::memset(std::malloc(200), 1, 200)); }
int main() {
  for (int number = 0; number < 2000; ++number) {
    char* text = make_text();
    if (number == 1500) std::memset(text + 208, 7, 8);  // harmless under glibc: the next block's size
    if (number % 2 != 0) std::free(text);
  }
}
"""


def test_a_checked_remedy_tells_a_misuse_that_the_program_has_anyway(tmp_path: Path) -> None:
    (tmp_path / "misuses.cpp").write_text(MISUSES, encoding="utf-8")
    program = tmp_path / "misuses"
    compiler = ["g++", "-O1", "-g", "-fno-builtin", tmp_path / "misuses.cpp", "-o", program]
    subprocess.run(compiler, check=True, timeout=60)
    named = ("--remedy", "on:heapwright", "--remedy", "set:glibc.arena_max=1")
    done = tried(*named, "--runs", 3, "--check", "--", program, code=2)
    assert "with on:heapwright crashed: SIGABRT: heapwright: write after" in done.stderr
    assert "set:glibc.arena_max=1: no difference" in " ".join(done.stdout.split())
    plain = tried(*named, "--runs", 3, "--", program)
    assert "crashed" not in plain.stdout
