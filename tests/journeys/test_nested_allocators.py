# SPDX-License-Identifier: MIT
"""Blocks of allocators inside a program belong to their callers, and the report says through whom."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import command, programs

PROGRAM = programs / "nested_pools"


def explained(trace: Path, *options: str) -> dict[str, Any]:
    line = [str(command), "explain", str(trace), "--json", "--top", "100", *options]
    said = subprocess.run(line, check=True, capture_output=True, timeout=120)
    document: dict[str, Any] = json.loads(said.stdout)
    return document


def recorded_as(trace: Path, *program: str | Path) -> str:
    line = [str(command), "record", "-o", str(trace), "--", *map(str, program)]
    return subprocess.run(line, check=True, capture_output=True, text=True, timeout=120).stdout


def by_function(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The sites of the peak, by their function without parameters."""
    sites = document["questions"]["peak"]["sites"]
    return {site["function"].removeprefix("void ").split("(")[0]: site for site in sites}


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[str, str], int]]:
    """The trace, and the bytes that the program itself counts, by the function that asks and through whom."""
    trace = tmp_path_factory.mktemp("nested") / "pools.heapwright"
    lines = [line.split() for line in recorded_as(trace, PROGRAM).splitlines()]
    return trace, {(asking, through): int(size) for size, through, asking in lines}


def test_sites_are_who_asks_and_the_rest_is_the_programs_count(
    pools: tuple[Path, dict[tuple[str, str], int]],
) -> None:
    trace, counted = pools
    sites = by_function(explained(trace))
    for (asking, through), size in counted.items():
        if through == "hand_out":
            continue
        assert sites[asking]["live_bytes"] == size, asking
        assert sites[asking]["nested"]["functions"] == [through]
        assert sites[asking]["nested"]["is_all"] and sites[asking]["nested"]["is_shared"]
    assert sites["reads<2>"]["nested"]["allocator"] == "PostgreSQL's memory contexts"
    assert sites["fills"]["nested"]["allocator"] == "std::pmr resources"
    for asking in ("reads<2>", "fills"):
        (path,) = sites[asking]["paths"]
        assert path["callers"][0]["function"] == "main", "what is the pool's own is in no path"
    assert not {"palloc", "cut", "Counted::do_allocate"} & sites.keys()


def test_a_pool_of_unknown_name_is_suggested_and_skipped(
    pools: tuple[Path, dict[tuple[str, str], int]],
) -> None:
    trace, counted = pools
    first = explained(trace)
    site = by_function(first)["hand_out"]
    assert (site["skip"], site["callers"]) == ("hand_out", 10)
    said = next(one["text"] for one in first["summary"]["findings"] if one["question"] == "peak")
    assert said.endswith("; --skip hand_out names its 10 callers")

    sites = by_function(explained(trace, "--skip", "hand_out"))
    assert "hand_out" not in sites
    for (asking, through), size in counted.items():
        if through == "hand_out":
            assert sites[asking]["live_bytes"] == size, asking
            assert sites[asking]["nested"]["functions"] == ["hand_out"]
            assert sites[asking]["nested"]["allocator"] == ""
            assert sites[asking].get("skip", "") == ""


def test_text_says_it_beside_the_site_and_once_below(
    pools: tuple[Path, dict[tuple[str, str], int]],
) -> None:
    line = [str(command), "explain", str(pools[0]), "--question", "peak", "--wide"]
    text = subprocess.run(line, check=True, capture_output=True, text=True, timeout=120).stdout
    row = next(line for line in text.splitlines() if "reads<2>" in line)
    assert row.endswith(", through palloc")
    assert text.count("blocks got through palloc are shared by later callers") == 1


def test_an_anonymized_copy_has_the_same_figures(
    pools: tuple[Path, dict[tuple[str, str], int]], tmp_path: Path
) -> None:
    copy = tmp_path / "copy.heapwright"
    line = [str(command), "export", str(pools[0]), "--to", "trace", "--anonymize", "--output", str(copy)]
    subprocess.run(line, check=True, capture_output=True, timeout=120)

    def ways(trace: Path) -> list[tuple[int, list[str]]]:
        rows = explained(trace)["questions"]["peak"]["sites"]
        return sorted((row["live_bytes"], row.get("nested", {}).get("functions", [])) for row in rows)

    assert ways(copy) == ways(pools[0])


@pytest.mark.full
@pytest.mark.skipif(shutil.which("php") is None, reason="php is not installed")
def test_php_says_how_its_objects_become_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, trace = tmp_path / "keeps.php", tmp_path / "php.heapwright"
    script.write_text("<?php $k = []; for ($i = 0; $i < 100000; ++$i) { $k[] = ['x' . $i, $i]; }", "utf-8")
    recorded_as(trace, "php", "-n", script)
    mapped = explained(trace)["questions"]["mappings"]["sites"][0]
    assert mapped["again"] == "USE_ZEND_ALLOC=0", "the chunks are the memory manager's"

    monkeypatch.setenv("USE_ZEND_ALLOC", "0")
    exact = tmp_path / "exact.heapwright"
    recorded_as(exact, "php", "-n", script)
    peak = explained(exact)["questions"]["peak"]
    assert peak["sites"][0]["live_blocks"] >= 1 and peak["live_bytes"] > 10 << 20
    assert not any(row["function"].startswith("_emalloc") for row in peak["sites"])


@pytest.mark.full
@pytest.mark.skipif(shutil.which("ldbsearch") is None, reason="ldb-tools is not installed")
def test_tallocs_callers_in_a_real_program(tmp_path: Path) -> None:
    data = tmp_path / "some.ldb"
    ldif = "".join(f"dn: cn=u{i},dc=x\ncn: u{i}\ndescription: text {i}\n\n" for i in range(50))
    add = ["ldbadd", "-H", f"tdb://{data}"]
    subprocess.run(add, input=ldif, text=True, check=True, capture_output=True, timeout=60)
    trace = tmp_path / "ldb.heapwright"
    recorded_as(trace, "ldbsearch", "-H", f"tdb://{data}", "(cn=u1*)")
    sites = explained(trace)["questions"]["peak"]["sites"]
    through = [row for row in sites if row.get("nested", {}).get("allocator") == "talloc"]
    assert len(through) >= 5 and not any(row["nested"]["is_shared"] for row in through)
    assert not any(row["function"].lstrip("_").startswith("talloc") for row in sites)
