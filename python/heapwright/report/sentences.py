# SPDX-License-Identifier: MIT
"""Sentences made of what may begin with code."""

from __future__ import annotations

import re


def capitalized(text: str) -> str:
    """With a capital, unless it begins with code, which keeps its case.

    >>> capitalized("use the stack"), capitalized("malloc(3) took 2 s"), capitalized("grow_table holds 2 MiB")
    ('Use the stack', 'malloc(3) took 2 s', 'grow_table holds 2 MiB')
    """
    return f"{text[:1].upper()}{text[1:]}" if re.match(r"[a-z]+\b(?![:.(<_])", text) else text
