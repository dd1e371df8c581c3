# SPDX-License-Identifier: MIT
import pytest

table = """# x
| folder | kind |
|---|---|
| `include/heapwright/` | noun |
| `src/base/` | noun |
| `src/platform/` | noun |
| `src/record/` | verb |
| `src/trace/` | noun |
| `python/heapwright/cli/` | verb |

```layers
base:
platform: base
record: platform trace/event_kind.hpp
trace: base
python/cli: model
python/model: _native
```
"""
good = {
    "ARCHITECTURE.md": table,
    "src/base/bits.hpp": "#include <cstdint>\n",
    "src/trace/event.hpp": '#include "trace/event_kind.hpp"\n',
    "src/trace/event_kind.hpp": '#include "base/bits.hpp"\n',
    "src/platform/pages.hpp": '#include "base/bits.hpp"\n',
    "src/record/lane.cpp": '#include "platform/pages.hpp"\n#include "trace/event_kind.hpp"\n',
    "include/heapwright/arena.hpp": "#include <memory>\n",
    "python/heapwright/cli/run.py": "from heapwright.model import Facts\n",
    "python/heapwright/model.py": "from heapwright import _native\n",
}


def test_a_tree_that_keeps_to_the_table_passes(run_check, write_tree):
    result = run_check("check_layers.py", write_tree(good))
    assert result.returncode == 0, result.stdout
    assert "6 C++ files checked, 0 problems" in result.stdout


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("src/base/bits.hpp", '#include "platform/pages.hpp"\n', "base may not include platform/pages.hpp"),
        ("src/record/lane.cpp", '#include "trace/event.hpp"\n', "record may not include trace/event.hpp"),
        ("src/record/lane.cpp", '#include "lane.hpp"\n', "by its path from src/"),
        ("src/trace/event_kind.hpp", '#include "trace/event.hpp"\n', "circle of modules: "),
        ("src/extra/a.hpp", "", "folder extra has no row"),
        ("include/heapwright/arena.hpp", '#include "base/bits.hpp"\n', "public headers include only"),
        ("python/heapwright/cli/run.py", "import heapwright._native\n", "python/cli may not import _native"),
        ("python/heapwright/cli/run.py", "from .. import _native\n", "python/cli may not import _native"),
        ("python/heapwright/model.py", "from .cli import run\n", "python/model may not import cli"),
        ("python/heapwright/other.py", "", "python/other has no row"),
    ],
)
def test_each_forbidden_edge_fails(run_check, write_tree, name, text, message):
    result = run_check("check_layers.py", write_tree(good | {name: text}))
    assert result.returncode == 1
    assert message in result.stdout


def test_a_missing_table_is_named(run_check, write_tree):
    result = run_check("check_layers.py", write_tree(good | {"ARCHITECTURE.md": "# x\n"}))
    assert result.returncode == 1
    assert "add the layer table" in result.stderr


def test_a_circle_through_a_cpp_file_is_found_and_printed(run_check, write_tree):
    circle = {
        "src/trace/reader.hpp": "",
        "src/trace/reader.cpp": '#include "trace/reader.hpp"\n#include "trace/block.hpp"\n',
        "src/trace/block.hpp": '#include "trace/format.hpp"\n',
        "src/trace/format.hpp": "",
        "src/trace/format.cpp": '#include "trace/format.hpp"\n#include "trace/reader.hpp"\n',
        "src/trace/tables.cpp": '#include "trace/reader.hpp"\n',  # reaches it, is not in it
    }
    result = run_check("check_layers.py", write_tree(good | circle))
    assert result.returncode == 1
    ring = "src/trace/block -> src/trace/format -> src/trace/reader -> src/trace/block"
    assert f"circle of modules: {ring}\n" in result.stdout
    assert ", 1 problems" in result.stdout


def test_a_function_is_defined_beside_its_declaration(run_check, write_tree):
    space = "namespace heapwright::trace {\n"
    apart = {
        "src/trace/reader.hpp": space + "[[nodiscard]] int read(\n    int from) noexcept;\n}\n",
        "src/trace/block.cpp": space + "int read(int from) noexcept {\n}\n}\n",
        # Others of the name: unnamed, a class's, one with a header of its own, one in another namespace.
        "src/trace/a.cpp": space + "namespace {\nint read(int from) {\n}\n}\n}\n",
        "src/trace/b.cpp": space + "int Reader::read(int from) {\n}\n}\n",
        "src/trace/c.hpp": space + "int read(long from);\n}\n",
        "src/trace/c.cpp": space + "int read(long from) {\n}\n}\n",
        "src/base/d.cpp": "namespace heapwright::base {\nint read(int from) {\n}\n}\n",
    }
    result = run_check("check_layers.py", write_tree(good | apart))
    declared = "src/trace/c.hpp and src/trace/reader.hpp"
    assert f"src/trace/block.cpp: defines read, declared in {declared}\n" in result.stdout
    assert ", 1 problems" in result.stdout


def test_two_circles_are_two_problems(run_check, write_tree):
    pair = {
        f"src/{folder}/{name}.cpp": f'#include "{folder}/{other}.hpp"\n'
        for folder in ("base", "trace")
        for name, other in (("left", "right"), ("right", "left"))
    }
    headers = {name.replace(".cpp", ".hpp"): "" for name in pair}
    result = run_check("check_layers.py", write_tree(good | pair | headers))
    assert "circle of modules: src/base/left -> src/base/right -> src/base/left\n" in result.stdout
    assert "circle of modules: src/trace/left -> src/trace/right -> src/trace/left\n" in result.stdout
    assert ", 2 problems" in result.stdout


def test_a_folder_within_a_folder_has_its_own_row(run_check, write_tree):
    inner = {
        "ARCHITECTURE.md": table.replace("record: ", "trace/codec: trace\nrecord: "),
        "src/trace/codec/column.hpp": '#include "trace/event.hpp"\n',
    }
    assert run_check("check_layers.py", write_tree(good | inner)).returncode == 0
    inner["src/record/lane.cpp"] = '#include "trace/codec/column.hpp"\n'
    inner["src/trace/event.cpp"] = '#include "trace/codec/column.hpp"\n'
    result = run_check("check_layers.py", write_tree(good | inner))
    assert "src/record/lane.cpp: record may not include trace/codec/column.hpp" in result.stdout
    assert "src/trace/event.cpp: trace may not include trace/codec/column.hpp" in result.stdout


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ARCHITECTURE.md": table.replace("| `src/trace/` | noun |\n", "")}, "does not list src/trace/"),
        ({"fuzz/trace.cpp": ""}, "does not list fuzz/"),
        ({"python/heapwright/page/page.css": ""}, "does not list python/heapwright/page/"),
        ({"ARCHITECTURE.md": table.replace("`src/base/`", "`src/basis/`")}, "lists src/basis/, which is not"),
        ({"ARCHITECTURE.md": table.replace("base:\n", "base:\nheap: base\n")}, "has a row for heap, which"),
        (
            {"ARCHITECTURE.md": table.replace("base:\n", "base:\npython/lab:\n")},
            "a row for python/lab, which",
        ),
    ],
)
def test_the_tables_name_what_there_is(run_check, write_tree, changed, message):
    result = run_check("check_layers.py", write_tree(good | changed))
    assert result.returncode == 1
    assert message in result.stdout


def test_what_is_built_needs_no_row(run_check, write_tree):
    built = {"build/release/x.o": "", ".venv/x.py": ""}
    assert run_check("check_layers.py", write_tree(good | built)).returncode == 0


def test_a_shared_header_is_no_cycle(run_check, write_tree):
    diamond = {
        "src/trace/a.hpp": '#include "trace/b.hpp"\n#include "trace/c.hpp"\n',
        "src/trace/b.hpp": '#include "trace/d.hpp"\n',
        "src/trace/c.hpp": '#include "trace/d.hpp"\n',
        "src/trace/d.hpp": "",
    }
    assert run_check("check_layers.py", write_tree(good | diamond)).returncode == 0


def test_what_a_row_allows_is_used(run_check, write_tree):
    allowed = table.replace("platform: base\n", "platform: base trace\n").replace(
        "cli: model", "cli: model report"
    )
    result = run_check("check_layers.py", write_tree(good | {"ARCHITECTURE.md": allowed}))
    assert result.returncode == 1
    assert "allows platform to use trace, which it does not" in result.stdout
    assert "allows python/cli to use report, which it does not" in result.stdout


def test_the_picture_shows_what_is_used(run_check, write_tree):
    drawn = run_check("check_layers.py", write_tree(good), "--draw").stdout
    assert '"record" -> "trace/event_kind.hpp";' in drawn
    assert '"python/cli" -> "python/model";' in drawn
    assert drawn.count("->") == 6
