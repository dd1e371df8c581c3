# SPDX-License-Identifier: MIT
"""Writes an explanation as a page: `heapwright explain FILE --html OUT.html`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from heapwright import explain as explaining
from heapwright.cli import output
from heapwright.cli.errors import InputError
from heapwright.cli.explanation import make_report, read_symbols

if TYPE_CHECKING:
    from pathlib import Path

    from heapwright.cli.explanation import ReportOptions
    from heapwright.model import Filter, SiteOptions, Trace


def check_page(html: Path | None, force: bool, json: bool, questions: Sequence[str], tree: str) -> None:
    """InputError if the page cannot be written, or with options that it excludes."""
    if html is None:
        return
    for option, is_given in (("--json", json), ("--question", bool(questions)), ("--tree", bool(tree))):
        if is_given:
            raise InputError(f"--html writes the whole explanation: omit {option}")
    output.check_output(html, force)


def write_page(
    trace: Trace, chosen: Filter, sites: SiteOptions, wanted: ReportOptions, html: Path, force: bool
) -> None:
    """Reads the trace and writes the page, with mode 0600."""
    from heapwright import page  # only for pages

    read_symbols(trace, chosen, sites)
    reading = trace.begin_facts(chosen, sites, at_ns=wanted.at_ns, wants_activity=True)
    report = make_report(trace, reading, chosen, sites, wanted)
    if wanted.is_checked and chosen.is_everything:
        from heapwright.cli import judge  # the replay's modules are needed only here

        report = judge.checked(trace, report)
    text = page.render(report, explaining.explain(report, wanted.questions))

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    output.write_file(html, force, write)
    if not output.is_stdout(html):
        output.hint(f"open {html} in a browser")
