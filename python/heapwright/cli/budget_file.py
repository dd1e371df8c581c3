# SPDX-License-Identifier: MIT
"""A budget file as gate reads it and writes it anew."""

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
    """Its text as it is, line ends too; without the mark that some editors begin UTF-8 with."""
    if accept and not file.exists():
        output.check_output(file, force=False)
        return accepting.START
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(
            f"there is no budget file {file}; --accept --reason TEXT writes a first one"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {file}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is no text in UTF-8") from None


def parse(text: str, file: Path, toolchain: str, accept: bool) -> budgets.Budget:
    """accept: limits that are not there yet are those of a first file."""
    try:
        budget = budgets.parse(text, toolchain)
    except budgets.NoToolchainError:
        if not accept:
            raise
        budget = budgets.parse(text)
    if budget.rules:
        return budget
    if not accept:
        raise InputError(f"no limits in {file}; --accept --reason TEXT writes first ones")
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
    """Writes what was measured, and says what changed; the budget as it is then."""
    is_single_thread = all(len(trace.threads) == 1 for trace in traces)
    lines = text.replace("\r\n", "\n")
    new, changes = accepting.rewritten(lines, budget, toolchain, reason, measured, is_single_thread)
    if "\r\n" in text:
        new = new.replace("\n", "\r\n")
    if _has_mark(file):
        new = "\ufeff" + new
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644  # it belongs into a repository
    output.write_text(file, True, new)
    file.chmod(mode)
    for change in changes or ["every limit stays as it is"]:
        say(f"heapwright: {change}")
    return parse(new.removeprefix("\ufeff"), file, toolchain, accept=False)


def _has_mark(file: Path) -> bool:
    return file.exists() and file.read_bytes().startswith(codecs.BOM_UTF8)
