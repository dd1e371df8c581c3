# SPDX-License-Identifier: MIT
"""Resident memory that grows outside malloc: rates worked out by hand, and what the kernel says of real processes."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from counter_page_bytes import make_page, parse, put, table_at
from heapwright.live import memory, outside
from heapwright.live.memory import Memory, memory_of
from heapwright.live.outside import Course, Courses, Look, growth_of, hint_for, outside_lines
from heapwright.live.page import Calls
from heapwright.model import runtimes

SECOND = 10**9
MIB = 1 << 20


def looks(own: Callable[[int], float], live: Callable[[int], float | None], seconds: int = 40) -> list[Look]:
    """One a second; MiB."""

    def look(second: int) -> Look:
        level = live(second)
        return Look(second * SECOND, round(own(second) * MIB), None if level is None else round(level * MIB))

    return [look(second) for second in range(seconds)]


def rates(found: outside.Growth | None) -> tuple[float | None, ...]:
    """MiB/s."""
    assert found is not None
    return tuple(None if rate is None else round(rate / MIB, 2) for rate in found[1:])


@pytest.mark.parametrize("seconds", [2, 3, 7, 8, 40])
def test_even_growth_is_exact(seconds: int) -> None:
    found = growth_of(looks(lambda s: 50 + 3 * s, lambda s: 1 + 0.1 * s, seconds))
    assert rates(found) == (3.0, 0.1, 2.9)
    assert found is not None
    assert found.window_ns == (seconds - 1) * SECOND


@pytest.mark.parametrize(
    ("own", "live", "said"),
    [
        (lambda s: 50 + 30 * (s % 5 > 1), lambda s: 20, (0.0, 0.0, 0.0)),  # comes and goes
        (
            lambda s: 50 + 3 * s if s < 39 else 5,
            lambda s: 20,
            (2.85, 0.0, 2.85),
        ),  # the last look is of the exit
        (lambda s: 50 + 3 * s, lambda s: 20 + 2.5 * s, (3.0, 2.5, 0.0)),  # an allocator's own
        (lambda s: 50 + 3 * s, lambda s: 500, (3.0, 0.0, 0.0)),  # blocks are used for the first time
        (lambda s: 50 + 3 * s, lambda s: 60 - s, (3.0, -1.0, 2.5)),  # 10 MiB of them are
        (lambda s: 5000 + 2 * s, lambda s: 20, (2.0, 0.0, 0.0)),  # 78 MiB of 5,078: too few to tell
        (lambda s: 50 + s / 50, lambda s: 20, (0.02, 0.0, 0.0)),  # below 1 MiB in all
        (lambda s: 50 + 3 * s, lambda s: None, (3.0, None, None)),
        (lambda s: 500 - 3 * s, lambda s: 20, (-3.0, 0.0, 0.0)),
    ],
)
def test_what_is_growth_outside_malloc(
    own: Callable[[int], float], live: Callable[[int], float | None], said: tuple[float | None, ...]
) -> None:
    assert rates(growth_of(looks(own, live))) == said


def test_one_look_says_nothing() -> None:
    assert growth_of([]) is None
    assert growth_of([Look(5, 1, 1)]) is None
    assert growth_of([Look(5, 1, 1), Look(5, 2, 1)]) is None


def calls(requested: int = 0) -> Calls:
    page = make_page(1)
    put(page, "table", "usable_bytes", requested, table_at(0))
    found = parse(bytes(page)).calls
    assert found is not None
    return found


def memory_with(own: int) -> Memory:
    return Memory(own + 5, own, 5, 0, 0, own + 5)


def test_a_course_is_of_the_last_minute() -> None:
    course = Course(is_whole=False)
    for second in range(200):
        course.add(second * SECOND, memory_with(second * 10 * MIB if second < 100 else 1000 * MIB), calls())
    found = course.growth()
    assert found is not None
    assert (found.window_ns, found.own_bytes_per_s) == (60 * SECOND, 0)


@pytest.mark.parametrize("seconds", [100, 1000, 20_000])
def test_a_whole_life_is_kept_in_as_many_looks_and_its_start_is_no_growth(seconds: int) -> None:
    course = Course(is_whole=True)
    for second in range(seconds):
        own = 900 * MIB * min(1, 10 * second / seconds) + second * MIB
        course.add(second * SECOND, memory_with(round(own)), calls())
    found = course.growth()
    assert found is not None
    assert found.own_bytes_per_s == pytest.approx(MIB, rel=0.01)
    assert found.window_ns == pytest.approx(0.75 * seconds * SECOND, rel=0.1)
    assert len(course._looks) <= outside.MOST_LOOKS


def test_the_kernels_figures_are_of_this_process() -> None:
    before = memory_of(os.getpid())
    with mmap.mmap(-1, 32 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as own:
        own.write(b"x" * 32 * MIB)
        with mmap.mmap(-1, 16 * MIB, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) as shared:
            shared.write(b"x" * 16 * MIB)
            after = memory_of(os.getpid())
    assert before is not None
    assert after is not None
    # Writing takes a copy of as many bytes for a moment.
    assert 32 * MIB <= after.anonymous_bytes - before.anonymous_bytes + MIB <= 70 * MIB
    assert abs(after.shared_bytes - before.shared_bytes - 16 * MIB) < MIB
    assert after.resident_bytes == after.anonymous_bytes + after.file_bytes + after.shared_bytes
    assert after.peak_resident_bytes >= after.resident_bytes - MIB


def test_a_process_that_is_gone_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PROC", tmp_path)
    assert memory_of(7) is None
    (tmp_path / "7").mkdir()
    (tmp_path / "7/status").write_text("Name:\tkthreadd\nState:\tS\n")
    assert memory_of(7) is None
    (tmp_path / "7/status").write_text("Name:\tx\nVmRSS:\t  12 kB\nRssAnon:\t   8 kB\nVmSwap:\t 4 kB\n")
    assert memory_of(7) == Memory(12 << 10, 8 << 10, 0, 0, 4 << 10, 0)


@pytest.fixture
def sleeper() -> Iterator[Callable[..., int]]:
    running: list[subprocess.Popen[str]] = []

    def start(**variables: str) -> int:
        line = [sys.executable, "-S", "-c", "print('here', flush=True); input()"]
        process = subprocess.Popen(
            line, env={**os.environ, **variables}, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        return process.pid

    yield start
    for process in running:
        process.communicate("\n", timeout=20)


def test_the_hint_is_of_the_runtime(sleeper: Callable[..., int]) -> None:
    assert "PYTHONMALLOC=malloc makes each a call" in hint_for(sleeper())
    number = sleeper(PYTHONMALLOC="malloc")
    assert hint_for(number).endswith(f"heapwright record --pid {number} tells which")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/opt/lib/libpython3.12.so.1.0", "Python"), ("/usr/bin/php-fpm8.2", "PHP"), ("/usr/bin/node", "JavaScript"),
        ("/jvm/lib/server/libjvm.so", "Java"), ("/x/libcoreclr.so", ".NET"), ("/usr/sbin/nginx", ""),
        ("/usr/bin/python-config-tool", ""), ("/opt/phpstorm", ""),
    ],
)  # fmt: skip
def test_runtimes_are_known_by_their_files(path: str, name: str) -> None:
    assert runtimes.runtime_of([path], b"") == name
    assert bool(runtimes.advice(name, {})) == bool(name)


def test_go_is_known_by_its_note() -> None:
    note = b"\x04\0\0\0" + (83).to_bytes(4, "little") + b"\x04\0\0\0Go\0\0"
    assert runtimes.runtime_of(["/srv/shop"], bytes(100) + note) == "Go"


def test_the_lines_name_the_fastest_first(
    sleeper: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = {sleeper(): 3, os.getpid(): 5}
    found = Courses()
    for second in range(6):
        monkeypatch.setattr(
            outside, "memory_of", lambda process, s=second: memory_with(100 * MIB + levels[process] * MIB * s)
        )
        found.look(second * SECOND, {(process, 1): calls(9) for process in levels})
    rows = [{"process": number, "program": "x"} | (found.of(number, 1) or {}) for number in levels]
    first, second_ = outside_lines(rows)
    assert first.startswith(
        f"x {os.getpid()}: memory outside malloc grows by 5.00 MiB/s, live bytes by 0 B/s"
    )
    assert "(over 5.00 s): Python keeps small objects" in second_
    assert found.of(os.getpid(), 2) is None, "another image"
    found.look(9 * SECOND, {})
    assert found.of(os.getpid(), 1) is None, "it is forgotten"


def test_a_look_is_cheap() -> None:
    begin_s = time.thread_time()
    for _ in range(1000):
        memory_of(os.getpid())
    assert (time.thread_time() - begin_s) / 1000 < 0.0005
