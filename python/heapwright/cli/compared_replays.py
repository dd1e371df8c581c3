# SPDX-License-Identifier: MIT
"""heapwright compare for two outputs of heapwright replay --json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from heapwright.cli import output
from heapwright.cli.errors import InputError
from heapwright.cli.result_forms import Forms
from heapwright.compare.replays import document as documents
from heapwright.compare.replays import page, show
from heapwright.compare.replays.reading import ReplayFileError, is_document, read


def are_meant(files: Sequence[Path]) -> bool:
    """Whether any of the files is such an output."""
    return any(map(is_document, files))


def compare(sides: Sequence[Sequence[Path]], unfit: Mapping[str, object], forms: Forms) -> None:
    """unfit: the given values of options that apply only to recordings, by name."""
    if any(len(side) != 1 for side in sides):
        raise InputError("replays are compared two at a time: one file per side")
    for (file,) in sides:
        if not file.exists():
            raise InputError(f"no such file: {file}")
        if not is_document(file):
            raise InputError(
                f"{file} is not a file of replay --json, but the other one is; compare two of a kind"
            )
    for option, value in unfit.items():
        if value:
            raise InputError(f"{option} applies to recordings, not to replays; omit it")
    try:
        a, b = (read(side[0]) for side in sides)
    except ReplayFileError as error:
        raise InputError(str(error)) from None
    made = documents.make(documents.Pair(a, b))
    forms.show(
        made,
        lambda console: show.on_console(made, console),
        lambda: show.as_markdown(made),
        lambda: page.render(made),
    )
    output.hint(show.next_command(made))
