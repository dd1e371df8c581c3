# SPDX-License-Identifier: MIT
"""heapwright count of many processes: each is told of, and the sums of each program."""

import subprocess

from conftest import command, programs
from counting import count, environment


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
