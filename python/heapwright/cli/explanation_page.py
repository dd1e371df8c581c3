# SPDX-License-Identifier: MIT
"""Writes an explanation as a page: `heapwright explain FILE --html OUT.html`."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from heapwright import explain as explaining
from heapwright.cli import output
from heapwright.cli.arguments import check_answered, since_start
from heapwright.cli.errors import InputError
from heapwright.cli.explanation import make_report, read_symbols, show

if TYPE_CHECKING:
    from pathlib import Path

    from heapwright.cli.explanation import ReportOptions
    from heapwright.model import Filter, SiteOptions, Trace


def check_page(html: Path | None, force: bool, json: bool) -> None:
    """InputError if the page cannot be written, or shares standard output."""
    if html is None:
        return
    output.check_output(html, force, "--html")
    if json and output.is_stdout(html):
        raise InputError("--html - and --json both write to standard output; name a file with --html")


def write_page(
    trace: Trace, chosen: Filter, sites: SiteOptions, wanted: ReportOptions, html: Path, force: bool
) -> None:
    """Reads the trace, writes the page with mode 0600, and prints the explanation as without it."""
    from heapwright import page  # only for pages

    check_answered(trace, wanted.tree.measure if wanted.tree else "")
    read_symbols(trace, chosen, sites)
    reading = trace.begin_facts(chosen, sites, at_ns=since_start(trace, wanted.at_ns), wants_activity=True)
    report = make_report(trace, reading, chosen, sites, wanted)
    if wanted.is_judged and chosen.is_everything:
        from heapwright.cli import judge  # the replay's modules are needed only here

        report = judge.checked(trace, report)
    text = page.render(report, explaining.explain(report, explaining.NAMES))

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    output.write_file(html, force, write)
    if output.is_stdout(html):
        return
    show(report, wanted._replace(hints=False))
    if wanted.hints and not wanted.as_json:
        output.hint(f"open {html} in a browser")
