# SPDX-License-Identifier: MIT
"""The checks that need no recording."""

from __future__ import annotations

from heapwright.lint.kinds import Kind

SHARED_FROM_NEW, NOT_RELEASED, NO_RESERVE = "shared-from-new", "not-released", "no-reserve"
CHECKS = (
    Kind(
        SHARED_FROM_NEW,
        "shared_ptr takes an object made with new: a second block for the counts",
        "std::make_shared, or make_shared_private where the constructor is private",
        "weak_ptr outlive large objects",
    ),
    Kind(
        NOT_RELEASED,
        "this keeps the memory",
        "swap with an empty one, or clear() and shrink_to_fit()",
        "only the contents are meant, and the memory is used again",
    ),
    Kind(
        NO_RESERVE,
        "a vector grows in a loop whose count is known",
        "reserve the count before the loop",
        "the count is one or two",
    ),
)
