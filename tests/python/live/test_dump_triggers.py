# SPDX-License-Identifier: MIT
"""When samples are written: figures worked out by hand, and files as kernels write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from heapwright.cli.dump_triggers import make_triggers
from heapwright.cli.errors import InputError
from heapwright.live import memory_limits
from heapwright.live.memory import Memory
from heapwright.live.memory_limits import Room
from heapwright.live.triggers import Cgroup, Growth, Oom, Pressure, Sight, Trigger

MIB = 1 << 20
PROCESS = 77


class Kernel:
    """Its files, in a folder."""

    def __init__(self, path: Path) -> None:
        self.proc, self.cgroups = path / "proc", path / "cgroup"

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def is_in(self, cgroups: str) -> None:
        self.write(self.proc / str(PROCESS) / "cgroup", cgroups)

    def version_2(self, name: str, used: int, most: str, high: str = "max", files: int = 0) -> None:
        folder = self.cgroups / name
        self.write(folder / "memory.current", f"{used}\n")
        self.write(folder / "memory.max", f"{most}\n")
        self.write(folder / "memory.high", f"{high}\n")
        self.write(folder / "memory.stat", f"anon 5\ninactive_file {files // 2}\nactive_file {files // 2}\n")

    def version_1(self, name: str, used: int, most: int, files: int = 0) -> None:
        folder = self.cgroups / "memory" / name
        self.write(folder / "memory.usage_in_bytes", f"{used}\n")
        self.write(folder / "memory.limit_in_bytes", f"{most}\n")
        self.write(
            folder / "memory.stat", f"inactive_file 1\ntotal_inactive_file {files}\ntotal_active_file 0\n"
        )

    def machine(self, total: int, available: int) -> None:
        text = f"MemTotal: {total // 1024} kB\nMemAvailable: {available // 1024} kB\n"
        self.write(self.proc / "meminfo", text)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel(tmp_path)
    monkeypatch.setattr(memory_limits, "PROC", made.proc)
    monkeypatch.setattr(memory_limits, "CGROUPS", made.cgroups)
    return made


def sight(live_bytes: int | None = 0, time_s: float = 0.0) -> Sight:
    return Sight(PROCESS, time_s, live_bytes)


def told(trigger: Trigger, levels: list[int], step_s: float = 1.0) -> list[float]:
    """When it says so, of live bytes at even moments."""
    return [
        number * step_s
        for number, live in enumerate(levels)
        if trigger.why(sight(live * MIB, number * step_s))
    ]


def test_growth_is_of_the_least_of_a_window_and_never_of_the_start() -> None:
    start = [0, 200, 400, 600, 800]
    steady = [1000] * 20
    growing = [1000 + 10 * second for second in range(20)]
    assert told(Growth(40 * MIB, 5), start + steady) == []
    # Windows begin at 5 and 10 s: at 15 s the least of the latter is 50 MiB above the former's.
    assert told(Growth(50 * MIB, 5), start + growing)[0] == 15
    assert told(Growth(51 * MIB, 5), start + growing) == []


def test_what_comes_and_goes_within_a_window_is_no_growth() -> None:
    saw = [100 + 100 * (second % 4) for second in range(60)]
    assert told(Growth(20 * MIB, 8), saw) == []
    higher_waves = [100 + (100 + 30 * (second // 8)) * (second % 4 > 0) for second in range(60)]
    assert told(Growth(20 * MIB, 8), higher_waves) == []
    risen = [level + 30 * (second // 8) for second, level in enumerate(saw)]
    assert told(Growth(20 * MIB, 8), risen)


def test_processes_grow_each_for_itself_and_unknown_levels_are_none() -> None:
    growth = Growth(10, 1)
    for second in range(4):
        assert not growth.why(Sight(1, second, 5)) and not growth.why(Sight(2, second, 5 + 9 * second))
        assert not growth.why(sight(None, second))
    assert growth.why(Sight(1, 4, 500)) == "", "the window that begins now"
    assert growth.why(Sight(1, 5, 500)) == "grew by 495 B in 1.00 s"


def test_a_cgroup_of_version_2_with_those_above_it(kernel: Kernel) -> None:
    kernel.is_in("0::/shop/web\n")
    kernel.version_2("shop/web", 300 * MIB, "max", files=100 * MIB)
    kernel.version_2("shop", 900 * MIB, str(1000 * MIB), files=200 * MIB)
    assert memory_limits.cgroup_room(PROCESS) == Room(700 * MIB, 1000 * MIB)
    assert Cgroup(71).why(sight()) == ""
    assert Cgroup(70).why(sight()) == "has a cgroup with 70 % of 1,000 MiB used"
    kernel.version_2("shop/web", 300 * MIB, "max", high=str(210 * MIB), files=100 * MIB)
    assert memory_limits.cgroup_room(PROCESS) == Room(200 * MIB, 210 * MIB)
    assert memory_limits.cgroup_room(PROCESS, is_of_kills=True) == Room(700 * MIB, 1000 * MIB)
    assert Oom().why(sight()) == "", "memory.high kills nobody"


def test_a_cgroup_of_version_1_and_one_whose_path_is_outside_of_the_container(kernel: Kernel) -> None:
    kernel.is_in("5:cpu:/\n4:memory:/docker/abc\n0::/\n")
    kernel.version_1("", 96 * MIB, 100 * MIB, files=4 * MIB)
    assert memory_limits.cgroup_room(PROCESS) == Room(92 * MIB, 100 * MIB)
    assert Oom().why(sight()) == ""
    kernel.version_1("", 96 * MIB, 100 * MIB)
    assert Oom().why(sight()) == "is near the limit: its cgroup has 96 % of 100 MiB used"
    kernel.version_1("", 96 * MIB, (1 << 63) - 4096)
    assert memory_limits.cgroup_room(PROCESS) is None


def test_the_machine_itself_nears_its_end(kernel: Kernel) -> None:
    kernel.machine(1000 * MIB, 51 * MIB)
    assert Oom().why(sight()) == ""
    kernel.machine(1000 * MIB, 50 * MIB)
    assert Oom().why(sight()) == "is near the limit: the machine has 95 % of 1,000 MiB used"


def test_pressure_is_of_the_cgroup_where_the_kernel_tells(kernel: Kernel) -> None:
    line = "some avg10={} avg60=99.00 avg300=99.00 total=1\nfull avg10=99.00 avg60=0 avg300=0 total=0\n"
    assert memory_limits.pressure_percent(PROCESS) is None
    kernel.write(kernel.proc / "pressure/memory", line.format("7.50"))
    assert Pressure(8).why(sight()) == ""
    assert Pressure(7.5).why(sight()) == "saw tasks wait for memory in 7.5 % of the last 10 s"
    kernel.is_in("0::/web\n")
    kernel.version_2("web", 1, "max")
    kernel.write(kernel.cgroups / "web/memory.pressure", line.format("20.00"))
    assert memory_limits.pressure_percent(PROCESS) == 20.0


def test_kills_are_counted_and_missing_files_say_nothing(kernel: Kernel) -> None:
    assert (memory_limits.oom_kills(), memory_limits.cgroup_room(PROCESS), memory_limits.system_room()) == (
        0,
        None,
        None,
    )
    kernel.write(kernel.proc / "vmstat", "nr_free_pages 12\noom_kill 3\n")
    assert memory_limits.oom_kills() == 3
    kernel.write(kernel.proc / "meminfo", "MemTotal: many kB\n")
    assert memory_limits.system_room() is None


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ("cgroup=0%", "takes cgroup=90%"),
        ("cgroup=101%", "takes cgroup=90%"),
        ("cgroup=50%", "no cgroup of this process limits memory"),
        ("pressure=5%", "this kernel does not report it"),
        ("growth=10M", "takes cgroup=90%"),
        ("growth=0/1s", "above 0"),
        ("growth=1M/1ms", "at least 1s"),
        ("growth=much/1s", "a number of bytes"),
        ("ooom", "not 'ooom'"),
        ("anonymous", "not 'anonymous'"),
        ("heap-growth=1M/1s", "not 'heap-growth=1M/1s'"),
        ("resident-growth=0/1s", "resident-growth takes bytes above 0"),
        ("shared=much", "a number of bytes"),
        ("oom=5%", "not 'oom=5%'"),
    ],
)
def test_refusals(kernel: Kernel, when: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        make_triggers("", [when])


def test_one_file_a_kind(kernel: Kernel) -> None:
    names = [trigger.name for trigger in make_triggers("2G", ["oom", "growth=1M/1s"])]
    assert names == ["", "oom", "growth"]
    with pytest.raises(InputError, match="twice"):
        make_triggers("", ["growth=1M/1s", "growth=2M/1s"])


def memory(anonymous: int, shared: int = 0) -> Memory:
    return Memory(anonymous + shared + 9, anonymous, 9, shared, 4, 0)


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("anonymous=100", "has 101 B anonymous"),
        ("anonymous=101", ""),
        ("shared=49", "has 50 B shared"),
        ("file=8", "has 9 B of files resident"),
        ("swapped=3", "has 4 B swapped"),
        ("resident=159", "has 160 B resident"),
        ("resident=160", ""),
        ("live=6", "has 7 B live"),
        ("live=7", ""),
    ],
)
def test_a_level_of_each_kind(when: str, said: str) -> None:
    (trigger,) = make_triggers(None, [when])
    assert trigger.name == when.partition("=")[0]
    assert trigger.why(Sight(PROCESS, 0, 7, memory(101, 50))) == said
    assert not trigger.why(Sight(PROCESS, 0, None, None))


def test_growth_of_anonymous_memory_is_not_that_of_others() -> None:
    (trigger,) = make_triggers(None, ["anonymous-growth=10/1s"])
    assert trigger.name == "anonymous-growth"
    for second in range(5):
        assert not trigger.why(Sight(PROCESS, second, 100 * second, memory(7, 100 * second)))
    assert not trigger.why(Sight(PROCESS, 5, 0, memory(500)))
    assert trigger.why(Sight(PROCESS, 6, 0, memory(500))) == "grew by 493 B of anonymous memory in 1.00 s"
