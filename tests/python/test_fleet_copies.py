# SPDX-License-Identifier: MIT
"""Copies of many files in few: answers are those of the files, whatever is added, replaced or removed."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from heapwright.fleet import engines, facts, merged
from heapwright.fleet.questions import QUESTIONS
from test_fleet import SECOND, process_rows

pytest.importorskip("pyarrow")
pytest.importorskip("ibis")
Expected = dict[int, int]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, with runs so short that a small fleet has several."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(merged, "_FILES_EACH", 16)
    monkeypatch.setattr(merged, "_LEAST_FILES", 8)
    return tmp_path / "cache" / "heapwright" / "fleet"


def write(folder: Path, number: int, peak: int) -> None:
    """As export does: replaced at once, also an earlier file of the same process."""
    rows = process_rows(number, 0, {"steady": peak})
    for table, path in facts.files_of(folder, rows, "shop", "1").items():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        facts.write(part, table, rows[table])
        part.replace(path)


def remove(folder: Path, number: int) -> None:
    for path in folder.rglob(f"*-{number * SECOND}.parquet"):
        path.unlink()


def answered(folder: Path) -> tuple[int, int, int]:
    """Processes, their bytes at peaks by the table of processes, and by that of sites."""

    def ask(opened: engines.Opened) -> tuple[int, int, int]:
        [service] = QUESTIONS["services"](*opened).to_pyarrow().to_pylist()
        [site] = QUESTIONS["sites"](*opened).to_pyarrow().to_pylist()
        return service["processes"], service["peak_bytes"], site["peak_bytes"]

    return engines.answer(folder, "duckdb", "", ask)


def right(peaks: Expected) -> tuple[int, int, int]:
    return len(peaks), sum(peaks.values()), sum(peaks.values())


def copies(home: Path) -> set[str]:
    return {path.name for path in home.rglob("*.parquet")}


def filled(folder: Path, processes: int) -> Expected:
    peaks = {number: 1000 + number for number in range(processes)}
    for number, peak in peaks.items():
        write(folder, number, peak)
    return peaks


def test_answers_are_never_of_earlier_files(tmp_path: Path, home: Path) -> None:
    chance = random.Random(7)
    folder = tmp_path / "facts"
    peaks = filled(folder, 70)
    for _ in range(12):
        assert answered(folder) == right(peaks)
        for _ in range(chance.randrange(1, 4)):
            number = chance.randrange(90)
            if number in peaks and chance.random() < 0.3:
                remove(folder, number)
                del peaks[number]
            else:
                peaks[number] = chance.randrange(1000, 2000)  # mostly as many bytes in the file
                write(folder, number, peaks[number])
    assert answered(folder) == right(peaks)
    assert copies(home)


def test_the_last_file_replaced_is_read_again(tmp_path: Path, home: Path) -> None:
    """The names and their order stay as they were."""
    folder = tmp_path / "facts"
    peaks = filled(folder, 40)
    for number in range(40, 50):
        for peak in (1000, 2000):
            peaks[number] = peak
            write(folder, number, peak)
            assert answered(folder) == right(peaks)


def test_a_new_process_makes_few_copies_anew(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "facts"
    peaks = filled(folder, 200)
    assert answered(folder) == right(peaks)
    before = copies(home)
    assert len(before) > 10
    assert answered(folder) == right(peaks)
    assert copies(home) == before
    peaks[3] = 5
    write(folder, 3, 5)
    assert answered(folder) == right(peaks)
    # Of each of the two tables: the run that it leaves, and the last one.
    assert len(copies(home) - before) <= 4
    assert len(copies(home)) <= len(before) + 2  # what is out of date is gone


def test_a_copy_in_use_is_not_removed(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "facts"
    peaks = filled(folder, 100)
    answered(folder)
    before = copies(home)
    (lock,) = home.rglob("lock")
    with lock.open() as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        peaks[3] = 5
        write(folder, 3, 5)
        assert answered(folder) == right(peaks)
        assert before <= copies(home)
    answered(folder)
    assert not before <= copies(home)


def test_a_damaged_copy_is_made_anew(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "facts"
    peaks = filled(folder, 100)
    answered(folder)
    for path in home.rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:300])
    assert answered(folder) == right(peaks)
    assert all(path.stat().st_size > 300 for path in home.rglob("*.parquet"))


@pytest.mark.parametrize("cache", ["/dev/null", "/proc/none"])
def test_without_a_cache_folder_the_files_are_read(
    tmp_path: Path, home: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    folder = tmp_path / "facts"
    peaks = filled(folder, 40)
    assert answered(folder) == right(peaks)
    assert not copies(home)


def test_copies_that_others_could_have_written_are_not_used(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "facts"
    peaks = filled(folder, 100)
    answered(folder)
    (own,) = home.iterdir()
    own.chmod(0o777)
    for path in own.glob("*.parquet"):
        path.write_bytes(b"")
    assert answered(folder) == right(peaks)


def test_left_parts_and_unused_folders_are_removed(tmp_path: Path, home: Path) -> None:
    folder, other = tmp_path / "facts", tmp_path / "other"
    filled(folder, 40)
    filled(other, 40)
    answered(other)
    (old,) = home.iterdir()
    os.utime(old / "lock", (1, 1))
    answered(folder)
    (own,) = home.iterdir()
    (own / ".process-1.parquet.7.part").touch()
    answered(folder)
    assert not old.exists() and not list(own.glob(".*.part"))


def _reads(folder: Path, times: int, found: Callable[[tuple[int, int, int]], None]) -> None:
    merged._FILES_EACH, merged._LEAST_FILES = 16, 8
    for _ in range(times):
        found(answered(folder))


@pytest.mark.full
def test_readers_beside_a_writer(tmp_path: Path, home: Path) -> None:
    """Each answer is of some moment: as many processes as then, no bytes of others."""
    folder = tmp_path / "facts"
    peaks = filled(folder, 60)
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    readers = [context.Process(target=_reads, args=(folder, 4, queue.put)) for _ in range(2)]
    for reader in readers:
        reader.start()
    number = 60
    while any(reader.is_alive() for reader in readers):
        write(folder, number, 1000 + number)
        number += 1
    for reader in readers:
        reader.join()
        assert reader.exitcode == 0
    answers: Sequence[tuple[int, int, int]] = [queue.get() for _ in range(8)]
    for processes, peak, _ in answers:
        assert 60 <= processes <= number
        assert peak == sum(1000 + one for one in range(processes))
    assert answered(folder)[0] == number
    assert home.exists() and peaks
