# SPDX-License-Identifier: MIT
"""The tree of processes below one, as the kernel lists it in either way."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from heapwright.live import uncounted

TREE = """
import os, subprocess, sys, threading
run = lambda: started.append(subprocess.Popen(['/bin/cat'], stdin=subprocess.PIPE))
started = []
thread = threading.Thread(target=run); thread.start(); thread.join()
run()
started.append(subprocess.Popen(['/bin/sh', '-c', 'cat; true'], stdin=subprocess.PIPE))
print(*(one.pid for one in started), flush=True)
sys.stdin.read()
for one in started: one.communicate()
"""


def test_both_ways_find_the_same_tree() -> None:
    line = ["/usr/bin/python3", "-S", "-c", TREE]
    with subprocess.Popen(line, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tree:
        assert tree.stdout is not None
        started = set(map(int, tree.stdout.readline().split()))
        deadline = time.monotonic() + 20
        while len(uncounted._below_by_parents(tree.pid)) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        by_parents, by_children = (
            uncounted._below_by_parents(tree.pid),
            uncounted._below_by_children(tree.pid),
        )
        tree.communicate("")
    assert len(by_parents) == 5, "the shell's cat as well"
    assert started < by_parents
    assert by_children in (by_parents, None)


def test_many_threads_are_left_to_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncounted, "_MOST_THREADS", 0)
    assert uncounted._below_by_children(os.getpid()) is None
    assert os.getpid() in uncounted._below(os.getpid())


def test_a_process_that_is_gone_has_none_below() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert uncounted._below(gone.pid) == {gone.pid}
