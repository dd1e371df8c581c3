# SPDX-License-Identifier: MIT
"""What would a change gain? One rule per file: each finds its pattern and bounds the gain."""

from __future__ import annotations

from heapwright.explain.advice.answer import QUESTION, RULES

__all__ = ["QUESTION", "RULES"]
