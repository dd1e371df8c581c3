# SPDX-License-Identifier: MIT
"""docs/performance.md, of recorder.json, analysis*.json and trace-columns.json in bench/results; the cost of
refaults."""

from typing import Any

import documents
from documents import span_of
from heapwright.report import markdown, units
from taken import Figure, as_is, fields, grouped

ours = ["heapwright", "heapwright --no-durations", "heapwright --free-stacks"]

Runs = dict[str, dict[str, dict[str, Any]]]  # by workload and variant: the fields' figures


def median(runs: Runs, workload: str, variant: str, field: str) -> float | None:
    found = runs.get(workload, {}).get(variant, {}).get(field)
    return found["median"] if found else None


def added_per_pair(runs: Runs, workload: str, variant: str) -> float:
    alone = median(runs, workload, "alone", "ns_per_pair")
    recorded = median(runs, workload, variant, "ns_per_pair")
    assert alone is not None and recorded is not None
    return recorded - alone


def answer(results: dict[str, Any]) -> str:
    """The page in two sentences."""
    runs, workloads = results["runs"], results["workloads"]
    pair = next(name for name, facts in workloads.items() if facts["pairs"])
    added = [added_per_pair(runs, pair, variant) for variant in ("heapwright", "heaptrack")]
    slower: dict[str, list[float]] = {"heapwright": [], "heaptrack": []}
    for name in (name for name, facts in workloads.items() if not facts["pairs"]):
        of = runs[name]
        for variant, found in slower.items():
            found.append(of[variant]["wall_s"]["median"] / of["alone"]["wall_s"]["median"])
    ranges = [f"{min(found):.2f} to {max(found):.2f}" for found in slower.values()]
    return (
        f"Recording adds {added[0]:.1f} ns to a malloc and its free (heaptrack: {added[1]:.1f} ns). "
        f"Real programs take {ranges[0]} times as long (heaptrack: {ranges[1]})."
    )


def pair_tables(results: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for name, facts in results["workloads"].items():
        if not facts["pairs"]:
            continue
        runs = results["runs"]
        theirs = added_per_pair(runs, name, "heaptrack")
        rows = [["alone", span_of(runs[name]["alone"]["ns_per_pair"], 1), "", "", ""]]
        for variant in ["heaptrack", *ours]:
            added = added_per_pair(runs, name, variant)
            recorded = median(runs, name, variant, "ns_per_pair")
            assert recorded is not None
            million_events = 2e3 / recorded
            measured = span_of(runs[name][variant]["ns_per_pair"], 1)
            rows.append([variant, measured, f"{added:.1f}", f"{added / theirs:.2f}", f"{million_events:.1f}"])
        lines += [f"### {name}: {facts['what']}", ""]
        lines += markdown.table(
            ["", "ns per pair", "added ns", "added, of heaptrack's", "million events/s"], rows
        )
    return lines


def program_table(results: dict[str, Any]) -> list[str]:
    runs = results["runs"]
    rows = []
    for name, facts in results["workloads"].items():
        if facts["pairs"]:
            continue
        alone = runs[name]["alone"]["wall_s"]
        row = [f"{name}: {facts['what']}", span_of(alone, 2)]
        for variant in ["heaptrack", *ours]:
            found = runs[name][variant]["wall_s"]
            row.append(f"{span_of(found, 2)}, × {found['median'] / alone['median']:.2f}")
        rows.append(row)
    return markdown.table(["wall seconds", "alone", "heaptrack", *ours], rows)


def size_table(results: dict[str, Any]) -> list[str]:
    runs = results["runs"]
    rows = []
    for name in results["workloads"]:
        row = [name]
        for variant in ["heapwright", "heaptrack"]:
            file_bytes = median(runs, name, variant, "file_bytes")
            events = median(runs, name, variant, "events")
            row += [f"{events:,.0f}", f"{file_bytes / events:.2f}"] if file_bytes and events else ["", ""]
        rows.append(row)
    head = ["", "events", "bytes per event", "heaptrack's events", "heaptrack's bytes per event"]
    return markdown.table(head, rows)


reading_tools = ["heapwright", "heaptrack_print", "heaptrack_interpret and _print"]


def analysis_table(analysis: dict[str, Any]) -> list[str]:
    by_length = sorted(analysis["runs"].items(), key=length_of)
    cases = [case for _, by_workload in by_length for case in sorted(by_workload.items())]
    rows = []
    for workload, of in cases:
        millions = [of[tool]["events"]["median"] / 1e6 for tool in reading_tools]
        times = [of[tool]["wall_s"] for tool in reading_tools]
        rates = [million / time["median"] for million, time in zip(millions, times, strict=True)]
        shown = zip(times, rates, strict=True)
        cells = [f"{millions[0]:.1f}", *(f"{span_of(time, 2)} s, {rate:.1f} M/s" for time, rate in shown)]
        rows.append([workload, *cells, f"{rates[0] / rates[1]:.1f}", f"{rates[0] / rates[2]:.1f}"])
    head = ["", "million events", "heapwright explain --json", *reading_tools[1:]]
    return markdown.table([*head, "rate, times _print's", "times both's"], rows)


def length_of(by_length: tuple[str, Any]) -> int:
    """How many times as long as the shortest it ran."""
    return int(by_length[0])


def rate_table(analysis: dict[str, Any]) -> list[str]:
    """Events per second between the short and the long recording, without what starts and ends a command."""
    by_length = sorted(analysis["runs"].items(), key=length_of)
    short, long = by_length[0][1], by_length[-1][1]
    rows = []
    for workload, of_short in sorted(short.items()):
        rates = []
        for tool in reading_tools:
            first, second = of_short[tool], long[workload][tool]
            events, seconds = (second[x]["median"] - first[x]["median"] for x in ("events", "wall_s"))
            rates.append(events / 1e6 / seconds)
        ratios = [f"{rates[0] / rate:.1f}" for rate in rates[1:]]
        rows.append([workload, *(f"{rate:.1f} M/s" for rate in rates), *ratios])
    return markdown.table(["", *reading_tools, "times _print's", "times both's"], rows)


def analysis_section(analysis: dict[str, Any]) -> list[str]:
    longest, by_workload = max(analysis["runs"].items(), key=length_of)
    rounds = next(iter(by_workload.values()))["heapwright"]["wall_s"]["runs"]
    return [
        "## Speed of the analysis",
        "",
        "Times are of whole commands, from start to prompt, including Python's start, symbols and printing.",
        "heaptrack_print reads what heaptrack_interpret has paired and looked up before; the last column",
        "includes both steps, since `heapwright explain` does both. The same programs were recorded",
        f"once as above and once running {longest} times as long; {rounds} rounds",
        f"in turn, medians with the lowest and highest in brackets (measured {analysis['measured']} at "
        f"revision {analysis['machine']['revision']} on {analysis['machine']['processor']}, "
        f"load before {analysis['load_before']:.1f}).",
        "",
        *analysis_table(analysis),
        "The rate alone, from the difference between the long and the short recordings:",
        "",
        *rate_table(analysis),
    ]


def large_section(large: dict[str, Any]) -> list[str]:
    million, seconds = large["events"] / 1e6, large["wall_s"]
    peak_mib = large["peak_resident_bytes"] / 2**20
    return [
        f"A synthetic trace of {large['file_bytes'] / 1e9:.2f} GB, {million:,.0f} million events, up to",
        f"2 million live blocks: {seconds:.0f} s, {million / seconds:.1f} million events/s,",
        f"at most {peak_mib:.0f} MiB resident (revision {large['machine']['revision']}, "
        f"load before {large['load_before']:.1f}).",
    ]


def columns_section(columns: dict[str, Any]) -> list[str]:
    traces = columns["traces"]
    names = {name: "the synthetic mix" if name == "mix" else name for name in traces}
    rows = [
        [group, *(f"{of['bytes'][group] / of['events']:.2f}" for of in traces.values())]
        for group in next(iter(traces.values()))["bytes"]
    ]
    sums = [f"{sum(of['bytes'].values()) / of['events']:.2f}" for of in traces.values()]
    return [
        "The parts of an event, in bytes per event (`bench/recorder/trace_columns.py`). *Which block*: the",
        "block that a free or realloc names. *New address*: mainly of blocks at an address where none of",
        "their size was just freed. The synthetic mix is the trace that reading is timed with below: the",
        "next site, the freed one of 2 million blocks, and the sizes of a third of the sites are random and",
        "cannot be compressed.",
        "",
        *markdown.table(["", *names.values()], [*rows, ["all", *sums]]),
    ]


def render() -> str:
    results = documents.read("recorder")
    others = ("analysis", "analysis-large", "trace-columns")
    analysis, large, columns = map(documents.read_if_there, others)
    machine = results["machine"]
    rounds = next(iter(results["runs"].values()))["alone"]["wall_s"]["runs"]
    lines = [
        "# Performance of the recorder",
        "",
        answer(results),
        "",
        "Made by `bench/render.py` from `bench/results/recorder.json` and "
        "`bench/results/analysis.json`; `make bench` measures again.",
        "",
        "<!-- figures: bench/results/recorder.json -->",
        *(["<!-- figures: bench/results/analysis.json -->"] if analysis else []),
        *(["<!-- figures: bench/results/analysis-large.json -->"] if large else []),
        *(["<!-- figures: bench/results/trace-columns.json -->"] if columns else []),
        "",
        documents.said(found for found in (results, analysis, large, columns) if found),
        "",
        f"Measured {results['measured']} at revision {machine['revision']} on {machine['processor']}, "
        f"{machine['cores']} cores, Linux {machine['kernel']}, {machine['libc']}, {machine['heaptrack']}. "
        f"{rounds} rounds in which the variants alternate; medians, with the lowest and highest in brackets. "
        f"The load before was {results['load_before']:.1f}.",
        "",
        "## Cost per call",
        "",
        "The program measures itself, from its first pair to its last. Every call is recorded with stack,",
        "time, thread and, unless switched off, duration.",
        "",
        *pair_tables(results),
        "## Slowdown of programs",
        "",
        "Wall time of the whole command, from its start to the prompt, including writing the trace and",
        "heaptrack's interpretation. The exception is cc1plus, whose file heaptrack 1.4.0 cannot interpret:",
        "there it only records (`--raw`).",
        "",
        *program_table(results),
        "## Size on disk",
        "",
        "An event is one call. heaptrack counts a realloc as two and stores neither times nor threads.",
        "",
        *size_table(results),
        *(columns_section(columns) if columns else []),
        *(analysis_section(analysis) if analysis else []),
        *(large_section(large) if large else []),
    ]
    return "\n".join(lines).rstrip() + "\n"


def held(found: list[dict[str, Any]]) -> dict[str, Figure]:
    """Of the figures of bench/recorder/intervals.py: how often their intervals held the truth, and the sum
    of the estimates, from which the bias follows.
    """
    return {of["name"]: held_of(of["rows"], of["truth"]) for of in found}


def held_of(rows: list[list[int]], truth: int) -> Figure:
    hits = sum(low <= truth <= high for _, low, high in rows)
    estimates = sum(value for value, _, _ in rows)
    return Figure({"truth": truth, "seen": len(rows), "held": hits, "estimate_sum": estimates})


by_variant = fields({"runs": grouped("workload", "variant")})
TAKEN = {
    "recorder": by_variant,
    "kernel-events": by_variant,
    "analysis": fields({"runs": grouped("length", "workload", "tool")}),
    "analysis-large": as_is,
    "trace-columns": as_is,
    "intervals": fields({"figures": held}),
    "refaults": fields({"runs": grouped("program")}),
}


def refaults() -> str:
    """What refaults cost a recording."""
    document = documents.read("refaults")
    ((program, of),) = document["runs"].items()
    own, whole = of["refaults"], of["collector"]
    share, most, collector = (units.percent(one) for one in (own["median"], own["high"], whole["median"]))
    faults = units.count(480 * document["messages"])
    return "\n".join(
        [
            documents.figures_of("refaults"),
            "",
            f"`bench/recorder/refaults.py` samples {own['runs']} recordings of `{program}`, each of {faults} "
            f"page faults, with perf. Storing refaults takes {share} of a recording's CPU time (at most "
            f"{most}), the collector as a whole {collector}; the limit is 2 %. The load average was "
            f"{document['load_before']:.1f} at the start. {documents.said([document])}",
        ]
    )


BLOCKS = [
    documents.whole("docs/performance.md", render),
    documents.marked("docs/decisions/0024-refaults.md", "refaults", refaults),
]
