# SPDX-License-Identifier: MIT
"""Which patterns of slow calls reach the first screen."""

from __future__ import annotations

from typing import Any

import pytest
from heapwright.explain import slow_calls


def answer(duration_ns: int, longest_ns: int) -> dict[str, Any]:
    pattern = {
        "name": "growth in small steps",
        "duration_ns": duration_ns,
        "longest_ns": longest_ns,
        "evidence": "so",
    }
    return {"thread_time_ns": 1_000_000_000, "patterns": [pattern], "causes": [], "calls": []}


@pytest.mark.parametrize(
    ("duration_ns", "longest_ns", "is_shown"),
    [
        (2_700_000, 30_000, False),
        (2_700_000, 1_000_000, True),
        (49_000_000, 30_000, False),
        (50_000_000, 30_000, True),
    ],
)
def test_a_long_call_or_a_large_share_is_shown(duration_ns: int, longest_ns: int, is_shown: bool) -> None:
    found = slow_calls.QUESTION.findings(answer(duration_ns, longest_ns))
    assert [finding.text for finding in found] == (["growth in small steps: so"] if is_shown else [])
    # Above what only describes: those weigh 1 at most.
    assert all(finding.weight > 1 for finding in found)
