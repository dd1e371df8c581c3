# SPDX-License-Identifier: MIT
"""export --to dhat beside valgrind's DHAT: the same program under both, the same figures."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Record, command

pytestmark = pytest.mark.full

source_text = """
#include <stdlib.h>
#include <string.h>
static void *kept[100], *high[50];
void leak(int i) { kept[i] = malloc(100 + i); }
void wave(void) {
  for (int i = 0; i < 50; ++i) high[i] = malloc(2000);
  for (int i = 0; i < 50; ++i) free(high[i]);
}
void churn(void) { for (int i = 0; i < 1000; ++i) { char *p = malloc(64); p[0] = 1; free(p); } }
void zeroed(void) { free(calloc(7, 11)); }
int main(void) {
  for (int i = 0; i < 100; ++i) leak(i);
  wave(); churn(); zeroed();
  free(kept[0]);
  return 0;
}
"""
functions = ("leak", "wave", "churn", "zeroed")
fields = ("tb", "tbk", "gb", "gbk", "eb", "ebk", "mb", "mbk")
# By the program itself: valgrind 3.19 writes 0 where a stack has its maximum behind the program's.
maxima = {"leak": [14_950, 100], "wave": [100_000, 50], "churn": [64, 1], "zeroed": [77, 1]}


def figures(document: dict[str, Any]) -> dict[str, list[int]]:
    """Of each function of the program, the fields of its one stack."""
    found: dict[str, list[int]] = {}
    for point in document["pps"]:
        text = " ".join(document["ftbl"][frame] for frame in point["fs"])
        for name in functions:
            if re.search(rf": {name} \(", text):
                assert name not in found
                found[name] = [point[field] for field in fields]
    return found


def test_figures_are_those_of_valgrinds_dhat(record: Record, tmp_path: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("apt-get install valgrind")
    (tmp_path / "work.c").write_text(source_text)
    program = tmp_path / "work"
    subprocess.run(["gcc", "-g", "-O0", tmp_path / "work.c", "-o", program], check=True, timeout=60)
    recording = record(str(program))
    ours = tmp_path / "ours.json"
    export = [command, "export", recording.paths()[0], "--to", "dhat", "-o", ours]
    subprocess.run(export, check=True, timeout=60, capture_output=True)
    theirs = tmp_path / "theirs.json"
    under = ["valgrind", "--tool=dhat", f"--dhat-out-file={theirs}", program]
    subprocess.run(under, check=True, timeout=120, capture_output=True, env={**os.environ, "LC_ALL": "C"})
    own, other = (figures(json.loads(path.read_text())) for path in (ours, theirs))
    assert set(own) == set(functions)
    assert {name: of[:6] for name, of in own.items()} == {name: of[:6] for name, of in other.items()}
    assert {name: of[6:] for name, of in own.items()} == maxima
