# SPDX-License-Identifier: MIT
"""JSON schemas of the output of record, explain of a folder, sql, export, fleet and lab."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from heapwright.explain import processes
from heapwright.measure.statistics import Summary
from heapwright.report.schema import COUNT, Schema, closed, document_of, many, object_of, or_null

_INTEGER: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_ANYTHING: Schema = {}
_SAMPLED = {"sampled": {**_TEXT, "description": "In a sampled recording: what the rows are."}}
_INCOMPLETE = {"incomplete": {**many(_TEXT), "description": "Why calls are missing; absent if none are."}}


def _by_name(item: Schema) -> Schema:
    return {"type": "object", "additionalProperties": item}


def _all(names: str, own: Schema) -> dict[str, Schema]:
    return dict.fromkeys(names.split(), own)


_ENDS = "exited killed replaced size_limit duration_limit write_failed recorder_lost stopped missing".split()
_RECORDED_FILE = closed(
    {
        **_all("path program", _TEXT),
        **_all("process_id parent_process_id", COUNT),
        "is_fork_child": _FLAG,
        **_all("start_ns events dropped threads bytes recorder_peak_bytes duration_ns", COUNT),
        "end": closed({"reason": {"enum": _ENDS}, "status": _INTEGER}),
        "error": {**or_null(_TEXT), "description": "Why the file could not be written; null if it was."},
        **_all("notes unseen", many(_TEXT)),
    }
)
_RECORDING = closed(
    {
        "program": _TEXT,
        "exit_code": _INTEGER,
        "start_unix_ns": COUNT,
        "clock": closed({"source": {"enum": ["tsc", "monotonic"]}, **_all("error_ppm drift_ppm", _NUMBER)}),
        "files": many(_RECORDED_FILE),
        "unrecorded": many(
            closed(
                {
                    "process_id": or_null(COUNT),
                    "parent_process_id": COUNT,
                    **_all("program reason", _TEXT),
                    "made_no_call": _FLAG,
                }
            )
        ),
        **_all("more_unrecorded starts_lost children_left_alone", COUNT),
        "notes": many(_TEXT),
    },
    {
        "attach": {"type": "object", "description": "With --pid: the cost of attaching."},
        "detach": {"type": "object", "description": "With --pid: the cost of detaching."},
    },
)
_RUNS = many(_by_name(_ANYTHING))
_RESULT = closed(
    {
        **_all("allocator failure", _TEXT),
        "runs": {**_RUNS, "description": "Raw figures."},
        "summary": _by_name(closed({field.name: _NUMBER for field in fields(Summary)} | {"rank": COUNT})),
        "series": _by_name(many(_NUMBER)),
    },
    {"control_runs": _RUNS, "control_failure": _TEXT},
)
_CASE = closed(
    {
        "name": _TEXT,
        "x": or_null(_NUMBER),
        "options": _by_name(_TEXT),
        "noise": _by_name(_NUMBER),
        "results": many(_RESULT),
    }
)
_LAB = closed(
    {
        "machine": closed(
            {
                **_all("cpu kernel system libc transparent_huge_pages", _TEXT),
                **_all("cpus memory_bytes", COUNT),
                "is_virtual": _FLAG,
                "load_average": _NUMBER,
            }
        ),
        "seed": _INTEGER,
        "scale": _NUMBER,
        "parameters": _ANYTHING,
        "pinned_to": _ANYTHING,
        "allocators": many(closed(_all("name version path", _TEXT))),
        "missing": many(closed(_all("name brought_by", _TEXT))),
        "experiments": many(
            closed(
                {
                    "name": _TEXT,
                    "parts": many(
                        closed({"name": _TEXT, "runs": COUNT, "folds": _FLAG, "cases": many(_CASE)})
                    ),
                },
                {"problem": {**_TEXT, "description": "Why it did not run."}},
            )
        ),
    },
    {"sources": {"type": "object", "description": "In committed results: what was measured."}},
)
_SQL = closed({"columns": many(_TEXT), "rows": many(many(_ANYTHING))}, _SAMPLED | _INCOMPLETE)
_EXPORT = closed(
    {**_all("format file", _TEXT), "bytes": COUNT},
    {
        **_SAMPLED,
        **_INCOMPLETE,
    },
)
_UNKNOWN_TEXT = {**or_null(_TEXT), "description": "Null if not known."}
_SUM = {**or_null({**_NUMBER, "minimum": 0}), "description": "Null if not known of any process."}
_OF_SITE = {"service": _TEXT, **_all("function file library", _UNKNOWN_TEXT)}
# By heapwright.fleet.questions.QUESTIONS.
_ANSWERS = {
    "services": {
        **_all("service version", _TEXT),
        **_all("processes began_unix_ns", COUNT),
        "incomplete": {**COUNT, "description": "Processes with calls missing from their recordings."},
        **_all("resident_bytes peak_bytes slack_bytes free_bytes left_bytes growth_bytes_per_s", _SUM),
    },
    "sites": {
        **_OF_SITE,
        "processes": COUNT,
        **_all("growth_bytes_per_s left_bytes peak_bytes bytes allocations", _SUM),
    },
    "regressions": {
        **_OF_SITE,
        **_all("version_before version", _TEXT),
        **_all("bytes_before bytes more_bytes error_bytes", _NUMBER),
        **_all("processes_before processes", COUNT),
    },
    "savings": {
        **_all("service rule action", _TEXT),
        "is_least": {**_FLAG, "description": "The gains are lower bounds; otherwise upper bounds."},
        "processes": COUNT,
        **_all("gain_bytes gain_ns", _SUM),
    },
    "trend": {
        **_all("service version", _TEXT),
        "date": {**_TEXT, "description": "Day of the start, in UTC."},
        **_all("processes incomplete", COUNT),
        **{
            f"{part}_{figure}": {**_SUM, "description": f"{words} over processes; null if not known of any."}
            for part, words in (("median", "Median"), ("p95", "95th percentile"))
            for figure in ("peak_bytes", "growth_bytes_per_s", "slack_bytes", "free_bytes")
        },
    },
    "outliers": {
        **_all("service version host", _TEXT),
        "figure": {
            "enum": ["peak", "growth", "free"],
            "description": "Bytes live at the peak, bytes per second of growth, or free resident bytes.",
        },
        "is_whole_host": {**_FLAG, "description": "The host stands apart by its processes' median."},
        **_all("processes processes_apart", COUNT),
        "siblings": {**COUNT, "description": "Hosts, or with is_whole_host false processes, compared with."},
        "value": {**_NUMBER, "description": "The host's median, or the process furthest from the others."},
        "usual": {**_NUMBER, "description": "The median of the siblings."},
        "deviation": {**_NUMBER, "description": "1.4826 times their median absolute deviation."},
        "more": {"type": "number", "description": "value - usual."},
        **_all("function file library", _UNKNOWN_TEXT),
        "site_more": {
            **or_null({"type": "number"}),
            "description": "The site that differs most: its mean per process, less that of all others.",
        },
    },
    "remedies": {
        **_all("service kind what", _TEXT),
        **_all("measured_processes refuted_processes bound_processes", COUNT),
        "measured_bytes": {**_SUM, "description": "Returned memory as replays measured it; null: in none."},
        "measured_ns": {**_SUM, "description": "CPU time saved, as measured; null: in none."},
        **_all(
            "bound_bytes bound_ns",
            {**_SUM, "description": "Upper bounds where no replay has judged; null: not known of any."},
        ),
    },
}
_FLEET = closed(
    {
        "engine": {"enum": ["duckdb", "spark"]},
        "answers": closed({}, {name: many(closed(row)) for name, row in _ANSWERS.items()}),
    }
)
DOCUMENTS: Mapping[str, tuple[str, Schema]] = {
    "recording": ("What heapwright record --json prints, and a session's file", _RECORDING),
    "processes": (
        "What heapwright explain --json prints for several processes",
        object_of(processes.DOCUMENT),
    ),
    "snapshot": (
        "What heapwright snapshot --json prints",
        closed({**_all("process_id blocks bytes stopped_ns", COUNT), "trace": _TEXT}),
    ),
    "sql": ("What heapwright sql --json prints", _SQL),
    "export": ("What heapwright export --json prints", _EXPORT),
    "fleet": ("What heapwright fleet --json prints; answers to the requested questions", _FLEET),
    "lab": ("What heapwright lab --json prints", _LAB),
}


def schema(name: str) -> Schema:
    """The schema of the whole document; name: a key of DOCUMENTS."""
    title, own = DOCUMENTS[name]
    names = {"count": COUNT, "count_or_null": or_null(COUNT)} if name == "processes" else {}
    return document_of(f"heapwright.{name}/1", title, own, "Times are nanoseconds.", names)
