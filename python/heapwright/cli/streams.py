# SPDX-License-Identifier: MIT
"""Standard output and error: opens them, encodes every character, and words their errors."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress

from heapwright.terminal.spelling import never_fail


def prepare() -> None:
    """Call it before opening anything: the next file would reuse a closed descriptor."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Read-only, so that writing to a closed standard output still fails.
            opened = os.open(os.devnull, os.O_RDONLY if descriptor else os.O_WRONLY)
            os.set_inheritable(opened, True)  # for the collector and the program it starts as well
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    never_fail(sys.stdout)
    never_fail(sys.stderr)


def say(text: str) -> None:
    """Prints a line on standard error; a failure cannot be reported."""
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def give_up_output() -> None:
    """Discards pending output, which would fail again at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


# Errors not about writing.
_OF_LIMITS = {errno.EMFILE: "ulimit -n", errno.ENFILE: "sysctl fs.file-max"}


def reason_of(error: OSError) -> str:
    """The error in words, with the file it is about."""
    reason = (error.strerror or str(error)).lower()
    if error.errno in _OF_LIMITS:
        return f"{reason}; raise the limit ({_OF_LIMITS[error.errno]})"
    return f"{error.filename}: {reason}" if error.filename else f"cannot write standard output: {reason}"
