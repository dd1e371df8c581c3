# SPDX-License-Identifier: MIT
"""The command's entry: Ctrl-C ends it with one line from here on, imports included."""

import os
import signal
from types import FrameType


def main() -> None:
    """Runs the command line and exits."""
    # Ignored it stays ignored, as in the background of a shell script.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    from heapwright.cli import main as run

    run()


def _end(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"heapwright: interrupted\n")
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
