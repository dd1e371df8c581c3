# SPDX-License-Identifier: MIT
"""Reads a trace and prints what its heap cost, for `heapwright explain` and `run`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from heapwright import explain as explaining
from heapwright.cli.arguments import check_answered, check_contexts, one_of, since_start
from heapwright.cli.errors import InputError
from heapwright.cli.output import hint, make_console, print_json
from heapwright.cli.progress import progress
from heapwright.explain import over_time, screen, tree
from heapwright.explain.replayed import ReplayedFigure
from heapwright.explain.report import Answer
from heapwright.model import Filter, SiteOptions, Trace
from heapwright.model.selectors import listed, selected
from heapwright.model.trace import NO_LIMIT, FactsReading
from heapwright.report import units

if TYPE_CHECKING:
    from pathlib import Path


class ReportOptions(NamedTuple):
    """Options of the explanation."""

    top: int = 10
    questions: tuple[str, ...] = explaining.NAMES
    as_json: bool = False
    wide: bool = False
    tree: tree.Wanted | None = None
    suppressions: tuple[str, ...] = ()
    limit_bytes: int = 0
    at_ns: int = NO_LIMIT
    over_time: bool = False
    replayed: Mapping[str, Sequence[ReplayedFigure]] = {}
    brief: bool = False
    is_screen: bool = False  # what fits a screen, as text
    screen_rows: int | None = None  # of its tables; None: as many as fit
    hints: bool = True  # what to type next
    is_checked: bool | None = None  # None: for text alone

    @property
    def is_judged(self) -> bool:
        """Whether a replay tries the remedies."""
        is_text = not self.as_json and (self.tree is None or bool(self.questions))
        return is_text if self.is_checked is None else self.is_checked


def next_command(
    document: Answer, wanted: ReportOptions, largest_at: Callable[[str], int] = lambda _: 0
) -> str:
    """What to type after an explanation: what tells more of its first finding, or tries what it advises.

    largest_at: as largest_bytes() tells.
    """
    file = shlex.quote(document["file"])
    if screen.is_empty(document["summary"]):
        return f"heapwright info {file}"
    asked = screen.first_question(document["summary"]["findings"])
    if (
        wanted.is_screen
        and asked in ("cause", "advice")
        and _is_shown(document["questions"][asked], largest_at)
    ):
        return f"heapwright try {file} -- PROGRAM [ARGUMENTS]"
    if wanted.is_screen:
        return f"heapwright explain {file} {f'--question {asked}' if asked else '--all'}"
    if tried := _untried(document["questions"]):
        return f"heapwright replay {file} {tried}"
    if set(wanted.questions) != set(explaining.NAMES):
        return f"heapwright explain {file} --all"
    return f"heapwright sql {file} 'select * from site order by live_at_peak_bytes desc limit 5'"


def _is_shown(answer: Answer, largest_at: Callable[[str], int]) -> bool:
    """Whether a replay has measured a gain by its first remedy, and try can do it to the program."""
    # JSON does not need it, and loading it takes as long as reading a short trace.
    from heapwright.replay.remedy import of_row, without_source

    rows = [*answer.get("remedies", ()), *answer.get("advice", ())]
    first = next((row for row in rows if row.get("rank", 1) == 1), None)
    if first is None or first["judged"] != "measured":
        return False
    remedy = of_row(first)
    return bool(remedy.text) and without_source(remedy, largest_at) is not None


def largest_bytes(report: explaining.Report, selectors: str) -> int:
    """The size of the largest block that the named sites requested."""
    sites = list(report.trace.sites())
    chosen = [site.number for one in listed(selectors) for site in selected(sites, one)]
    return max((report.facts.site_sizes[number].max_bytes for number in chosen), default=0)


def _untried(questions: Answer) -> str:
    """The arguments of a replay that tries the first remedy of these answers that none has tried."""
    rows = [*questions.get("cause", {}).get("remedies", ()), *questions.get("advice", {}).get("advice", ())]
    for row in rows:
        if row["replayed"] or row.get("helps", "yes") == "no":
            continue
        if row.get("replay_change"):
            return f"--change {shlex.quote(row['replay_change'])}"
        if row["replay_set"]:
            return f"--set {shlex.quote(row['replay_set'])}"
    return ""


def make_report_options(
    top: int | None,
    questions: Sequence[str],
    as_json: bool,
    wide: bool = False,
    shown: tree.Wanted | None = None,
    suppressions: tuple[str, ...] = (),
    limit_bytes: int | None = None,
    at_ns: int | None = None,
    is_whole: bool = False,
) -> ReportOptions:
    """Checks the options. A tree without a question is shown alone; without both, text is one screen."""
    if top is not None and top < 1:
        raise InputError("--top takes a number of at least 1")
    names = tuple(one_of("question", name, explaining.NAMES) for name in questions)
    asked = names or (() if shown else explaining.NAMES)
    if is_whole and (names or shown or as_json):
        raise InputError("--all is the whole report as text; it excludes --question, --tree and --json")
    is_screen = not (is_whole or names or shown or as_json)
    rows = ReportOptions().top if top is None else top
    found = ReportOptions(rows, asked, as_json, wide, shown, suppressions, limit_bytes or 0)
    found = found._replace(is_screen=is_screen, screen_rows=top)
    return found if at_ns is None else found._replace(at_ns=at_ns)


def read_suppressions(file: Path | None) -> tuple[str, ...]:
    """The patterns of a suppression file."""
    if file is None:
        return ()
    from heapwright.model.suppressions import parse

    try:
        return parse(file.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise InputError(f"--suppressions {file}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise InputError(f"--suppressions {file}: {error}") from None


def make_tree(begin: str, measure: str, min_share: str) -> tree.Wanted | None:
    """The requested tree, if any."""
    one_of("measure of --tree", measure, tree.MEASURES)
    try:
        share = float(min_share.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(f"--min-share takes a percentage from 0 to 100, not '{min_share}'")
    return tree.Wanted(measure, one_of("end of --tree", begin, tree.ENDS), share) if begin else None


def explain_trace(trace: Trace, chosen: Filter, sites: SiteOptions, wanted: ReportOptions) -> None:
    """Reads the trace and prints the explanation."""
    check_answered(trace, wanted.tree.measure if wanted.tree else "")
    read_symbols(trace, chosen, sites)
    reading = trace.begin_facts(
        chosen, sites, at_ns=since_start(trace, wanted.at_ns), wants_activity=wanted.over_time
    )
    explain_facts(trace, reading, chosen, sites, wanted)


def read_symbols(trace: Trace, chosen: Filter, sites: SiteOptions) -> None:
    """Reads the facts; InputError if the filter matches no site."""
    with progress("reading symbols") as report:
        trace.symbols(report)
    _check_site_filter(trace, chosen, sites)


def explain_facts(
    trace: Trace, reading: FactsReading, chosen: Filter, sites: SiteOptions, wanted: ReportOptions
) -> None:
    """Prints the explanation of facts being read, and what to type next."""
    answers = make_report(trace, reading, chosen, sites, wanted)
    if wanted.is_judged and chosen.is_everything:
        from heapwright.cli import judge  # the replay's modules are needed only here

        answers = judge.checked(trace, answers)
    show(answers, wanted)


def show(answers: explaining.Report, wanted: ReportOptions) -> None:
    """Prints the explanation in the wanted form, and what to type next."""
    document = explaining.explain(answers, wanted.questions, wanted.tree)
    if wanted.as_json and wanted.over_time:
        document["over_time"] = over_time.answer(answers)
    if wanted.brief:
        from heapwright.explain import brief  # only where it is asked for

        document = brief.shortened(document)
    if wanted.as_json:
        print_json(document)
        return
    if wanted.is_screen:
        explaining.render_screen(document, make_console(wanted.wide), wanted.screen_rows)
    else:
        explaining.render(document, make_console(wanted.wide))
    if wanted.hints:
        hint(next_command(document, wanted, lambda sites: largest_bytes(answers, sites)))


def make_report(
    trace: Trace, reading: FactsReading, chosen: Filter, sites: SiteOptions, wanted: ReportOptions
) -> explaining.Report:
    """The explanation, once the facts are read."""
    with progress("reading calls") as report:
        facts = reading.take(report)
    return explaining.Report(
        trace,
        facts,
        trace.sites(sites).weighed(facts.stacks["allocations"]),
        chosen,
        wanted.top,
        wanted.suppressions,
        wanted.limit_bytes,
        since_start(trace, wanted.at_ns),
        wanted.replayed,
    )


def explain_trace_as_data(
    trace: Trace, question: str, replayed: Mapping[str, Sequence[ReplayedFigure]] = MappingProxyType({})
) -> Answer:
    """One question's answer about the whole recording. replayed: what a replay measured, by change."""
    chosen, sites = Filter(), SiteOptions()
    read_symbols(trace, chosen, sites)
    wanted = ReportOptions(questions=(question,), replayed=replayed)
    report = make_report(trace, trace.begin_facts(chosen, sites), chosen, sites, wanted)
    answer: Answer = explaining.explain(report, wanted.questions)["questions"][question]
    return answer


def _check_site_filter(trace: Trace, chosen: Filter, sites: SiteOptions) -> None:
    check_contexts(trace, chosen.contexts)
    if not chosen.site and not chosen.library and not chosen.through:
        return
    if chosen.through and not any(trace.stacks_chosen(Filter(through=chosen.through), sites)):
        from pathlib import Path  # only for error messages

        raise InputError(
            f"--through {chosen.through} matches no frame of any stack in {Path(trace.path).name}"
        )
    if (chosen.site or chosen.library) and not any(trace.sites_chosen(chosen, sites)):
        from pathlib import Path  # only for error messages

        option = f"--site {chosen.site}" if chosen.site else f"--library {chosen.library}"
        number = units.counted(len(trace.sites(sites)), "call site")
        raise InputError(f"{option} matches none of the {number} in {Path(trace.path).name}")
