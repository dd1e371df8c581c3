# SPDX-License-Identifier: MIT
"""heapwright explain --browse: the call trees of a trace on a terminal, with keys."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from heapwright.cli.arguments import make_filter, parse_moment
from heapwright.cli.errors import InputError
from heapwright.cli.explanation import ReportOptions, make_report, read_symbols
from heapwright.explain import holders
from heapwright.model import Filter, SiteOptions, Trace
from heapwright.model.extras import textual
from heapwright.model.session import name_of
from heapwright.terminal import spelling

_EXCLUDED = ("json", "html", "tree", "all_", "brief")
_HELD = ["held"]


def check_browse(given: Mapping[str, Any]) -> None:
    """InputError if the trees cannot be shown here, or with options of what is printed."""
    if not given["browse"]:
        return
    for name in _EXCLUDED:
        if given[name]:
            raise InputError(f"--browse shows trees with keys: omit --{name.rstrip('_')}")
    if given["question"] and list(given["question"]) != _HELD:
        raise InputError("--browse shows calls, or with --question held who holds what: omit other questions")
    if not (sys.stdin.isatty() and sys.stdout.isatty() and spelling.shows_unicode(sys.stdout)):
        raise InputError("--browse needs a terminal that shows Unicode; --tree callers prints a tree")
    textual()


def browse(trace: Trace, chosen: Filter, sites: SiteOptions, wanted: ReportOptions) -> None:
    """Reads the trace, then shows its trees until the user quits."""
    read_symbols(trace, chosen, sites)
    report = make_report(trace, trace.begin_facts(chosen, sites), chosen, sites, wanted)
    from heapwright.browse.room import Room  # an extra
    from heapwright.browse.trees import SpanError
    from heapwright.explain.browsed import CallTrees
    from heapwright.explain.browsed_holders import HolderTrees

    if list(wanted.questions) == _HELD:
        if reason := holders.not_known(trace):
            raise InputError(f"who holds what is not known: {reason}")
        Room(HolderTrees(report, name_of(trace))).run()
        return

    def within(span: str) -> CallTrees:
        try:
            part = _within(trace, chosen, span)
        except InputError as error:
            raise SpanError(str(error)) from None
        found = make_report(trace, trace.begin_facts(part, sites), part, sites, wanted)
        return CallTrees(found, name_of(trace), trace.metadata.durations_recorded)

    Room(CallTrees(report, name_of(trace), trace.metadata.durations_recorded), within).run()


def _within(trace: Trace, chosen: Filter, span: str) -> Filter:
    """The filter with other times. span: "" = those of the options."""
    if not span:
        return chosen
    texts = span.split()
    if len(texts) > 2:
        raise InputError(f"'{span}' is not a time, or two: 2s 5s")
    times_ns = [parse_moment("a time", text) for text in texts]
    times = make_filter(trace, times_ns[0], times_ns[1] if len(times_ns) > 1 else None)
    return chosen._replace(from_ns=times.from_ns, to_ns=times.to_ns)
