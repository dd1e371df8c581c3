# SPDX-License-Identifier: MIT
"""Applies the findings' edits to the sources."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from heapwright.lint.finding import Finding, Fix


class Applied(NamedTuple):
    """fixed: findings whose edit is now in the files. refused: those whose lines have changed, or whose edit
    overlaps another one."""

    fixed: tuple[Finding, ...]
    refused: tuple[Finding, ...]


def apply(folder: Path, findings: Sequence[Finding]) -> Applied:
    """Writes each file once; OSError if one cannot be written. Findings without an edit are neither
    fixed nor refused."""
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.fix is not None:
            by_file.setdefault(finding.file, []).append(finding)
    fixed: list[Finding] = []
    refused: list[Finding] = []
    for file, own in by_file.items():
        path = folder / file
        before = path.read_bytes()
        after, done = _edited(before, own)
        if done:
            _write(path, after)
        fixed += done
        refused += [one for one in own if one not in done]
    return Applied(tuple(fixed), tuple(refused))


def _edited(text: bytes, findings: Sequence[Finding]) -> tuple[bytes, list[Finding]]:
    """The text with the edits that fit, applied from the end, and their findings."""
    places = [(found, one) for one in findings if one.fix and (found := _place(text, one.fix)) is not None]
    done: list[Finding] = []
    first = len(text) + 1
    for (begin, end), one in sorted(places, key=lambda place: place[0], reverse=True):
        if end <= first and one.fix is not None:
            text = text[:begin] + one.fix.text.encode() + text[end:]
            first = begin
            done.append(one)
    return text, done


def _place(text: bytes, fix: Fix) -> tuple[int, int] | None:
    """Its range in the text; None if the text there has changed."""
    lines = text.split(b"\n")
    if fix.end_line > len(lines):
        return None
    begin = sum(len(line) + 1 for line in lines[: fix.begin_line - 1]) + fix.begin_column - 1
    end = begin + len(fix.old.encode())
    return (begin, end) if text[begin:end] == fix.old.encode() else None


def _write(path: Path, text: bytes) -> None:
    """Replaces the file atomically."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text)
        shutil.copymode(path, name)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
