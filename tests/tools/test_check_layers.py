# SPDX-License-Identifier: MIT
import pytest

table = """# x
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
        ("src/trace/event_kind.hpp", '#include "trace/event.hpp"\n', "include cycle: "),
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


def test_a_shared_header_is_no_cycle(run_check, write_tree):
    diamond = {
        "src/trace/a.hpp": '#include "trace/b.hpp"\n#include "trace/c.hpp"\n',
        "src/trace/b.hpp": '#include "trace/d.hpp"\n',
        "src/trace/c.hpp": '#include "trace/d.hpp"\n',
        "src/trace/d.hpp": "",
    }
    assert run_check("check_layers.py", write_tree(good | diamond)).returncode == 0
