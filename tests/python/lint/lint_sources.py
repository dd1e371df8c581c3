# SPDX-License-Identifier: MIT
"""The corpus: C++ files whose comments say what is to be found at their lines."""

from __future__ import annotations

import re
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[2] / "programs/lint"
_FINDS = re.compile(r"// finds (.*)$")


def wanted(file: Path) -> dict[int, list[list[str]]]:
    """By line: the words of each thing to be found there."""
    found = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if match := _FINDS.search(line):
            parts = match[1].split(";")
            found[number] = [part.strip().removeprefix("finds ").split() for part in parts]
    return found
