# SPDX-License-Identifier: MIT
"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path, typer.Argument(metavar="FILE", help="A trace written by heapwright record.")]
FileOrFolder = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A trace written by heapwright record. Or a folder of them, or a session file."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Markdown = Annotated[bool, typer.Option("--md", help="Print Markdown instead, for a pull request.")]
Page = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write it as one offline page for a browser as well."),
]
DebugRoot = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder with the recorded machine's programs, libraries, debug files."),
]
From = Annotated[
    str,
    typer.Option(
        "--from", metavar="TIME", help="Only what was called from here on (2.5s; -30s: of the end)."
    ),
]
Until = Annotated[
    str, typer.Option("--until", metavar="TIME", help="Only what was called up to here (300ms).")
]
Threads = Annotated[
    list[str] | None,
    typer.Option("--thread", metavar="THREAD", help="Only this thread: number, id or name. Repeatable."),
]
MinBlock = Annotated[str, typer.Option(metavar="BYTES", help="Only blocks of at least this size (64k).")]
MaxBlock = Annotated[str, typer.Option(metavar="BYTES", help="Only blocks of at most this size.")]
SitePattern = Annotated[
    str, typer.Option("--site", metavar="REGEX", help="Only sites whose function or file:line match.")
]
Library = Annotated[str, typer.Option(metavar="REGEX", help="Only sites in libraries that match.")]
Through = Annotated[
    str,
    typer.Option(metavar="REGEX", help="Only calls with a matching function or file:line in their stack."),
]
SiteDepth = Annotated[int, typer.Option(metavar="N", help="How many frames make a call site.")]
FullStacks = Annotated[
    bool, typer.Option("--full-stacks", help="Every call stack is a site of its own, printed whole.")
]
Skip = Annotated[
    list[str] | None,
    typer.Option(metavar="REGEX", help="Functions or libraries that are never a call site. Repeatable."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide",
        help="Cut no name. Without it, lines fit the terminal; in files and pipes COLUMNS, or 100 columns.",
    ),
]
