# SPDX-License-Identifier: MIT
import pytest

P = "python/heapwright"
good = {
    f"{P}/__init__.py": "def run():\n    from heapwright.cli import run\n",
    f"{P}/cli/__init__.py": "from heapwright.cli.info import show\nfrom heapwright.model import trace\n",
    f"{P}/cli/info.py": "import heapwright.model.trace\n",
    f"{P}/model/__init__.py": "",
    f"{P}/model/native.py": "from heapwright import _native\nfrom heapwright._native import Reader\n",
    f"{P}/model/trace.py": "from . import native\nfrom .records import Span\nimport os\n",
    f"{P}/model/records.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .trace import Trace\n",
}


def test_a_tree_without_a_circle_passes(run_check, write_tree):
    result = run_check("check_imports.py", write_tree(good))
    assert result.returncode == 0, result.stdout
    assert "7 Python modules checked, 0 problems" in result.stdout


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("model/records.py", "import heapwright.model.trace\n", "import cycle: "),
        ("model/records.py", "from heapwright.model.trace import Trace\n", "import cycle: "),
        ("model/records.py", "def later():\n    from .trace import Trace\n", "import cycle: "),
        ("model/records.py", "from .. import run\n", "import cycle: "),
        ("cli/info.py", "from heapwright.cli import run\n", "heapwright.cli <- heapwright.cli.info"),
        ("model/trace.py", "from heapwright import _native\n", "model.trace imports _native"),
        ("model/trace.py", "from .._native import Reader\n", "model.trace imports _native"),
    ],
)
def test_each_wrong_import_is_found(run_check, write_tree, name, text, message):
    result = run_check("check_imports.py", write_tree(good | {f"{P}/{name}": text}))
    assert result.returncode == 1
    assert message in result.stdout
