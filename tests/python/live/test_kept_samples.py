# SPDX-License-Identifier: MIT
"""Whose samples are meant, and how long those of ended processes stay."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from counter_page_bytes import make_page, parse
from heapwright.live import choice, kept_samples, profiles
from heapwright.live.kept_samples import MOST_BYTES, Samples, keep, remove_old, samples_of
from heapwright.live.page import Page, PageError

GONE = 4_000_000  # above the kernel's usual limit of ids


@pytest.fixture
def shm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept_samples, "FOLDER", tmp_path)
    monkeypatch.setattr(profiles, "FOLDER", tmp_path)
    monkeypatch.setattr(kept_samples, "find_by_name", lambda _: [])
    return tmp_path


def kept(folder: Path, process: int, age_s: float = 0, size: int = 10, name: str = "shop") -> Path:
    path = folder / f"heapwright-{process}-7.{name}.kept"
    with path.open("wb") as file:
        file.truncate(size)
    when = time.time() - age_s
    os.utime(path, (when, when))
    return path


def page(process: int, name: str = "shop") -> Page:
    made = parse(bytes(make_page(1, process)))
    assert made.calls is not None
    return made._replace(calls=made.calls._replace(program=name), process_start_ticks=7)


def test_what_an_ended_process_left_is_kept_under_its_name(shm: Path) -> None:
    (shm / f"heapwright-{GONE}-7.profile").write_bytes(b"first")
    (shm / f"heapwright-{GONE}-7.2.profile").write_bytes(b"last image")
    assert keep(page(GONE, "a/b"))
    assert (shm / f"heapwright-{GONE}-7.a_b.kept").read_bytes() == b"last image"
    profiles.remove_ended()
    assert [path.name for path in shm.iterdir()] == [f"heapwright-{GONE}-7.a_b.kept"]
    assert not keep(page(GONE + 1))


def test_the_newest_stay(shm: Path) -> None:
    paths = [kept(shm, GONE + number, age_s=10 * number) for number in range(7)]
    remove_old()
    assert [path.exists() for path in paths] == [True] * 4 + [False] * 3


def test_large_ones_stay_alone(shm: Path) -> None:
    large, small = kept(shm, GONE, size=2 * MOST_BYTES), kept(shm, GONE + 1, age_s=10)
    remove_old()
    assert (large.exists(), small.exists()) == (True, False)


def test_a_day_is_enough(shm: Path) -> None:
    path = kept(shm, GONE, age_s=86_500)
    remove_old()
    assert not path.exists()


def test_ended_ones_are_meant_where_none_lives(shm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.getpid()
    older, newer = kept(shm, GONE, age_s=10), kept(shm, GONE + 1)
    monkeypatch.setattr(kept_samples, "pages_called", lambda _: [page(own)])
    monkeypatch.setattr(kept_samples, "sampled_processes", list)
    assert samples_of("shop") == Samples(GONE + 1, newer)
    assert samples_of(str(GONE)) == Samples(GONE, older)
    monkeypatch.setattr(kept_samples, "sampled_processes", lambda: [own])
    assert samples_of("shop") == Samples(own)
    assert samples_of(str(own)) == Samples(own)
    with pytest.raises(PageError, match="there is no process"):
        samples_of(str(GONE + 5))


def test_of_several_those_with_samples_are_meant(shm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_samples, "pages_called", lambda _: [page(1), page(2), page(3)])
    monkeypatch.setattr(kept_samples, "sampled_processes", lambda: [2])
    assert samples_of("shop") == Samples(2)
    monkeypatch.setattr(kept_samples, "sampled_processes", lambda: [2, 3])
    with pytest.raises(PageError, match="2 processes are called shop; give an id: 2, 3"):
        samples_of("shop")


def test_a_name_is_the_programs_before_it_is_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.getpid()
    comm = Path("/proc/self/comm").read_text().strip()
    found = choice.Found([page(own, "shop"), page(1, comm)], [], 0)
    monkeypatch.setattr(choice, "find_pages", lambda: found)
    assert [one.process for one in choice.pages_called("shop")] == [own]
    assert [one.process for one in choice.pages_called(comm)] == [1]
    monkeypatch.setattr(choice, "find_pages", lambda: choice.Found([page(own, "shop")], [], 0))
    assert [one.process for one in choice.pages_called(comm)] == [own]
