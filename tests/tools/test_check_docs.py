# SPDX-License-Identifier: MIT
import pytest

good = {
    "README.md": (
        "# Start\n[architecture](ARCHITECTURE.md#the-flow) and `src/trace/event.hpp:12`, `make run`\n"
        "```sh\nmake test  # make nothing\n.venv/bin/heapwright run -- ls\n```\n"
        "```text\nmake dinner\n```\n"
        "<!-- figures: bench/results/a.json -->\n"
    ),
    "ARCHITECTURE.md": "# Shape\n## The flow\n",
    "Makefile": "run:\n\ttrue\ntest: run\n\ttrue\n",
    "src/trace/event.hpp": "",
    "python/heapwright/cli/run.py": "",
    "bench/results/a.json": "{}",
}


def test_documents_that_name_only_what_exists_pass(run_check, write_tree):
    result = run_check("check_docs.py", write_tree(good))
    assert result.returncode == 0, result.stdout
    assert "2 documents checked, 0 problems" in result.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[x](docs/none.md)", "dead link docs/none.md"),
        ("[x](ARCHITECTURE.md#no-such)", "dead anchor ARCHITECTURE.md#no-such"),
        ("see `src/trace/none.hpp`", "path src/trace/none.hpp does not exist"),
        ("type `make dinner`", "no make target dinner"),
        ("```sh\nmake dinner\n```\n", "no make target dinner"),
        ("```console\n$ heapwright cook FILE\noutput\n```\n", "no command heapwright cook"),
        ("type `heapwright cook`", "no command heapwright cook"),
        ("<!-- figures: bench/results/b.json -->", "without their result file bench/results/b.json"),
    ],
)
def test_each_dead_reference_fails(run_check, write_tree, text, message):
    result = run_check("check_docs.py", write_tree(good | {"README.md": text}))
    assert result.returncode == 1
    assert message in result.stdout


def test_a_page_that_the_site_does_not_list_fails(run_check, write_tree):
    site = {"docs/a.md": "# A\n", "docs/parts/b.md": "# B\n", "mkdocs.yml": "nav:\n  - A: a.md\n"}
    result = run_check("check_docs.py", write_tree(good | site))
    assert result.returncode == 1
    assert "mkdocs.yml: docs/parts/b.md is not in nav" in result.stdout
    assert "docs/a.md" not in result.stdout
