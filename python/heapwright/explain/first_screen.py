# SPDX-License-Identifier: MIT
"""The summary for people: one screen."""

from __future__ import annotations

from collections import Counter

from heapwright.explain import allocator_shares, coverage, estimates, page_faults
from heapwright.explain.report import Answer, base_in_words
from heapwright.model.wholeness import forgotten_in_words
from heapwright.report import units, widgets

_MOST_UNRECORDED = 5


def show(answer: Answer) -> widgets.RenderableType:
    """One screen."""
    return widgets.Group(
        headline(answer), *warnings(answer), widgets.Text(), figures(answer), *findings(answer)
    )


def show_heading(answer: Answer) -> widgets.Group:
    """What ran, and whether the recording is complete."""
    return widgets.Group(headline(answer), *warnings(answer))


def headline(answer: Answer) -> widgets.Text:
    """What ran, in one line."""
    line = widgets.Text(answer["command"] or answer["program"], style="bold")
    line.append(
        f"   process {answer['process_id']}, {units.duration(answer['duration_ns'])}, "
        f"{units.counted(answer['threads'], 'thread')}, "
        f"{answer['allocator'] or 'allocator unknown'}, "
        f"{answer['end']['text']}",
        style="not bold",
    )
    return line


def warnings(answer: Answer) -> list[widgets.Text]:
    """Whether the recording is complete, and what limits its figures."""
    lines = []
    completeness = answer["completeness"]
    if completeness["is_complete"]:
        style = "green" if completeness["covers_whole_run"] else "yellow"
        lines.append(
            widgets.Text(coverage.sentence(completeness, answer["end"], _which_calls(answer)), style=style)
        )
    else:
        reasons = "; ".join(completeness["reasons"]) or "reason unknown"
        lines.append(widgets.Text(f"INCOMPLETE RECORDING: {reasons}", style="bold red"))
        if not completeness["covers_whole_run"]:
            lines.append(
                widgets.Text(
                    coverage.sentence(completeness, answer["end"], _which_calls(answer)), style="yellow"
                )
            )
    lines += [widgets.Text(line, style="yellow") for line in completeness["cut_stacks"]]
    if not completeness["covers_whole_run"]:
        consequence = coverage.consequence(completeness, answer["end"], answer["forgotten_before_ns"])
        known = (consequence, forgotten_in_words(answer["forgotten_before_ns"]))
        lines += [widgets.Text(line, style="yellow") for line in known if line]
    if answer["is_filtered"]:
        lines.append(widgets.Text("filtered: the figures cover only the selected part", style="yellow"))
    if answer["sample_mean_bytes"]:
        mean = units.size(answer["sample_mean_bytes"])
        lines.append(
            widgets.Text(
                f"sampled, one in {mean} allocated: counts and bytes are estimates with 95 % intervals",
                style="yellow",
            )
        )
    lines += [widgets.Text(note, style="yellow") for note in answer["notes"]]
    lines += [widgets.Text(line, style="yellow") for line in about_processes(answer)]
    return lines


def about_processes(answer: Answer) -> list[str]:
    """The child processes, and which of them were not recorded."""
    lines = []
    if answer["is_fork_child"]:
        lines.append(f"forked from process {answer['parent_process_id']}: blocks from before are inherited")
    groups = Counter((process["program"], process["reason"]) for process in answer["unrecorded_processes"])
    for (program, reason), number in groups.most_common(_MOST_UNRECORDED):
        was = "was" if number == 1 else "were"
        name = f"{program}: " if program else ""
        lines.append(f"{units.counted(number, 'process', 'processes')} {was} not recorded: {name}{reason}")
    rest = sum(groups.values()) - sum(number for _, number in groups.most_common(_MOST_UNRECORDED))
    if rest:
        lines.append(f"{units.counted(rest, 'other process', 'other processes')} not recorded either")
    alone = answer["children_left_alone"]
    if alone:
        lines.append(
            f"{units.counted(alone, 'child process', 'child processes')} not recorded"
            " (--children records them)"
        )
    return lines


# Present on every machine; other values show that something was set.
_USUAL_CONDITIONS = (
    "beside",
    "kernel_events",
    "kernel_events_lost",
    "runtime",
    "cpus",
    "architecture",
    "kernel",
    "machine_memory_bytes",
    "transparent_huge_pages",
    "overcommit_memory",
    "stack_limit_bytes",
)


def conditions_in_words(conditions: list[Answer]) -> list[str]:
    """Conditions as NAME=VALUE, bytes with their unit; attaching is reported elsewhere."""
    return [
        f"{one['name'].removesuffix('_bytes')}={units.size(int(one['value']))}"
        if one["name"].endswith("_bytes") and one["value"].isdecimal()
        else f"{one['name']}={one['value']}"
        for one in conditions
        if one["name"] not in ("attached", "patched", "beside")
    ]


def _settings(answer: Answer) -> list[str]:
    if any(one["name"] == "environment" for one in answer["conditions"]):
        return ["unknown: the environment could not be read"]
    return conditions_in_words([one for one in answer["conditions"] if one["name"] not in _USUAL_CONDITIONS])


def _which_calls(answer: Answer) -> str:
    calls = "every sampled call" if answer["sample_mean_bytes"] else "every call"
    return f"{calls} except as noted below" if answer["notes"] else calls


def figures(answer: Answer, is_brief: bool = False) -> widgets.Pairs:
    """The run's sums; is_brief: without those that a line of each question has."""
    if answer["sample_mean_bytes"]:
        sampled = estimates.figures(answer, coverage.when(answer["live_at"]))
        if settings := _settings(answer):
            sampled.append(("settings", widgets.Text(", ".join(settings))))
        if answer["contexts"]:
            sampled.append(("contexts", widgets.Text(_contexts(answer))))
        if odd := _oddities(answer["totals"]):
            sampled.append(("also seen", widgets.Text(", ".join(odd))))
        return widgets.Pairs(sampled, style="bold")
    totals, peak = answer["totals"], answer["peak"]
    rows: list[tuple[str, widgets.Text]] = []

    def row(name: str, text: str) -> None:
        rows.append((name, widgets.Text(text)))

    at = units.percent(peak["time_ns"], max(answer["duration_ns"], peak["time_ns"]))
    row(
        "peak",
        f"{units.size(peak['live_bytes'])} in {units.counted(peak['live_blocks'], 'block')} "
        f"({units.size(peak['live_usable_bytes'])} usable), "
        f"{units.duration(peak['time_ns'])} into the run ({at})",
    )
    if answer["allocators"]:
        row("of the peak", allocator_shares.in_words(answer["allocators"]))
    live_blocks = units.counted(answer["live_at_end_blocks"], "block")
    row(
        f"live {coverage.when(answer['live_at'])}",
        f"{units.size(answer['live_at_end_bytes'])} in {live_blocks}",
    )
    if not is_brief:
        row("calls", _calls(answer))
    row("allocator", _allocator(answer, is_brief))
    if answer["page_faults"]["minor_faults"] and not is_brief:
        row("page faults", page_faults.in_words(answer["page_faults"]))
    if settings := _settings(answer):
        row("settings", ", ".join(settings))
    if answer["contexts"]:
        row("contexts", _contexts(answer))
    odd = _oddities(totals)
    if odd:
        row("also seen", ", ".join(odd))
    return widgets.Pairs(rows, style="bold")


def _contexts(answer: Answer) -> str:
    return f"{units.count(answer['contexts'])} that the program named: --by context groups by them"


def _calls(answer: Answer) -> str:
    totals, temporaries = answer["totals"], answer["temporaries"]
    return (
        f"{units.counted(totals['allocations'], 'allocation')} of {units.size(totals['requested_bytes'])}, "
        f"{units.counted(totals['releases'], 'free')}, {units.counted(totals['reallocs'], 'realloc')}, "
        f"{units.counted(temporaries, 'temporary', 'temporaries')} "
        f"({units.percent(temporaries, max(totals['allocations'], temporaries))})"
    )


def _allocator(answer: Answer, is_brief: bool) -> str:
    if not answer["durations_recorded"]:
        return "times were not recorded (--no-durations)"
    text = (
        f"{units.duration(answer['totals']['allocator_ns'])}, "
        f"{units.percent(answer['allocator_share'], 1)} of {base_in_words(answer)}"
    )
    if doubtful_ns := answer["doubtful_ns"]:
        text = (
            f"at least {text} ({units.duration(doubtful_ns)} more may be waits: the kernel dropped records)"
        )
    for name, key in () if is_brief else (("allocate", "allocation_latency"), ("free", "release_latency")):
        latency = answer[key]
        if latency["calls"]:
            text += (
                f"; {name} p50 {units.duration(latency['p50_ns'])}, p99 {units.duration(latency['p99_ns'])}"
            )
            text += f", max {units.duration(latency['max_ns'])}"
    return text


def _oddities(totals: Answer) -> list[str]:
    wording = (
        ("failed", "failed allocation", "failed allocations"),
        ("zero_size", "allocation of 0 bytes", "allocations of 0 bytes"),
        ("null_frees", "free of NULL", "frees of NULL"),
        (
            "inherited_releases",
            "free of an inherited block (from before the fork)",
            "frees of inherited blocks (from before the fork)",
        ),
        ("unknown_releases", "free of a block not in the trace", "frees of blocks not in the trace"),
        (
            "releases_from_before",
            "free of a block from before the window (or from a pause)",
            "frees of blocks from before the window (or from a pause)",
        ),
        (
            "releases_in_pauses",
            "block freed while recording was paused",
            "blocks freed while recording was paused",
        ),
        (
            "reused_live_addresses",
            "address handed out twice (a free was missed)",
            "addresses handed out twice (a free was missed)",
        ),
        ("size_mismatches", "sized free with the wrong size", "sized frees with the wrong size"),
    )
    odd = [units.counted(totals[key], one, many) for key, one, many in wording if totals[key]]
    if totals["mapped_bytes"]:
        odd.append(f"{units.size(totals['mapped_bytes'])} mapped by the program itself")
    return odd


def findings(answer: Answer) -> list[widgets.RenderableType]:
    """What stands out; nothing without findings."""
    if not answer["findings"]:
        return []
    rows = []
    for finding in answer["findings"]:
        line = widgets.Text(finding["text"])
        if finding["parts"]:
            line.append(f"; parts: {', '.join(finding['parts'])}")
        line.append(f"   [{finding['question']}]", style="dim")
        rows.append(("  •", line))
        if finding["naming"]:
            rows.append(("", widgets.Text(finding["naming"], style="yellow")))
    found: list[widgets.RenderableType] = [widgets.Text(), widgets.Text("What stands out", style="bold")]
    found.append(widgets.Pairs(rows, gap=1))
    if answer["not_checked"]:
        why = f"gains are bounds, not checked by a replay: {answer['not_checked']}"
        found.append(widgets.Text(why, style="dim"))
    return found
