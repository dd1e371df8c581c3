# SPDX-License-Identifier: MIT
"""The allocators of this machine, asked by the program of the build folder."""

from __future__ import annotations

import pytest
from heapwright.measure.allocators import Shelf
from lab_runs import program


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(program)
