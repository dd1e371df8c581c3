# SPDX-License-Identifier: MIT
"""Work on files in parallel processes, as libclang holds Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

Job = TypeVar("Job")
Answer = TypeVar("Answer")


def run_all(
    work: Callable[[Job], Answer], jobs: Sequence[Job], at_once: int, progress: Callable[[int, int], object]
) -> list[Answer]:
    """Answers in the jobs' order. work is a module-level function; jobs and answers are plain data."""
    if min(len(jobs), at_once) <= 1:
        return [work(job) for job in jobs]
    with ProcessPoolExecutor(min(len(jobs), at_once), get_context("forkserver")) as pool:
        numbers = {pool.submit(work, job): number for number, job in enumerate(jobs)}
        found: dict[int, Answer] = {}
        for done in as_completed(numbers):
            found[numbers[done]] = done.result()
            progress(len(found), len(jobs))
    return [found[number] for number in range(len(jobs))]
