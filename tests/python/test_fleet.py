# SPDX-License-Identifier: MIT
"""Facts of many recordings: what is written of one, and answers worked out by hand; the same on both engines."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import heapwright
import jsonschema
import pytest
from heapwright import explain
from heapwright.cli import output_schemas
from heapwright.explain.growing_sites import Growth
from heapwright.fleet import facts
from heapwright.fleet.engines import FleetError, open_tables
from heapwright.fleet.questions import QUESTIONS
from heapwright.model import Filter
from written_traces import FREE, MALLOC, Command, MadeTrace

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("ibis")
HAS_SPARK = importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None
ENGINES = [
    "duckdb",
    pytest.param(
        "spark", marks=pytest.mark.skipif(not HAS_SPARK, reason="pyspark (500 MB) or java is not installed")
    ),
]
SECOND = 10**9


def process_rows(number: int, version: int, sites: dict[str, int]) -> facts.Rows:
    """A process; bytes at its peak by function."""
    key = {"host": f"h{number % 2}", "process": 100, "started_unix_ns": (1000 * version + number) * SECOND}
    of_sites = [
        key
        | {"run_ns": SECOND, "function": name, "file": "/src/shop.cpp", "line": 7, "library": "shop"}
        | {
            "allocations": 10,
            "bytes": size,
            "allocator_ns": None,
            "peak_bytes": size,
            "left_bytes": size // 2,
        }
        | {"growth_bytes_per_s": 2.5 if name == "grows" else 0.0, "kind": "creep" if name == "grows" else ""}
        for name, size in sites.items()
    ]
    process = key | {
        "run_ns": SECOND, "program": "shop", "allocator": "glibc 2.36", "is_whole": True, "is_sampled": False,
        "allocations": 20, "bytes": 5, "allocator_ns": 6, "peak_bytes": sum(sites.values()), "slack_bytes": 7,
        "left_bytes": 8, "resident_bytes": None if number == 0 else 9, "free_bytes": None,
        "growth_bytes_per_s": 2.5,
    }  # fmt: skip
    saving = {
        "rule": "setting",
        "action": "set it",
        "name": "all",
        "gain_bytes": 50,
        "gain_ns": 3,
        "is_least": False,
    }
    return {
        "process": [process],
        "site": of_sites,
        "saving": [key | saving] if number else [],
        "remedy": remedies(number, key),
    }


def remedies(number: int, key: dict[str, Any]) -> list[dict[str, Any]]:
    """Process 0: measured; 1: refuted; the others: bounds."""
    measured = {"judged": "measured", "measured_bytes": 300, "measured_ns": 7}
    others = {"judged": "refuted" if number == 1 else "bound", "measured_bytes": None, "measured_ns": None}
    of = {"kind": "arenas", "what": "MALLOC_ARENA_MAX=1", "replay": "glibc.arena_max=1", "bound_ns": None}
    return [key | of | (others if number else measured) | {"bound_bytes": 1000 + number}]


def put(folder: Path, rows: facts.Rows, service: str, version: str) -> None:
    for table, path in facts.files_of(folder, rows, service, version).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        facts.write(path, table, rows[table])


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Versions 1.9, 1.10 and 2, ten processes each, one of a service with a name that paths have to escape."""
    folder = tmp_path_factory.mktemp("fleet")
    for version, name in enumerate(("1.9", "1.10", "2")):
        for number in range(10):
            sites = {
                "steady": 1000,
                "noisy": 1000 + 900 * (number % 2),  # much from process to process, as much in each version
                "grows": 5000 + number + (3000 if name == "1.10" else 0),
                "little": 1000 + 40 * version,
            }
            if name == "2":
                sites["new"] = 400
                sites["noisy"] += 100
            rows = process_rows(number, version, sites)
            if (name, number) == ("2", 9):
                rows["process"][0]["growth_bytes_per_s"] = 10_000.0  # stands apart
            put(folder, rows, "shop", name)
    put(folder, process_rows(1, 0, {"steady": 10}), "a/b=c 1", "1")
    return folder


def ask(folder: Path, question: str, engine: str) -> list[dict[str, Any]]:
    with open_tables(folder, engine, "local[1]") as opened:
        rows: list[dict[str, Any]] = QUESTIONS[question](*opened).to_pyarrow().to_pylist()
    return rows


@pytest.mark.parametrize("engine", ENGINES)
def test_services_are_sums_over_processes(fleet: Path, engine: str) -> None:
    rows = {(row["service"], row["version"]): row for row in ask(fleet, "services", engine)}
    assert set(rows) == {("shop", "1.9"), ("shop", "1.10"), ("shop", "2"), ("a/b=c 1", "1")}
    row = rows["shop", "1.10"]
    assert (row["processes"], row["slack_bytes"], row["left_bytes"]) == (10, 70, 80)
    assert row["peak_bytes"] == 10 * 1000 + 10 * 1450 + 10 * 8000 + 45 + 10 * 1040
    assert (row["resident_bytes"], row["free_bytes"]) == (81, None)  # one did not tell; nobody did
    assert row["growth_bytes_per_s"] == 25
    assert row["began_unix_ns"] == 1000 * SECOND


@pytest.mark.parametrize("engine", ENGINES)
def test_sites_are_sums_over_versions(fleet: Path, engine: str) -> None:
    first, *others = ask(fleet, "sites", engine)
    assert (first["function"], first["processes"], first["growth_bytes_per_s"]) == ("grows", 30, 75)
    assert {row["function"]: row["processes"] for row in others if row["service"] == "shop"} == {
        "steady": 30, "noisy": 30, "little": 30, "new": 10,
    }  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_a_regression_is_more_than_chance_and_more_than_little(fleet: Path, engine: str) -> None:
    rows = ask(fleet, "regressions", engine)
    told = [(row["function"], row["version_before"], row["version"]) for row in rows]
    assert told == [("grows", "1.9", "1.10"), ("new", "1.10", "2")]  # 1.10 comes behind 1.9
    assert rows[0]["more_bytes"] == pytest.approx(3000)
    assert rows[0]["error_bytes"] == pytest.approx(
        (2 * 55 / 6 / 10) ** 0.5
    )  # the variance of 0 to 9 is 55 / 6
    assert (rows[1]["bytes_before"], rows[1]["bytes"], rows[1]["processes_before"]) == (0, 400, 10)


@pytest.mark.parametrize("engine", ENGINES)
def test_savings_are_summed_by_what_to_do(fleet: Path, engine: str) -> None:
    row, other = ask(fleet, "savings", engine)
    assert (row["service"], row["rule"], row["processes"], row["gain_bytes"]) == ("shop", "setting", 27, 1350)
    assert other["service"] == "a/b=c 1"


@pytest.mark.parametrize("engine", ENGINES)
def test_bounds_are_not_added_to_what_replays_measured(fleet: Path, engine: str) -> None:
    row, other = ask(fleet, "remedies", engine)
    assert (row["service"], row["kind"], row["what"]) == ("shop", "arenas", "MALLOC_ARENA_MAX=1")
    assert (row["measured_processes"], row["measured_bytes"], row["measured_ns"]) == (3, 900, 21)
    assert (row["refuted_processes"], row["bound_processes"]) == (3, 24)
    assert (row["bound_bytes"], row["bound_ns"]) == (3 * sum(range(1002, 1010)), None)
    assert (other["service"], other["measured_processes"], other["measured_bytes"]) == ("a/b=c 1", 0, None)


def test_a_version_of_digits_is_text(tmp_path: Path) -> None:
    put(tmp_path, process_rows(1, 0, {"steady": 1}), "shop", "12")
    assert [row["version"] for row in ask(tmp_path, "services", "duckdb")] == ["12"]


def test_few_processes_tell_no_regression(tmp_path: Path) -> None:
    for version in range(2):
        for number in range(7):
            put(
                tmp_path, process_rows(number, version, {"grows": 1000 * (1 + version)}), "shop", str(version)
            )
    assert ask(tmp_path, "regressions", "duckdb") == []
    for version in range(2):
        put(tmp_path, process_rows(7, version, {"grows": 1000 * (1 + version)}), "shop", str(version))
    assert len(ask(tmp_path, "regressions", "duckdb")) == 1


def small() -> MadeTrace:
    made = MadeTrace()
    made.event(MALLOC, 0x1000, 1000)
    made.event(MALLOC, 0x2000, 300)
    made.event(FREE, 0x1000)
    made.event(MALLOC, 0x3000, 50)
    return made


def test_the_facts_of_a_recording(tmp_path: Path, command: Command) -> None:
    trace = small().write(tmp_path / "a.heapwright")
    folder = tmp_path / "facts"
    line = [
        "export",
        trace,
        "--to",
        "parquet",
        "--fleet",
        folder,
        "--service",
        "a/b",
        "--service-version",
        "1.10",
    ]
    assert command(*line).code == 0
    (process,) = (folder / "process" / "service=a%2Fb" / "version=1.10").glob("date=*/*.parquet")
    (row,) = parquet.read_table(process, partitioning=None).to_pylist()
    assert (row["allocations"], row["bytes"], row["peak_bytes"], row["left_bytes"]) == (3, 1350, 1300, 350)
    assert (row["free_bytes"], row["resident_bytes"]) == (None, None)
    (sites,) = (folder / "site").rglob("*.parquet")
    assert sum(one["bytes"] for one in parquet.read_table(sites, partitioning=None).to_pylist()) == 1350
    again = command(*line)
    assert again.code == 2 and "use --force" in again.err
    assert command(*line, "--force").code == 0
    document = json.loads(command("fleet", folder, "--json").out)
    jsonschema.validate(document, output_schemas.schema("fleet"))
    (service,) = document["answers"]["services"]
    assert (service["service"], service["version"], service["peak_bytes"]) == ("a/b", "1.10", 1300)
    shown = command("fleet", folder, "--question", "services")
    assert "a/b" in shown.out and shown.code == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_are_as_the_schema_says(fleet: Path, engine: str, command: Command) -> None:
    # Spark takes seconds for each; the next test says that its answers are the same.
    wanted = tuple(QUESTIONS) if engine == "duckdb" else ("services",)
    asked = [part for name in wanted for part in ("--question", name)]
    document = json.loads(command("fleet", fleet, "--json", "--engine", engine, *asked).out)
    schema = output_schemas.schema("fleet")
    jsonschema.validate(document, schema)
    assert set(document["answers"]) == set(wanted)
    for rows in document["answers"].values():
        service = rows[0].pop("service")
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, schema)
        rows[0]["service"] = service


@pytest.mark.skipif(not HAS_SPARK, reason="pyspark (500 MB) or java is not installed")
@pytest.mark.parametrize("question", QUESTIONS)
def test_engines_give_the_same_answers(fleet: Path, question: str) -> None:
    rows = ask(fleet, question, "duckdb")
    assert rows and ask(fleet, question, "spark") == rows


def test_what_shrinks_is_no_growth(tmp_path: Path) -> None:
    made = MadeTrace()
    second, blocks = 1_000_000_000, 600
    for block in range(blocks):
        made.event(MALLOC, 0x10_0000 + 0x1000 * block, 4000, at=1600 + 16 * block)
    for block in range(blocks):
        made.event(FREE, 0x10_0000 + 0x1000 * block, at=second + block * second // 10 // 16 * 16)
    trace = heapwright.open(made.write(tmp_path / "shrinks.heapwright"))
    report = explain.Report(trace, trace.facts(Filter()), trace.sites(), Filter(), 10)
    course = next(row for _, row in Growth(report).rows())
    assert course.is_sure and course.slope_bytes_per_s < 0
    rows = facts.rows_of(report)
    assert rows["process"][0]["growth_bytes_per_s"] == rows["site"][0]["growth_bytes_per_s"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("export", "{trace}", "--to", "pprof", "--fleet", "x"), "--fleet does not apply to pprof"),
        (("export", "{trace}", "--to", "parquet", "--service", "x"), "need --fleet DIR"),
        (
            ("export", "{trace}", "--to", "parquet", "--fleet", "x", "--table", "event"),
            "--table cannot be used with",
        ),
        (
            ("export", "{trace}", "--to", "parquet", "--fleet", "x", "--from", "1s"),
            "a filter cannot be used with",
        ),
        (("fleet", "{folder}"), "holds no facts; create some"),
        (("fleet", "{folder}", "--engine", "hive"), "hive"),
        (("fleet", "{folder}", "--question", "all"), "all"),
        (("fleet", "{fleet}", "--service", "shoe"), "no processes of the service shoe"),
        (("export", "{trace}", "--to", "parquet", "--check"), "need --fleet DIR"),
    ],
)
def test_bad_requests_get_one_line(
    tmp_path: Path, fleet: Path, command: Command, arguments: tuple[str, ...], message: str
) -> None:
    trace = small().write(tmp_path / "a.heapwright")
    said = command(*(part.format(trace=trace, folder=tmp_path, fleet=fleet) for part in arguments))
    assert said.code == 2
    assert message in said.err and said.err.count("\n") == 1


def test_a_folder_without_facts(tmp_path: Path) -> None:
    with pytest.raises(FleetError), open_tables(tmp_path, "duckdb", ""):
        pass
