// SPDX-License-Identifier: MIT
// length: one layout, which two programs must agree on
// The layout of the memory shared between recorded processes and the collector: one sparse anonymous file
// (memfd), created by the collector:
//
//   [Control][ProcessBlock 0][ProcessBlock 1] ... [ProcessBlock max_processes-1]
//
// A process started by a recorded one is noted in the start table of the control part, by the fork or exec
// itself. It claims a ProcessBlock at its first heap call (again after fork and exec); a thread claims a lane
// in its process's block at its first heap call. Producers (the recorder) and the consumer (the collector)
// never lock: every field has one writer unless noted otherwise.
//
// The collector trusts nothing it reads here, because a recorded program may overwrite it. Indices are masked
// or range-checked, strings are cut off at the end of their array.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapwright::session {

inline constexpr std::uint64_t magic = 0x31304e4f49535748ULL;  // "HWSION01"

// ---- one heap call in a lane's ring -------------------------------------

// 32 bytes. A call whose values do not fit (size >= 4 GiB - 1, usable - size >= 4 GiB, or an old address) is
// preceded by one RawExtension slot.
struct RawEvent {
  std::uint64_t begin_ticks;
  std::uint64_t address_and_kind;  // address << 16 | alignment_log2 << 8 | kind
  std::uint32_t size;
  std::uint32_t usable_excess;   // usable - size; 0 when the call failed
  std::uint32_t stack_node;      // index into the node table; 0 = none
  std::uint32_t duration_ticks;  // saturates
};
static_assert(sizeof(RawEvent) == 32);

struct RawExtension {
  std::uint64_t old_address;
  std::uint64_t address_and_kind;  // kind = extension_kind
  std::uint64_t size;              // replaces RawEvent::size
  std::uint64_t usable;            // replaces size + usable_excess
};
static_assert(sizeof(RawExtension) == sizeof(RawEvent));
inline constexpr std::uint8_t extension_kind = 0xff;

// No call: the thread's later calls belong to the context of this name, in one slot or several in a row; an
// empty name: to none.
struct RawContext {
  std::uint64_t text_begin;       // the first 8 bytes of the text in this slot
  std::uint64_t length_and_kind;  // bytes of the text here << 16 | is_last << 8 | context_kind
  std::uint64_t text_rest[2];
};
static_assert(sizeof(RawContext) == sizeof(RawEvent));
inline constexpr std::uint8_t context_kind = 0xfe;
inline constexpr std::size_t context_slot_bytes = 24;
inline constexpr std::size_t longest_context_bytes = 5 * context_slot_bytes;  // the rest is cut off

// ---- stacks --------------------------------------------------------------

// Program counter table: open addressing, append only; the slot index is the frame's number. key == 0: free
// slot. A slot of an unloaded library is dead and does not match, until that library is loaded at the same
// place again.
struct PcEntry {
  std::atomic<std::uint64_t> key;   // pc | pc_key_exact? | pc_key_dead? ; pc < 2^56
  std::atomic<std::uint64_t> rule;  // private to the unwinder; 0 = not evaluated yet
};
inline constexpr std::uint64_t pc_key_exact = 1ULL << 62;
inline constexpr std::uint64_t pc_key_dead = 1ULL << 63;
inline constexpr std::uint64_t pc_mask = (1ULL << 56) - 1;
inline constexpr std::uint32_t pc_table_slots = 1U << 17;

// Stack node table: node = parent node index << 32 | frame number + 1. A node's index is the stack's id; 0 =
// no stack, and nodes[0] stays 0. A child of the outermost level has parent 0. Written by one CAS from 0,
// then never changed.
using NodeWord = std::atomic<std::uint64_t>;
inline constexpr std::uint32_t node_table_slots = 1U << 23;
// Frame numbers beyond the pc table are marks, not program counters, in the order of those in
// trace/records.hpp.
inline constexpr std::uint32_t mark_truncated = pc_table_slots;
inline constexpr std::uint32_t mark_table_full = pc_table_slots + 1;
inline constexpr std::uint32_t mark_too_deep = pc_table_slots + 2;
inline constexpr std::uint32_t mark_no_tables = pc_table_slots + 3;
inline constexpr std::uint32_t mark_no_object = pc_table_slots + 4;
inline constexpr std::uint32_t mark_by_frame_pointer = pc_table_slots + 5;
inline constexpr std::uint32_t mark_count = 6;

// Positions in Python code, for frames of CPython: open addressing, append only, as the pc table. The frame
// number of a slot is first_python_frame + its index, beyond the marks.
struct PythonPosition {
  std::atomic<std::uint64_t> key;    // hash of a code object's contents and an instruction in it; 0: free
  std::atomic<std::uint64_t> place;  // (index of the function + 1) << 32 | line; 0: not yet known
};
// A code object's texts in UTF-8, cut to their room: a file's path at its beginning.
struct PythonFunction {
  char name[160];
  char file[352];
};
inline constexpr std::uint32_t python_position_slots = 1U << 16;
inline constexpr std::uint32_t max_python_functions = 1U << 14;
inline constexpr std::uint32_t first_python_frame = 1U << 20;
static_assert(first_python_frame > mark_by_frame_pointer);
struct PythonTables {
  std::atomic<std::uint32_t> position_count;
  std::atomic<std::uint32_t> function_count;  // may exceed max_python_functions
  alignas(4096) PythonPosition positions[python_position_slots];
  alignas(4096) PythonFunction functions[max_python_functions];
};

// Loaded objects, in order of discovery. Written by the thread that claims
// the slot (state 0 -> 1 by CAS), then published (1 -> 2).
struct ModuleEntry {
  std::atomic<std::uint32_t> state;  // 0 free, 1 being written, 2 ready
  std::uint32_t build_id_bytes;
  std::uint64_t start, end, bias;
  std::uint64_t loaded_ticks;
  std::atomic<std::uint64_t> unloaded_ticks;  // 0 = loaded
  std::uint8_t build_id[32];
  char path[416];
};
static_assert(sizeof(ModuleEntry) == 496);
inline constexpr std::uint32_t max_modules = 8192;  // + 1 fits 16 bits

// ---- lanes: one ring per living thread ------------------------------------

enum LaneState : std::uint32_t {
  lane_unused = 0,
  lane_live = 1,     // owned by a thread
  lane_exiting = 2,  // its thread runs its last destructors and may still write
};

// The first lanes use their whole ring, 256 KiB. If more threads live at once, each of the others uses its
// first 32 KiB, so that hundreds of threads take less memory than their stacks.
inline constexpr std::uint64_t lane_ring_slots = 8192;
inline constexpr std::uint64_t small_ring_slots = 1024;
inline constexpr std::uint32_t whole_ring_lanes = 32;
constexpr std::uint64_t ring_slots_of(std::uint32_t lane_index) noexcept {
  return lane_index < whole_ring_lanes ? lane_ring_slots : small_ring_slots;
}
inline constexpr std::size_t lane_state_bytes = 32768 - 256;  // the recorder's own per-thread state

// The recorder's own time is measured in one of self_cost_interval calls.
inline constexpr std::uint64_t self_cost_interval = 1024;

// Whether it is measured in the call that advanced the lane's head to this value. Spread by a multiplicative
// hash: otherwise a program that alternates allocations and frees would only have calls of one kind measured.
constexpr bool is_self_cost_sample(std::uint64_t head) noexcept {
  return head * 0x9e3779b97f4a7c15U < UINT64_MAX / self_cost_interval;
}

struct Lane {
  // written by the thread
  alignas(64) std::atomic<std::uint64_t> head;   // slots written since the lane was claimed
  std::atomic<std::uint64_t> dropped_reentrant;  // calls made while the recorder was busy (signal handler)
  std::atomic<std::uint64_t> dropped_full;       // the collector was gone
  std::atomic<std::uint64_t> waits;
  std::atomic<std::uint64_t> waited_ticks;
  std::atomic<std::uint32_t> state;  // LaneState; the collector sets lane_unused
  std::uint32_t thread_id;
  std::uint64_t first_ticks;
  std::uint64_t stack_address;  // an address on the thread's stack
  // written by the collector
  alignas(64) std::atomic<std::uint64_t> tail;  // slots consumed since the lane was claimed
  // Written by both: futex word; the thread adds 1 and sleeps, the collector adds 1 and wakes.
  std::atomic<std::uint32_t> space_futex;
  std::atomic<std::uint32_t> is_waiting;
  std::atomic<std::uint32_t> generation;  // +1 at every claim, before state = lane_live
  // Written by the thread: the recorder's own time in the measured calls, excluding the real call.
  alignas(64) std::atomic<std::uint64_t> self_allocation_ticks;
  std::atomic<std::uint64_t> self_allocation_samples;
  std::atomic<std::uint64_t> self_release_ticks;
  std::atomic<std::uint64_t> self_release_samples;
  alignas(64) std::uint8_t recorder_state[lane_state_bytes];
  alignas(4096) RawEvent ring[lane_ring_slots];
};
static_assert(sizeof(Lane) % 4096 == 0);

// Adds the recorder's time in one measured call. A longer time means that the thread was preempted, which
// says nothing about other calls.
inline void add_self_cost(Lane& lane, std::uint64_t taken_ticks, bool is_release) noexcept {
  constexpr std::uint64_t most_ticks = std::uint64_t{1} << 16;  // about 20 us of a time stamp counter
  if (taken_ticks > most_ticks) return;
  auto& ticks = is_release ? lane.self_release_ticks : lane.self_allocation_ticks;
  auto& samples = is_release ? lane.self_release_samples : lane.self_allocation_samples;
  ticks.store(ticks.load(std::memory_order_relaxed) + taken_ticks, std::memory_order_relaxed);
  samples.store(samples.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

inline constexpr std::uint32_t max_lanes = 16384;

// ---- one process image -----------------------------------------------------

enum ProcessState : std::uint32_t {
  process_unused = 0,
  process_claimed = 1,
  process_live = 2,
  process_finished = 3,  // the process announced its end (exit, exec); events may still follow
};

// is_fork_child of a child of a process that is attached to: it has that process's agent.
inline constexpr std::uint32_t forked_with_agent = 2;

struct ProcessBlock {
  std::atomic<std::uint32_t> state;  // ProcessState; the collector sets process_unused
  std::uint32_t process_id;
  std::uint32_t parent_process_id;
  std::uint32_t is_fork_child;  // it has its parent's image, not a fresh exec; forked_with_agent
  std::uint64_t start_ticks;
  std::atomic<std::uint32_t> lane_count;  // lanes ever used: [0, lane_count)
  std::atomic<std::uint32_t> module_count;
  std::atomic<std::uint32_t> node_count;  // nodes in use, approximately
  std::atomic<std::uint32_t> pc_count;
  std::atomic<std::uint64_t> dropped_without_lane;  // no lane was available
  std::atomic<std::uint64_t> stacks_not_stored;     // tables full
  std::atomic<std::uint32_t> deepbind_count;        // dlopen(RTLD_DEEPBIND): those objects bypass the hooks
  std::atomic<std::uint32_t> children_left_alone;   // started by this process, without follow_children
  std::uint32_t has_no_unwind_tables;  // no way to find loaded objects: stacks are one address, no modules
  std::uint32_t pid_namespace;         // inode of the namespace of its ids; 0: unknown
  char executable[512];                // /proc/self/exe
  char started_as[512];                // the executed path, links not followed
  char allocator[512];                 // path of the object that has malloc; later with its name and version
  std::atomic<std::uint64_t> unseen_calls;  // of allocator functions that no event can describe
  // A scan of resident pages requested by the process: number * scan_request_step | ScanCause. The collector
  // answers with the number, a futex word.
  std::atomic<std::uint32_t> scan_request;
  std::atomic<std::uint32_t> scans_served;
  std::atomic<std::uint64_t> recorder_private_bytes;  // not shared with the collector
  std::atomic<std::uint32_t> namespace_count;         // dlmopen: those objects have a libc of their own
  // Above 0: a seccomp filter was added since the start, which may kill the process for a system call that
  // the program itself never makes. From then on the recorder makes none. Written by both.
  std::atomic<std::uint32_t> is_confined;
  // Of the process when it was linked, as session/seccomp_status.hpp has it.
  std::uint32_t seccomp_at_start;
  // Requests for a snapshot of who holds which block: how many there were, by anybody who maps the session.
  // Of these, the number for which the process's memory has been read (a futex word), and that were answered.
  std::atomic<std::uint32_t> snapshot_requests;
  std::atomic<std::uint32_t> snapshots_read;
  std::atomic<std::uint32_t> snapshots_answered;
  // The last answer, and where the trace is; written by the collector.
  std::uint64_t snapshot_blocks;
  std::uint64_t snapshot_bytes;
  std::uint64_t snapshot_stopped_ns;
  char snapshot_failure[256];  // empty: it was taken
  // The recorder's set of sampled blocks in the process: pointers that hold nothing. 0: there is none.
  std::atomic<std::uint64_t> sampled_set_begin;
  std::atomic<std::uint64_t> sampled_set_end;
  char trace_path[512];
  alignas(4096) PcEntry pcs[pc_table_slots];
  // By frame number: index into `modules` + 1; 0: none. Set before an event refers to the frame.
  alignas(4096) std::atomic<std::uint16_t> pc_modules[pc_table_slots];
  alignas(4096) NodeWord nodes[node_table_slots];
  alignas(4096) ModuleEntry modules[max_modules];
  alignas(4096) PythonTables python;  // mapped by a process with a CPython whose frames can be read
  alignas(4096) Lane lanes[max_lanes];
};
static_assert(sizeof(ProcessBlock) % 4096 == 0);
inline constexpr std::uint32_t max_processes = 4096;  // at once; blocks are reused

// ---- the whole session -----------------------------------------------------

enum ControlFlag : std::uint32_t {
  record_durations = 1U << 0,
  follow_children = 1U << 1,
  clock_is_tsc = 1U << 2,  // ticks are rdtsc; otherwise CLOCK_MONOTONIC ns
  record_stacks = 1U << 3,
  scan_residency = 1U << 4,  // the collector scans resident pages
  drop_when_full = 1U << 5,  // a call that finds its ring full is dropped and counted; nobody waits
  // Before a process exits, the collector looks at who holds which block (collect/heap_snapshot.hpp).
  snapshot_at_end = 1U << 6,
  skip_python = 1U << 7,  // call stacks have no frames of CPython
};

// ---- scans of resident pages that a process asks for ------------------------

enum ScanCause : std::uint32_t {
  scan_before_exit = 1,  // the process waits for it
  scan_after_trim = 2,
  scan_after_phase = 3,
};
inline constexpr std::uint32_t scan_cause_mask = 3;
inline constexpr std::uint32_t scan_request_step = 4;
inline constexpr std::uint32_t scan_number_mask = UINT32_MAX / scan_request_step;
// A process waits at most this long.
inline constexpr std::uint64_t longest_exit_wait_ns = 250'000'000;
inline constexpr std::uint64_t longest_snapshot_wait_ns = 60'000'000'000;  // if that is to be taken as well

// ---- starts ----------------------------------------------------------------

enum StartKind : std::uint32_t {
  start_forked = 1,       // a copy of the process that wrote the note
  start_exec = 2,         // an image that is to replace the process that writes the note
  start_exec_failed = 3,  // the exec of a start_exec failed
  start_refused = 4,      // a process with the recorder in it could not be recorded
  start_spawned = 5,      // a child that begins with its own image
};

enum StartRefusal : std::uint32_t {
  refused_session_full = 1,  // max_processes at once
  refused_no_memory = 2,     // no room in its address space
  refused_confined = 3,      // forked by a confined process
};

// One process start or exec. Claimed by a CAS of `word` from 0 to number << 32 before the fork, so that it
// remains if a process dies meanwhile; published by a CAS to number << 32 | process id, by parent or child,
// whichever is first. The collector copies it and sets `word` to 0.
struct StartEntry {
  std::atomic<std::uint64_t> word;
  std::atomic<std::uint32_t> owner_process_id;  // who claimed it; 0: not yet written
  std::atomic<std::uint32_t> kind;              // StartKind; 0: what follows is not yet written
  std::uint64_t ticks;                          // of the claim: before the fork or exec
  std::uint32_t user_id;                        // effective, of the owner
  std::uint32_t refusal;                        // StartRefusal of start_refused
  std::uint32_t parent_process_id;              // of the owner
  std::uint32_t pid_namespace;                  // namespace of these ids; see ProcessBlock
  std::uint32_t has_address_limit;              // RLIMIT_AS is set for the owner
  char program[212];  // of start_exec and start_spawned: as given, relative paths made absolute; truncated
};
static_assert(sizeof(StartEntry) == 256);
inline constexpr std::uint32_t max_starts = 8192;  // written and not yet read

// Every process that switches the recording on or off appends an entry here (session/switching.hpp); the
// collector removes the entries. An entry is ticks << 1 | is_on; 0: none.
struct SwitchLog {
  std::atomic<std::uint32_t> count;  // entries ever begun
  std::atomic<std::uint64_t> entries[256];
};

// The room of a robust mutex of pthread's that the collector's main thread holds. Its first word is the
// thread's id: when the thread dies, however it dies, the kernel clears it. So no system call is needed to
// see that the collector is gone, and no permission.
struct CollectorLife {
  std::atomic<std::uint32_t> word;
  std::uint32_t rest[15];
};
static_assert(sizeof(CollectorLife) == 64);

struct Control {
  std::uint64_t magic;
  std::uint32_t layout_bytes;       // sizeof(ProcessBlock) / 4096: both sides must agree
  std::uint32_t pid_namespace;      // of the collector
  std::uint32_t flags;              // ControlFlag, fixed before the first process starts
  std::uint32_t max_frames;         // <= 128
  std::uint64_t sample_mean_bytes;  // 0 = record every call
  // Stacks are recorded for frees that take at least this long. 0: for all; UINT64_MAX: for none.
  std::uint64_t free_stack_from_ticks;
  std::atomic<std::uint32_t> is_recording;      // 0: hooks only forward
  std::atomic<std::uint32_t> is_closed;         // 1: the collector is gone; never wait for it
  std::atomic<std::uint32_t> collector_sleeps;  // futex word: 1 while the collector waits for work
  std::atomic<std::uint32_t> next_process_hint;
  std::atomic<std::uint32_t> next_start_number;
  std::atomic<std::uint32_t> start_note_count;  // +1 after each note; the collector looks when it has changed
  std::atomic<std::uint32_t> starts_lost;       // no free entry
  std::atomic<std::uint32_t> children_left_alone;  // started without follow_children
  alignas(64) CollectorLife collector_life;
  SwitchLog switch_log;
  alignas(4096) StartEntry starts[max_starts];
};
inline constexpr std::size_t control_bytes = sizeof(Control);
// A process maps the start table when it first starts another.
inline constexpr std::size_t control_without_starts_bytes = offsetof(Control, starts);

// False: no reader will ever empty a ring.
inline bool is_collector_alive(const Control& control) noexcept {
  constexpr std::uint32_t thread_id_mask = 0x3fffffff;  // FUTEX_TID_MASK
  return control.is_closed.load(std::memory_order_acquire) == 0 &&
         (control.collector_life.word.load(std::memory_order_relaxed) & thread_id_mask) != 0;
}

static_assert(control_bytes % 4096 == 0);

inline constexpr std::uint64_t process_offset(std::uint32_t index) {
  return control_bytes + static_cast<std::uint64_t>(index) * sizeof(ProcessBlock);
}
inline constexpr std::uint64_t session_bytes = process_offset(max_processes);

// The recorder finds its session here: "/proc/<pid>/fd/<n>:<door>:<door's path>:<key>:<device>:<inode>".
// Processes that cannot open the path (of another user, in a chroot or a user namespace) send the key to the
// door, the abstract socket of that name, or to the one at its path (in a network namespace), and receive the
// descriptor. A file with another device and inode is not the session: its collector is gone and another
// process has the name. (Credentials cannot identify the owner: a user namespace maps them.)
inline constexpr char session_variable[] = "HEAPWRIGHT_SESSION";

}  // namespace heapwright::session
