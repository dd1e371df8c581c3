# SPDX-License-Identifier: MIT
"""Advice: for each rule a program that it has to speak to, the same with the advice followed, and one that
only looks like it (tests/programs/advice)."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Record, Recording, command

pytestmark = pytest.mark.full

ENVIRONMENT = {"setting": {"MALLOC_MMAP_THRESHOLD_": "65536"}}
RULES = (
    "arena",
    "arena_count",
    "buffer_cache",
    "built_again",
    "built_once",
    "copied",
    "deferred_free",
    "exact_growth",
    "exit_policy",
    "heap_steps",
    "make_shared",
    "node_pool",
    "object_pool",
    "private_heap",
    "refaults",
    "reserve",
    "reused_buffer",
    "setting",
    "small_deque",
    "small_vector",
    "untouched_tails",
)


def advice(path: Path) -> dict[str, Any]:
    """The answer, with what the first screen says of it."""
    line = [command, "explain", path, "--question", "advice", "--json"]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True, timeout=120)
    document: dict[str, Any] = json.loads(done.stdout)
    answer: dict[str, Any] = document["questions"]["advice"]
    found = document["summary"]["findings"]
    answer["findings"] = [one["text"] for one in found if one["question"] == "advice"]
    return answer


def recorded(record: Record, rule: str, mode: str) -> Recording:
    environment = ENVIRONMENT.get(rule, {}) if mode == "as_is" else {}
    recording = record(f"advice_{rule}", mode, environment=environment)
    assert recording.status == 0, recording.errors
    return recording


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_speaks_of_the_site(record: Record, rule: str) -> None:
    answer = advice(recorded(record, rule, "as_is").trace().path)
    told = [row for row in answer["advice"] if row["rule"] == rule]
    assert told, [row["rule"] for row in answer["advice"]]
    assert re.search(r"::site\b", " ".join([told[0]["name"], *told[0]["other_sites"]]))
    assert told[0]["gain_ns"] > 0 or told[0]["gain_bytes"] > 0
    assert told[0]["when_not"] and told[0]["evidence"] and told[0]["why"]


@pytest.mark.parametrize(("rule", "places"), [("exact_growth", 1), ("deferred_free", 3)])
def test_the_first_screen_names_the_code(record: Record, rule: str, places: int) -> None:
    """Not only the settings that make the same calls cheaper, nor only what saves memory: these may be before it."""
    answer = advice(recorded(record, rule, "as_is").trace().path)
    row = next(row for row in answer["advice"] if row["rule"] == rule)
    assert row["pattern"] in " ".join(answer["findings"][:places])


@pytest.mark.parametrize(
    ("rule", "setting"),
    [("heap_steps", {"MALLOC_TOP_PAD_": "4096"}), ("arena_count", {"MALLOC_ARENA_MAX": "2"})],
)
def test_what_is_set_already_is_not_advised(record: Record, rule: str, setting: dict[str, str]) -> None:
    recording = record(f"advice_{rule}", "as_is", environment=setting)
    assert [row for row in advice(recording.trace().path)["advice"] if row["rule"] == rule] == []


@pytest.mark.parametrize("mode", ["fixed", "lookalike"])
@pytest.mark.parametrize("rule", RULES)
def test_the_rule_is_silent(record: Record, rule: str, mode: str) -> None:
    answer = advice(recorded(record, rule, mode).trace().path)
    assert [row["name"] for row in answer["advice"] if row["rule"] == rule] == []


TABLES = """
#include <unordered_map>
#include <vector>
__attribute__((noinline)) void site(std::unordered_map<int, int>& table, int key) { table.emplace(key, key); }
int main(int count, char**) {
  const int tables = COUNT, nodes = 400000 / COUNT;
  std::vector<std::unordered_map<int, int>> all(tables);
  for (int n = 0; n < nodes; ++n)
    for (auto& table : all) site(table, n);
  return count + all.back().size() == 0;
}
"""


@pytest.mark.parametrize(("tables", "told"), [(4, "4 hash tables, 100000 nodes each"), (40_000, "")])
def test_many_small_containers_get_no_pool_each(
    record: Record, tmp_path: Path, tables: int, told: str
) -> None:
    (tmp_path / "tables.cpp").write_text(TABLES.replace("COUNT", str(tables)))
    line = ["c++", "-std=c++20", "-O1", "-g", "-o", tmp_path / "tables", tmp_path / "tables.cpp"]
    subprocess.run(list(map(str, line)), check=True, timeout=60)
    [path] = record(tmp_path / "tables").paths()
    evidence = [
        text for row in advice(path)["advice"] if row["rule"] == "node_pool" for text in row["evidence"]
    ]
    assert [text for text in evidence if "hash table" in text][:1] == ([f"{told}; {POOL}"] if told else [])


POOL = "a pool takes at least 16.0 KiB, room for 1024 nodes"
SHARED = """
#include <memory>
#include <vector>
struct Session { long values[6]; };
__attribute__((noinline)) std::shared_ptr<Session> site() { return std::shared_ptr<Session>(new Session()); }
int main() {
  std::vector<std::shared_ptr<Session>> all;
  for (int i = 0; i < 200000; ++i) all.push_back(site());
  return all.back()->values[0] != 0;
}
"""


def test_bytes_are_estimated_from_samples_with_their_interval(record: Record, tmp_path: Path) -> None:
    (tmp_path / "shared.cpp").write_text(SHARED)
    line = ["c++", "-std=c++20", "-O0", "-g", "-o", tmp_path / "shared", tmp_path / "shared.cpp"]
    subprocess.run(list(map(str, line)), check=True, timeout=60)
    [path] = record(tmp_path / "shared").paths()
    [whole] = [row for row in advice(path)["advice"] if row["rule"] == "make_shared"]
    assert "intervals" not in whole
    # A control block of 24 bytes and its header, less the counts: for each of 200,000.
    assert whole["gain_bytes"] == pytest.approx(200_000 * (24 + 8 - 16), rel=1e-3)
    path.unlink()
    [path] = record(tmp_path / "shared", options=["--sample", "4k"]).paths()
    answer = advice(path)
    [row] = [row for row in answer["advice"] if row["rule"] == "make_shared"]
    low, high = row["intervals"]["gain_bytes"]
    assert low < row["gain_bytes"] < high
    # 95 of 100 intervals hold it; one twice as wide nearly all. Of blocks of 24 and of 48 bytes the variance is
    # (1 - p) / p each: 3.6 % of the 200,000, and 1.96 times that to each side.
    middle = (low + high) / 2
    assert (high - low) / 2 / middle == pytest.approx(1.96 * 0.036, rel=0.25)
    assert abs(whole["gain_bytes"] - middle) <= high - low
    assert (row["gain_ns"], row["confidence"]) == (0, "high")
    assert {one["rule"] for one in answer["left_out"]} >= {"arena_count", "heap_steps", "reserve"}


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is not installed")
def test_sqlite_has_nothing_worth_fixing(record: Record) -> None:
    script = Path(__file__).resolve().parents[2] / "examples/orders.sql"
    recording = record(Path(shutil.which("sqlite3") or ""), ":memory:", f".read {script}")
    answer = advice(recording.trace().path)
    # At their limit of 2 % the reallocs' time is a matter of what else runs.
    assert [row for row in answer["advice"] if max(row["time_share"], row["bytes_share"]) > 0.05] == []
    if not answer["advice"]:
        assert answer["findings"][0].startswith("no rule found anything (")
        assert "% of CPU time" in answer["findings"][0]
