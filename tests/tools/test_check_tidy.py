# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_tidy

RULES = "Checks: '-*,bugprone-*'\nWarningsAsErrors: '*'\n"


@pytest.mark.parametrize(
    ("folder", "text", "found"),
    [
        ("src", "int f(int a) { return a; }\n", ""),
        (
            "src",
            "bool f(const char* a) { return a == nullptr; }\nvoid g() { int x = sizeof(1); }\n",
            "sizeof",
        ),
        ("tests", "void g() { int x = sizeof(1); }\n", ""),
    ],
)
def test_findings_of_the_sources_fail(run_check, write_tree, folder, text, found):
    root = write_tree({f"{folder}/a.cpp": text, "src/b.cpp": "int g();\n", ".clang-tidy": RULES})
    commands = [
        {
            "directory": str(root),
            "file": f"{root}/{name}",
            "command": f"g++ -fno-allocation-dce -c {root}/{name}",
        }
        for name in (f"{folder}/a.cpp", "src/b.cpp")
    ]
    (root / "build/release").mkdir(parents=True)
    (root / "build/release/compile_commands.json").write_text(json.dumps(commands))
    result = run_check("check_tidy.py", "--root", root)
    assert result.returncode == (1 if found else 0), result.stdout
    assert found in result.stdout


# What the analyzer finds when it looks deep as well.
PATHS = """#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>
int divided(const std::vector<int>& v) { int n = 0; if (v.empty()) return 10 / n; return 1; }
int freed(int n) { int* p = new int(n); if (n > 3) delete p; int r = *p; if (n <= 3) delete p; return r; }
int unset(int n) { int v; if (n > 2) v = 1; if (n > 1) return v; return 0; }
int moved() { auto p = std::make_unique<int>(3); auto q = std::move(p); return *p + *q; }
char* leaked(int n) { char* p = static_cast<char*>(malloc(10)); if (n) return p; return nullptr; }
struct Node { int value; };
int null(std::map<std::string, Node*>& all, const std::string& name) {
  auto found = all.find(name);
  Node* node = found == all.end() ? nullptr : found->second;
  return node->value;
}
"""


def test_faults_along_paths_are_found(run_check, write_tree):
    rules = "Checks: '-*,clang-analyzer-*'\nWarningsAsErrors: '*'\n"
    root = write_tree({"src/a.cpp": PATHS, "src/b.cpp": "int g();\n", ".clang-tidy": rules})
    commands = [
        {
            "directory": str(root),
            "file": f"{root}/src/{name}",
            "command": f"g++ -o {name}.o -c {root}/src/{name}",
        }
        for name in ("a.cpp", "b.cpp")
    ]
    (root / "build/release").mkdir(parents=True)
    (root / "build/release/compile_commands.json").write_text(json.dumps(commands))
    found = run_check("check_tidy.py", "--root", root).stdout
    for name in ("DivideZero", "NewDelete", "uninitialized", "Move", "unix.Malloc", "NullDereference"):
        assert name in found, name


# In one line it may do without.
UNBRACED = "int f(int a) {\n  if (a > 1) return 2;\n  if (a > 3)\n    return 3;\n  return a;\n}\n"


def test_a_statement_below_its_condition_has_braces(run_check, write_tree):
    rules = (Path(__file__).parents[2] / ".clang-tidy").read_text()
    root = write_tree({"src/a.cpp": UNBRACED, ".clang-tidy": rules})
    command = {"directory": str(root), "file": f"{root}/src/a.cpp", "command": f"g++ -c {root}/src/a.cpp"}
    (root / "build/release").mkdir(parents=True)
    (root / "build/release/compile_commands.json").write_text(json.dumps([command]))
    found = run_check("check_tidy.py", "--root", root).stdout
    assert found.count("readability-braces-around-statements") == 1 and "a.cpp:3:" in found, found


def test_headers_that_gcc_compiled_ahead_are_read_as_text(run_check, write_tree):
    made = "tests/CMakeFiles/x.dir/cmake_pch.hxx"
    root = write_tree({"src/a.cpp": "int f();\n", f"{made}.gch": "gpch", made: "", ".clang-tidy": RULES})
    ahead = f"-Winvalid-pch -include {root}/{made}"
    command = {
        "directory": str(root),
        "file": f"{root}/src/a.cpp",
        "command": f"g++ {ahead} -c {root}/src/a.cpp",
    }
    (root / "build/release").mkdir(parents=True)
    (root / "build/release/compile_commands.json").write_text(json.dumps([command]))
    result = run_check("check_tidy.py", "--root", root)
    assert result.returncode == 0, result.stdout


def test_files_that_do_not_go_together_are_read_alone(run_check, write_tree):
    text = "namespace { struct A {}; }\nA f() { return {}; }\n"
    files = {"src/a.cpp": text, "src/b.cpp": text.replace("f()", "g()")}
    root = write_tree({**files, ".clang-tidy": RULES})
    commands = [
        {"directory": str(root), "file": f"{root}/{name}", "command": f"g++ -c {root}/{name}"}
        for name in files
    ]
    (root / "build/release").mkdir(parents=True)
    (root / "build/release/compile_commands.json").write_text(json.dumps(commands))
    result = run_check("check_tidy.py", "--root", root)
    assert result.stdout == "2 files: nothing found\n", result.stdout


def test_a_file_that_does_not_go_with_others_is_left_out() -> None:
    """Not the half of them, since then each part would be read to its first error."""
    files = [f"src/{name}.cpp" for name in "abcd"]
    error = "/x/together.cpp:{}:5: error: redefinition of 'A' [clang-diagnostic-error]\n"
    with patch.object(check_tidy, "source_of", return_value="one\ntwo\nthree\n"):
        # Lines 4 to 6 are the second file's.
        assert check_tidy.parts_of(files, error.format(4)) == [
            ["src/a.cpp", "src/c.cpp", "src/d.cpp"],
            ["src/b.cpp"],
        ]
        assert check_tidy.parts_of(files, error.format(6)) == [
            ["src/a.cpp", "src/c.cpp", "src/d.cpp"],
            ["src/b.cpp"],
        ]
        both = error.format(7) + error.format(12)
        assert check_tidy.parts_of(files, both) == [["src/a.cpp", "src/b.cpp"], ["src/c.cpp"], ["src/d.cpp"]]
        assert check_tidy.parts_of(files, "a.cpp:1:1: error: sizeof") == [files[:2], files[2:]]


def test_without_clang_tidy_it_says_what_installs_it(capsys: pytest.CaptureFixture[str]) -> None:
    with patch.object(check_tidy, "PROGRAM", "no-such-program"), patch.object(sys, "argv", ["check_tidy.py"]):
        assert check_tidy.main() == 2
    assert capsys.readouterr().err == "no clang-tidy: type make check, which installs it\n"


def test_what_cmake_compiles_as_one_file_is_read_too(run_check, write_tree):
    unity = "build/release/Unity/unity_0_cxx.cxx"
    root = write_tree({"src/a.cpp": "void g() { int x = sizeof(1); }\n", unity: "", ".clang-tidy": RULES})
    (root / unity).write_text(f'#include "{root}/src/a.cpp"\n')
    command = {"directory": str(root), "file": f"{root}/{unity}", "command": f"g++ -c {root}/{unity}"}
    (root / "build/release/compile_commands.json").write_text(json.dumps([command]))
    result = run_check("check_tidy.py", "--root", root)
    assert result.returncode == 1 and "sizeof" in result.stdout, result.stdout


def test_nothing_to_look_at_fails(run_check, write_tree):
    root = write_tree({"build/release/compile_commands.json": "[]", ".clang-tidy": RULES})
    assert run_check("check_tidy.py", "--root", root).returncode == 1


def test_a_clean_file_is_looked_at_again_when_a_header_changes(run_check, write_tree):
    root = write_tree({"src/a.cpp": '#include "a.hpp"\n', "src/a.hpp": "int g();\n", ".clang-tidy": RULES})
    command = {"directory": str(root), "file": f"{root}/src/a.cpp", "command": f"g++ -c {root}/src/a.cpp"}
    (root / "build/release").mkdir(parents=True)
    (root / "build/release/compile_commands.json").write_text(json.dumps([command]))
    assert run_check("check_tidy.py", "--root", root).returncode == 0
    assert run_check("check_tidy.py", "--root", root).returncode == 0
    (root / "src/a.hpp").write_text("inline int g() { return sizeof(1); }\n")
    (root / ".clang-tidy").write_text(RULES + "HeaderFilterRegex: '.*'\n")
    assert run_check("check_tidy.py", "--root", root).returncode == 1
    (root / "src/a.hpp").write_text("int h();\n")
    assert run_check("check_tidy.py", "--root", root).returncode == 0
    (root / "src/a.hpp").write_text("inline int g() { return sizeof(1); }\n")
    assert run_check("check_tidy.py", "--root", root).returncode == 1
