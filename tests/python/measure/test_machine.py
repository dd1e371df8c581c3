# SPDX-License-Identifier: MIT
"""What is told of the machine."""

from __future__ import annotations

import subprocess
import sys

import pytest
from heapwright.measure import machine

STAT = "cpu  {user} 0 0 900 50 0 0 {steal}\ncpu0 1 2 3 4 5 6 7 8\n"


@pytest.mark.parametrize(
    ("user", "steal", "share"), [(0, 0, 0.0), (100, 0, 0.25), (100, 100, 0.5), (900, 0, 1)]
)
def test_other_work_is_a_share_of_all_processors(
    user: int, steal: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two processors for two seconds; a tick is 10 ms."""
    now = {"s": 0.0, "user": 1000, "steal": 0}
    monkeypatch.setattr(machine.time, "monotonic", lambda: now["s"])
    monkeypatch.setattr(machine, "_read", lambda _: STAT.format(user=now["user"], steal=now["steal"]))
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(machine.os, "sysconf", lambda _: 100)
    monkeypatch.setattr(machine.os, "times", lambda: (0.0,) * 5)
    others = machine.OtherWork()
    now.update(s=2.0, user=1000 + user, steal=steal)
    assert others.share() == pytest.approx(share)


def test_other_work_is_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_read", lambda _: "")
    begin_s = machine.OtherWork._taken()[2]
    spin = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    subprocess.run([sys.executable, "-c", spin], check=True)
    assert machine.OtherWork._taken()[2] - begin_s >= 0.29, "of a child"


def test_an_unreadable_machine_has_no_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_read", lambda _: "")
    assert machine.OtherWork().share() == 0
