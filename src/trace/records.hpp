// SPDX-License-Identifier: MIT
// What a trace holds beside its events: who ran, which code was loaded, which
// call stacks exist, how memory moved, and whether the recording is whole.
// Each struct is one record kind of docs/trace-format.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heapwright::trace {

// Chunk kinds on disk. Append only; a reader skips kinds it does not know.
enum class ChunkKind : std::uint16_t {
  metadata = 1,
  events = 2,
  frames = 3,  // program counters, one id each
  stacks = 4,  // stack nodes (parent, frame)
  modules = 5,
  threads = 6,
  memory_samples = 7,
  end = 8,
  index = 9,
  switches = 10,
  mappings = 11,   // see residency.hpp
  residency = 12,  // one scan
};

// How and of what the trace was made. Argument and environment values are
// never stored; `command` is the path the program was started by and, only
// when the user asked for it, its command line.
struct Metadata {
  std::string program;  // path of the executable, links followed
  std::string command;  // path as executed, or the whole command line on request
  std::string host;
  std::string allocator;  // "glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)"
  std::string recorder_version;
  std::uint64_t process_id = 0;
  std::uint64_t parent_process_id = 0;
  std::uint64_t start_unix_ns = 0;  // wall clock at begin_ns == 0
  std::uint64_t page_bytes = 4096;
  std::uint64_t sample_mean_bytes = 0;  // 0 = every call recorded
  bool durations_recorded = true;
  bool free_stacks_recorded = false;
  // Cost of the recorder itself per call, measured against an empty real
  // function at the start of the recording; 0 = not measured.
  std::uint32_t self_cost_allocation_ns = 0;
  std::uint32_t self_cost_release_ns = 0;
  std::vector<std::string> notes;
  std::vector<std::string> unseen;  // whose calls are not in the trace: "jemalloc linked statically"
  // A copy of its parent's image, not a fresh one: blocks from before the fork
  // are its own as well, and are not in this trace.
  bool is_fork_child = false;
  // Started by this process, or what it became, and not recorded:
  // "PROCESS_ID\tPROGRAM\tREASON".
  std::vector<std::string> unrecorded_processes;
  std::uint64_t children_left_alone = 0;  // started while children were not followed
  // What the heap's work depends on: "MALLOC_ARENA_MAX\t2", "cpus\t8". The
  // allocator's settings are the only values of the environment in a trace.
  std::vector<std::string> conditions;
};

// A loaded object, [start, end) in the process from `loaded_ns` to
// `unloaded_ns` (0 = to the end). file address = pc - bias.
struct Module {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t bias = 0;
  std::uint64_t loaded_ns = 0;
  std::uint64_t unloaded_ns = 0;
  std::string path;
  std::string build_id;  // lower-case hex, empty when the object has none
};

// A frame is a program counter inside a module. Return addresses are stored
// as seen; look up pc - 1 unless `is_exact` (frame interrupted by a signal).
struct Frame {
  std::uint64_t pc = 0;
  std::uint32_t module = no_module;
  bool is_exact = false;
  static constexpr std::uint32_t no_module = 0xffffffffU;
};

// Node of the stack tree: the innermost frame of this stack and the id of the
// stack that called it (0 = outermost). Stack ids count from 1 in the order
// of definition, so a parent's id is smaller than its children's.
struct StackNode {
  std::uint32_t parent = 0;
  std::uint32_t frame = 0;  // index into frames; or one of the marks below
};
inline constexpr std::uint32_t frame_truncated = 0xfffffff0U;   // deeper than the limit, or not unwindable
inline constexpr std::uint32_t frame_table_full = 0xfffffff1U;  // recorder's stack table was full

struct Thread {
  std::uint32_t index = 0;      // the trace's own thread number, from 0
  std::uint64_t thread_id = 0;  // the kernel's
  std::string name;
  std::uint64_t first_ns = 0;
  std::uint64_t exit_ns = 0;        // 0 = alive when the recording ended
  std::uint64_t events = 0;         // events written by the thread
  std::uint64_t dropped = 0;        // calls seen but not written (see drop_reasons in the docs)
  std::uint64_t waited_ns = 0;      // time the thread waited for the recorder's buffer
  std::uint64_t stack_address = 0;  // somewhere on its stack; 0 = not known
};

struct MemorySample {
  std::uint64_t time_ns = 0;
  std::uint64_t resident_anonymous_bytes = 0;  // RssAnon: without the recorder's own shared pages
  std::uint64_t resident_file_bytes = 0;
  std::uint64_t swapped_bytes = 0;
  std::uint64_t recorder_bytes = 0;         // the recorder's own pages in the process
  std::uint64_t resident_shared_bytes = 0;  // RssShmem without these; 0 in older traces
};

// When the session's recording was switched on or off (--paused, the control
// file, the program itself). It is on until a switch says otherwise. Every
// call that began and ended while it was on is in the trace; calls around a
// switch may be.
struct Switch {
  std::uint64_t time_ns = 0;
  bool is_on = false;
};

enum class EndReason : std::uint8_t {
  missing = 0,   // no end mark: the file was cut
  exited = 1,    // status = exit code
  killed = 2,    // status = signal number
  replaced = 3,  // exec
  size_limit = 4,
  duration_limit = 5,
  write_failed = 6,  // disk full and the like; status = errno
  stopped = 7,       // by the control file or the API
};

struct End {
  EndReason reason = EndReason::missing;
  std::int32_t status = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t events = 0;   // events in the file, all threads
  std::uint64_t dropped = 0;  // events known to be missing
  std::uint64_t recorder_peak_bytes = 0;
};

}  // namespace heapwright::trace
