# SPDX-License-Identifier: MIT
"""The fixtures of these tests; what they are made of is in written_traces.py."""

from written_traces import command, trace, trace_file

__all__ = ["command", "trace", "trace_file"]
