# SPDX-License-Identifier: MIT
"""What a program's file says before it runs."""

from __future__ import annotations

import os
import shutil
import stat
import struct
from contextlib import suppress
from pathlib import Path

from heapwright.measure.errors import MeasureError

_INTERPRETER = 3  # PT_INTERP: the dynamic loader, which a static program does without
_MOST_LEVELS = 4  # of scripts that scripts interpret


def found(program: str) -> str:
    """Its path; MeasureError if there is none that can be run."""
    path = shutil.which(program)
    if path is None:
        why = "is not executable" if Path(program).is_file() else "does not exist or is not executable"
        raise MeasureError(f"cannot run {program}: it {why}")
    return path


def why_not_preloaded(program: str) -> str:
    """Why the loader ignores preloaded libraries and settings in it; "": nothing is known against it.

    Of a script it is its interpreter that counts.
    """
    path = Path(program)
    try:
        for _ in range(_MOST_LEVELS):
            if is_static(path):
                return f"{path} is linked statically: it takes no preloaded library"
            mode = path.stat().st_mode
            if mode & stat.S_ISUID or (mode & stat.S_ISGID and mode & stat.S_IXGRP):
                return f"{path} is setuid or setgid: the loader ignores preloaded libraries; try a copy of it"
            if _has_capabilities(path):
                return f"{path} has file capabilities: the loader ignores preloaded libraries; try a copy"
            interpreter = _interpreter(path)
            if not interpreter:
                break
            path = Path(interpreter)
    except OSError:
        return ""  # what cannot be read may still be run
    return ""


def _has_capabilities(path: Path) -> bool:
    with suppress(OSError):
        return bool(os.getxattr(path, "security.capability"))
    return False


def _interpreter(path: Path) -> str:
    """Of a script; "": it is none."""
    with path.open("rb") as file:
        line = file.readline(256)
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        return (shutil.which(named[0]) or "") if named else ""
    return words[0] if words else ""


def is_static(path: Path) -> bool:
    """Whether an ELF file names no dynamic loader; OSError."""
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:4] != b"\x7fELF":
            return False
        order = "<" if head[5] == 1 else ">"
        place, sizes = (("Q", 32), 54) if head[4] == 2 else (("I", 28), 42)
        (offset,) = struct.unpack_from(order + place[0], head, place[1])
        size, count = struct.unpack_from(order + "HH", head, sizes)
        file.seek(offset)
        table = file.read(size * count)
    kinds = [struct.unpack_from(order + "I", table, at)[0] for at in range(0, len(table) - 3, max(4, size))]
    return _INTERPRETER not in kinds
