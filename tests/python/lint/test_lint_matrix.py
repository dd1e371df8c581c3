# SPDX-License-Identifier: MIT
"""Which spellings give memory back, by the C++ library that is here: what the check not-released is built on."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM = r"""
#include <cstdio>
#include <string>
#include <utility>
#include <vector>
template <typename Change>
void vector(const char* name, Change change) {
  std::vector<char> v(1000);
  change(v);
  std::printf("[\"vector %s\", %s]\n", name, v.capacity() ? "true" : "false");
}
template <typename Change>
void text(const char* name, Change change) {
  std::string s(1000, 'x');
  change(s);
  std::printf("[\"string %s\", %s]\n", name, s.capacity() > 100 ? "true" : "false");
}
int main() {
  using V = std::vector<char>;
  using S = std::string;
  vector("clear()", [](V& v) { v.clear(); });
  vector("resize(0)", [](V& v) { v.resize(0); });
  vector("reserve(0)", [](V& v) { v.clear(); v.reserve(0); });
  vector("= {}", [](V& v) { v = {}; });
  vector("= V()", [](V& v) { v = V(); });
  vector("swap", [](V& v) { V().swap(v); });
  vector("shrink_to_fit", [](V& v) { v.clear(); v.shrink_to_fit(); });
  text("clear()", [](S& s) { s.clear(); });
  text("resize(0)", [](S& s) { s.resize(0); });
  text("reserve(0)", [](S& s) { s.clear(); s.reserve(0); });
  text("= empty", [](S& s) { s = ""; });
  text("= S()", [](S& s) { s = S(); });
  text("swap", [](S& s) { S().swap(s); });
  text("shrink_to_fit", [](S& s) { s.clear(); s.shrink_to_fit(); });
}
"""
KEPT = {
    "vector clear()",
    "vector resize(0)",
    "vector reserve(0)",
    "vector = {}",
    "string clear()",
    "string resize(0)",
    "string reserve(0)",
    "string = empty",
    "string = S()",
}


def test_what_keeps_and_what_gives_back(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ here")
    source, program = tmp_path / "matrix.cpp", tmp_path / "matrix"
    source.write_text(PROGRAM)
    subprocess.run([compiler, "-std=c++20", "-O0", source, "-o", program], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    found = dict(json.loads(line) for line in said.splitlines())
    assert {name for name, is_kept in found.items() if is_kept} == KEPT
    assert len(found) == 14
