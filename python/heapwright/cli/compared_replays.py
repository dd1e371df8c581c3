# SPDX-License-Identifier: MIT
"""heapwright compare for two documents of heapwright replay --json."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from heapwright.cli import output
from heapwright.cli.errors import InputError
from heapwright.compare.replays import document as documents
from heapwright.compare.replays import page, show
from heapwright.compare.replays.reading import ReplayFileError, is_document, read


def are_meant(files: Sequence[Path]) -> bool:
    """Whether any of the files is such a document."""
    return any(map(is_document, files))


def compare(
    sides: Sequence[Sequence[Path]],
    unfit: Mapping[str, object],
    *,
    json: bool,
    md: bool,
    html: Path | None,
    force: bool,
    wide: bool,
) -> None:
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
    if html is not None:
        output.write_text(html, force, page.render(made))
    if json:
        output.print_json(made)
    elif md:
        sys.stdout.write(show.as_markdown(made))
    elif html is None or not output.is_stdout(html):
        show.on_console(made, output.make_console(wide))
    output.hint(show.next_command(made))
