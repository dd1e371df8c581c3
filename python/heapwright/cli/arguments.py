# SPDX-License-Identifier: MIT
"""Parses what users type: times, sizes, threads, patterns, names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heapwright.cli.errors import InputError
from heapwright.model import NO_LIMIT, Filter, SiteOptions, Trace
from heapwright.report import units

if TYPE_CHECKING:
    from pathlib import Path

_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TIMES = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "": 10**9}
_TIMES |= {"min": 60 * 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_TIME = r"(\d+(?:\.\d+)?|\.\d+)\s*(ns|us|µs|ms|s|min|m|h|(?=\s*$))"


def parse_size(option: str, text: str) -> int:
    """4096, 4k, 1.5M, 10MB, 2GiB; a kilobyte is 1024 bytes however it is written."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*([kmgt]?)(?:i?b)?", text.strip(), re.IGNORECASE)
    if not found:
        raise InputError(f"{option} takes a number of bytes such as 4096, 64k or 2M, not '{text}'")
    return min(int(float(found[1]) * _SIZES[found[2].lower()]), NO_LIMIT)


def parse_time(option: str, text: str) -> int:
    """Nanoseconds from seconds, or from numbers with ns, us, ms, s, m, min or h, as printed: 2 min 5 s."""
    if not re.fullmatch(rf"(?:{_TIME}\s*)+", text.strip()):
        raise InputError(f"{option} takes a time such as 2.5s, 300ms or 10m, not '{text}'")
    total = sum(float(number) * _TIMES[unit] for number, unit in re.findall(_TIME, text.strip()))
    return min(int(total), NO_LIMIT)


def parse_moment(option: str, text: str) -> int:
    """As parse_time. A negative time (-30s) counts back from the recording's end."""
    return -parse_time(option, text[1:]) if text.startswith("-") else parse_time(option, text)


def checked_pattern(option: str, text: str) -> str:
    """The text as a regular expression; InputError if it is not valid."""
    try:
        re.compile(text)
    except re.error as error:
        raise InputError(f"{option} takes a regular expression; '{text}' is not valid: {error}") from None
    return text


def check_answered(trace: Trace, measure: str) -> None:
    """Refuses a measure that the recording does not have; measure: its name in exports and trees, or ""."""
    from heapwright.explain import QUESTIONS  # imported only when needed

    for question in QUESTIONS if trace.metadata.sample_mean_bytes else ():
        if question.name == measure and question.unsampled:
            raise InputError(f"{measure}: not available from samples: {question.unsampled}")
    if measure == "time" and not trace.metadata.durations_recorded:
        raise InputError("time was not recorded (--no-durations)")


def one_of(what: str, text: str, names: Iterable[str]) -> str:
    """The name, or an error that suggests the nearest one."""
    known = list(names)
    if text in known:
        return text
    import difflib  # only for error messages

    near = difflib.get_close_matches(text, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
    raise InputError(f"unknown {what} {text}; {hint}")


def find_threads(trace: Trace, wanted: Sequence[str]) -> tuple[int, ...]:
    """Threads by number (#3 or 3), kernel id, name, or both as they are printed (main #0)."""
    found: list[int] = []
    for text in wanted:
        number = text.removeprefix("#")
        same = [
            thread.index
            for thread in trace.threads
            if number == str(thread.index)
            or text in (str(thread.thread_id), thread.name, f"{thread.name} #{thread.index}")
        ]
        if not same:
            names = sorted({thread.name for thread in trace.threads})
            raise InputError(
                f"--thread {text} matches none of the {len(trace.threads)} threads; "
                f"use a number from heapwright info, or a name ({', '.join(names[:5])})"
            )
        found += same
    return tuple(dict.fromkeys(found))


def check_contexts(trace: Trace, wanted: Sequence[str]) -> None:
    """InputError: the program named none of this name. Reads the trace's symbols."""
    known = trace.contexts() if wanted else []
    if wanted and not known:
        raise InputError(
            f"--context {wanted[0]}: the program named no context (heapwright/annotate.h), "
            "or its recorder was attached"
        )
    for name in wanted:
        if name not in known:
            import difflib  # only for error messages

            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else "explain --by context lists them"
            raise InputError(f"--context {name} matches none of the {len(known) - 1} contexts; {hint}")


def since_start(trace: Trace, moment_ns: int) -> int:
    """What parse_moment read, in nanoseconds since the recording's start."""
    return moment_ns if moment_ns >= 0 else max(0, trace.end.time_ns + moment_ns)


def make_filter(
    trace: Trace,
    from_: int | None = None,
    until: int | None = None,
    thread: Sequence[str] | None = None,
    min_block: int | None = None,
    max_block: int | None = None,
    site: str = "",
    library: str = "",
    through: str = "",
    contexts: Sequence[str] | None = None,
) -> Filter:
    """Builds a filter from the options; None or "" = not given."""
    chosen = Filter(
        from_ns=since_start(trace, from_ or 0),
        to_ns=NO_LIMIT if until is None else since_start(trace, until),
        min_size_bytes=min_block or 0,
        max_size_bytes=NO_LIMIT if max_block is None else max_block,
        threads=find_threads(trace, thread or ()),
        site=checked_pattern("--site", site),
        library=checked_pattern("--library", library),
        through=checked_pattern("--through", through),
        contexts=tuple(contexts or ()),
    )
    if chosen.from_ns >= chosen.to_ns:
        raise InputError("--from must be before --until")
    if from_ and 0 < trace.end.time_ns < chosen.from_ns:
        begin, end = units.duration(chosen.from_ns), units.duration(trace.end.time_ns)
        raise InputError(f"--from {begin} is after the recording's end, which is {end} after its start")
    if chosen.min_size_bytes > chosen.max_size_bytes:
        raise InputError("--min-block must not exceed --max-block")
    return chosen


# Questions whose rows may stand for types or contexts: they say nothing of code.
_OF_ANY = ("peak", "leaks", "volume", "calls", "temporaries", "time", "lifetimes", "overhead")
_SHOWN = {
    "type": ("peak", "leaks", "volume", "temporaries"),
    "context": ("peak", "volume", "time", "leaks"),
}
_NOT_OF_ANY = ("html", "browse", "tree", "brief", "full_stacks", "check")


def questions_by(by: str, given: Mapping[str, Any], questions: Sequence[str]) -> Sequence[str]:
    """The questions to show for --by; given: the other options. InputError: they do not fit."""
    if by not in ("site", *_SHOWN):
        raise InputError(f"--by takes site, type or context, not '{by}'")
    if by == "site":
        return questions
    for name in _NOT_OF_ANY:
        if given[name]:
            raise InputError(f"--by {by} prints tables: omit --{name.replace('_', '-')}")
    for name in questions:
        if name not in _OF_ANY:
            raise InputError(f"--by {by} is for the questions {', '.join(_OF_ANY)}: omit {name}")
    return questions or _SHOWN[by]


def make_site_options(
    depth: int, full_stacks: bool, skip: Sequence[str] | None, by: str = "site"
) -> SiteOptions:
    """Checks the grouping options."""
    if depth < 1:
        raise InputError("--site-depth takes a number of at least 1")
    return SiteOptions(
        depth,
        full_stacks,
        tuple(checked_pattern("--skip", pattern) for pattern in skip or ()),
        by_type=by == "type",
        by_context=by == "context",
    )


_MOST_NAMED = 3


def _about_session(path: Path) -> str:
    """The error for a folder or session file; names its traces with the most calls."""
    from heapwright.model import session  # rarely needed

    try:
        traces = session.open_session(path).traces
    except session.SessionError as error:
        if path.is_dir():
            return f"{path} is a folder without traces; name a trace file"
        return str(error)
    traces.sort(key=lambda trace: -trace.event_count)
    named = ", ".join(f"{trace.path} ({session.name_of(trace)})" for trace in traces[:_MOST_NAMED])
    more = f" or one of {len(traces) - _MOST_NAMED} more" if len(traces) > _MOST_NAMED else ""
    has = f"{len(traces)} trace{'s' * (len(traces) > 1)}"
    return f"{path} holds {has}, but this command takes one: {named}{more}"


def open_trace(file: Path, debug_root: Path | None = None, option: str = "--debug-root") -> Trace:
    """Opens a trace; raises TraceError or InputError."""
    if not file.exists():
        raise InputError(f"no such file: {file}; heapwright record writes one")
    if file.is_dir() or file.suffix == ".json":
        raise InputError(_about_session(file))
    if debug_root is not None and not debug_root.is_dir():
        raise InputError(f"{option} {debug_root} is not a folder")
    return Trace(file, debug_root or "")
