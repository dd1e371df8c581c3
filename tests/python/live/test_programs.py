# SPDX-License-Identifier: MIT
"""Sums by program over images that come, go, and are told of again; and who takes the pages of ended ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from counter_page_bytes import make_page, parse, put, table_at
from heapwright.live import collecting, pages
from heapwright.live.collecting import Collecting, is_collected
from heapwright.live.layout import CONSTANTS
from heapwright.live.page import Calls, ContextCalls, Page
from heapwright.serve import programs
from heapwright.serve.programs import OTHERS, Program, Programs
from hypothesis import given
from hypothesis import strategies as st

GONE = 4_000_000


def page(requested: int, process: int = GONE, started_ns: int = 5, name: str = "shop") -> Page:
    made = make_page(1, process)
    put(made, "calls", "started_ns", started_ns, CONSTANTS["head_bytes"])
    put(made, "table", "requested_bytes", requested, table_at(0))
    found = parse(bytes(made))
    assert found.calls is not None
    return found._replace(calls=found.calls._replace(program=name), process_start_ticks=7)


def calls(requested: int, name: str = "shop") -> Calls:
    found = page(requested, name=name).calls
    assert found is not None
    return found


def image(process: int, started_ns: int = 5) -> programs.Image:
    return process, 7, started_ns


def told(of: Programs) -> dict[str, tuple[int, int]]:
    return {one.name: (one.processes, one.calls.requested_bytes) for one in of.all()}


def test_an_image_that_is_lost_stays_in_the_sum() -> None:
    sums = Programs()
    sums.see({image(1): calls(10), image(2): calls(1)}, (), ())
    assert told(sums) == {"shop": (2, 11)}
    sums.see({image(2): calls(5)}, [image(1)], ())
    assert told(sums) == {"shop": (2, 15)}
    sums.see({image(3): calls(100), image(4): calls(7, "till")}, [image(2)], ())
    assert told(sums) == {"shop": (3, 115), "till": (1, 7)}


def test_a_page_has_the_last_word_however_often_it_is_seen() -> None:
    sums = Programs()
    sums.see({image(GONE): calls(10)}, (), ())
    for _ in range(3):
        sums.see({}, (), [page(14)])
        assert told(sums) == {"shop": (1, 14)}
    sums.see({}, (), [page(12)])
    assert told(sums) == {"shop": (1, 14)}, "it ran backwards"


def test_a_page_after_its_image_was_lost_adds_what_is_more() -> None:
    sums = Programs()
    sums.see({image(GONE): calls(10)}, (), ())
    sums.see({}, [image(GONE)], ())
    sums.see({}, (), [page(14)])
    assert told(sums) == {"shop": (1, 14)}


def test_what_no_look_saw_is_in_its_page() -> None:
    sums = Programs()
    sums.see({}, (), [page(14), page(3, started_ns=9), page(4, process=GONE + 1)])
    assert told(sums) == {"shop": (3, 21)}


def test_what_is_not_to_be_read_meanwhile_keeps_its_figures() -> None:
    sums = Programs()
    sums.see({image(1): calls(10)}, (), ())
    sums.see({}, (), ())
    assert told(sums) == {"shop": (1, 10)}
    assert sums.known() == [image(1)]


def test_an_image_that_takes_another_name_stays_with_its_first() -> None:
    sums = Programs()
    sums.see({image(GONE): calls(10, "shop")}, (), ())
    sums.see({image(GONE): calls(11, "bank")}, (), ())
    assert told(sums) == {"shop": (1, 11)}
    sums.see({}, (), [page(12, name="mine")])
    assert told(sums) == {"shop": (1, 12)}


def test_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MOST_PROGRAMS", 2)
    sums = Programs()
    for number, name in enumerate("abcdab"):
        sums.see({}, (), [page(1, process=GONE + number, name=name)])
    assert told(sums) == {"a": (2, 2), "b": (2, 2), OTHERS: (2, 2)}


def test_memory_is_bounded_and_nothing_counts_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_MOST_ENDED", 2)
    sums = Programs()
    ended = [page(1, process=GONE + number) for number in range(9)]
    for _ in range(2):
        sums.see({}, (), ended)
        assert told(sums) == {"shop": (9, 9)}
    assert len(sums._ended) == 2


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3), st.sampled_from("alre")), max_size=40))
def test_no_sum_ever_falls(steps: list[tuple[int, int, str]]) -> None:
    """Whatever is read, lost, not to be read or left: each image's figures grow with time."""
    sums, last, seen = Programs(), (0, 0), set()
    for now, (process, started, what) in enumerate(steps):
        one = image(process, started)
        if what == "e":
            sums.see({}, (), [page(now, process, started)])
        else:
            sums.see({one: calls(now)} if what == "a" else {}, [one] if what == "l" else (), ())
        seen |= {one} if what in "ae" else set()
        found = told(sums).get("shop", (0, 0))
        assert found[1] >= last[1]
        assert found[0] == len(seen)
        last = found


@pytest.fixture
def shm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    monkeypatch.setattr(collecting, "_FOLDER", tmp_path)
    return tmp_path


def left(folder: Path) -> Path:
    path = folder / f"heapwright-{GONE}.calls"
    path.write_bytes(bytes(make_page(1, GONE)))
    os.utime(path, (0, 0))
    return path


def test_who_takes_pages_is_seen_and_only_one_does(shm: Path) -> None:
    assert not is_collected()
    one = Collecting()
    assert is_collected()
    with pytest.raises(FileExistsError):
        Collecting()
    one.end()
    assert not is_collected()
    assert not list(shm.iterdir())


def test_a_pipe_of_a_server_that_was_killed_is_replaced(shm: Path) -> None:
    os.mkfifo(collecting.pipe_of(os.geteuid()), 0o600)
    assert not is_collected()
    Collecting().end()


def test_others_leave_pages_to_the_server(shm: Path) -> None:
    path = left(shm)
    server = Collecting()
    pages.find_pages()
    assert path.exists()
    taken: list[Page] = []
    pages.take_ended(taken.append)
    server.end()
    assert ([one.process for one in taken], path.exists()) == ([GONE], False)
    path = left(shm)
    pages.find_pages()
    assert not path.exists(), "without a server whoever looks removes it"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_roots_server_removes_what_other_users_left_to_it(shm: Path) -> None:
    path = left(shm)
    os.chown(path, 65534, 65534)
    pages.find_pages()
    assert path.exists(), "it is not ours"
    pages.take_ended(lambda _: None)
    assert not path.exists()


def test_a_program_is_what_it_says() -> None:
    sums = Programs()
    sums.see({}, (), [page(14)])
    (one,) = sums.all()
    assert isinstance(one, Program)
    assert one.calls.program == "shop"


def test_contexts_go_on_over_restarts_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MOST_CONTEXTS", 2)

    def named(**requested: int) -> Calls:
        of_each = {name: ContextCalls(1, 1, size, size, 0, 0, 0) for name, size in requested.items()}
        return calls(10)._replace(contexts=of_each)

    def told_of_contexts() -> dict[str, int]:
        return {name: of.requested_bytes for name, of in sums.all()[0].calls.contexts.items()}

    sums = Programs()
    sums.see({image(1): named(cart=10, item=20, pay=30, help=1)}, (), ())
    assert told_of_contexts() == {"cart": 10, "item": 20, "(other)": 31}
    sums.see({image(2): named(cart=1, pay=5)}, [image(1)], ())
    assert told_of_contexts() == {"cart": 11, "item": 20, "(other)": 36}


def test_sums_begin_at_0_whatever_there_was_before() -> None:
    """A server before this one told of it: Prometheus takes what a new one says first as an increase."""
    sums = Programs()
    sums.begin({image(1): calls(50)}, [image(GONE, 6)])
    sums.see({image(1): calls(53), image(2): calls(4)}, (), [page(1000, started_ns=6)])
    assert told(sums) == {"shop": (1, 3 + 4)}
    sums.see({}, [image(2)], [page(60, process=1)])
    assert told(sums) == {"shop": (1, 10 + 4)}
    sums.see({image(1, 9): calls(2)}, (), ())
    assert told(sums) == {"shop": (2, 10 + 4 + 2)}, "another image of that process is new"
