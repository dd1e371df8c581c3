# SPDX-License-Identifier: MIT
# length: every way in which a process starts, and every reason why it is not recorded
"""Every process that a recorded one starts has a trace, or is named with the reason why it has none."""

import json
import os
import shutil
import signal
import stat
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Record, Recording, command, differences, end_replaced, programs

pytestmark = pytest.mark.full

nobody = ("--reuid=65534", "--regid=65534", "--clear-groups")


def may_be_nobody() -> bool:
    """Root, with a build that user 65534 may execute."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return False
    test = ["setpriv", *nobody, "test", "-x", programs / "changes_user"]
    return subprocess.run(test, check=False).returncode == 0


as_root = pytest.mark.skipif(not may_be_nobody(), reason="cannot run the build as another user")


def own_network(then: str = "") -> list[str]:
    """The beginning of a command line whose program has a network of its own; then: a command before it."""
    unshare = shutil.which("unshare") or ""
    if subprocess.run([unshare, "--net", "--mount", "true"], check=False).returncode != 0:
        pytest.skip("no network namespaces here")
    return [unshare, "--net", "--mount", "/bin/sh", "-c", f'{then} exec "$0" "$@"']


@pytest.fixture
def summary(tmp_path: Path) -> Path:
    return tmp_path / "summary.json"


def read(summary: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(summary.read_text())
    return document


def options(summary: Path) -> list[str]:
    return ["--children", "--summary", str(summary)]


def ids(documents: list[dict[str, Any]]) -> set[int]:
    return {document["process_id"] for document in documents}


def said(*arguments: object) -> str:
    """What the command line prints."""
    line = [str(part) for part in (command, *arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=120).stdout


def check_all_are_known(recording: Recording, summary: Path, children: int) -> None:
    """recorded + named = started, by the program's own count."""
    document = read(summary)
    assert document["starts_lost"] == document["more_unrecorded"] == 0
    recorded, named = ids(document["files"]), ids(document["unrecorded"])
    assert None not in named, document["unrecorded"]
    assert len(named) == len(document["unrecorded"])
    assert len(recorded | named) == 1 + children
    assert all(trace.problems() == [] for trace in recording.traces())


@pytest.mark.parametrize("killed", [[], ["killed"]])
def test_a_thousand_daemons_outlive_their_parents(record: Record, summary: Path, killed: list[str]) -> None:
    recording = record("daemon_storm", 1000, 100, *killed, options=options(summary), seconds=240)
    assert recording.status == 0, recording.errors
    daemons = recording.note("daemons")
    traces = [t for t in recording.traces() if t.count("allocated", "malloc", 3019)]
    assert len(traces) == daemons == 1000
    check_all_are_known(recording, summary, recording.note("children"))
    idle = read(summary)["unrecorded"]
    assert len(idle) == daemons and all(process["made_no_call"] for process in idle)


def test_a_thousand_children_are_killed(record: Record, summary: Path) -> None:
    recording = record("kill_storm", 1000, options=options(summary), seconds=240)
    assert recording.status == 0, recording.errors
    check_all_are_known(recording, summary, recording.note("children"))


def test_a_daemon_of_the_shell(record: Record, summary: Path) -> None:
    line = f"(setsid {programs}/daemon_storm 1 300 &) ; exit 5"
    recording = record("/bin/sh", "-c", line, options=options(summary))
    assert recording.status == 5, recording.errors
    assert sum(t.count("allocated", "malloc", 3019) for t in recording.traces()) == 1


@as_root
def test_workers_of_a_server_that_gives_up_root(record: Record, summary: Path) -> None:
    recording = record("changes_user", options=options(summary))
    assert recording.status == 0, recording.errors
    assert [t.count("allocated", "malloc", 3001) for t in recording.traces()] == [10] * 3
    assert read(summary)["unrecorded"] == []


@as_root
def test_workers_without_a_way_to_the_session(record: Record, summary: Path) -> None:
    """With a network and a /tmp of its own and as another user: the path and both doors are out of a fork's reach."""
    recording = record(*own_network("for d in /tmp/heapwright-*; do mount -t tmpfs none \"$d\"; done;"), programs / "changes_user", "forks",
                       options=options(summary))  # fmt: skip
    assert recording.status == 0, recording.errors
    assert sum(t.count("allocated", "malloc", 3001) for t in recording.traces()) == 20
    assert [process["made_no_call"] for process in read(summary)["unrecorded"]] == [True]


@as_root
def test_workers_in_a_network_of_their_own(record: Record, summary: Path) -> None:
    recording = record(*own_network(), programs / "changes_user", options=options(summary))
    assert recording.status == 0, recording.errors
    assert [t.count("allocated", "malloc", 3001) for t in recording.traces()].count(10) == 3
    assert read(summary)["unrecorded"] == []


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_sandbox_that_shares_nothing(record: Record, summary: Path) -> None:
    line = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true"]
    if subprocess.run(line, check=False).returncode != 0:
        pytest.skip("no namespaces here")
    line[0], line[-1] = str(shutil.which("bwrap")), str(programs / "changes_user")
    recording = record(*line, "leaf", options=options(summary))
    assert recording.status == 0, recording.errors
    assert sum(t.count("allocated", "malloc", 3001) for t in recording.traces()) == 10
    assert read(summary)["unrecorded"] == []


@as_root
@pytest.mark.parametrize("children", [[], ["--children"]])
def test_exec_as_another_user(record: Record, children: list[str]) -> None:
    recording = record(
        shutil.which("setpriv") or "", *nobody, programs / "changes_user", "leaf", options=children
    )
    assert recording.status == 0, recording.errors
    assert sorted(t.count("allocated", "malloc", 3001) for t in recording.traces()) == [0, 10]
    worker = next(t.path for t in recording.traces() if t.count("allocated", "malloc", 3001))
    assert f"next: heapwright explain {worker}" in recording.errors


@as_root
def test_runuser_clears_nothing_of_the_recording(record: Record, summary: Path) -> None:
    runuser = shutil.which("runuser", path="/usr/sbin:/sbin") or ""
    recording = record(runuser, "-l", "nobody", "-s", "/bin/sh", "-c", f"{programs}/changes_user leaf",
                       options=options(summary))  # fmt: skip
    assert recording.status == 0, recording.errors
    assert sum(t.count("allocated", "malloc", 3001) for t in recording.traces()) == 10


@as_root
def test_a_setuid_child_is_named(record: Record, summary: Path) -> None:
    program = shutil.which("su") or ""
    assert Path(program).stat().st_mode & stat.S_ISUID
    line = f"{program} --version; exit 0"
    recording = record(
        shutil.which("setpriv") or "", *nobody, "/bin/sh", "-c", line, options=options(summary)
    )
    assert recording.status == 0, recording.errors
    (named,) = read(summary)["unrecorded"]
    assert named["program"] == str(program) and "setuid" in named["reason"] and not named["made_no_call"]
    assert f"1 process was not recorded: '{program}': it is setuid" in recording.errors


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that other users reach as well."""
    path = Path("/tmp") / f"heapwright-started-{os.getpid()}"
    path.mkdir(mode=0o755)
    yield path
    shutil.rmtree(path)


@as_root
def test_a_child_with_file_capabilities_is_named(record: Record, summary: Path, open_folder: Path) -> None:
    """As another user's; to root they give nothing, and the loader takes the recorder."""
    program = open_folder / "privileged"
    shutil.copy(programs / "exits_with", program)
    # vfs_cap_data, version 2, effective: CAP_NET_BIND_SERVICE permitted.
    os.setxattr(program, "security.capability", struct.pack("<5I", 0x0200_0001, 1 << 10, 0, 0, 0))
    recording = record("/bin/sh", "-c", f"{program} 0; exit 0", options=options(summary))
    assert recording.status == 0, recording.errors
    assert [Path(t.facts["program"]).name for t in recording.traces()].count("privileged") == 1
    assert read(summary)["unrecorded"] == []
    setpriv = shutil.which("setpriv") or ""
    recording = record(setpriv, *nobody, "/bin/sh", "-c", f"{program} 0; exit 0", options=options(summary))
    assert recording.status == 0, recording.errors
    (named,) = read(summary)["unrecorded"]
    assert named["program"] == str(program) and "it has file capabilities" in named["reason"]
    assert f"1 process was not recorded: '{program}': it has file capabilities" in recording.errors


@as_root
def test_a_setuid_program_of_the_user_himself_is_recorded(record: Record, summary: Path) -> None:
    program = shutil.which("su") or ""
    recording = record("/bin/sh", "-c", f"{program} --version; exit 0", options=options(summary))
    assert recording.status == 0, recording.errors
    assert Path(program).resolve() in [Path(t.facts["program"]) for t in recording.traces()]
    assert read(summary)["unrecorded"] == []


def write_foreign_program(path: Path) -> None:
    """A 32-bit x86 program that exits with 0: one header, one segment, mov eax, 1; xor ebx, ebx; int 0x80."""
    code = b"\xb8\x01\x00\x00\x00\x31\xdb\xcd\x80"
    base, headers = 0x08048000, 52 + 32
    identity = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    header = struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + headers, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<8I", 1, 0, base, base, headers + len(code), headers + len(code), 5, 4096)
    path.write_bytes(identity + header + segment + code)
    path.chmod(0o755)


def test_a_child_of_another_architecture_is_named(record: Record, summary: Path, tmp_path: Path) -> None:
    program = tmp_path / "foreign"
    write_foreign_program(program)
    try:
        subprocess.run([program], check=True)
    except OSError:
        pytest.skip("this kernel runs no 32-bit programs")
    recording = record("/bin/sh", "-c", f"{program}; exit 0", options=options(summary))
    assert recording.status == 0, recording.errors
    (named,) = read(summary)["unrecorded"]
    assert named["program"] == str(program) and named["reason"] == "it is not a 64-bit program for x86-64"
    assert not named["made_no_call"]


def test_more_processes_than_a_session_holds_are_named(record: Record, summary: Path) -> None:
    recording = record("fills_session", options=options(summary))
    assert recording.status == 0, recording.output + recording.errors
    traces = recording.traces()
    assert sum(t.count("allocated", "malloc", 3019) for t in traces) == 1, "the fourth child"
    named = read(summary)["unrecorded"]
    assert len(named) == 3 and not any(process["made_no_call"] for process in named)
    assert {process["reason"] for process in named} == {"more than 4096 processes ran at once"}
    assert "3 processes were not recorded: more than 4096 processes ran at once" in recording.errors
    parent = next(t for t in traces if t.count("allocated", "malloc", 3001))
    assert "more than 4096 processes ran at once" in said("info", parent.path)


@pytest.mark.parametrize("kilobytes", [4_500, 5_000, 6_000])
def test_a_child_whose_address_space_is_too_small_is_named(
    record: Record, summary: Path, kilobytes: int
) -> None:
    """From hardly enough for itself to hardly enough for the recorder."""
    line = f"(ulimit -S -v {kilobytes}; exec {programs}/exits_with 3); exit $?"
    alone = subprocess.run(["/bin/sh", "-c", line], check=False)
    recording = record("/bin/sh", "-c", line, options=options(summary))
    assert recording.status == alone.returncode == 3, recording.errors
    assert not [t for t in recording.traces() if t.facts["program"].endswith("/exits_with")]
    (named,) = [process for process in read(summary)["unrecorded"] if not process["made_no_call"]]
    assert named["program"].endswith("/exits_with") and "ulimit -v" in named["reason"]


def test_a_relative_path_is_found_when_its_process_is_gone(record: Record, summary: Path) -> None:
    recording = record(
        "/bin/sh", "-c", f"cd {programs}; ./static_program 0; exit 0", options=options(summary)
    )
    assert recording.status == 0, recording.errors
    (named,) = read(summary)["unrecorded"]
    assert named["program"] == f"{programs}/./static_program" and "statically" in named["reason"]


def unshare(*options_given: str) -> list[str]:
    """The program with these options; skips where the kernel or a container forbids it."""
    line = [shutil.which("unshare") or "unshare", *options_given]
    if shutil.which("unshare") is None or subprocess.run([*line, "true"], check=False).returncode != 0:
        pytest.skip(f"no {' '.join(options_given)} here")
    return line


@pytest.mark.parametrize("mounts", [[], ["--mount-proc"]])
def test_a_pid_namespace_is_recorded_whole(record: Record, summary: Path, mounts: list[str]) -> None:
    """Its processes know themselves as 1, 2, 3: numbers of others out here."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    line = unshare(*user, "--pid", "--fork", *mounts)
    script = f"{programs}/fork_storm 30 & {programs}/threads_come_and_go & wait; {programs}/exits_with 0"
    recording = record(*line, "/bin/sh", "-c", script, options=options(summary), seconds=240)
    assert recording.status == 0, recording.errors
    assert "dropped" in recording.errors and "not recorded" not in recording.errors
    traces = recording.traces()
    assert all(trace.problems() == [] for trace in traces)
    names = [Path(t.facts["program"]).name for t in traces]
    assert names.count("fork_storm") == 31 and names.count("exits_with") == 1
    storm = [t for t in traces if Path(t.facts["program"]).name == "fork_storm"]
    parents = [t for t in storm if t.count("allocated", "malloc", 3001)]
    others = [t for t in traces if t not in storm]
    assert differences(recording.said, [*parents, *others]) == []
    assert {t.facts["parent_process_id"] for t in storm if t not in parents} == {
        parents[0].facts["process_id"]
    }
    ids_here = {trace.facts["process_id"] for trace in traces}
    assert len(ids_here) == 1 + 1 + 31 + 1 + 1, "unshare, the shell and what it ran"
    assert min(ids_here) > 1, "as they are known here"
    assert [process for process in read(summary)["unrecorded"] if not process["made_no_call"]] == []


def test_a_user_namespace_is_recorded(record: Record, summary: Path) -> None:
    """In it, the owner of the session's file has another number, or none."""
    for options_given in (["--user", "--map-root-user"], ["--user"]):
        recording = record(*unshare(*options_given), programs / "exits_with", 0, options=options(summary))
        assert recording.status == 0, recording.errors
        assert "exits_with" in [Path(t.facts["program"]).name for t in recording.traces()]
        assert read(summary)["unrecorded"] == []


def test_static_children_are_named(record: Record, summary: Path) -> None:
    line = f"{programs}/static_program 0; {programs}/static_program 0; /bin/true"
    recording = record("/bin/sh", "-c", line, options=options(summary))
    named = read(summary)["unrecorded"]
    assert [Path(process["program"]).name for process in named] == ["static_program"] * 2
    assert "2 processes were not recorded" in recording.errors and "statically" in recording.errors
    assert any(t.facts["program"].endswith("/true") for t in recording.traces())


def test_a_recorded_process_that_becomes_an_unrecorded_program(record: Record, summary: Path) -> None:
    recording = record("/bin/sh", "-c", f"exec {programs}/static_program 4", options=options(summary))
    assert recording.status == 4, recording.errors
    assert recording.trace().facts["end_reason"] == end_replaced
    (named,) = read(summary)["unrecorded"]
    assert named["process_id"] == recording.trace().facts["process_id"]


def test_an_environment_that_a_program_clears(record: Record, summary: Path) -> None:
    line = f"env -i {programs}/exits_with 0; env -i /bin/sh -c '{programs}/exits_with 0'"
    recording = record("/bin/sh", "-c", line, options=options(summary))
    assert recording.status == 0, recording.errors
    names = [Path(t.facts["program"]).name for t in recording.traces()]
    assert names.count("exits_with") == 2
    assert read(summary)["unrecorded"] == []


def test_children_left_alone_are_counted(record: Record, summary: Path) -> None:
    recording = record("fork_storm", 50, options=["--summary", str(summary)])
    assert read(summary)["children_left_alone"] == 50
    assert "50 child processes were not recorded; --children records them" in recording.errors


def test_spawned_children_left_alone_are_counted(record: Record, summary: Path) -> None:
    recording = record("vfork_exec", options=["--summary", str(summary)])
    assert recording.status == 0, recording.errors
    assert read(summary)["children_left_alone"] == recording.note("children")


def test_what_is_not_recorded_keeps_no_collector(record: Record, tmp_path: Path) -> None:
    """A static daemon lives on when the recording is over."""
    line = f"{programs}/static_program 0 1000 >{tmp_path}/out 2>&1 & echo $! >{tmp_path}/id; exit 0"
    recording = record("/bin/sh", "-c", line, options=["--children"], seconds=60)
    daemon = int((tmp_path / "id").read_text())
    os.kill(daemon, signal.SIGKILL)
    assert recording.status == 0, recording.errors
    assert "linked statically" in recording.errors


def test_an_exec_that_fails_changes_nothing(record: Record, summary: Path, tmp_path: Path) -> None:
    """A shell looks for a program along PATH; what it did not find is no process."""
    script = tmp_path / "script"
    script.write_text("exec 2>/dev/null; nothing_of_that_name; env -i /nowhere/at/all; exit 6")
    recording = record("/bin/sh", script, options=options(summary))
    assert recording.status == 6, recording.errors
    assert [process for process in read(summary)["unrecorded"] if not process["made_no_call"]] == []


def test_one_report_over_all_processes(record: Record, tmp_path: Path) -> None:
    line = f"{programs}/fork_storm 20; {programs}/static_program 0; exit 0"
    recording = record("/bin/sh", "-c", line, options=["--children"])
    assert recording.status == 0, recording.errors
    (session,) = recording.folder.glob("*.session.json")
    assert f"all processes: heapwright explain {session}" in recording.errors
    traces = {trace.facts["process_id"]: trace for trace in recording.traces()}
    for path in (session, recording.folder):
        document = json.loads(said("explain", path, "--json"))
        assert {process["process_id"] for process in document["processes"]} == set(traces)
        for process in document["processes"]:
            assert process["calls"] == traces[process["process_id"]].facts["events"]
            assert process["is_complete"]
        children = [process for process in document["processes"] if process["is_fork_child"]]
        assert len(children) == 20 and {process["inherited_releases"] for process in children} == {1}
        (storm,) = (sums for sums in document["programs"] if sums["name"] == "fork_storm")
        assert storm["images"] == 21
        assert storm["calls"] == sum(p["calls"] for p in document["processes"] if p["name"] == "fork_storm")
        (named,) = document["not_recorded"]
        assert named["program"].endswith("/static_program") and "statically" in named["reason"]
        assert document["without_calls"] == 0
    text = said("explain", session)
    assert "1 process was not recorded" in text and "fork_storm" in text
    shell = next(str(t.facts["process_id"]) for t in recording.traces() if t.path.name.startswith("sh."))
    one = json.loads(said("explain", session, "--process", shell, "--json"))
    assert Path(one["summary"]["command"]).name == "sh"
    assert [process["reason"] for process in one["summary"]["unrecorded_processes"]] == [named["reason"]]
    child = json.loads(said("explain", recording.folder, "--process", children[0]["process_id"], "--json"))
    assert child["summary"]["is_fork_child"]
    assert child["summary"]["totals"]["inherited_releases"] == 1
    assert child["summary"]["totals"]["unknown_releases"] == 0
    assert "statically" in said("info", one["file"])


def test_a_process_that_is_not_there(record: Record) -> None:
    recording = record("fork_storm", 2, options=["--children"])
    line = [str(part) for part in (command, "explain", recording.folder, "--process", "nobody")]
    result = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 2 and "--process nobody matches none of the 3" in result.stderr
