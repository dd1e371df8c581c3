# SPDX-License-Identifier: MIT
"""Snapshots before the exit: lost blocks are exactly those that were planted, and holders have their names."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import collector, command, programs


def recorded(folder: Path, *line: object, options: tuple[str, ...] = ()) -> tuple[Path, str]:
    """The trace, and what the program said."""
    path = folder / "one.heapwright"
    done = subprocess.run(
        [collector, "--snapshot", "end", "--quiet", "--output", path, *options, "--", *map(str, line)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return path, done.stdout


def held(path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [command, "explain", path, "--question", "held", "--json", "--top", "1000"],
        capture_output=True, check=True, timeout=300,
    )  # fmt: skip
    document: dict[str, Any] = json.loads(done.stdout)
    found: dict[str, Any] = document["questions"]["held"]
    return found


@pytest.mark.parametrize("options", [(), ("--no-residency",)], ids=["plain", "no_residency"])
def test_lost_blocks_are_the_planted_ones(tmp_path: Path, options: tuple[str, ...]) -> None:
    path, said = recorded(tmp_path, programs / "plants_graph", 500, options=options)
    lost, scale = map(int, said.split()[1:])
    answer = held(path)
    assert answer["not_known"] == ""
    assert answer["lost_blocks"] == lost
    by_site = {row["name"]: row for row in answer["lost"]}
    one = {name: row for name, row in by_site.items() if row["name"].startswith("lose_one")}
    assert [row["direct_blocks"] for row in one.values()] == [scale]
    assert sum(row["cycle_blocks"] for row in answer["lost"]) == 4 * scale
    assert sum(row["direct_blocks"] for row in answer["lost"]) == 2 * scale + 1, "and the head of the list"
    assert all(name.startswith("lose_") for name in by_site), by_site.keys()


def test_holders_have_their_names_and_what_they_retain(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path, programs / "plants_graph", 500)
    holders = {row["symbol"]: row for row in held(path)["holders"] if row["symbol"]}
    assert holders["g_sessions"]["blocks"] == 1 + 3 * 500, "the map, and a node, a string and its text each"
    assert holders["g_sessions"]["type"] == "std::map<int, std::string*>&"
    assert holders["g_list"]["blocks"] == 500
    assert holders["g_list"]["type"] == "Node*"
    assert holders["g_tree"]["blocks"] == 63
    assert holders["g_inside"]["bytes"] == 800
    assert holders["g_tagged"]["bytes"] == 48
    assert holders["g_function"]["blocks"] == 3, "the function, what it has, and the shared node"
    assert holders["t_held"]["blocks"] == 1
    assert holders["g_intrusive"]["blocks"] == 500, "by pointers into them"
    by_size = {row["bytes"]: row["holder"] for row in held(path)["held"] if row["bytes"] in (56, 72)}
    assert by_size == {56: "memory mapped by hold_many", 72: "memory mapped by hold_in_odd_places"}
    kinds = {row["kind"]: row for row in held(path)["holders"]}
    assert {"thread-local", "mapping", "stack"} <= kinds.keys()
    assert kinds["stack"]["symbol"] == "wait_with_block()", "the frame of a function that waits in others"
    assert kinds["stack"]["module"].endswith("/plants_graph") and kinds["stack"]["blocks"] == 1


def test_lists_and_tables_are_known_by_their_pointers(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path, programs / "plants_graph", 500)
    shapes = {row["holder"]: row["shape"] for row in held(path)["held"] if row["blocks"] > 1}
    assert shapes["g_list of plants_graph"] == shapes["g_tree of plants_graph"] == "list"
    assert shapes["g_function of plants_graph"] == ""


def test_blocks_have_their_types(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path, programs / "plants_graph", 50)
    answer = held(path)
    types = {row["type"]: row["blocks"] for row in answer["types"]}
    assert types["shared Shared"] == 100, "by their virtual tables"
    assert types["node of std::map<int, std::string*>"] == 50, "by the names in their stacks"
    assert sum(types.values()) == answer["blocks"]
    lost = {row["name"]: row["types"] for row in answer["lost"]}
    assert [types for name, types in lost.items() if name.startswith("lose_shared")] == [
        ["shared Shared"]
    ] * 2
    named = subprocess.run(
        [command, "sql", path, "--json", "select count(*) from node where type = 'shared Shared' and is_lost"],
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert json.loads(named.stdout)["rows"] == [[100]]


def test_a_trace_without_a_snapshot_says_so(tmp_path: Path) -> None:
    path = tmp_path / "one.heapwright"
    subprocess.run(
        [collector, "--quiet", "--output", path, "--", programs / "plants_graph", "10"],
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    answer = held(path)
    assert answer["not_known"] == "no snapshot was taken: record with --snapshot end"
    assert answer["lost"] == answer["holders"] == []


def test_names_of_variables_are_not_in_an_anonymized_copy(tmp_path: Path) -> None:
    path, _ = recorded(tmp_path, programs / "plants_graph", 50)
    copy = tmp_path / "copy.heapwright"
    subprocess.run(
        [command, "export", path, "--to", "trace", "--anonymize", "-o", copy], check=True, timeout=120
    )
    named, unnamed = held(path), held(copy)
    assert unnamed["lost_blocks"] == named["lost_blocks"]
    assert {row["symbol"] for row in unnamed["holders"] if row["kind"] != "mapping"} == {""}
    assert b"g_sessions" not in copy.read_bytes()
    assert {row["type"] for row in named["types"]} > {"shared Shared"}
    told = {row["type"] for row in unnamed["types"]} - {""}
    assert told and all(re.fullmatch("type_[0-9a-f]{10}", name) for name in told), told
    assert b"Shared" not in copy.read_bytes()


def test_healthy_programs_lose_nothing(tmp_path: Path) -> None:
    found = {}
    for name, line in {
        "python": [sys.executable, "-c", "x = {str(i): [i] * 5 for i in range(20000)}"],
        "sh": ["bash", "-c", "for i in {1..2000}; do a[$i]=x$i; done"],
    }.items():
        if shutil.which(line[0]) is None:
            continue
        folder = tmp_path / name
        folder.mkdir()
        answer = held(recorded(folder, *line)[0])
        found[name] = answer["lost_bytes"] / max(1, answer["bytes"])
    assert found
    assert all(share <= 0.001 for share in found.values()), found


def test_a_program_that_is_killed_has_no_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "one.heapwright"
    line = [collector, "--snapshot", "end", "--quiet", "--output", path, "--", "/bin/sh", "-c", "kill -9 $$"]
    subprocess.run([str(word) for word in line], check=False, timeout=60)
    assert held(path)["not_known"] == "the program did not end by exit()"
    done = subprocess.run(
        [command, "explain", path, "--question", "held"], capture_output=True, text=True, check=True
    )
    assert "Who holds it: not known (the program did not end by exit())" in " ".join(done.stdout.split())


PACKED = """
#include <stdio.h>
#include <stdlib.h>
struct __attribute__((packed)) Entry { char kind; void* held; short more; };
struct Entry* g_table;
__attribute__((noinline)) void* held_by_packed(void) { return malloc(40); }
__attribute__((noinline)) void lose(void) { void* volatile lost = malloc(50); lost = 0; }
int main(void) {
  enum { entries = 2000 };  /* of 11 bytes: more than a page */
  g_table = calloc(entries, sizeof(struct Entry));
  for (int i = 0; i < entries; ++i) g_table[i].held = held_by_packed();
  for (int i = 0; i < 3; ++i) lose();
  return 0;
}
"""


def test_pointers_of_packed_structs_are_seen_if_asked_for(tmp_path: Path) -> None:
    (tmp_path / "packed.c").write_text(PACKED)
    subprocess.run(["gcc", "-O1", "packed.c", "-o", "packed"], check=True, cwd=tmp_path, timeout=120)
    lost = {}
    for options in ((), ("--unaligned",)):
        folder = tmp_path / f"with{len(options)}"
        folder.mkdir()
        path, _ = recorded(folder, tmp_path / "packed", options=options)
        lost[options] = {row["name"].split()[0]: row["blocks"] for row in held(path)["lost"]}
    assert lost[("--unaligned",)] == {"lose": 3}
    assert lost[()] == {"lose": 3, "held_by_packed": 1750}, "of eight entries one is aligned"
