// SPDX-License-Identifier: MIT
// length: one format, read together
// Everything in a trace besides its events: which process ran, which code was loaded, which call stacks
// exist, its memory over time, and whether the recording is complete. Each struct is one record kind of
// docs/trace-format.md, and its fields() lists the stored fields: the codec and Python read that list.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
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
  names = 13,      // see names.hpp
  named_objects = 14,
  processor_samples = 15,
  refaults = 16,
  python_frames = 18,  // 17: see heap_graph.hpp
  code_names = 19,
  allocated_types = 20,  // see names.hpp
};

template <typename Of, typename Record>
concept IsRecord = std::same_as<std::remove_const_t<Of>, Record>;

// For Metadata::conditions: the process ran before, without the recorder.
inline constexpr char attached_condition[] = "attached\tyes";
// The beginning of another: a second allocator whose calls are recorded, named as Metadata::allocator is. A
// block's stack has the function of the one in the executable as its first frame.
inline constexpr char beside_condition[] = "beside\t";
// Attached at its first instruction, to the allocator in its executable.
inline constexpr char patched_condition[] = "patched\tat the first instruction";
// The beginning of another: a language's runtime that keeps objects of its own in memory that it maps.
inline constexpr char runtime_condition[] = "runtime\t";

// How the trace was made, and of which program. Argument and environment values are never stored; `command`
// is the path by which the program was started and, only if the user requested it, its command line.
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
  // Cost of the recorder itself per call, measured with an empty real function at the start of the recording;
  // 0 = not measured.
  std::uint32_t self_cost_allocation_ns = 0;
  std::uint32_t self_cost_release_ns = 0;
  std::vector<std::string> notes;
  std::vector<std::string> unseen;  // whose calls are not in the trace: "jemalloc linked statically"
  // It has a copy of its parent's image, not a fresh one: it also owns blocks from before the fork, which are
  // not in this trace.
  bool is_fork_child = false;
  // Images that this process started or became, and that were not recorded: "PROCESS_ID\tPROGRAM\tREASON".
  std::vector<std::string> unrecorded_processes;
  std::uint64_t children_left_alone = 0;  // started while children were not followed
  // Conditions that affect the heap: "MALLOC_ARENA_MAX\t2", "cpus\t8". The allocator's settings are the only
  // environment values in a trace.
  std::vector<std::string> conditions;
  // Blocks freed before that time were dropped from the trace, with the number of events below; blocks live
  // then still have their allocating event. 0: nothing was dropped.
  std::uint64_t forgotten_before_ns = 0;
  std::uint64_t forgotten_events = 0;

  // Whether the process ran before, without the recorder.
  bool is_attached() const noexcept { return has_condition(attached_condition); }
  bool has_condition(const char* beginning) const noexcept {
    for (const std::string& condition : conditions) {
      if (condition.starts_with(beginning)) return true;
    }
    return false;
  }
};

// Calls visit(name, member) for each stored field. The first has key 1 on disk, the next key 2: append only.
template <IsRecord<Metadata> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("program", of.program);
  visit("command", of.command);
  visit("host", of.host);
  visit("allocator", of.allocator);
  visit("recorder_version", of.recorder_version);
  visit("process_id", of.process_id);
  visit("parent_process_id", of.parent_process_id);
  visit("start_unix_ns", of.start_unix_ns);
  visit("page_bytes", of.page_bytes);
  visit("sample_mean_bytes", of.sample_mean_bytes);
  visit("durations_recorded", of.durations_recorded);
  visit("free_stacks_recorded", of.free_stacks_recorded);
  visit("self_cost_allocation_ns", of.self_cost_allocation_ns);
  visit("self_cost_release_ns", of.self_cost_release_ns);
  visit("notes", of.notes);
  visit("unseen", of.unseen);
  visit("is_fork_child", of.is_fork_child);
  visit("unrecorded_processes", of.unrecorded_processes);
  visit("children_left_alone", of.children_left_alone);
  visit("conditions", of.conditions);
  visit("forgotten_before_ns", of.forgotten_before_ns);
  visit("forgotten_events", of.forgotten_events);
}

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

// In storage order, here and below: append only.
template <IsRecord<Module> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("start", of.start);
  visit("end", of.end);
  visit("bias", of.bias);
  visit("loaded_ns", of.loaded_ns);
  visit("unloaded_ns", of.unloaded_ns);
  visit("path", of.path);
  visit("build_id", of.build_id);
}

// A frame is a program counter inside a module. Return addresses are stored unchanged; look up pc - 1 unless
// `is_exact` (frame interrupted by a signal).
struct Frame {
  std::uint64_t pc = 0;
  std::uint32_t module = no_module;
  bool is_exact = false;
  static constexpr std::uint32_t no_module = 0xffffffffU;
};

// What a frame is called that is no code of a loaded object; its module is a pseudo-object below, its pc only
// a number in that. It is Python code, or, outermost, a context (include/heapwright/annotate.h).
struct PythonFrame {
  std::uint32_t frame = 0;  // index into frames
  std::string function;
  std::string file;
  std::uint32_t line = 0;  // 0 = unknown
};
inline constexpr char python_module_path[] = "[python]";
inline constexpr std::uint64_t python_module_start = 1ULL << 56;  // no address of a process
inline constexpr char context_module_path[] = "[context]";
inline constexpr std::uint64_t context_module_start = 1ULL << 57;
inline constexpr char other_contexts[] = "(other)";  // all of which there was no room for the names

template <IsRecord<PythonFrame> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("frame", of.frame);
  visit("function", of.function);
  visit("file", of.file);
  visit("line", of.line);
}

// What the process's runtime calls the code of a frame that is in no module, as it says it.
struct CodeName {
  std::uint32_t frame = 0;  // index into frames
  std::string name;
};

template <IsRecord<CodeName> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("frame", of.frame);
  visit("name", of.name);
}

// Node of the stack tree: the innermost frame of this stack and the id of the
// stack that called it (0 = outermost). Stack ids count from 1 in the order
// of definition, so a parent's id is smaller than its children's.
struct StackNode {
  std::uint32_t parent = 0;
  std::uint32_t frame = 0;  // index into frames; or one of the marks below
};
// In place of a stack's outermost frames, why they are unknown; a stack without such a mark is whole.
inline constexpr std::uint32_t frame_truncated =
    0xfffffff0U;  // not unwindable; before the others: also too deep
inline constexpr std::uint32_t frame_table_full = 0xfffffff1U;  // recorder's stack table was full
inline constexpr std::uint32_t frame_too_deep = 0xfffffff2U;    // deeper than the limit
inline constexpr std::uint32_t frame_no_tables = 0xfffffff3U;   // its callee's code has no unwind tables
inline constexpr std::uint32_t frame_no_object = 0xfffffff4U;   // its callee's code is in no loaded object
// Between two frames: the outer one was found by the inner one's frame pointer.
inline constexpr std::uint32_t frame_by_frame_pointer = 0xfffffff5U;
constexpr bool is_mark(std::uint32_t frame) {
  return frame >= frame_truncated && frame <= frame_by_frame_pointer;
}

struct Thread {
  std::uint32_t index = 0;      // the trace's own thread number, from 0
  std::uint64_t thread_id = 0;  // the kernel's
  std::string name;
  std::uint64_t first_ns = 0;
  std::uint64_t exit_ns = 0;        // 0 = alive when the recording ended
  std::uint64_t events = 0;         // events written by the thread
  std::uint64_t dropped = 0;        // calls seen but not written (see drop_reasons in the docs)
  std::uint64_t waited_ns = 0;      // time the thread waited for the recorder's buffer
  std::uint64_t stack_address = 0;  // an address on its stack; 0 = unknown
};

template <IsRecord<Thread> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("index", of.index);
  visit("thread_id", of.thread_id);
  visit("name", of.name);
  visit("first_ns", of.first_ns);
  visit("exit_ns", of.exit_ns);
  visit("events", of.events);
  visit("dropped", of.dropped);
  visit("waited_ns", of.waited_ns);
  visit("stack_address", of.stack_address);
}

struct MemorySample {
  std::uint64_t time_ns = 0;
  std::uint64_t resident_anonymous_bytes = 0;  // RssAnon: does not include the recorder's shared pages
  std::uint64_t resident_file_bytes = 0;
  std::uint64_t swapped_bytes = 0;
  std::uint64_t recorder_bytes = 0;         // the recorder's own pages in the process
  std::uint64_t resident_shared_bytes = 0;  // RssShmem without these; this and below 0 in older traces
  std::uint64_t page_table_bytes = 0;
  std::uint64_t cgroup_charge_bytes =
      0;  // of the whole cgroup, including page cache and other processes; 0 = unknown
};

template <IsRecord<MemorySample> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("time_ns", of.time_ns);
  visit("resident_anonymous_bytes", of.resident_anonymous_bytes);
  visit("resident_file_bytes", of.resident_file_bytes);
  visit("swapped_bytes", of.swapped_bytes);
  visit("recorder_bytes", of.recorder_bytes);
  visit("resident_shared_bytes", of.resident_shared_bytes);
  visit("page_table_bytes", of.page_table_bytes);
  visit("cgroup_charge_bytes", of.cgroup_charge_bytes);
}

// What the kernel has counted of the process up to one moment: all figures only grow. The first sample is the
// base: what an earlier image of the process, or the time before attaching, has used.
struct ProcessorSample {
  std::uint64_t time_ns = 0;
  std::uint64_t cpu_ns = 0;     // of all its threads, including ended ones
  std::uint64_t system_ns = 0;  // of this, in the kernel
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  // By the kernel's records of single page faults, which may be incomplete; 0 without them.
  std::uint64_t seen_faults = 0;
  std::uint64_t seen_fault_ns = 0;
  std::uint64_t refaults = 0;  // of these, on pages that had faulted before
  std::uint64_t refault_ns = 0;
};

template <IsRecord<ProcessorSample> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("time_ns", of.time_ns);
  visit("cpu_ns", of.cpu_ns);
  visit("system_ns", of.system_ns);
  visit("minor_faults", of.minor_faults);
  visit("major_faults", of.major_faults);
  visit("seen_faults", of.seen_faults);
  visit("seen_fault_ns", of.seen_fault_ns);
  visit("refaults", of.refaults);
  visit("refault_ns", of.refault_ns);
}

// Page faults of one thread on consecutive pages, each of which had had a page fault before.
struct RefaultRun {
  std::uint64_t time_ns = 0;  // of the last
  std::uint64_t page = 0;     // the first, address / 4096
  std::uint64_t pages = 0;
  std::uint64_t fault_ns = 0;
  std::uint64_t weight = 1;  // how many runs it stands for: of many, only some are stored
};

template <IsRecord<RefaultRun> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("time_ns", of.time_ns);
  visit("page", of.page);
  visit("pages", of.pages);
  visit("fault_ns", of.fault_ns);
  visit("weight", of.weight);
}

// When the session's recording was switched on or off (--paused, the control file, the program itself). It is
// on until the first switch. Every call that began and ended while it was on is in the trace; calls around a
// switch may be.
struct Switch {
  std::uint64_t time_ns = 0;
  bool is_on = false;
};

template <IsRecord<Switch> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("time_ns", of.time_ns);
  visit("is_on", of.is_on);
}

enum class EndReason : std::uint8_t {
  missing = 0,   // no end mark: the file was cut off
  exited = 1,    // status = exit code
  killed = 2,    // status = signal number
  replaced = 3,  // exec
  size_limit = 4,
  duration_limit = 5,
  write_failed = 6,   // such as disk full; status = errno
  stopped = 7,        // by the control file or the API
  recorder_lost = 8,  // heapwright-attach was killed
  still_running = 9,  // a copy of an unfinished trace: time_ns is when the collector last wrote
};

struct End {
  EndReason reason = EndReason::missing;
  std::int32_t status = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t events = 0;   // events in the file, all threads
  std::uint64_t dropped = 0;  // events known to be missing
  std::uint64_t recorder_peak_bytes = 0;
};

template <IsRecord<End> Of, typename Visit>
void fields(Of& of, const Visit& visit) {
  visit("reason", of.reason);
  visit("status", of.status);
  visit("time_ns", of.time_ns);
  visit("events", of.events);
  visit("dropped", of.dropped);
  visit("recorder_peak_bytes", of.recorder_peak_bytes);
}

}  // namespace heapwright::trace
