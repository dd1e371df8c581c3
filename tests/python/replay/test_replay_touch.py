# SPDX-License-Identifier: MIT
"""What the replay writes to without knowing it of the program, in words."""

from __future__ import annotations

import pytest
from heapwright.replay import show
from replay_documents import document_of

MIB = 1 << 20


def said(large: int, seen: int, *bytes_: float | None) -> str:
    touched, untouched, small = bytes_
    plan = {
        "large_blocks": large,
        "seen_blocks": seen,
        "guessed_touched_bytes": touched,
        "guessed_untouched_bytes": untouched,
        "small_bytes": small,
    }
    return show.about_touch(document_of({"plan": plan}))


@pytest.mark.parametrize(
    ("counted", "bytes_", "end"),
    [
        (
            (9, 5),
            (3 * MIB, 2 * MIB, MIB),
            "or fully: at one moment up to 3.00 MiB that the program may not have touched, up to 2.00 MiB "
            "counted as untouched that it may have touched. Smaller ones count as fully touched (1.00 MiB at most).",
        ),
        (
            (9, 5),
            (3 * MIB, 0, 0),
            "that the program may not have touched. Smaller ones count as fully touched (0 B",
        ),
        ((9, 5), (0, 0, MIB), "or fully, and none of these was live when memory was read. Smaller ones"),
        ((9, 5), (None, None, None), "or fully. Smaller ones count as fully touched."),
        ((9, 9), (0, 0, MIB), "Written pages are known for 9 of 9 blocks of 16 KiB or more. Smaller ones"),
        ((0, 0), (0, 0, MIB), "No block has 16 KiB or more; smaller ones count as fully touched (1.00 MiB"),
    ],
)
def test_what_is_guessed_is_said_with_the_error_that_it_may_make(
    counted: tuple[int, int], bytes_: tuple[float | None, ...], end: str
) -> None:
    assert end in said(*counted, *bytes_)
