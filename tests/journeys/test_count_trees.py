# SPDX-License-Identifier: MIT
"""heapwright count of many processes: each is told of, and the sums of each program."""

import subprocess
import sys
from pathlib import Path

from conftest import command, programs
from counting import ask, checked, count, environment


def test_every_image_of_a_tree_is_told_of() -> None:
    document = count("/bin/sh", "-c", f"{programs / 'atexit_free'}; exec {programs / 'stacks'}")
    names = [process["program"] for process in document["processes"]]
    assert names[1:] == ["atexit_free", "stacks"], names
    first, _, last = document["processes"]
    assert first["process"] == last["process"]
    assert last["calls"]["new"] == 500


def test_the_time_of_many_short_processes_is_known_together() -> None:
    line = "for i in $(seq 25); do sqlite3 :memory: 'select 1'; done"
    document = count("/bin/sh", "-c", line)
    (found,) = (one for one in document["programs"] if one["program"] == "sqlite3")
    alone = [one for one in document["processes"] if one["program"] == "sqlite3"]
    assert found["images"] == len(alone) == 25
    assert found["calls"] == {name: sum(one["calls"][name] for one in alone) for name in found["calls"]}
    assert all(one["making"]["time_ns"] is None for one in alone)
    assert found["making"]["time_ns"] > 0
    words = [str(command), "count", "--", "/bin/sh", "-c", line]
    said = subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stderr
    assert "sqlite3   25 images together" in said


def test_a_program_that_executes_itself_keeps_its_name() -> None:
    """It does so by /proc/self/exe."""
    document = count(programs / "exec_self", 2)
    assert [process["program"] for process in document["processes"]] == ["exec_self"] * 3


def test_an_attached_program_that_was_executed_by_a_link_of_proc_has_its_files_name() -> None:
    line = ["python", "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(line, executable="/proc/self/exe", stdin=subprocess.PIPE) as process:
        result = ask("count", "--pid", str(process.pid), "--duration", "0.2s", "--json")
        process.kill()
    assert result.stdout, result.stderr
    (row,) = checked(result.stdout)["processes"]
    assert row["program"] == Path(sys.executable).resolve().name
