# SPDX-License-Identifier: MIT
"""The command line: one module per command.

A user's mistake gets one line on stderr and exit code 2. record and run pass
the program's own exit code through.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from types import FrameType

from heapwright.cli import streams
from heapwright.cli.errors import InputError
from heapwright.cli.quick_explain import try_quick_explain


def main() -> None:
    """Runs the command line and exits."""
    streams.prepare()
    gc.disable()  # a command ends before cycles matter; collecting them takes a tenth of its start
    code = run_command(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # run_command has reported the error
            stream.flush()
    os._exit(code)  # everything is written; interpreter shutdown would only take time


class _Interruption:
    """Remembers Ctrl-C, which libraries below turn into other errors and exit codes."""

    def __init__(self) -> None:
        self.has_come = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.has_come = True
        raise KeyboardInterrupt


def run_command(arguments: list[str]) -> int:
    """Runs one command and returns its exit code."""
    interruption = _Interruption()
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interruption)
    code = 0
    try:
        code = _run(arguments)
    except KeyboardInterrupt:
        interruption.has_come = True
    except Exception:
        if not interruption.has_come:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if not interruption.has_come:
        return code
    streams.say("heapwright: interrupted")
    return 128 + signal.SIGINT


def _run(arguments: list[str]) -> int:
    try:
        code = _run_command_line(arguments)
        sys.stdout.flush()
    except InputError as error:
        return _fail(str(error))
    except BrokenPipeError:
        streams.give_up_output()  # the reader closed the pipe (`| head`): not an error
        return 0
    except OSError as error:
        streams.give_up_output()
        return _fail(streams.reason_of(error))
    except MemoryError:
        return _fail(_out_of_memory())
    except ImportError as error:
        if error.name != "heapwright._native":
            raise
        return _fail(_other_build(error))
    except Exception as error:
        if _is_for_the_user(error):
            return _fail(str(error))
        if not (module := _older_module()):
            raise
        return _fail(f"{module} is older than the clone's src/; {_AGAIN} ({type(error).__name__}: {error})")
    return code


_AGAIN = "run `make build` in the clone, or install the package again"


def _other_build(error: ImportError) -> str:
    """The compiled module of an editable installation did not follow its Python files, or is not there."""
    if error.path:
        return f"{error.path} is of another version than heapwright's Python files; {_AGAIN}"
    return f"heapwright's compiled module is missing; {_AGAIN}"


def _older_module() -> str:
    """The compiled module in use, if it was built before the last change of the sources beside it; else "".

    Its answers may then lack what the Python files read: any error can be the consequence."""
    from pathlib import Path  # only after errors

    module = getattr(sys.modules.get("heapwright._native"), "__file__", None)
    sources = Path(__file__).resolve().parents[3] / "src"
    if module is None or not (sources.parent / "CMakeLists.txt").is_file():
        return ""
    newest = max((file.stat().st_mtime for file in sources.rglob("*.?pp")), default=0.0)
    return module if Path(module).stat().st_mtime < newest else ""


def _out_of_memory() -> str:
    """What to do: a limit comes before the size of the trace."""
    import resource  # rarely needed

    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return "out of memory; raise the address space limit (ulimit -v unlimited)"
    return "out of memory; select a part of the trace with --from and --until"


def _run_command_line(arguments: list[str]) -> int:
    if try_quick_explain(arguments):
        return 0
    from heapwright.cli import command_line

    return command_line.run(arguments)


def _is_for_the_user(error: Exception) -> bool:
    known = (("heapwright.model", "TraceError"), ("heapwright.model.extras", "MissingPackageError"))
    modules = ((sys.modules.get(module), name) for module, name in known)  # not imported: it was not used
    return any(module is not None and isinstance(error, getattr(module, name)) for module, name in modules)


def _fail(message: str) -> int:
    streams.say(f"heapwright: {' '.join(message.split())}")
    return 2


__all__ = ["main", "run_command"]
