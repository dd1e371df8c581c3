# SPDX-License-Identifier: MIT
"""Small runs of the experiments on real and on deliberately faulty allocators."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heapwright.lab.session import Session
from heapwright.measure.allocators import Shelf
from heapwright.measure.experiment import Experiment
from heapwright.measure.runner import Settings

project = Path(__file__).resolve().parents[2]
build = Path(os.environ.get("HEAPWRIGHT_BUILD", project / "build/release"))
program = build / "bin/heapwright-lab"
faulty = build / "programs/lab_allocators"


def run(experiments: Sequence[Experiment], on: Sequence[str], settings: Settings) -> dict[str, Any]:
    """A document, as `heapwright lab --json` prints it."""
    shelf = Shelf(program)
    return Session(program, shelf, shelf.choose(on), settings).run(experiments, lambda *_: None)
