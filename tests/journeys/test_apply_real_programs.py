# SPDX-License-Identifier: MIT
"""Programs of Debian, unchanged, do their work with most of their blocks in heaps of remedies.

Of each program's recording, every way to an allocation that fits into a remedy file is a remedy's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import heapwright
import pytest
from conftest import build, collector
from debian_programs import Program, programs, run, run_alone
from heapwright.apply.remedy_file import MOST_MODULES, MOST_STACKS
from heapwright.model.sites import MARKS

pytestmark = pytest.mark.full

library = build / "lib/libheapwright-apply.so"
CHANGES = ("segregate", "reuse")
FRAMES = 3
MOST_PROCESSES = 8
HIDE_ERRORS = {"cmake", "gdb"}


class Everything:
    """A remedy file for all that programs allocate: half of it segregated, half reused."""

    def __init__(self) -> None:
        self.modules: dict[tuple[str, str], int] = {}
        self.stacks: dict[tuple[tuple[int, int], ...], None] = {}

    def add(self, trace: heapwright.Trace, most_stacks: int) -> None:
        """most_stacks: of this process, so that each has some."""
        most_stacks = min(len(self.stacks) + most_stacks, MOST_STACKS)
        tree, frames = trace.stack_columns, trace.frame_columns
        for stack, count in enumerate(trace.facts().stacks["allocations"]):
            chain = []
            while count and stack and tree["frame"][stack] not in MARKS and len(chain) < FRAMES:
                chain.append(tree["frame"][stack])
                stack = tree["parent"][stack]
            modules = [frames["module"][frame] for frame in chain]
            if not chain or any(number >= len(trace.modules) for number in modules):
                continue
            named = [trace.modules[number] for number in modules]
            keys = [(module.name, module.build_id) for module in named]
            if not all(build_id and name for name, build_id in keys) or not self._has_room(keys, most_stacks):
                continue
            row = tuple(
                (self.modules.setdefault(key, len(self.modules)), frames["pc"][frame] - module.bias)
                for key, frame, module in zip(keys, chain, named, strict=True)
            )
            self.stacks.setdefault(row)

    def _has_room(self, keys: Iterable[tuple[str, str]], most_stacks: int) -> bool:
        return len(self.stacks) < most_stacks and len(self.modules | dict.fromkeys(keys, 0)) <= MOST_MODULES

    def text(self) -> str:
        lines = ["version = 1"]
        for name, build_id in self.modules:
            lines += ["[[module]]", f'name = "{name}"', f'build_id = "{build_id}"']
        rows = list(self.stacks)
        for number, change in enumerate(CHANGES):
            frames = [
                ", ".join(f'"{module}:{offset:#x}"' for module, offset in row) for row in rows[number::2]
            ]
            lines += ["[[remedy]]", f'change = "{change}"', 'site = "all"', "stacks = ["]
            lines += [*(f"  [{one}]," for one in frames), "]"]
        return "\n".join(lines) + "\n"


@pytest.mark.parametrize("program", programs, ids=[program.name for program in programs])
def test_a_program_works_as_without(program: Program, tmp_path: Path) -> None:
    alone = run_alone(program, tmp_path / "without")
    traces = tmp_path / "traces"
    traces.mkdir()
    recorder = [str(collector), "--quiet", "--children", "--output", str(traces / "%p.heapwright"), "--"]
    run(program, tmp_path / "recorded", recorder, {})
    everything = Everything()
    found = sorted(traces.glob("*.heapwright"), key=lambda path: path.stat().st_size, reverse=True)
    for path in found[:MOST_PROCESSES]:
        everything.add(heapwright.open(path), MOST_STACKS // min(len(found), MOST_PROCESSES))
    if len(everything.stacks) < 2:
        pytest.skip("no process of it could be recorded")
    remedy = tmp_path / "remedy.toml"
    remedy.write_text(everything.text())
    applied = {"LD_PRELOAD": str(library), "HEAPWRIGHT_APPLY": str(remedy)}
    served = run(program, tmp_path / "with", (), applied)
    assert served[:2] == alone[:2], served.errors
    # A compiler's own output is another build in another folder.
    expected = r"heapwright: .*(has its own malloc|was built anew).*"
    assert "heapwright:" not in re.sub(expected, "", served.errors)
    counted = run(program, tmp_path / "counted", (), {**applied, "HEAPWRIGHT_APPLY_STATS": "1"})
    made = sum(map(int, re.findall(r"heapwright: \w+@all: (\d+) blocks made", counted.errors)))
    assert made > 0 or program.name in HIDE_ERRORS, counted.errors
