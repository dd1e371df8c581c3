# SPDX-License-Identifier: MIT
"""Processes that serve looks at again and again: no counter runs backwards, whatever their pages become."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest
from counter_page_bytes import make_page, put, table_at, write
from heapwright.live import pages
from heapwright.live.layout import CONSTANTS, FIELDS
from heapwright.live.page import HeapFigures
from heapwright.serve import watch
from heapwright.serve.watch import Look, Watch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served_samples import samples_of

SECTION = CONSTANTS["head_bytes"]


class Folder:
    """/dev/shm, with pages of this very process, which has them in its memory."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pages, "FOLDER", path)
        self._path = path

    def put(self, data: bytes, ending: str = ".calls") -> None:
        path = self._path / f"heapwright-{os.getpid()}{ending}"
        if not path.exists():
            path.write_bytes(bytes(4096))
            with path.open("r+b") as file:
                self._kept = [*getattr(self, "_kept", []), mmap.mmap(file.fileno(), 4096)]
        write(path, bytearray(data))


@pytest.fixture
def shm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    return Folder(tmp_path, monkeypatch)


def own_page(requested: int = 0, started_ns: int = 5) -> bytearray:
    page = make_page(1, os.getpid())
    put(page, "calls", "started_ns", started_ns, SECTION)
    put(page, "table", "requested_bytes", requested, table_at(0))
    return page


def requested(look: Look) -> int | None:
    return look.processes[0].calls.requested_bytes if look.processes and look.processes[0].calls else None


def test_a_page_that_runs_backwards_is_told_of_again_when_it_has_caught_up(shm: Folder) -> None:
    watched, told = Watch(), []
    for value in (100, 50, 60, 100, 120):
        shm.put(own_page(value))
        look = watched.look()
        told.append((requested(look), len(look.problems)))
    assert told == [(100, 0), (None, 1), (None, 1), (100, 0), (120, 0)]


def test_a_page_that_was_not_to_be_read_meanwhile_is_no_new_one(shm: Folder) -> None:
    watched = Watch()
    shm.put(own_page(100))
    assert requested(watched.look()) == 100
    shm.put(b"gone" * 2000)
    assert requested(watched.look()) is None
    shm.put(own_page(99))
    assert requested(watched.look()) is None
    shm.put(own_page(101))
    assert requested(watched.look()) == 101


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_users_page_is_counted_as_unread() -> None:
    path = pages.FOLDER / f"heapwright-{os.getpid()}.calls"  # where everybody may look
    write(path, own_page(100))
    path.chmod(0o600)
    child = os.fork()
    if child == 0:
        os.seteuid(65534)
        look = Watch().look()
        told = [seen.process for seen in look.processes]
        os._exit(0 if os.getppid() not in told and any(path.name in one for one in look.problems) else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    path.unlink()
    assert code == 0


def test_a_new_image_begins_at_zero(shm: Folder) -> None:
    watched = Watch()
    shm.put(own_page(100))
    watched.look()
    shm.put(own_page(1, started_ns=9))
    assert requested(watched.look()) == 1


def test_a_heap_that_runs_backwards_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    own, watched, told = os.getpid(), Watch(), []
    for purged in (10, 9, 10):
        page = pages.Page("x", own, 0, 0, None, HeapFigures(1, 1, 1, purged, 1, 1, 1))
        monkeypatch.setattr(watch, "find_pages", lambda *_, page=page: pages.Found([page], [], 0))
        told.append(len(watched.look().processes))
    assert told == [1, 0, 1]


def test_a_page_that_says_it_began_earlier_is_left_out(shm: Folder) -> None:
    watched, told = Watch(), []
    for requested_bytes, started_ns, generation in ((10, 5, 0), (10, 6, 0), (9, 5, 0), (3, 6, 1), (10, 6, 0)):
        page = own_page(requested_bytes, started_ns)
        put(page, "head", "generation", generation)
        shm.put(page)
        told.append(len(watched.look().processes))
    assert told == [1, 1, 0, 0, 1]


def test_several_pages_of_a_process_make_one_row(shm: Folder) -> None:
    shm.put(own_page(100))
    shm.put(own_page(200), ".calls.1")
    shm.put(own_page(300), ".calls.2")
    assert len(Watch().look().processes) == 1


def test_damaged_pages_are_counted(shm: Folder) -> None:
    foreign = own_page()
    put(foreign, "head", "version", 99)
    shm.put(foreign)
    shm.put(own_page(5)[:6000], ".calls.1")
    shm.put(own_page(7), ".calls.2")
    look = Watch().look()
    assert requested(look) == 7
    assert samples_of(look)[("heapwright_unread_pages",)] == 2


def test_the_rows_are_bounded(monkeypatch: pytest.MonkeyPatch, shm: Folder) -> None:
    shm.put(own_page())
    monkeypatch.setattr(watch, "MOST_PROCESSES", 0)
    look = Watch().look()
    assert (look.processes, look.problems) == ([], ["1 processes beyond the first 0"])
    assert look.unread == 1
    monkeypatch.setattr(watch, "MOST_SECONDS", -1.0)
    shm.put(own_page(), ".calls.1")
    look = Watch().look()
    (problem,) = look.problems
    assert "too many" in problem
    assert look.unread == 2


def test_figures_that_are_not_there_once_are_remembered(shm: Folder) -> None:
    watched = Watch()
    shm.put(own_page(1000))
    watched.look()
    hidden = own_page(1000)
    hidden[FIELDS["head"]["sections"][0]] = 0  # no section is of a kind that is known
    shm.put(hidden)
    watched.look()
    shm.put(own_page(999))
    assert "run backwards" in watched.look().problems[0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_whatever_a_page_becomes_counters_never_run_backwards(shm: Folder, data: st.DataObject) -> None:
    watched, last, image = Watch(), {}, None
    for _ in range(4):
        page = own_page(1000)
        for _ in range(data.draw(st.integers(0, 3))):
            at = data.draw(st.one_of(st.integers(0, SECTION + 300), st.integers(4096, len(page) - 1)))
            page[at] = data.draw(st.integers(0, 255))
        shm.put(page[: data.draw(st.one_of(st.just(len(page)), st.integers(0, len(page))))])
        look = watched.look()
        samples = samples_of(look)
        # Another program in the process begins at zero, also where a page only says so, and where it says so once.
        images = [one.calls.started_ns for one in look.processes if one.calls]
        if images and images != image:
            image, last = images, {}
        for key, value in samples.items():
            if key[0].endswith(("_total", "_bucket", "_count", "_sum")):
                assert value >= last.get(key, 0), key
                last[key] = value
