# SPDX-License-Identifier: MIT
"""The plans of a replay: of the recording as it is, and of each change."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from heapwright.measure.errors import MeasureError
from heapwright.measure.program import Output, RunFailedError, run_for_document
from heapwright.model import Trace
from heapwright.replay import changes
from heapwright.replay.candidates import Candidate
from heapwright.replay.changes import Change
from heapwright.replay.result import Effect

# Upper bound of the bytes of a plan's operations, call stacks and turns.
PAGE_BYTES = 4096  # of src/figures/process_figures.hpp
_BYTES_PER_EVENT = 28
_GAP_BYTES = 8
_LIMIT_S = 24 * 3600.0


class Maker:
    """paths: of the plans, by the change's text; effects: of the changes.

    longer: the changes whose plans have other operations than the recording's.
    """

    def __init__(
        self,
        program: Path,
        trace: Trace,
        candidate: Candidate,
        folder: Path,
        calls: int = 0,
        has_gaps: bool = False,
    ) -> None:
        """calls: of the recording, in a window; 0: all. has_gaps: the plans have due times of operations."""
        self._calls = calls
        self._step = "plan-gaps" if has_gaps else "plan"
        self._program = program
        self._trace = trace
        self._environment = candidate.environment() | {"LD_PRELOAD": ""}
        self._folder = folder
        self.paths: dict[str, Path] = {}
        self.effects: list[Effect] = []
        self.longer: list[str] = []

    def make(self, asked: Sequence[Change], step: Callable[[str], None]) -> Output:
        """heapwright-replay's output for the plan without a change and its needs. MeasureError."""
        step("making the plan")
        plan = self._plan("")
        if not plan["slots"]:
            raise MeasureError(f"{self._trace.path} has no block: there is nothing to replay")
        plan |= self._said("needed", str(self.paths[""]))
        for number, change in enumerate(asked):
            step(f"making the plan: {change.text}")
            stacks = self._folder / f"stacks-{number}"
            stacks.write_bytes(change.stacks)
            try:
                plan_so = self._plan(change.text, change.words, str(stacks))
            except MeasureError as error:
                raise MeasureError(f"--change {change.text}: {error}") from None
            self.effects += changes.effects(change, plan_so)
            if plan_so["operations"] != plan["operations"]:
                self.longer.append(change.text)
        return plan

    def _plan(self, change: str, *words: str) -> Output:
        path = self.paths[change] = self._folder / f"plan-{len(self.paths)}"
        return self._said(self._step, str(self._trace.path), str(path), str(self._calls), *words)

    def _said(self, *words: str) -> Output:
        try:
            return run_for_document([str(self._program), *words], self._environment, _LIMIT_S)
        except RunFailedError as failure:
            raise MeasureError(failure.line or f"making the plan {failure}") from None


def bytes_of(calls: int, plans: int, has_gaps: bool) -> int:
    """Upper bound of the size of this many plans of this many calls."""
    return calls * plans * (_BYTES_PER_EVENT + (_GAP_BYTES if has_gaps else 0))


def check_room(needed: int, plans: int) -> None:
    """Checks that these plans fit into the temporary folder. MeasureError."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if needed > free:
        whole = "the plan takes" if plans == 1 else f"{plans} plans take"
        raise MeasureError(
            f"{whole} up to {needed >> 20} MiB and {tempfile.gettempdir()} has {free >> 20} MiB free; "
            "set TMPDIR to a folder with more space"
        )
