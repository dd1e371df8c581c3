# SPDX-License-Identifier: MIT
"""The checks without a recording, over a corpus of what is wrong and what only looks like it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from heapwright.cli import run_command
from lint_sources import CORPUS, wanted

pytest.importorskip("clang.cindex")
CHECKS = CORPUS / "checks.cpp"


def lint(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, object]:
    assert run_command(["lint", "--json", *words]) == status
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def places(document: dict[str, object]) -> list[tuple[int, str]]:
    findings = document["findings"]
    assert isinstance(findings, list)
    return sorted((one["line"], one["rule"].removeprefix("heapwright-")) for one in findings)


@pytest.mark.parametrize("file", [CHECKS, CORPUS / "fixes_reserve.cpp"], ids=lambda file: file.stem)
def test_each_line_of_the_corpus_has_what_its_comment_says_and_no_other_has_any(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = lint(capsys, "--sources", str(CORPUS), str(file))
    expected = sorted((line, words[0]) for line, all_words in wanted(file).items() for words in all_words)
    assert places(document) == expected
    assert document["notes"] == [note for note in document["notes"] if "have errors" not in note]  # type: ignore[attr-defined]


def test_a_private_constructor_gets_the_part(capsys: pytest.CaptureFixture[str]) -> None:
    document = lint(capsys, "--sources", str(CORPUS), str(CHECKS))
    actions = {one["expression"]: one["action"] for one in document["findings"]}  # type: ignore[attr-defined]
    assert actions["std::shared_ptr<Hidden>(new Hidden)"].endswith(
        "make_shared_private<Hidden>(…): the constructor is not public; C++20"
    )
    assert actions["std::shared_ptr<Plain>(new Plain(2))"] == "std::make_shared<Plain>(2)"


def test_headers_are_looked_at_once_and_only_what_has_such_words_is_parsed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inline = "inline void g() { std::shared_ptr<int> p(new int); }\n"
    (tmp_path / "alone.hpp").write_text(f"#include <memory>\n{inline}")
    (tmp_path / "user.cpp").write_text('#include "alone.hpp"\nint main() { g(); }\n')
    (tmp_path / "broken.cpp").write_text('#include "nowhere.hpp"\n')
    (tmp_path / "part.inc").write_text("int other = 1;\n" + inline)
    (tmp_path / "parts.cpp").write_text(
        '#include <memory>\nnamespace a { int x; /* new */\n#include "part.inc"\n}\n'
    )
    entries = [
        {"directory": str(tmp_path), "file": name, "arguments": ["g++", "-c", name]}
        for name in ("user.cpp", "broken.cpp", "parts.cpp")
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    for words in ([], ["--jobs", "1"], ["--jobs", "3"], [str(tmp_path / "alone.hpp")]):
        document = lint(capsys, "--sources", str(tmp_path), *words)
        assert [(one["file"], one["line"]) for one in document["findings"]] == [("alone.hpp", 2)]  # type: ignore[attr-defined]
        assert document["notes"] == []


def copied(folder: Path, text: str) -> Path:
    file = folder / "one.cpp"
    file.write_text(f"#include <memory>\nstruct T {{}};\nvoid f() {{\n{text}\n}}\n", encoding="utf-8")
    return file


NEW = "  std::shared_ptr<T> p(new T);"


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (NEW, True),
        (f"{NEW}  // NOLINT", False),
        (f"{NEW}  // NOLINTER", True),
        (f"{NEW}  // NOLINT(heapwright-shared-from-new)", False),
        (f"{NEW}  // NOLINT(heapwright-*)", False),
        (f"{NEW}  // NOLINT(heapwright-no-reserve, other)", True),
        (f"  // NOLINTNEXTLINE(heapwright-shared-from-new)\n{NEW}", False),
        (f"  // NOLINTNEXTLINE\n  int x;\n{NEW}", True),
        (f"  // NOLINTBEGIN(heapwright-*)\n{NEW}\n  // NOLINTEND(heapwright-*)", False),
        (f"  // NOLINTBEGIN\n  // NOLINTEND\n{NEW}", True),
    ],
)
def test_comments_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, is_told: bool
) -> None:
    copied(tmp_path, text)
    document = lint(capsys, "--sources", str(tmp_path))
    assert len(places(document)) == is_told
    assert document["hidden"]["nolint"] == (not is_told)  # type: ignore[index]


def test_a_baseline_knows_what_was_there_wherever_it_moved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources, baseline = tmp_path / "src", tmp_path / "known.json"
    sources.mkdir()
    copied(sources, NEW)
    lint(capsys, "--sources", str(sources), "--write-baseline", str(baseline))
    copied(sources, f"\n\n{NEW}")
    assert places(lint(capsys, "--sources", str(sources), "--baseline", str(baseline), "--fail")) == []
    copied(sources, f"{NEW}\n  std::shared_ptr<T> q(new T);")
    document = lint(capsys, "--sources", str(sources), "--baseline", str(baseline), "--fail", status=1)
    assert places(document) == [(5, "shared-from-new")]
    copied(sources, f"{NEW}\n{{ {NEW} }}\n{{\n{NEW}\n}}")  # the same line again is another finding
    document = lint(capsys, "--sources", str(sources), "--baseline", str(baseline))
    assert [line for line, _ in places(document)] == [5, 7]


def git(folder: Path, *words: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *author, "-C", folder, *words], check=True, capture_output=True)


def test_only_lines_that_changed_since_a_revision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = tmp_path / "repository/src"
    sources.mkdir(parents=True)
    copied(sources, f"{NEW}\n\n")
    git(tmp_path / "repository", "init")
    git(tmp_path / "repository", "add", ".")
    git(tmp_path / "repository", "commit", "-m", "one")
    assert places(lint(capsys, "--sources", str(sources), "--since", "HEAD")) == []
    copied(sources, f"{NEW}\n\n  std::shared_ptr<T> q(new T);")
    (sources / "new.cpp").write_text("#include <memory>\nauto p = std::shared_ptr<int>(new int);\n")
    document = lint(capsys, "--sources", str(sources), "--since", "HEAD")
    assert places(document) == [(2, "shared-from-new"), (6, "shared-from-new")]
    assert document["hidden"]["unchanged"] == 1  # type: ignore[index]


def test_sarif_has_the_line_and_a_lasting_fingerprint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = tmp_path / "src"
    sources.mkdir()
    copied(sources, NEW)
    first, second = tmp_path / "1.sarif", tmp_path / "2.sarif"
    lint(capsys, "--sources", str(sources), "--sarif", str(first))
    copied(sources, f"\n{NEW}")
    lint(capsys, "--sources", str(sources), "--sarif", str(second))
    one, other = (json.loads(path.read_text())["runs"][0]["results"][0] for path in (first, second))
    region = one["locations"][0]["physicalLocation"]["region"]
    assert (one["ruleId"], region["startLine"]) == ("heapwright-shared-from-new", 4)
    assert other["locations"][0]["physicalLocation"]["region"]["startLine"] == 5
    assert one["partialFingerprints"] == other["partialFingerprints"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--sources", "nowhere"], "is not a folder"),
        (["--sources", "{folder}", "/etc/passwd"], "not under the sources"),
        (["--sources", "{folder}", "{folder}/none.cpp"], "no such file or folder"),
        (["--sources", "{folder}"], "no C++ source"),
        (["--sources", "{folder}", "--top", "0"], "--top takes"),
        (["--sources", "{folder}", "--jobs", "-1"], "--jobs takes"),
        (["--sources", "{folder}", "--compile-commands", "{folder}"], "cannot read"),
        (["--sources", "{corpus}", "--baseline", "{folder}/none.json"], "--write-baseline writes one"),
        (["--sources", "{corpus}", "--since", "nothing-such"], "git diff failed"),
    ],
)
def test_bad_input_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], part: str
) -> None:
    given = [word.format(folder=tmp_path, corpus=CORPUS) for word in words]
    assert run_command(["lint", *given]) == 2
    said = capsys.readouterr().err
    assert part in said
    assert said.count("\n") == 1


def test_a_broken_compile_commands_says_how_to_make_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "compile_commands.json").write_text("{}")
    copied(tmp_path, NEW)
    (tmp_path / "compile_commands.json").write_text('[{"file": "one.cpp"}]')
    assert run_command(["lint", "--sources", str(tmp_path)]) == 2
    assert "CMAKE_EXPORT_COMPILE_COMMANDS" in capsys.readouterr().err


def test_flags_come_from_compile_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied(tmp_path, f"#ifdef WANTED\n{NEW}\n#endif")
    entry = {"directory": str(tmp_path), "file": "one.cpp", "command": "g++ -DWANTED -O2 -o one.o -c one.cpp"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    assert [line for line, _ in places(lint(capsys, "--sources", str(tmp_path)))] == [5]
    entry["command"] = "g++ -c one.cpp"
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    assert places(lint(capsys, "--sources", str(tmp_path))) == []
