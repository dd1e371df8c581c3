# SPDX-License-Identifier: MIT
"""`heapwright explain FILE`, with or without --json, at once.

Importing what declares the options takes longer than reading a short trace,
so the commonest command does without, and reads symbols while the rest is
imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def explain_plainly(arguments: Sequence[str]) -> bool:
    """False, and nothing is done, when the arguments are any others or the file is none."""
    files = [argument for argument in arguments[1:] if argument != "--json"]
    if arguments[:1] != ["explain"] or len(files) != 1 or len(arguments) > 3 or files[0].startswith("-"):
        return False
    if not Path(files[0]).is_file():
        return False
    from heapwright.model.reading import Reading

    reading = Reading(files[0])
    reading.begin_symbols()
    from heapwright.cli.explanation import explain_plainly as explain

    explain(reading, as_json=len(arguments) == 3)
    return True
