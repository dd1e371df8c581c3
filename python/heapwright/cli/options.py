# SPDX-License-Identifier: MIT
"""Options that several commands share, declared once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from heapwright.cli.arguments import parse_time


def seconds_of(option: str) -> Callable[[str], float]:
    """What reads the option's times, as all of them are read, in seconds; a default comes as a number."""
    return lambda text: parse_time(option, str(text)) / 1e9


Limit = Annotated[
    float,
    typer.Option(
        metavar="TIME",
        parser=seconds_of("--limit"),
        help="A run longer than this (90s, 10min) counts as hung.",
    ),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A trace written by heapwright record.")]
FileOrFolder = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A trace written by heapwright record, a folder of traces, or a session file."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Markdown = Annotated[bool, typer.Option("--md", help="Print Markdown, for a pull request.")]
Page = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Also write an offline HTML page."),
]
DebugRoot = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Root folder of the recorded machine's programs, libraries and debug files."
    ),
]
From = Annotated[
    str,
    typer.Option("--from", metavar="TIME", help="Only calls from this time on (2.5s; -30s: before the end)."),
]
Until = Annotated[str, typer.Option("--until", metavar="TIME", help="Only calls up to this time (300ms).")]
Threads = Annotated[
    list[str] | None,
    typer.Option(
        "--thread", metavar="THREAD", help="Only this thread: number, kernel id or name. Repeatable."
    ),
]
MinBlock = Annotated[str, typer.Option(metavar="BYTES", help="Only blocks of at least this size (64k).")]
MaxBlock = Annotated[str, typer.Option(metavar="BYTES", help="Only blocks of at most this size.")]
SitePattern = Annotated[
    str, typer.Option("--site", metavar="REGEX", help="Only call sites whose function or file:line matches.")
]
Library = Annotated[str, typer.Option(metavar="REGEX", help="Only call sites in matching libraries.")]
Through = Annotated[
    str,
    typer.Option(metavar="REGEX", help="Only calls whose backtrace has a matching function or file:line."),
]
SiteDepth = Annotated[int, typer.Option(metavar="N", help="Number of frames that identify a call site.")]
FullStacks = Annotated[
    bool, typer.Option("--full-stacks", help="Treat every call stack as a separate site, and print it whole.")
]
Skip = Annotated[
    list[str] | None,
    typer.Option(metavar="REGEX", help="Functions or libraries that never count as a call site. Repeatable."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide",
        help="Do not shorten names. Default: fit the terminal; in files and pipes COLUMNS or 100 columns.",
    ),
]
