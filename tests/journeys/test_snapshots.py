# SPDX-License-Identifier: MIT
"""Snapshots of running programs: on request, at regular times, of attached ones; and what grew between two."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import heapwright
import pytest
from conftest import collector, command, programs
from heapwright.cli.explanation import ReportOptions, make_report
from heapwright.explain.browsed_holders import HolderTrees
from heapwright.model import Filter, SiteOptions
from test_held import held

_NODE_BYTES = 104


class Obedient:
    """The program under the collector."""

    def __init__(self, process: subprocess.Popen[str], path: Path) -> None:
        self.process = process
        self.path = path

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        if line != "quit":
            assert self.process.stdout.readline() == "done\n"

    @property
    def pid(self) -> int:
        """Of the program, the collector's child."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return int(children.split()[0])

    def end(self) -> None:
        self.say("quit")
        assert self.process.wait(timeout=60) == 0


@contextmanager
def recorded(folder: Path, *options: object) -> Iterator[Obedient]:
    path = folder / "one.heapwright"
    line = [collector, "--quiet", "--output", path, *options, "--", programs / "obeys_lines"]
    process = subprocess.Popen(
        [str(word) for word in line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Obedient(process, path)
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()


def snapshot(process: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command, "snapshot", str(process), "--json"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_running_program_is_looked_at_on_request(tmp_path: Path) -> None:
    with recorded(tmp_path) as program:
        program.say("keep 1000")
        first = snapshot(program.pid)
        assert first.returncode == 0, first.stderr
        program.say("keep 2000")
        program.say("lose 50")
        time.sleep(0.05)  # younger blocks are not judged
        taken = json.loads(snapshot(program.pid).stdout)
        program.end()
    assert Path(taken["trace"]) == program.path
    assert taken["blocks"] >= 3050
    assert 0 < taken["stopped_ns"] < 5_000_000_000
    answer = held(program.path)
    assert answer["snapshots"] == 2
    assert answer["blocks"] == taken["blocks"]
    assert [(row["name"].split()[0], row["blocks"]) for row in answer["lost"]] == [("lose_one", 50)]
    grown = answer["grown"][0]
    assert grown["holder"] == "g_kept of obeys_lines"
    assert (grown["blocks"], grown["bytes"]) == (2000, 2000 * _NODE_BYTES)
    assert (grown["before_bytes"], grown["after_bytes"]) == (1000 * _NODE_BYTES, 3000 * _NODE_BYTES)


def test_two_recordings_are_compared_by_holder(tmp_path: Path) -> None:
    """The program may have another name, and its threads have other numbers."""
    paths, said = [], []
    for name, scale in (("old", 500), ("new", 800)):
        shutil.copy(programs / "plants_graph", tmp_path / name)
        paths.append(tmp_path / f"{name}.heapwright")
        line = [
            collector,
            "--snapshot",
            "end",
            "--output",
            paths[-1],
            "--",
            tmp_path / name,
            scale,
        ]
        words = [str(word) for word in line]
        said.append(subprocess.run(words, capture_output=True, check=True, timeout=60).stderr)
    done = subprocess.run(
        [command, "compare", *paths, "--json"], capture_output=True, check=True, timeout=120
    )
    rows = {row["name"]: row for row in json.loads(done.stdout)["holders"]}
    grown = {f"{name} of the program" for name in ("g_sessions", "g_list", "g_intrusive")}
    assert rows.keys() == {*grown, "lost"}, said
    assert rows["g_list of the program"]["difference"] == 300 * 24
    lost = [held(path)["lost_bytes"] for path in paths]
    assert [rows["lost"]["a"], rows["lost"]["b"]] == lost


THREADS = """
#include <cstdlib>
#include <cstdio>
#include <thread>
#include <unistd.h>
thread_local void* t_own;
int main() {
  std::thread([] {
    t_own = std::malloc(1000);
    std::puts("done");
    std::fflush(stdout);
    pause();
  }).join();
}
"""


def test_thread_local_variables_are_told_from_the_stack_below_them(tmp_path: Path) -> None:
    (tmp_path / "own.cpp").write_text(THREADS)
    subprocess.run(["g++", "-pthread", "-O1", "own.cpp", "-o", "own"], check=True, cwd=tmp_path, timeout=120)
    path = tmp_path / "one.heapwright"
    line = [collector, "--quiet", "--output", path, "--", tmp_path / "own"]
    with subprocess.Popen([str(word) for word in line], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        time.sleep(0.05)  # younger blocks are not judged
        program = Obedient(process, path)
        assert snapshot(program.pid).returncode == 0
        os.kill(program.pid, signal.SIGKILL)
    (row,) = [row for row in held(path)["held"] if row["bytes"] == 1000]
    assert row["holder"].startswith("t_own of thread ")


def test_holders_can_be_browsed(tmp_path: Path) -> None:
    path = tmp_path / "one.heapwright"
    line = [
        collector,
        "--snapshot",
        "end",
        "--quiet",
        "--output",
        path,
        "--",
        programs / "plants_graph",
        "50",
    ]
    subprocess.run([str(word) for word in line], capture_output=True, check=True, timeout=60)
    trace = heapwright.open(path)
    sites = SiteOptions()
    report = make_report(trace, trace.begin_facts(Filter(), sites), Filter(), sites, ReportOptions())
    trees = HolderTrees(report, "plants_graph")
    whole = trace.held_at(trace.snapshot_times[-1])
    for measure, total in (("bytes", whole.bytes), ("blocks", whole.blocks)):
        assert trees.root(measure, "holder", "").weight == total
    top = {node.name: node for node in trees.root("blocks", "holder", "").inner()}
    assert top["g_list of plants_graph"].weight == 50
    assert [node.weight for node in top["g_list of plants_graph"].inner()] == [50], "a list is one node"
    assert top["lost: nothing points to them"].weight == whole.lost_blocks
    chosen = trees.root("blocks", "holder", "G_LIST")
    assert (chosen.weight, [node.name for node in chosen.inner()]) == (50, ["g_list of plants_graph"])


def test_a_program_asks_for_itself_and_by_its_control_file(tmp_path: Path) -> None:
    control = tmp_path / "control"
    with recorded(tmp_path, "--control", control) as program:
        program.say("keep 10")
        program.say("snapshot")
        program.say("drop 5")
        control.write_text("snapshot 1")
        until = time.monotonic() + 30
        while held(program.path)["snapshots"] < 2:
            assert time.monotonic() < until
            time.sleep(0.1)
        program.end()
    answer = held(program.path)
    assert answer["snapshots"] == 2
    assert [row["blocks"] for row in answer["holders"] if row["symbol"] == "g_kept"] == [5]


def test_snapshots_are_taken_at_regular_times_and_at_the_end(tmp_path: Path) -> None:
    with recorded(tmp_path, "--snapshot", "every=0.2,end") as program:
        program.say("keep 10")
        until = time.monotonic() + 30
        while held(program.path)["snapshots"] < 2:
            assert time.monotonic() < until
            time.sleep(0.1)
        program.say("keep 10")
        program.end()
    answer = held(program.path)
    assert answer["snapshots"] >= 3
    assert [row["blocks"] for row in answer["holders"] if row["symbol"] == "g_kept"] == [20]


def test_without_stopping_only_lost_blocks_are_lost_and_what_moves_is_told(tmp_path: Path) -> None:
    """Threads move pointers all the time; the program stands still only for registers and stacks."""
    path = tmp_path / "one.heapwright"
    line = [collector, "--quiet", "--no-stop", "--output", path, "--", programs / "moves_blocks", 2, 2000, 50]
    with subprocess.Popen([str(word) for word in line], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.05)  # younger blocks are not judged
        program = Obedient(process, path)
        assert snapshot(program.pid).returncode == 0
        os.kill(program.pid, signal.SIGKILL)
    answer = held(path)
    lost = {row["name"].split()[0]: row["blocks"] for row in answer["lost"]}
    assert lost.pop("lose_one") == 50
    assert answer["copies"] >= 3, "one copy is no proof"
    assert sum(lost.values()) <= answer["missed_blocks"], "no more than the answer says"


@pytest.mark.skipif(os.geteuid() != 0, reason="attaches to a process that is no child")
def test_blocks_from_before_attaching_hold_those_after_it(tmp_path: Path) -> None:
    path = tmp_path / "attached.heapwright"
    with subprocess.Popen(
        [programs / "obeys_lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        program = Obedient(process, path)
        program.say("keep 100")
        recording = subprocess.Popen(
            [collector, "--quiet", "--output", str(path), "--snapshot", "end", "--pid", str(process.pid)]
        )
        until = time.monotonic() + 30
        while not path.exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.5)
        program.say("lose 7")
        program.say("hang 3")
        time.sleep(0.1)
        recording.send_signal(signal.SIGINT)
        assert recording.wait(timeout=60) == 0
        program.say("quit")
    answer = held(path)
    assert answer["not_known"] == ""
    lost = {row["name"].split()[0]: row["blocks"] for row in answer["lost"]}
    assert lost == {"lose_one": 7}
    assert [row["blocks"] for row in answer["holders"] if row["kind"] == "older blocks"] == [3]
    assert answer["older_blocks"] == 3
    said = subprocess.run([command, "explain", path, "--question", "held"], capture_output=True, text=True)
    assert "it is not known whether they are lost" in " ".join(said.stdout.split())


def test_of_samples_only_what_nothing_points_to_is_lost(tmp_path: Path) -> None:
    """Between them are blocks that are not known, and may hold them."""
    with recorded(tmp_path, "--sample", "1k") as program:
        program.say("keep 20000")
        program.say("lose 3000")
        time.sleep(0.05)  # younger blocks are not judged
        taken = json.loads(snapshot(program.pid).stdout)
        program.end()
    answer = held(program.path)
    assert answer["sample_bytes"] == 1024
    assert answer["blocks"] == taken["blocks"]
    lost = {row["name"].split()[0]: row["blocks"] for row in answer["lost"]}
    # About a tenth of the blocks is sampled.
    assert lost.keys() == {"lose_one"}
    assert 150 < lost["lose_one"] < 600
    assert 1000 < answer["blocks"] - answer["lost_blocks"] < 4000


def test_processes_that_cannot_be_looked_at_are_told_in_one_line(tmp_path: Path) -> None:
    alone = subprocess.Popen(["sleep", "60"])
    try:
        done = snapshot(alone.pid)
    finally:
        alone.kill()
        alone.wait()
    assert done.returncode == 2
    assert done.stderr.startswith(f"heapwright: process {alone.pid} is not being recorded: start it with")
    assert snapshot(alone.pid).stderr.count("\n") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_another_users_process_is_told_from_one_that_is_not_recorded(tmp_path: Path) -> None:
    with recorded(tmp_path) as program:
        program.say("keep 10")
        why = "it belongs to user 0; become that user, or root"
        said = f"heapwright: no snapshot of process {program.pid}: {why}"
        done = subprocess.run(
            [collector, "--snapshot-of", str(program.pid)],
            capture_output=True, text=True, timeout=60, check=False, user=65534, group=65534,
        )  # fmt: skip
        program.end()
    assert (done.returncode, done.stderr.strip()) == (2, said)


@pytest.mark.parametrize("rounds", [12, pytest.param(500, marks=pytest.mark.full)])
def test_a_killed_collector_leaves_the_program_running(tmp_path: Path, rounds: int) -> None:
    """Killed at any time of a snapshot, often while the program stands still."""
    stopped = sum(_kill_in_a_snapshot(tmp_path / str(number), number) for number in range(rounds))
    assert stopped > 0 or rounds < 100, "none was killed where it matters"
    _remove_what_is_left()


def _remove_what_is_left() -> None:
    """Folders of sessions that nobody answers for: with thousands of them other tests become slow."""
    for door in Path("/tmp").glob("heapwright-*/door"):
        with suppress(FileNotFoundError):  # others end beside it
            if time.time() - door.parent.stat().st_mtime > 5 and not _is_answered(door):
                shutil.rmtree(door.parent)


def _is_answered(door: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        try:
            client.connect(str(door))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
        return True


def _kill_in_a_snapshot(folder: Path, number: int) -> bool:
    """Whether the program stood still at that moment."""
    folder.mkdir()
    with recorded(folder, "--snapshot", "every=0.001") as program:
        program.say("keep 20000")
        pid = program.pid
        time.sleep(0.0007 * (number % 17))
        is_stopped = _state(pid) == "t"
        program.process.kill()
        program.process.wait()
        program.say("keep 100")  # it answers: it runs
        program.say("quit")
        until = time.monotonic() + 30
        while _state(pid) not in "ZX":
            assert time.monotonic() < until, "it did not end"
            time.sleep(0.01)
        return is_stopped


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def test_the_gate_limits_lost_blocks(tmp_path: Path) -> None:
    budget = tmp_path / "heap.toml"
    budget.write_text('[program]\nlost_blocks = 0\n[[site]]\nname = "lose_one"\nlost_blocks = 10\n')

    def checked() -> tuple[int, dict[str, Any]]:
        line = [command, "gate", budget, "--json", "--", programs / "plants_graph", "10"]
        done = subprocess.run(
            [str(word) for word in line], capture_output=True, text=True, timeout=120, check=False
        )
        document: dict[str, Any] = json.loads(done.stdout)
        return done.returncode, document

    code, document = checked()
    assert code == 1
    limits = {str(row["kind"]): row for row in document["checks"]}
    assert (limits["site"]["verdict"], limits["site"]["value"]) == ("within", 10)
    assert limits["program"]["value"] > 10
    assert {site["name"] for site in limits["program"]["sites"]} >= {"lose_one", "lose_ring"}
    budget.write_text('suppressions = ["lose_*"]\n[program]\nlost_blocks = 0\n')
    assert checked()[0] == 0


def test_the_gate_does_not_judge_the_end_by_an_earlier_snapshot(tmp_path: Path) -> None:
    budget = tmp_path / "heap.toml"
    budget.write_text("[program]\nlost_blocks = 1000000\n")
    path = tmp_path / "one.heapwright"
    program = [sys.executable, "-c", "import os, time; time.sleep(1); os._exit(0)"]
    line = [collector, "--snapshot", "end,every=0.1", "--quiet", "--output", path, "--", *program]
    subprocess.run([str(word) for word in line], check=True, timeout=60)
    assert held(path)["snapshots"] > 0
    done = subprocess.run([command, "gate", budget, path], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "lost blocks, which are not known: the program did not end by exit()" in done.stderr


def test_a_program_that_ends_during_a_snapshot_is_no_failure(tmp_path: Path) -> None:
    for number in range(12):
        path = tmp_path / f"{number}.heapwright"
        program = [sys.executable, "-c", "import os, time; time.sleep(0.2); os._exit(0)"]
        line = [collector, "--snapshot", "end,every=0.01", "--quiet", "--output", path, "--", *program]
        subprocess.run([str(word) for word in line], check=True, timeout=60)
        conditions = heapwright.open(path).metadata.conditions
        failed = [one for one in conditions if one.startswith("snapshot_failed")]
        assert failed == ["snapshot_failed\tthe program did not end by exit()"]
