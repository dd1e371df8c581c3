# SPDX-License-Identifier: MIT
"""Reads and rewrites gate's budget file."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from pathlib import Path

from heapwright.cli import output
from heapwright.cli.errors import InputError
from heapwright.cli.streams import say
from heapwright.gate import accept as accepting
from heapwright.gate import budget as budgets
from heapwright.gate.measured import Measured
from heapwright.model import Trace


def read(file: Path, accept: bool) -> str:
    """Its text with its line ends, without a byte order mark."""
    if accept and not file.exists():
        output.check_output(file, force=False)
        return accepting.START
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"no such budget file: {file}; --accept --reason TEXT writes one") from None
    except OSError as error:
        raise InputError(f"cannot read {file}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text") from None


def parse(text: str, file: Path, toolchain: str, accept: bool) -> budgets.Budget:
    """accept: a missing file or file without limits gets the default ones."""
    try:
        budget = budgets.parse(text, toolchain)
    except budgets.NoToolchainError:
        if not accept:
            raise
        budget = budgets.parse(text)
    if budget.rules:
        return budget
    if not accept:
        raise InputError(f"{file} has no limits; --accept --reason TEXT writes them")
    return budget._replace(rules=budgets.parse(accepting.START).rules)


def accept(
    file: Path,
    text: str,
    budget: budgets.Budget,
    toolchain: str,
    reason: str,
    measured: Sequence[Measured],
    traces: Sequence[Trace],
) -> budgets.Budget:
    """Writes the measured figures, prints the changes, and returns the new budget."""
    is_single_thread = all(len(trace.threads) == 1 for trace in traces)
    lines = text.replace("\r\n", "\n")
    new, changes = accepting.rewritten(lines, budget, toolchain, reason, measured, is_single_thread)
    if "\r\n" in text:
        new = new.replace("\n", "\r\n")
    if _has_mark(file):
        new = "\ufeff" + new
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644  # it belongs in a repository
    output.write_text(file, True, new)
    file.chmod(mode)
    for change in changes or ["no limit changed"]:
        say(f"heapwright: {change}")
    return parse(new.removeprefix("\ufeff"), file, toolchain, accept=False)


def _has_mark(file: Path) -> bool:
    return file.exists() and file.read_bytes().startswith(codecs.BOM_UTF8)
