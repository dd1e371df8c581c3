# SPDX-License-Identifier: MIT
"""S15: Debian's programs end as they do alone, with the heap preloaded and under the recorder."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from running import Answer, heapwright, project

sys.path.append(str(project / "tests/journeys"))
import debian_programs

library = project / "build/release/lib/libheapwright.so"


def run() -> Answer:
    """Names of the programs that were run, and of those whose output or exit code differed."""
    began = time.monotonic()
    answer: Answer = {"programs": [], "missing": [], "heap_differs": [], "recorder_differs": []}
    for program in debian_programs.programs:
        with tempfile.TemporaryDirectory(prefix="heapwright-same-") as place:
            folder = Path(place)
            alone = debian_programs.run(program, folder / "alone", (), {})
            if not shutil.which(program.name) or alone.status != 0:
                answer["missing"].append(program.name)
                continue
            answer["programs"].append(program.name)
            recording = [str(heapwright), "record", "--children", "-o", str(folder / "traces"), "--"]
            ways = {
                "heap_differs": debian_programs.run(
                    program, folder / "heap", (), {"LD_PRELOAD": str(library)}
                ),
                "recorder_differs": debian_programs.run(program, folder / "recorder", recording, {}),
            }
        for way, ended in ways.items():
            if ended[:2] != alone[:2]:
                answer[way].append(program.name)
    answer["seconds"] = round(time.monotonic() - began, 1)
    return answer
