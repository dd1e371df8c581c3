# SPDX-License-Identifier: MIT
"""A time limit for each test, which fails by its own name: one that hangs does not take the others with it."""

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

LIMIT_S = 300.0
# Again and again after it: what the test waits for in its clean-up may hang as well.
AGAIN_S = 10.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    def end(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"{item.nodeid} took more than its {LIMIT_S:g} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S, AGAIN_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
