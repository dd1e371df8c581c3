# SPDX-License-Identifier: MIT
"""Special characters in ASCII, for terminals and files that show nothing else."""

from __future__ import annotations

import codecs
import io
from typing import TextIO

ASCII_SIGNS = {
    "•": "*", "…": "...", "–": "-", "—": "-", "−": "-", "─": "-", "━": "-", "│": "|", "·": ".", "×": "x",
    "±": "+/-", "≥": ">=", "≤": "<=", "→": "->", "←": "<-", "↑": "^", "↓": "v", "★": "*", "µ": "u", "μ": "u",
    "░": ":", "▒": "+", "▓": "x", "█": "#", "▁": ".", "▂": ":", "▃": "-", "▄": "=", "▅": "+", "▆": "*",
    "▇": "%", "▏": "#", "▎": "#", "▍": "#", "▌": "#", "▋": "#", "▊": "#", "▉": "#",
    "’": "'", "“": '"', "”": '"', "\N{NO-BREAK SPACE}": " ", "\N{REPLACEMENT CHARACTER}": "?",
}  # fmt: skip
_TABLE = str.maketrans(ASCII_SIGNS)
_ERRORS = "heapwright.ascii"


def in_ascii(text: str) -> str:
    r"""Our signs replaced, other letters by their numbers.

    >>> in_ascii("≥3 µs • né")
    '>=3 us * n\\xe9'
    """
    if text.isascii():
        return text
    return text.translate(_TABLE).encode("ascii", "backslashreplace").decode("ascii")


def never_fail(stream: TextIO) -> None:
    """From now on replaces characters that the stream's encoding lacks, or writes them as \\x… or \\u…."""
    if isinstance(stream, io.TextIOWrapper):
        codecs.register_error(_ERRORS, _replace)
        stream.reconfigure(errors=_ERRORS)


def use_ascii(stream: TextIO) -> None:
    """Writes ASCII only from now on."""
    if isinstance(stream, io.TextIOWrapper):
        codecs.register_error(_ERRORS, _replace)
        stream.reconfigure(encoding="ascii", errors=_ERRORS)


def shows_unicode(stream: TextIO) -> bool:
    """Whether every character can be written."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    sign = ASCII_SIGNS.get(letter)
    if sign is None:
        sign = letter.encode("ascii", "backslashreplace").decode()
    return sign, error.start + 1
