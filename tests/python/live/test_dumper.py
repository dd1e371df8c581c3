# SPDX-License-Identifier: MIT
"""What is written when a trigger says so, and how often."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path

import pytest
from counter_page_bytes import make_page, write
from heapwright.live import sampling
from heapwright.live.page import Page, read_page
from heapwright.live.profiles import NoProfileError, NoSamplesYetError, Profile
from heapwright.live.sampling import Dumper
from heapwright.live.triggers import Failed, Sight


class Always:
    """Says so at each look."""

    name = "always"
    keeps_killed = False

    def why(self, sight: Sight) -> str:
        return f"is {sight.process}"


class Looked:
    """A dumper in a folder of its own, and a process whose samples are what `answers` say, one a look."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: list[Profile | NoProfileError] = []
        self.said: list[str] = []
        self.page = self._page(folder)
        self.folder = folder / "here"
        self.folder.mkdir()
        monkeypatch.chdir(self.folder)
        monkeypatch.setattr(sampling, "profile_of", self._profile_of)
        self.dumper = Dumper([Always()], self.said.append)

    def _page(self, folder: Path) -> Page:
        path = folder / f"heapwright-{os.getpid()}.calls"
        write(path, bytes(make_page(1, os.getpid())))
        return read_page(str(path))

    @contextmanager
    def _profile_of(self, _: int) -> Iterator[Profile]:
        answer = self.answers.pop(0)
        if isinstance(answer, NoProfileError):
            raise answer
        yield answer

    def looks(self, *answers: Profile | NoProfileError) -> list[str]:
        """As many looks as answers and one more; the files."""
        self.answers += answers
        for _ in answers:
            self.dumper.look([self.page])
        return sorted(path.name for path in self.folder.iterdir())


def profile() -> Profile:
    return Profile(BytesIO(b"the first 10 and more"), 9, b"END")


@pytest.fixture
def looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Looked:
    return Looked(tmp_path, monkeypatch)


def test_a_file_is_written_once_with_an_end(looked: Looked) -> None:
    (name,) = looked.looks(profile(), profile())
    assert name.endswith(f"{os.getpid()}.always.heapwright")
    assert (looked.folder / name).read_bytes() == b"the firstEND"
    assert len(looked.answers) == 1, "the second look asked for nothing"
    (said,) = looked.said
    assert said == f"heapwright: process {os.getpid()} is {os.getpid()}: heapwright explain {name}"


def test_before_the_first_samples_it_is_tried_again(looked: Looked) -> None:
    assert looked.looks(NoSamplesYetError("none yet"), NoSamplesYetError("none yet")) == []
    assert len(looked.looks(profile())) == 1


def test_a_child_without_samples_is_asked_once(looked: Looked) -> None:
    assert looked.looks(NoProfileError("no samples"), profile()) == []
    assert (len(looked.answers), looked.said) == (1, [])


def test_what_stands_there_already_is_kept_and_told_of_once(looked: Looked) -> None:
    (name,) = looked.looks(profile())
    (looked.folder / name).write_text("mine")
    again = Dumper([Always()], looked.said.append)
    for _ in range(2):
        looked.answers = [profile()]
        again.look([looked.page])
    assert (looked.folder / name).read_text() == "mine"
    assert looked.said[1:] == [f"heapwright: {name} is not written: file exists"]


def test_a_file_that_has_no_room_is_taken_away(looked: Looked, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Profile, "copy_to", full)
    assert looked.looks(profile()) == []
    assert looked.said[0].endswith("is not written: no space left on device")


class Ended:
    """Samples of an ended process, in a dumper that is asked at the end."""

    def __init__(self, looked: Looked, monkeypatch: pytest.MonkeyPatch, *ends: str) -> None:
        self.kinds: list[str] = []
        monkeypatch.setattr(sampling, "ended_profile", lambda *_: nullcontext(profile()))
        self._looked = looked
        self.dumper = Dumper([Failed()], looked.said.append, ends)

    def at(self, code: int, failed: int = 0) -> list[str]:
        calls = self._looked.page.calls
        assert calls is not None
        page = self._looked.page._replace(calls=calls._replace(failed=failed))
        before = set(self._looked.folder.iterdir())
        is_written = self.dumper.look_at_end(code, [page])
        found = sorted(path.name.split(".")[-2] for path in set(self._looked.folder.iterdir()) - before)
        assert is_written == bool(found)
        return found


@pytest.mark.parametrize(
    ("code", "failed", "kinds"),
    [
        (0, 0, ["exit"]),
        (134, 0, ["abort", "exit"]),
        (143, 0, ["exit", "sigterm"]),
        (134, 2, ["abort", "exit", "failed"]),
        (1, 2, ["exit", "failed"]),
    ],
)
def test_each_end_has_its_files(
    looked: Looked, monkeypatch: pytest.MonkeyPatch, code: int, failed: int, kinds: list[str]
) -> None:
    assert Ended(looked, monkeypatch, "exit", "abort", "sigterm").at(code, failed) == kinds


def test_an_end_that_was_not_asked_for_writes_nothing(
    looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Ended(looked, monkeypatch, "abort").at(0) == []
    assert Ended(looked, monkeypatch).at(134) == []


def test_what_was_written_at_the_signal_is_not_written_again(
    looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Ended(looked, monkeypatch, "sigterm")
    looked.answers = [profile()]
    ended.dumper.look_at_signal([looked.page])
    assert "gets SIGTERM" in looked.said[0]
    assert ended.at(143) == []
