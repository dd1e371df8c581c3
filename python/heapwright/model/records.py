# SPDX-License-Identifier: MIT
"""What a trace holds besides its events: mirrors src/trace/records.hpp."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from typing import NamedTuple

from heapwright.model.values import clean

END_REASONS = (
    "missing",
    "exited",
    "killed",
    "replaced",
    "size_limit",
    "duration_limit",
    "write_failed",
    "stopped",
    "recorder_lost",
    "still_running",
)


class UnrecordedProcess(NamedTuple):
    """A process without a trace; process_id 0 = not known."""

    process_id: int
    program: str
    reason: str


class Metadata(NamedTuple):
    """How the trace was made, and of what."""

    program: str
    command: str
    host: str
    allocator: str
    recorder_version: str
    process_id: int
    parent_process_id: int
    start_unix_ns: int
    page_bytes: int
    sample_mean_bytes: int
    durations_recorded: bool
    free_stacks_recorded: bool
    self_cost_allocation_ns: int
    self_cost_release_ns: int
    notes: tuple[str, ...]
    unseen: tuple[str, ...]
    is_fork_child: bool
    unrecorded_processes: tuple[str, ...]
    children_left_alone: int
    conditions: tuple[str, ...]
    forgotten_before_ns: int
    forgotten_events: int

    @property
    def condition_values(self) -> dict[str, str]:
        """Settings, limits and machine properties that affect the heap, by name."""
        found = (text.partition("\t") for text in self.conditions)
        return {clean(name): clean(value) for name, tab, value in found if tab}

    @property
    def started_as(self) -> str:
        """The path to start the program by again: a file does what the name it is called by says, as
        Debian's redis-server, a link to redis-check-rdb, and a script is not its interpreter. The
        executable itself where the name was relative. Arguments that were kept are left out.
        """
        for path in (self.command, self.command.partition(" ")[0]):
            if path.startswith("/") and path.rpartition("/")[2] == self.program.rpartition("/")[2]:
                return self.program
        first, _, rest = self.command.partition(" ")
        is_path = first.startswith("/") and "/" not in rest.partition(" ")[0]  # not one with a space in it
        return first if is_path else self.program

    @property
    def is_attached(self) -> bool:
        """Whether the process ran earlier without the recorder."""
        return self.condition_values.get("attached") == "yes"

    @property
    def unrecorded(self) -> tuple[UnrecordedProcess, ...]:
        """Processes without a trace that this one started or became."""
        found = [text.split("\t", 2) for text in self.unrecorded_processes]
        return tuple(
            UnrecordedProcess(int(parts[0]) if parts[0].isdecimal() else 0, clean(parts[1]), clean(parts[2]))
            for parts in found
            if len(parts) == 3
        )


class Module(NamedTuple):
    """A loaded object: [start, end) from loaded_ns to unloaded_ns (0 = to the end)."""

    start: int
    end: int
    bias: int
    loaded_ns: int
    unloaded_ns: int
    path: str
    build_id: str

    @property
    def name(self) -> str:
        """The file name without its folder."""
        return self.path.rsplit("/", 1)[-1]


class Thread(NamedTuple):
    """A thread of the program; exit_ns 0 = alive when the recording ended."""

    index: int  # type: ignore[assignment]  # tuple.index is not missed
    thread_id: int
    name: str
    first_ns: int
    exit_ns: int
    events: int
    dropped: int
    waited_ns: int


class MemorySample(NamedTuple):
    """The process's memory as the kernel counts it, at one moment."""

    time_ns: int
    resident_anonymous_bytes: int
    resident_file_bytes: int
    swapped_bytes: int
    recorder_bytes: int
    resident_shared_bytes: int
    page_table_bytes: int
    cgroup_charge_bytes: int


class End(NamedTuple):
    """How the recording ended; reason is one of END_REASONS."""

    reason: str
    status: int
    time_ns: int
    events: int
    dropped: int
    recorder_peak_bytes: int


class Damage(NamedTuple):
    """Something in the file that is missing or unreadable."""

    file_offset: int
    what: str
