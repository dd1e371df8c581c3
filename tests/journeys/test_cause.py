# SPDX-License-Identifier: MIT
"""Why memory stays resident: programs whose cause is known, and what remedies gave back in runs without the recorder."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Record, command, programs

pytestmark = pytest.mark.full

MEBIBYTE = 1 << 20


def cause_in(path: Path, *options: str) -> dict[str, Any]:
    line = [command, "explain", path, "--json", *options]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True, timeout=120)
    document: dict[str, Any] = json.loads(done.stdout)
    answer: dict[str, Any] = document["questions"]["cause"]
    answer["findings"] = [
        one["text"] for one in document["summary"]["findings"] if one["question"] == "cause"
    ]
    answer["by_kind"] = {row["kind"]: row["bytes"] for row in answer["kinds"]}
    if answer["kinds"]:
        assert sum(answer["by_kind"].values()) == answer["resident_bytes"]
    return answer


def run_alone(mode: str, word: str = "resident", **environment: str) -> int:
    """What the program has resident, without the recorder."""
    done = subprocess.run(
        [programs / "keeps_memory", mode],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    lines = (line.split() for line in done.stdout.splitlines())
    return next(int(value) for note, name, value in lines if name == word)


def remedy(answer: dict[str, Any], begin: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in answer["remedies"] if one["what"].startswith(begin))
    return found


CACHED = """
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *blocks[64][30], *others[8000];
int main(void) {
  for (int i = 0; i < 8000; i++) others[i] = memset(malloc(2000), 1, 2000);
  size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 64; i++) for (int j = 0; j < 30; j++) blocks[i][j] = malloc(24 + 16 * i);
  for (int i = 0; i < 64; i++) for (int j = 0; j < 30; j++) free(blocks[i][j]);
  printf("note cached %zu\\n", mallinfo2().uordblks - before);
  fflush(stdout);
  for (int i = 0; i < 7999; i++) free(others[i]);
  usleep(400000);
  return 0;
}
"""


# Small blocks: the C library merges none of them, so nothing goes back at the end.
FREED_AT_THE_END = """
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { count = 400000, apart = 200 };
static void *items[count];
static long resident(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (fscanf(file, "%*d %ld", &pages) != 1) abort();
  fclose(file);
  return pages * 4096;
}
int main(int count_of_arguments, char **arguments) {
  for (int i = 0; i < count; i++) items[i] = memset(malloc(100), 1, 100);
  for (int i = 0; i < count; i++) if (i % apart) free(items[i]);
  long before = resident();
  if (count_of_arguments > 1) malloc_trim(0);
  printf("note given_back %ld\\n", before - resident());
  fflush(stdout);
  usleep(800000);
  for (int i = 0; i < count; i += apart) free(items[i]);
  return arguments == 0;
}
"""


PINNED_BESIDE_MUCH = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *temporaries[4000], *sessions[4000];
__attribute__((noinline)) void *session(void) { return memset(malloc(200), 1, 200); }
int main(void) {
  void *table = memset(malloc(60 << 20), 1, 60 << 20);
  for (int i = 0; i < 4000; i++) {
    temporaries[i] = memset(malloc(3872), 1, 3872);
    sessions[i] = session();
  }
  for (int i = 0; i < 4000; i++) free(temporaries[i]);
  usleep(600000);
  return table == 0;
}
"""


def test_what_is_surely_advised_is_not_nothing(record: Record, tmp_path: Path) -> None:
    (tmp_path / "pinned.c").write_text(PINNED_BESIDE_MUCH)
    subprocess.run(["cc", "-O1", "-o", tmp_path / "pinned", tmp_path / "pinned.c"], check=True, timeout=60)
    answer = cause_in(record(tmp_path / "pinned").trace().path)
    assert 0.15 < answer["free_bytes"] / answer["resident_bytes"] < 0.25
    assert (answer["verdict"], answer["cause"]) == ("fragmented", "scattered")
    assert answer["sites"][0]["function"] == "session"
    assert answer["findings"] and "nothing to fix" not in answer["findings"][0]


@pytest.mark.parametrize(
    ("setting", "count"), [({}, 7), ({"GLIBC_TUNABLES": "glibc.malloc.tcache_count=3"}, 3)]
)
def test_thread_caches_hold_no_more_than_is_said(
    record: Record, tmp_path: Path, setting: dict[str, str], count: int
) -> None:
    (tmp_path / "cached.c").write_text(CACHED)
    subprocess.run(["cc", "-O0", "-o", tmp_path / "cached", tmp_path / "cached.c"], check=True, timeout=60)
    recording = record(tmp_path / "cached", environment=setting)
    answer = cause_in(recording.trace().path)
    # The C library counts what its thread caches hold as in use, with a header of 8 bytes each.
    held = recording.note("cached") - 64 * count * 8
    assert held > 0
    assert held <= answer["thread_caches_at_most_bytes"] <= held * 1.05


def test_survivors_that_are_freed_at_the_end_are_seen(record: Record, tmp_path: Path) -> None:
    (tmp_path / "late.c").write_text(FREED_AT_THE_END)
    subprocess.run(["cc", "-O1", "-o", tmp_path / "late", tmp_path / "late.c"], check=True, timeout=60)
    path = record(tmp_path / "late").trace().path
    answer = cause_in(path)
    blocks = answer["sites"][0]["blocks"]  # and the buffer of stdout
    assert 2000 <= blocks <= 2001, "as it rested, not as it ended"
    trimmed = subprocess.run([tmp_path / "late", "trim"], capture_output=True, text=True, check=True)
    real = int(trimmed.stdout.split()[2])
    assert remedy(answer, "malloc_trim")["bytes"] == pytest.approx(real, rel=0.05)


def test_a_planted_pin_is_found_with_what_its_own_heap_gives_back(record: Record) -> None:
    recording = record("keeps_memory", "pinned")
    answer = cause_in(recording.trace().path)
    assert (answer["verdict"], answer["cause"]) == ("fragmented", "scattered")
    site = answer["sites"][0]
    assert site["function"] == "survivor"
    assert site["blocks"] == 10_000
    assert site["separates"] == "yes"
    assert site["never_freed"] == 1
    # One survivor of 208 bytes on each of its pages.
    assert site["pinned_bytes"] == pytest.approx(10_000 * (4096 - 208), rel=0.1)
    real = run_alone("pinned") - run_alone("apart")
    assert site["saves_most_bytes"] == pytest.approx(real, rel=0.1)
    assert site["saves_least_bytes"] == pytest.approx(real, rel=0.1)
    assert remedy(answer, "blocks of survivor")["helps"] == "yes"
    assert remedy(answer, "malloc_trim")["helps"] == "no"
    trimmed = run_alone("pinned") - run_alone("pinned", "trimmed")
    assert trimmed < 0.1 * real
    assert answer["trimmable_bytes"] == pytest.approx(trimmed, abs=MEBIBYTE)


def test_four_sites_that_pin_together_are_one_group(record: Record) -> None:
    answer = cause_in(record("keeps_memory", "shared").trace().path)
    assert (answer["verdict"], answer["cause"]) == ("fragmented", "scattered")
    assert len(answer["joint_sites"]) == 4
    assert all("part_of_survivor" in name for name in answer["joint_sites"])
    real = run_alone("shared") - run_alone("no_shared")
    assert answer["joint_bytes"] == pytest.approx(real, rel=0.1)
    moved = remedy(answer, "blocks of these 4 sites in one private heap")
    assert (moved["helps"], moved["bytes"]) == ("yes", pytest.approx(real, rel=0.1))
    assert "by blocks of part_of_survivor" in answer["findings"][0]
    assert "no single site" not in answer["findings"][0]


def test_a_site_that_makes_what_stays_and_what_goes_is_not_separable(record: Record) -> None:
    recording = record("keeps_memory", "mixed")
    answer = cause_in(recording.trace().path)
    assert answer["verdict"] == "fragmented"
    site = answer["sites"][0]
    assert site["function"] == "record"
    assert site["separates"] == "no"
    assert site["never_freed"] == pytest.approx(0.1, abs=0.02)
    assert remedy(answer, "blocks of record")["helps"] == "no"
    trimmed = run_alone("mixed") - run_alone("mixed", "trimmed")
    assert answer["trimmable_bytes"] == pytest.approx(trimmed, rel=0.1, abs=MEBIBYTE)


def test_large_blocks_in_the_heap_are_the_raised_threshold(record: Record) -> None:
    recording = record("keeps_memory", "threshold")
    answer = cause_in(recording.trace().path)
    assert (answer["verdict"], answer["cause"]) == ("fragmented", "threshold")
    assert answer["raises"][-1]["function"] == "first_buffer"
    assert answer["raises"][-1]["bytes"] == pytest.approx(8 * MEBIBYTE, abs=8192)
    fixed = {"MALLOC_TRIM_THRESHOLD_": "131072", "MALLOC_MMAP_THRESHOLD_": "131072"}
    real = run_alone("threshold") - run_alone("threshold", **fixed)
    assert answer["by_kind"]["threshold"] == pytest.approx(real, rel=0.05)
    assert remedy(answer, "MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=131072")["helps"] == "yes"
    assert remedy(answer, "MALLOC_ARENA_MAX")["helps"] == "no"


def test_a_setting_in_force_is_not_advised(record: Record) -> None:
    recording = record("keeps_memory", "mixed", environment={"MALLOC_ARENA_MAX": "1"})
    answer = cause_in(recording.trace().path)
    assert remedy(answer, "MALLOC_ARENA_MAX")["helps"] == "set already"


def test_what_the_program_sets_itself_is_named_with_what_it_costs(record: Record) -> None:
    answer = cause_in(record("keeps_memory", "option").trace().path)
    found = remedy(answer, "removing mallopt(M_TRIM_THRESHOLD, 536870912)")
    assert (answer["verdict"], found["helps"], found["replay_set"]) == ("fragmented", "yes", "")
    assert found["bytes"] == pytest.approx(run_alone("option") - run_alone("no_option"), rel=0.1)
    assert f"less by {found['what']}; costs up to " in answer["findings"][0]
    # A page fault on each page of 46 MiB, at what this run's own cost.
    assert 1_000_000 < found["again_ns"] < 1_000_000_000


def test_aligned_blocks_are_promised_no_heap_of_their_own(record: Record) -> None:
    answer = cause_in(record("keeps_memory", "aligned").trace().path)
    assert answer["sites"][0]["aligned_bytes"] == 2000 * 4096
    assert answer["sites"][0]["saves_most_bytes"] == 0
    assert "alone, whose blocks are spread by their alignment" in answer["findings"][0]


def test_free_memory_of_further_arenas(record: Record) -> None:
    recording = record("keeps_memory", "arenas")
    answer = cause_in(recording.trace().path)
    assert (answer["verdict"], answer["cause"]) == ("fragmented", "arenas")
    real = run_alone("arenas") - run_alone("arenas", MALLOC_ARENA_MAX="1")
    bound = remedy(answer, "MALLOC_ARENA_MAX")["bytes"]
    assert bound >= 0.9 * real, "what a remedy gives back is told at most"
    trimmed = run_alone("arenas") - run_alone("arenas", "trimmed")
    assert answer["trimmable_bytes"] == pytest.approx(trimmed, rel=0.1)


def test_blocks_that_hold_the_end_of_the_heap(record: Record) -> None:
    recording = record("pins")
    answer = cause_in(recording.trace().path)
    assert (answer["verdict"], answer["cause"]) == ("fragmented", "top")
    assert answer["holders"][0]["function"] == "session"
    assert "held by 2,000 blocks from session" in answer["findings"][0]


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is not installed")
def test_nothing_to_fix_is_a_verdict(record: Record) -> None:
    sql = (
        "create table t(a, b); with recursive n(i) as (select 1 union all select i+1 from n where i < 50000)"
    )
    recording = record(Path("/usr/bin/sqlite3"), ":memory:", f"{sql} insert into t select i, hex(i) from n;")
    answer = cause_in(recording.trace().path)
    assert answer["verdict"] == "nothing"
    assert answer["remedies"] == []
    assert answer["findings"] == []


def test_another_allocator_has_its_own_remedies(record: Record) -> None:
    library = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
    if not library.exists():
        pytest.skip("jemalloc is not installed")
    recording = record("keeps_memory", "mixed", environment={"LD_PRELOAD": str(library)})
    answer = cause_in(recording.trace().path)
    assert answer["allocator"].startswith("jemalloc")
    assert {row["helps"] for row in answer["remedies"] if "MALLOC_ARENA_MAX" in row["what"]} == {"no"}
    assert answer["raises"] == []


def test_a_time_between_two_scans_is_interpolated(record: Record) -> None:
    recording = record("keeps_memory", "pinned")
    path = recording.trace().path
    line = [command, "explain", path, "--json", "--question", "residency", "--at", "250ms"]
    done = subprocess.run(list(map(str, line)), capture_output=True, check=True, timeout=120)
    answer = json.loads(done.stdout)["questions"]["residency"]
    moments = answer["moments"]
    assert answer["time_ns"] == 250_000_000 or not answer["is_interpolated"]
    (before,) = (of for of in moments if of["is_before_asked"])
    assert before["time_ns"] - before["duration_ns"] <= 250_000_000
    if answer["is_interpolated"]:
        (after,) = (of for of in moments if of["is_after_asked"])
        sizes = sorted((before["resident_bytes"], after["resident_bytes"]))
        assert sizes[0] <= answer["resident_bytes"] <= sizes[1]


def test_what_a_replay_measured_of_a_setting_stands_beside_it(record: Record, tmp_path: Path) -> None:
    path = record("keeps_memory", "arenas").trace().path
    remedy_before = remedy(cause_in(path), "MALLOC_ARENA_MAX")
    assert remedy_before["replayed"] == []
    setting = ["--set", remedy_before["replay_set"]]
    line = [command, "replay", path, *setting, "--on", "glibc", "--runs", "3", "--idle", "0", "--json"]
    replay = subprocess.run(list(map(str, line)), capture_output=True, check=True, timeout=300)
    (tmp_path / "replay.json").write_bytes(replay.stdout)
    found = remedy(cause_in(path, "--replayed", str(tmp_path / "replay.json")), "MALLOC_ARENA_MAX")
    candidates = json.loads(replay.stdout)["candidates"]
    (tried,) = [one for one in candidates if one["variables"] == {"MALLOC_ARENA_MAX": "1"}]
    by_figure = {one["figure"]: one for one in found["replayed"]}
    for label, key in (("peak", "peak_bytes"), ("end", "end_bytes")):
        assert by_figure[label]["difference"] == tried["figures"][key]["difference"]
        assert by_figure[label]["verdict"] == tried["figures"][key]["verdict"]
