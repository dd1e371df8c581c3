# SPDX-License-Identifier: MIT
"""What `new` makes, by debug information: right or not known, with either compiler, optimized or not."""

import json
import shutil
import subprocess
from pathlib import Path

import heapwright
import pytest
from conftest import Record, Recording, command
from made_types import ARRAYS, KINDS, program

# At least this share is known; the rest has no variable and no constructor behind the call.
KNOWN = {"-O0": 0.8, "-O2": 0.55}
# Of arrays fewer: a base's pointer, a class with virtual functions, a constant number say nothing.
KNOWN_ARRAYS = {"-O0": 0.5, "-O2": 0.6}
WAYS = [(compiler, level) for compiler in ("g++", "clang++") for level in KNOWN]
FEW = """
#include <cstdlib>
#include <string>
namespace app {
struct Plain { long a, b, c; };
struct Session { std::string user; long hits; Session(const std::string& name, long of) : user(name), hits(of) {} };
struct Shape { virtual ~Shape() {} long sides = 4; };
struct Square : Shape { Square() { sides = 4; } };
template <typename T> struct Node { T value; Node* next; };
}
void* volatile kept;
int main(int count, char**) {
  for (int i = 0; i < 10; ++i) {
    auto* plain = new app::Plain;
    plain->a = i;
    kept = plain;
    app::Shape* shape = new app::Square;
    kept = shape;
    auto* node = new app::Node<double>{1.0, nullptr};
    kept = node;
    kept = new app::Session("a name", i);
    int* numbers = new int[1000 * count];
    numbers[0] = i;
    kept = numbers;
    kept = operator new(100);
    auto** zeroed = static_cast<long**>(std::calloc(sizeof(long*), 100 + count));
    zeroed[0] = nullptr;
    kept = zeroed;
  }
}
"""
ARRAYS_OF_EACH_KIND = """
#include <string>
namespace app {
struct Plain { long a, b; };
struct Row { std::string name; ~Row(); };
Row::~Row() {}
}
volatile int count = 5;
app::Plain* volatile kept;
app::Row* volatile rows;
__attribute__((noinline)) void plain() { auto* made = new app::Plain[count]; kept = made; }
__attribute__((noinline)) void destroyed() { auto* made = new app::Row[count]; rows = made; }
__attribute__((noinline)) void fixed() { auto* made = new app::Row[7]; rows = made; }
__attribute__((noinline)) void buffer() {
  auto* made = reinterpret_cast<app::Plain*>(new char[count * sizeof(app::Plain) + 16]);
  kept = made;
}
__attribute__((noinline)) void fixed_buffer() {
  auto* made = reinterpret_cast<app::Plain*>(new char[4096]);
  kept = made;
}
int main() { plain(), destroyed(), fixed(), buffer(), fixed_buffer(); }
"""
# A library calls its constructors through its own table of functions, a program those of the library.
LIBRARY_HEAD = """
#include <string>
namespace ui {
struct Widget { std::string title; long a, b; Widget(const char*); virtual ~Widget(); };
struct Panel : Widget { int more[6]; Panel(); };
struct Plain { std::string text; long size; Plain(int); };
Widget* make();
}
"""
LIBRARY = """
ui::Widget::Widget(const char* given) : title(given), a(1), b(2) {}
ui::Widget::~Widget() {}
ui::Panel::Panel() : Widget("panel") { more[0] = 1; }
ui::Plain::Plain(int of) : text(of, 'x'), size(of) {}
ui::Widget* ui::make() { return new Panel; }
"""
OF_LIBRARY = """
struct Holder { ui::Plain first; long rest[4]; };
ui::Widget* volatile kept;
ui::Plain* volatile plain;
Holder* volatile holder;
__attribute__((noinline)) void make_widget() { ui::Widget* made = new ui::Widget("title"); kept = made; }
__attribute__((noinline)) void make_plain() { ui::Plain* made = new ui::Plain(5); plain = made; }
__attribute__((noinline)) void make_base() { ui::Widget* made = new ui::Panel; kept = made; }
__attribute__((noinline)) void make_holder() { Holder* made = new Holder{ui::Plain(3), {1}}; holder = made; }
int main() {
  make_widget(), make_plain(), make_base(), make_holder();
  kept = ui::make();
}
"""


def compiled(folder: Path, source: str, *options: str) -> Path:
    (folder / "made.cpp").write_text(source)
    compiler, *others = options
    line = [compiler, "-g", "-w", "-std=c++17", "made.cpp", "-o", "made", *others]
    subprocess.run(line, check=True, cwd=folder, timeout=250)
    return folder / "made"


def found_types(recording: Recording) -> dict[str, list[str]]:
    """By the program's function that calls `new` itself: the types of its calls."""
    trace = heapwright.open(recording.paths()[0])
    made, symbols = trace.allocated_types(), trace.symbols()
    parents, frames = trace.stack_columns["parent"].tolist(), trace.stack_columns["frame"].tolist()
    found: dict[str, list[str]] = {}
    for frame in {frame for stack, frame in enumerate(frames) if stack and stack not in set(parents)}:
        locations = symbols.locations(frame)
        if not any(location.function.startswith(("std::", "__gnu_cxx")) for location in locations):
            found.setdefault(locations[-1].function, []).append(made.get(frame, ""))
    return found


@pytest.mark.full
@pytest.mark.parametrize(("compiler", "level"), WAYS)
def test_types_are_right_or_not_known(record: Record, tmp_path: Path, compiler: str, level: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    source, types = program(42, 60, KINDS)
    recording = record(compiled(tmp_path, source, compiler, level))
    assert recording.status == 0, recording.errors
    found = {name: its for name, its in found_types(recording).items() if name in types}
    wrong = {name: (its, types[name]) for name, its in found.items() if not {"", types[name]}.issuperset(its)}
    assert not wrong
    known = sum(types[name] in its for name, its in found.items())
    assert len(found) > 100
    assert known >= KNOWN[level] * len(found)


@pytest.mark.full
@pytest.mark.parametrize(("compiler", "level"), WAYS)
def test_arrays_are_right_or_not_known(record: Record, tmp_path: Path, compiler: str, level: str) -> None:
    """Bytes that are used as an array of a class are no array of it."""
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    source, types = program(42, 60, ARRAYS)
    recording = record(compiled(tmp_path, source, compiler, level))
    assert recording.status == 0, recording.errors
    found = {name: its for name, its in found_types(recording).items() if name in types}
    wrong = {name: (its, types[name]) for name, its in found.items() if not {"", types[name]}.issuperset(its)}
    assert not wrong
    arrays = [name for name in found if types[name] != "char[]"]
    known = sum(types[name] in found[name] for name in arrays)
    assert len(arrays) > 80
    assert known >= KNOWN_ARRAYS[level] * len(arrays)


def test_an_array_of_classes_is_one(record: Record, tmp_path: Path) -> None:
    """With and without their number in front, by all that is told of arrays; buffers are none."""
    recording = record(compiled(tmp_path, ARRAYS_OF_EACH_KIND, "g++", "-O0"))
    assert recording.status == 0, recording.errors
    found = {name.partition("(")[0]: its for name, its in found_types(recording).items()}
    names = ("plain", "destroyed", "fixed", "buffer", "fixed_buffer")
    assert [found[name] for name in names] == [["app::Plain[]"], ["app::Row[]"], ["app::Row[]"], [""], [""]]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("level", KNOWN)
def test_constructors_of_libraries(record: Record, tmp_path: Path, compiler: str, level: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    (tmp_path / "library.cpp").write_text(LIBRARY_HEAD + LIBRARY)
    line = [compiler, level, "-g", "-shared", "-fPIC", "library.cpp", "-o", "libui.so"]
    subprocess.run(line, check=True, cwd=tmp_path, timeout=250)
    program = compiled(
        tmp_path, LIBRARY_HEAD + OF_LIBRARY, compiler, level, "-L.", "-Wl,-rpath,$ORIGIN", "-lui"
    )
    recording = record(program)
    assert recording.status == 0, recording.errors
    found = {name.partition("(")[0]: its for name, its in found_types(recording).items()}
    names = ("make_widget", "make_plain", "make_base", "make_holder", "ui::make")
    # A pointer to a base does not say what it points to, nor does the constructor of a member.
    wanted = [["ui::Widget"], ["ui::Plain"], [""], [""], ["ui::Panel"]]
    assert [found[name] for name in names] == wanted


@pytest.mark.parametrize("level", KNOWN)
def test_explain_groups_by_them(record: Record, tmp_path: Path, level: str) -> None:
    recording = record(compiled(tmp_path, FEW, "g++", level))
    assert recording.status == 0, recording.errors
    line = [command, "explain", recording.paths()[0], "--by", "type", "--question", "volume", "--json"]
    said = subprocess.run([str(part) for part in line], check=True, capture_output=True, timeout=120).stdout
    sites = {site["name"]: site for site in json.loads(said)["questions"]["volume"]["sites"]}
    wanted = {"app::Plain": 24, "app::Square": 16, "app::Node<double>": 16, "app::Session": 40, "int[]": 4000}
    assert {name: sites[name]["bytes"] for name in wanted if name in sites} == {
        name: 10 * size for name, size in wanted.items()
    }
    assert sum(site["bytes"] == 10 * 100 for site in sites.values()) == 1, (
        "what no type is told of has its place"
    )
    assert sum(site["bytes"] == 10 * 808 for site in sites.values()) == 1
    assert "app::Shape" not in sites
    assert "long*" not in sites


@pytest.mark.parametrize("level", KNOWN)
def test_tables_of_sites_have_a_column_of_them(record: Record, tmp_path: Path, level: str) -> None:
    recording = record(compiled(tmp_path, FEW, "g++", level))
    assert recording.status == 0, recording.errors
    line = [command, "explain", recording.paths()[0], "--question", "volume", "--unchecked"]
    said = subprocess.run([*map(str, line), "--json"], check=True, capture_output=True, timeout=120).stdout
    sites = json.loads(said)["questions"]["volume"]["sites"]
    found = {site["type"]["name"]: site["type"] for site in sites if "type" in site}
    assert {name: found[name]["weight"] for name in ("app::Plain", "app::Square", "app::Session")} == {
        "app::Plain": 240,
        "app::Square": 160,
        "app::Session": 400,
    }
    assert all(one["share"] == 1 and not one["others"] and one["is_most"] for one in found.values())
    assert sum("type" not in site for site in sites) >= 2, "calloc's and operator new's are not known"
    rows = query(recording.paths()[0], "select type, type_bytes, other_types, bytes from site")
    known = {row[0]: row[1:] for row in rows if row[0]}
    assert known["app::Session"] == [400, 0, 400]
    assert any(not row[0] and row[1:3] == [0, 0] for row in rows)


def query(trace: Path, text: str) -> list[list[object]]:
    said = subprocess.run(
        [command, "sql", str(trace), text, "--json"], check=True, capture_output=True, timeout=120
    )
    rows: list[list[object]] = json.loads(said.stdout)["rows"]
    return rows
