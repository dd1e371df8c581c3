# SPDX-License-Identifier: MIT
"""Folded stacks ("main;parse;push_back 4096"), for flamegraph.pl, inferno and other viewers."""

from __future__ import annotations

from typing import BinaryIO

from heapwright.export.stacks import Frames, Source
from heapwright.model.sites import NO_STACK


def write(source: Source, file: BinaryIO, measure: str) -> None:
    """One line for each distinct stack, outermost frame first."""
    frames = Frames(source.trace)
    tree = source.trace.stack_columns
    texts: dict[int, str] = {}

    def text_of(stack: int) -> str:
        missing = []
        while stack != 0 and stack not in texts:
            missing.append(stack)
            stack = tree["parent"][stack]
        text = texts.get(stack, "")
        for inner in reversed(missing):
            own = ";".join(_escaped(found.function) for found in frames.locations(tree["frame"][inner]))
            text = texts[inner] = f"{text};{own}" if text else own
        return text

    sums: dict[str, int] = {}
    for stack, value in source.weights(measure):
        text = text_of(stack) or NO_STACK.function
        sums[text] = sums.get(text, 0) + value
    for text in sorted(sums):
        file.write(f"{text} {sums[text]}\n".encode())


def _escaped(function: str) -> str:
    return function.replace(";", ":")
