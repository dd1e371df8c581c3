# SPDX-License-Identifier: MIT
"""What top and count say of a process's memory beside its heap calls, as columns."""

from __future__ import annotations

from heapwright.report.columns import Column

# As outside.Courses gives them, but for what the whole process has in memory.
OF_KINDS = (
    Column("anonymous_bytes", "maybe", about="Resident, of no file and not shared. Null: was not seen."),
    Column("file_bytes", "maybe", about="Resident pages of files."),
    Column("shared_bytes", "maybe", about="Resident, shared without a file, such as database buffers."),
    Column("swapped_bytes", "maybe"),
    Column("peak_resident_bytes", "maybe", about="By the kernel, from its start to the last look."),
)
GROWTH = (
    Column("growth_window_ns", "maybe", about="What the growth is of; null: was seen once at most."),
    Column(
        "growth_bytes_per_s",
        "maybe_signed",
        about="Of anonymous memory, swapped or not: from the least of the window's earlier half to that of "
        "its later one.",
    ),
    Column("live_growth_bytes_per_s", "maybe_signed", about="Of live bytes, likewise."),
    Column(
        "outside_bytes_per_s",
        "maybe",
        about="Growth that is not of live bytes: 0, none worth telling; null: not known.",
    ),
    Column("outside_hint", "text", about="What to do about it; empty: nothing grows so."),
)
MEMORY = (*OF_KINDS, *GROWTH)
