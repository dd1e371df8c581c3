# SPDX-License-Identifier: MIT
"""heapwright compare for two documents of heapwright replay --json."""

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
    """Whether any of the files is such a document."""
    return any(map(is_document, files))


def compare(sides: Sequence[Sequence[Path]], unfit: Mapping[str, object], forms: Forms) -> None:
    """unfit: options that only recordings have, by name, as they were given."""
    if any(len(side) != 1 for side in sides):
        raise InputError("two replays are compared, one document a side")
    for (file,) in sides:
        if not file.exists():
            raise InputError(f"{file} does not exist")
        if not is_document(file):
            raise InputError(
                f"{file} is no file of replay --json, and the other one is; compare two of a kind"
            )
    for option, value in unfit.items():
        if value:
            raise InputError(f"{option} goes with recordings, not with replays; leave it out")
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
