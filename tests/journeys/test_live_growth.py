# SPDX-License-Identifier: MIT
"""Memory that grows where no heap call shows it, named while it grows: arenas of Python beside an array of malloc."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import command
from counting import Running, ask, checked, count, environment, only
from serving import until

# Objects of pymalloc, some 3 MB/s; the list that holds them is malloc's, and grows by 0.1 MB/s.
GROWS = """
import sys, time
kept, begin, number = [], time.monotonic(), 0
print('begins', flush=True)
while time.monotonic() < begin + float(sys.argv[1]):
    for _ in range(130):
        kept.append(bytes(200))
        number += 1
    time.sleep(0.008)
"""
PYTHON = "/usr/bin/python3"
SETTING = "PYTHONMALLOC=malloc makes each a call"


@pytest.fixture
def growing() -> Iterator[int]:
    with subprocess.Popen(
        [str(command), "count", "--", PYTHON, "-S", "-E", "-c", GROWS, "60"], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as counting:  # fmt: skip
        assert counting.stdout is not None
        assert counting.stdout.readline() == "begins\n"
        children = Path(f"/proc/{counting.pid}/task/{counting.pid}/children").read_text().split()
        yield int(children[0])
        counting.terminate()


def anonymous_bytes(process: int) -> int:
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def test_top_names_the_arenas_and_not_the_array(growing: int) -> None:
    before = anonymous_bytes(growing)
    document = checked(ask("top", str(growing), "--json", "--interval", "4").stdout)
    real = (anonymous_bytes(growing) - before) / (document["interval_ns"] / 1e9)
    (row,) = document["processes"]
    assert row["growth_bytes_per_s"] == pytest.approx(real, rel=0.25)
    assert row["growth_bytes_per_s"] > 1e6
    assert row["live_growth_bytes_per_s"] < row["growth_bytes_per_s"] / 8
    assert row["outside_bytes_per_s"] > 0.8 * row["growth_bytes_per_s"]
    assert SETTING in row["outside_hint"]
    parts = sum(row[f"{kind}_bytes"] for kind in ("anonymous", "file", "shared"))
    assert parts == pytest.approx(row["resident_bytes"], rel=0.05)
    screen = ask("top", "--once", "--interval", "2", "--sort", "growth_bytes_per_s").stdout
    said = " ".join(screen.split())
    assert f"python3 {growing}: memory outside malloc grows by" in said
    assert SETTING in said


def test_count_says_so_at_the_end_and_with_malloc_nothing_is_outside() -> None:
    outside = only(count(PYTHON, "-S", "-E", "-c", GROWS, "6"))["memory"]
    assert outside["outside_bytes_per_s"] > 1e6
    assert SETTING in outside["outside_hint"]
    assert outside["peak_resident_bytes"] >= outside["anonymous_bytes"] > 8 << 20
    line = ["PYTHONMALLOC=malloc", PYTHON, "-S", "-c", GROWS, "6"]
    own = next(
        one
        for one in count("/usr/bin/env", *line)["processes"]
        if one["program"].startswith("python") and one["memory"]
    )["memory"]
    assert own["growth_bytes_per_s"] > 1e6
    assert own["outside_bytes_per_s"] == 0
    assert own["live_growth_bytes_per_s"] > own["growth_bytes_per_s"] / 2


def test_a_program_that_ends_at_once_has_no_look() -> None:
    assert only(count("true"))["memory"] is None


def test_an_attached_process_is_looked_at_too() -> None:
    with subprocess.Popen(
        [PYTHON, "-S", "-E", "-c", GROWS, "60"], stdout=subprocess.PIPE, text=True
    ) as python:
        assert python.stdout is not None
        python.stdout.readline()
        memory = only(checked(ask("count", "--pid", str(python.pid), "--duration", "4", "--json").stdout))[
            "memory"
        ]
        python.kill()
    assert memory["outside_bytes_per_s"] > 1e6
    assert SETTING in memory["outside_hint"]


# Fills shared memory by some 6 MB/s, for as long as it is looked at.
SHARES = """
import mmap, time
shared = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
print('begins', flush=True)
for begin in range(0, 1 << 30, 1 << 16):
    shared[begin:begin + 65536] = bytes(65536)
    time.sleep(0.01)
"""


def test_shared_memory_is_no_growth() -> None:
    running = Running(PYTHON, "-S", "-E", "-c", SHARES)
    assert running.process.stdout is not None
    running.process.stdout.readline()
    document = checked(ask("top", str(running.process.pid), "--json", "--interval", "3").stdout)
    running.end()
    (row,) = document["processes"]
    assert row["shared_bytes"] > 8 << 20
    assert abs(row["growth_bytes_per_s"]) < 1 << 20
    assert not row["outside_bytes_per_s"]
    assert row["anonymous_bytes"] < row["resident_bytes"] / 2


def dumped(folder: Path, kind: str) -> list[Path]:
    return list(folder.glob(f"python3*.{kind}.heapwright"))


def test_anonymous_memory_that_grows_is_dumped(tmp_path: Path) -> None:
    line = [str(command), "count", "--sample", "64k", "--dump-when", "anonymous=12M", "--dump-when",
            "anonymous-growth=1M/1s", "--dump-when", "live=1G", "--", PYTHON, "-S", "-E", "-c", GROWS, "30"]  # fmt: skip
    with subprocess.Popen(
        line, env=environment, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as counting:
        assert until(lambda: dumped(tmp_path, "anonymous") and dumped(tmp_path, "anonymous-growth"))
        counting.terminate()
        said = counting.communicate(timeout=60)[1]
    assert " anonymous: heapwright explain" in said
    assert "of anonymous memory in 1.00 s" in said
    assert not dumped(tmp_path, "live")
    (path,) = dumped(tmp_path, "anonymous")
    document: dict[str, Any] = json.loads(ask("explain", str(path), "--json").stdout)
    assert document["summary"]["program"].startswith("/usr/bin/python3")
