# SPDX-License-Identifier: MIT
"""Options that several commands share, declared once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from click import Context, Parameter, ParamType

from heapwright.cli.arguments import parse_moment, parse_size, parse_time
from heapwright.cli.errors import InputError


class Kind(ParamType):
    """A kind of value that every option reads alike."""

    def __init__(self, name: str, read: Callable[[str, str], float]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: object, param: Parameter | None, ctx: Context | None) -> object:
        """The number; a default is one."""
        if not isinstance(value, str):
            return value
        option = param.opts[0] if param is not None else self.name
        if not value:
            raise InputError(f"{option} must not be empty")  # an unset variable in a script
        return self._read(option, value)


SIZE = Kind("SIZE", parse_size)  # bytes
TIME = Kind("TIME", parse_time)  # nanoseconds
SECONDS = Kind("TIME", lambda option, text: parse_time(option, text) / 1e9)
MOMENT = Kind("TIME", parse_moment)  # nanoseconds since the start; negative: before the end

Limit = Annotated[
    float,
    typer.Option(
        metavar="TIME", click_type=SECONDS, help="A run longer than this (90s, 10m) counts as hung."
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
    typer.Option(
        "--html", metavar="FILE", help="Also write an offline HTML page; - is standard output, for it alone."
    ),
]
DebugRoot = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Root folder of the recorded machine's programs, libraries and debug files."
    ),
]
From = Annotated[
    int | None,
    typer.Option(
        "--from",
        metavar="TIME",
        click_type=MOMENT,
        help="Only calls from this time on (2.5s; -30s: before the end).",
    ),
]
Until = Annotated[
    int | None,
    typer.Option(
        "--until",
        metavar="TIME",
        click_type=MOMENT,
        help="Only calls up to this time (300ms; -30s: before the end).",
    ),
]
Threads = Annotated[
    list[str] | None,
    typer.Option(
        "--thread", metavar="THREAD", help="Only this thread: number, kernel id or name. Repeatable."
    ),
]
MinBlock = Annotated[
    int | None,
    typer.Option(metavar="SIZE", click_type=SIZE, help="Only blocks of at least this size (64k)."),
]
MaxBlock = Annotated[
    int | None, typer.Option(metavar="SIZE", click_type=SIZE, help="Only blocks of at most this size.")
]
SitePattern = Annotated[
    str, typer.Option("--site", metavar="REGEX", help="Only call sites whose function or file:line matches.")
]
Library = Annotated[str, typer.Option(metavar="REGEX", help="Only call sites in matching libraries.")]
Through = Annotated[
    str,
    typer.Option(metavar="REGEX", help="Only calls whose backtrace has a matching function or file:line."),
]
Contexts = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help="Only calls in this context, as the program named it (heapwright/annotate.h). Repeatable.",
    ),
]
SiteDepth = Annotated[int, typer.Option(metavar="N", help="Number of frames that identify a call site.")]
FullStacks = Annotated[
    bool, typer.Option("--full-stacks", help="Treat every call stack as a separate site, and print it whole.")
]
Skip = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REGEX",
        help="Functions or libraries that are no call sites: their callers are, as through them. Repeatable.",
    ),
]
By = Annotated[
    str,
    typer.Option(
        metavar="WHAT",
        help="What rows stand for: site; type: C++ types, where the names in a stack state one; or context: "
        "what the program said it works for (heapwright/annotate.h).",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide",
        help="Do not shorten names. Default: fit the terminal; in files and pipes COLUMNS or 100 columns.",
    ),
]
