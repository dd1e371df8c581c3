# SPDX-License-Identifier: MIT
"""The checks that need no recording: ours, and those of clang-tidy that are also run."""

from __future__ import annotations

from heapwright.lint.kinds import Kind

SHARED_FROM_NEW, NOT_RELEASED, NO_RESERVE = "shared-from-new", "not-released", "no-reserve"
CHECKS = (
    Kind(
        SHARED_FROM_NEW,
        "shared_ptr takes an object made with new: a second block for the counts",
        "std::make_shared, or make_shared_private if the constructor is private",
        "weak_ptr outlive large objects",
    ),
    Kind(
        NOT_RELEASED,
        "this keeps the memory",
        "swap with an empty one, or clear() and shrink_to_fit()",
        "only the contents are meant, and the memory is reused",
    ),
    Kind(
        NO_RESERVE,
        "a vector grows in a loop whose count is known",
        "reserve the count before the loop",
        "the count is one or two",
    ),
)

STOCK = (
    Kind(
        "performance-inefficient-vector-operation",
        "a vector grows in a loop whose count is known",
        "reserve the count before the loop",
        "the vector is a member that grows from call to call",
    ),
    Kind(
        "performance-inefficient-string-concatenation",
        "a loop makes a new string to append to it",
        "append to it",
        "the strings are short enough to need no block",
    ),
    Kind(
        "performance-for-range-copy",
        "a loop copies each element",
        "take it by const reference",
        "the copy or the original is changed",
    ),
    Kind(
        "performance-implicit-conversion-in-loop",
        "a loop converts each element, which copies it",
        "take it as const auto&",
        "the conversion is intended",
    ),
    Kind(
        "performance-unnecessary-copy-initialization",
        "a local is a copy that is only read",
        "make it a const reference",
        "the original ends or changes first",
    ),
    Kind(
        "performance-unnecessary-value-param",
        "a parameter is a copy that is only read",
        "take it by const reference",
        "callers move into it",
    ),
    Kind(
        "performance-move-const-arg",
        "std::move copies here",
        "remove const, or the move",
        "the copy is intended",
    ),
    Kind(
        "performance-move-constructor-init",
        "a move constructor copies a member",
        "move the member",
        "the member has no move constructor",
    ),
    Kind(
        "performance-no-automatic-move",
        "a const local is copied when it is returned",
        "remove const from the local",
        "it is small",
    ),
    Kind(
        "performance-noexcept-move-constructor",
        "a vector of these copies them when it grows: the move may throw",
        "mark the move constructor noexcept",
        "it does throw",
    ),
    Kind(
        "modernize-make-shared",
        "shared_ptr takes an object made with new: a second block for the counts",
        "std::make_shared",
        "weak_ptr outlive large objects",
    ),
    Kind(
        "modernize-pass-by-value",
        "a constructor copies a parameter that could be moved",
        "take it by value and move it",
        "callers never pass a temporary",
    ),
    Kind(
        "modernize-shrink-to-fit",
        "swap with a copy releases memory",
        "shrink_to_fit()",
        "the standard is older than C++11",
    ),
    Kind(
        "bugprone-multiple-new-in-one-expression",
        "one of the blocks leaks if the other cannot be made",
        "make_unique or make_shared for each",
        "exceptions are off",
    ),
    Kind(
        "bugprone-suspicious-realloc-usage",
        "the block leaks if realloc fails",
        "keep the old pointer until realloc has returned a new one",
        "the program then ends",
    ),
    Kind(
        "bugprone-misplaced-operator-in-strlen-in-alloc",
        "the block is shorter than the text by the term within strlen()",
        "add it after strlen()",
        "the first characters are omitted on purpose",
    ),
    Kind(
        "bugprone-misplaced-pointer-arithmetic-in-alloc",
        "the term is added to the pointer, not to the size",
        "add it within the parentheses",
        "the pointer is intended to point into the block",
    ),
)
