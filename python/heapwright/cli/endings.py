# SPDX-License-Identifier: MIT
"""Signals that end a command, so that it cleans up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_REQUESTS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def taken_back() -> Iterator[None]:
    """The first SIGTERM or SIGHUP raises SystemExit in the block; ignored signals (nohup) stay ignored."""

    def end(number: int, _frame: FrameType | None) -> None:
        for request in before:
            signal.signal(request, signal.SIG_IGN)
        raise SystemExit(128 + number)

    handlers = {request: signal.getsignal(request) for request in _REQUESTS}
    before = {request: handler for request, handler in handlers.items() if handler is not signal.SIG_IGN}
    for request in before:
        signal.signal(request, end)
    try:
        yield
    finally:
        for request, handler in before.items():
            signal.signal(request, handler)
