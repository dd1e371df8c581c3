# SPDX-License-Identifier: MIT
"""`heapwright explain FILE`, with or without --json, at once.

Importing what declares the options takes longer than reading a short trace,
so the commonest command does without. What is imported comes in the order of
its need: while symbols are read and while calls are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence


def try_quick_explain(arguments: Sequence[str]) -> bool:
    """False, and nothing is done, when the arguments are any others or the file is none."""
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

    explanation.explain_facts(trace, facts, chosen, sites, explanation.ReportOptions(as_json=as_json))
    if not as_json:
        from pathlib import Path

        explanation.hint_query(Path(file))
