# SPDX-License-Identifier: MIT
"""Fast path for `heapwright explain FILE`, with or without --json.

Importing the option declarations takes longer than reading a short trace, so
the commonest command does without them. It imports modules while symbols and
calls are read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence


def try_quick_explain(arguments: Sequence[str]) -> bool:
    """Does nothing and returns False for any other arguments or if there is no such file."""
    files = [argument for argument in arguments[1:] if argument != "--json"]
    if arguments[:1] != ["explain"] or len(files) != 1 or len(arguments) > 3 or files[0].startswith("-"):
        return False
    if files[0].endswith(".session.json"):
        return False
    if not os.path.isfile(files[0]):  # noqa: PTH113 (importing pathlib takes longer than a short trace)
        return False
    _explain(files[0], as_json=len(arguments) == 3)
    return True


def _explain(file: str, as_json: bool) -> None:
    from heapwright.model.reading import Reading

    reading = Reading(file)
    reading.begin_symbols()
    from heapwright.cli.progress import progress
    from heapwright.model.sites import SiteOptions
    from heapwright.model.trace import Filter, Trace

    trace = Trace(file, reading=reading)
    with progress("reading symbols") as report:
        trace.symbols(report)
    chosen, sites = Filter(), SiteOptions()
    facts = trace.begin_facts(chosen, sites)
    from heapwright.cli import explanation

    wanted = explanation.ReportOptions(as_json=as_json, is_screen=not as_json)
    explanation.explain_facts(trace, facts, chosen, sites, wanted)
