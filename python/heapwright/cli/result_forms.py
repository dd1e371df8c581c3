# SPDX-License-Identifier: MIT
"""Prints a result in the form chosen by --json, --md, --html and --wide."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from heapwright.cli import output
from heapwright.cli.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console


class Forms(NamedTuple):
    """The options; html, force: for commands that write a page."""

    json: bool
    md: bool
    wide: bool
    html: Path | None = None
    force: bool = False

    def check(self) -> None:
        """Refuses two results on standard output, and a page that cannot be written."""
        if self.json and self.md:
            raise InputError("--json and --md both write to standard output; choose one")
        if self.html is None:
            return
        output.check_output(self.html, self.force, "--html")
        if (self.json or self.md) and output.is_stdout(self.html):
            raise InputError(
                "--html -, --json and --md all write to standard output; name a file with --html"
            )

    def show(
        self,
        document: dict[str, Any],
        on_console: Callable[[Console], object],
        as_markdown: Callable[[], str],
        as_page: Callable[[], str] | None = None,
    ) -> None:
        """Writes the page, and the other requested form to standard output."""
        if self.html is not None and as_page is not None:
            output.write_text(self.html, self.force, as_page())
        if self.json:
            output.print_json(document)
        elif self.md:
            sys.stdout.write(as_markdown())
        elif self.html is None or not output.is_stdout(self.html):
            on_console(output.make_console(self.wide))
