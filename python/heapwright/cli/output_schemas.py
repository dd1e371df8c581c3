# SPDX-License-Identifier: MIT
"""The JSON schemas of what record, explain of a folder, sql, export, fleet and lab print.

`python -m heapwright.cli.output_schemas NAME` prints one; schemas/NAME-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from heapwright.measure.statistics import Summary

Schema = dict[str, Any]
_COUNT: Schema = {"type": "integer", "minimum": 0}
_INTEGER: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_ANYTHING: Schema = {}
_SAMPLED = {"sampled": {**_TEXT, "description": "Of a sampled recording: what its rows are."}}


def _object(properties: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def _many(item: Schema) -> Schema:
    return {"type": "array", "items": item}


_INCOMPLETE = {"incomplete": {**_many(_TEXT), "description": "Why calls are missing; absent: none are."}}


def _by_name(item: Schema) -> Schema:
    return {"type": "object", "additionalProperties": item}


def _or_null(own: Schema) -> Schema:
    return {"anyOf": [own, {"type": "null"}]}


def _all(names: str, own: Schema) -> dict[str, Schema]:
    return dict.fromkeys(names.split(), own)


_ENDS = "exited killed replaced size_limit duration_limit write_failed recorder_lost stopped missing".split()
_RECORDED_FILE = _object(
    {
        **_all("path program", _TEXT),
        **_all("process_id parent_process_id", _COUNT),
        "is_fork_child": _FLAG,
        **_all("start_ns events dropped threads bytes recorder_peak_bytes duration_ns", _COUNT),
        "end": _object({"reason": {"enum": _ENDS}, "status": _INTEGER}),
        "error": {**_or_null(_TEXT), "description": "Why the file could not be written; null: it was."},
        **_all("notes unseen", _many(_TEXT)),
    }
)
_RECORDING = _object(
    {
        "program": _TEXT,
        "exit_code": _INTEGER,
        "start_unix_ns": _COUNT,
        "clock": _object({"source": {"enum": ["tsc", "monotonic"]}, **_all("error_ppm drift_ppm", _NUMBER)}),
        "files": _many(_RECORDED_FILE),
        "unrecorded": _many(
            _object(
                {
                    "process_id": _or_null(_COUNT),
                    "parent_process_id": _COUNT,
                    **_all("program reason", _TEXT),
                    "made_no_call": _FLAG,
                }
            )
        ),
        **_all("more_unrecorded starts_lost children_left_alone", _COUNT),
        "notes": _many(_TEXT),
    },
    {
        "attach": {"type": "object", "description": "Of --pid: what it took to begin."},
        "detach": {"type": "object", "description": "Of --pid: what it took to end."},
    },
)
_SUMS = "calls allocations requested_bytes live_at_end_bytes allocator_ns"
_PROCESSES = _object(
    {
        "file": _TEXT,
        "processes": _many(
            _object(
                {
                    **_all("process_id parent_process_id", _COUNT),
                    "is_fork_child": _FLAG,
                    **_all("program name file", _TEXT),
                    **_all(
                        f"first_ns end_ns peak_bytes live_at_end_blocks inherited_releases {_SUMS}", _COUNT
                    ),
                    "is_complete": _FLAG,
                    "reasons": _many(_TEXT),
                    "end": _TEXT,
                }
            )
        ),
        "programs": _many(
            _object({**_all("program name", _TEXT), **_all(f"images highest_peak_bytes {_SUMS}", _COUNT)})
        ),
        "not_recorded": _many(
            _object(
                {
                    "process_id": _or_null(_COUNT),
                    "parent_process_id": _COUNT,
                    **_all("program reason", _TEXT),
                }
            )
        ),
        **_all("without_calls children_left_alone starts_lost left_out", _COUNT),
        "unreadable": _many(_TEXT),
    }
)
_RUNS = _many(_by_name(_ANYTHING))
_RESULT = _object(
    {
        **_all("allocator failure", _TEXT),
        "runs": {**_RUNS, "description": "Raw figures."},
        "summary": _by_name(_object({field.name: _NUMBER for field in fields(Summary)} | {"rank": _COUNT})),
        "series": _by_name(_many(_NUMBER)),
    },
    {"control_runs": _RUNS, "control_failure": _TEXT},
)
_CASE = _object(
    {
        "name": _TEXT,
        "x": _or_null(_NUMBER),
        "options": _by_name(_TEXT),
        "noise": _by_name(_NUMBER),
        "results": _many(_RESULT),
    }
)
_LAB = _object(
    {
        "machine": _object(
            {
                **_all("cpu kernel system libc transparent_huge_pages", _TEXT),
                **_all("cpus memory_bytes", _COUNT),
                "is_virtual": _FLAG,
                "load_average": _NUMBER,
            }
        ),
        "seed": _INTEGER,
        "scale": _NUMBER,
        "parameters": _ANYTHING,
        "pinned_to": _ANYTHING,
        "allocators": _many(_object(_all("name version path", _TEXT))),
        "missing": _many(_object(_all("name brought_by", _TEXT))),
        "experiments": _many(
            _object(
                {
                    "name": _TEXT,
                    "parts": _many(
                        _object({"name": _TEXT, "runs": _COUNT, "folds": _FLAG, "cases": _many(_CASE)})
                    ),
                },
                {"problem": {**_TEXT, "description": "Why it did not run."}},
            )
        ),
    },
    {"sources": {"type": "object", "description": "Of committed results: what was measured."}},
)
_SQL = _object({"columns": _many(_TEXT), "rows": _many(_many(_ANYTHING))}, _SAMPLED | _INCOMPLETE)
_EXPORT = _object(
    {**_all("format file", _TEXT), "bytes": _COUNT},
    {
        **_SAMPLED,
        **_INCOMPLETE,
    },
)
_UNKNOWN_TEXT = {**_or_null(_TEXT), "description": "Null: not known."}
_SUM = {**_or_null({**_NUMBER, "minimum": 0}), "description": "Null: of no process known."}
_OF_SITE = {"service": _TEXT, **_all("function file library", _UNKNOWN_TEXT)}
# By heapwright.fleet.questions.QUESTIONS.
_ANSWERS = {
    "services": {
        **_all("service version", _TEXT),
        **_all("processes began_unix_ns", _COUNT),
        "incomplete": {**_COUNT, "description": "Processes of whose recordings calls are missing."},
        **_all("resident_bytes peak_bytes slack_bytes free_bytes left_bytes growth_bytes_per_s", _SUM),
    },
    "sites": {
        **_OF_SITE,
        "processes": _COUNT,
        **_all("growth_bytes_per_s left_bytes peak_bytes bytes allocations", _SUM),
    },
    "regressions": {
        **_OF_SITE,
        **_all("version_before version", _TEXT),
        **_all("bytes_before bytes more_bytes error_bytes", _NUMBER),
        **_all("processes_before processes", _COUNT),
    },
    "savings": {
        **_all("service rule action", _TEXT),
        "is_least": {**_FLAG, "description": "The gains are at least so large; otherwise at most."},
        "processes": _COUNT,
        **_all("gain_bytes gain_ns", _SUM),
    },
}
_FLEET = _object(
    {
        "engine": {"enum": ["duckdb", "spark"]},
        "answers": _object({}, {name: _many(_object(row)) for name, row in _ANSWERS.items()}),
    }
)
DOCUMENTS: Mapping[str, tuple[str, Schema]] = {
    "recording": ("What heapwright record --json prints, and a session's file", _RECORDING),
    "processes": ("What heapwright explain --json prints of several processes", _PROCESSES),
    "sql": ("What heapwright sql --json prints", _SQL),
    "export": ("What heapwright export --json prints", _EXPORT),
    "fleet": ("What heapwright fleet --json prints; answers to the questions that were asked", _FLEET),
    "lab": ("What heapwright lab --json prints", _LAB),
}


def schema(name: str) -> Schema:
    """Of the whole document; name: of DOCUMENTS."""
    title, own = DOCUMENTS[name]
    own_id = f"heapwright.{name}/1"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": own_id,
        "title": title,
        "description": "Times are nanoseconds. No field is renamed or dropped within version 1.",
        **own,
        "properties": {"schema": {"const": own_id}, **own["properties"]},
        "required": ["schema", *own["required"]],
    }


def as_text(name: str) -> str:
    """As it is kept."""
    return json.dumps(schema(name), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text(sys.argv[1]))
