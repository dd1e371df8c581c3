# SPDX-License-Identifier: MIT
"""Programs of Debian, unchanged, do their work with libheapwright.so preloaded.

The ones that are not installed are skipped, and named.
"""

from pathlib import Path

import pytest
from conftest import build
from debian_programs import Program, programs, run, run_alone

pytestmark = pytest.mark.full

library = build / "lib/libheapwright.so"


@pytest.mark.parametrize("program", programs, ids=[program.name for program in programs])
def test_a_program_works_as_without(program: Program, tmp_path: Path) -> None:
    alone = run_alone(program, tmp_path / "without")
    served = run(program, tmp_path / "with", (), {"LD_PRELOAD": str(library)})
    assert served[:2] == alone[:2], served.errors
    assert "heapwright:" not in served.errors
