# SPDX-License-Identifier: MIT
"""The collector comes from the build folder."""

from __future__ import annotations

import pytest
from lab_runs import program


@pytest.fixture(autouse=True)
def _use_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(program.parent))
