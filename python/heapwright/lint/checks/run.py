# SPDX-License-Identifier: MIT
"""Runs the checks over whole files, in several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from heapwright.lint import clang
from heapwright.lint.checks import no_reserve, not_released, shared_from_new
from heapwright.lint.checks.tree import Problem, walk
from heapwright.lint.compile import Unit

_CHECKS = (shared_from_new.find, not_released.find, no_reserve.find)


class Job(NamedTuple):
    """roots: files that are these or below them are looked at, headers too."""

    unit: Unit
    resource: tuple[str, ...]
    roots: tuple[str, ...]


class Checked(NamedTuple):
    """By file."""

    problems: dict[str, list[Problem]]
    error: str


def check_all(jobs: Sequence[Job], progress: Callable[[int, int], object]) -> list[Checked]:
    """In the jobs' order."""
    if len(jobs) <= 1:
        return [check(job) for job in jobs]
    workers = min(len(jobs), len(os.sched_getaffinity(0)))
    with ProcessPoolExecutor(workers, get_context("forkserver")) as pool:
        numbers = {pool.submit(check, job): number for number, job in enumerate(jobs)}
        found: dict[int, Checked] = {}
        for done in as_completed(numbers):
            found[numbers[done]] = done.result()
            progress(len(found), len(jobs))
    return [found[number] for number in range(len(jobs))]


def check(job: Job) -> Checked:
    """Of one unit."""
    try:
        tree = clang.parse(job.unit, job.resource)
    except clang.ParseError as error:
        return Checked({}, str(error))
    errors = [str(one.spelling) for one in tree.diagnostics if one.severity >= 3]
    found: dict[str, list[Problem]] = {}
    real: dict[str, str] = {}
    texts: dict[str, bytes] = {}
    for declaration in tree.cursor.get_children():
        place = declaration.location.file
        if place is None:
            continue
        file = real.setdefault(place.name, os.path.realpath(place.name))
        if not any(Path(file).is_relative_to(root) for root in job.roots):
            continue
        if file not in texts:
            texts[file] = Path(file).read_bytes()
        for seen in walk(declaration, texts[file], []):
            for check_one in _CHECKS:
                found.setdefault(file, []).extend(check_one(seen))
    return Checked(found, errors[0] if errors else "")
