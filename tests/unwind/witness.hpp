// SPDX-License-Identifier: MIT
// Compares every capture with the frames that libgcc's _Unwind_Backtrace finds
// at the same place.
#pragma once

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "session/layout.hpp"
#if defined(__aarch64__)
#include "unwind/compact_rule.hpp"
#endif
#include "unwind/unwind.hpp"

namespace heapwright::unwind {

// A process's tables in sparse memory, one at a time per test program.
class TestProcess {
 public:
  TestProcess() {
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    tables_.block = static_cast<session::ProcessBlock*>(memory);
    // As the recorder writes it.
    session::ProcessBlock& made = *tables_.block;
    if (readlink("/proc/self/exe", made.executable, sizeof made.executable - 1) < 0) made.executable[0] = 0;
    static std::atomic<std::uint64_t> next_number{1};
    number_ = next_number.fetch_add(1);
    current = this;
  }
  ~TestProcess() {
    current = nullptr;
    munmap(tables_.block, bytes);
  }
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  session::ProcessBlock& block() { return *tables_.block; }
  Tables& tables() { return tables_; }
  std::uint64_t number() const { return number_; }

  static inline TestProcess* current = nullptr;

 private:
  // Lanes are not touched by the unwinder.
  static constexpr std::size_t bytes = offsetof(session::ProcessBlock, lanes);
  Tables tables_;
  std::uint64_t number_;
};

struct Stack {
  std::uint64_t pcs[4096];  // innermost first
  std::uint32_t count = 0;
  std::uint32_t by_frame_pointer = 0;  // how many
  std::uint32_t mark = 0;              // why it is truncated
  bool is_truncated = false;
  bool is_table_full = false;
};

inline void decode(session::ProcessBlock& block, std::uint32_t node, Stack& stack) {
  stack.count = 0;
  stack.by_frame_pointer = 0;
  stack.mark = 0;
  stack.is_truncated = false;
  stack.is_table_full = false;
  while (node != 0 && stack.count < 4096) {
    const std::uint64_t word = block.nodes[node].load();
    const auto number = static_cast<std::uint32_t>(word) - 1;
    node = static_cast<std::uint32_t>(word >> 32);
    if (number == session::mark_table_full) {
      stack.is_table_full = true;
    } else if (number == session::mark_by_frame_pointer) {
      ++stack.by_frame_pointer;
    } else if (number >= session::pc_table_slots) {
      stack.is_truncated = true;
      stack.mark = number;
    } else {
      stack.pcs[stack.count++] = block.pcs[number].key.load() & session::pc_mask;
    }
  }
}

// What libgcc says about the caller of the function that owns this object.
[[gnu::always_inline]] inline void witness(Stack& stack) {
  stack.count = 0;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* to) {
        auto& found = *static_cast<Stack*>(to);
        const std::uint64_t pc = _Unwind_GetIP(context);
        if (pc == 0 || found.count == 4096) return _URC_END_OF_STACK;
        found.pcs[found.count++] = pc;
        return _URC_NO_REASON;
      },
      &stack);
}

struct ThreadState {
  alignas(64) unsigned char memory[14 * 1024] = {};
  ThreadStack* stack = nullptr;
  std::uint64_t process_number = 0;
  Stack ours;
  Stack theirs;
  bool is_busy = false;
};
inline thread_local ThreadState thread_state;

inline std::atomic<std::uint64_t> checked_count{0};
inline std::atomic<std::uint64_t> wrong_count{0};

inline std::uint32_t capture_from(const void* frame) {
  ThreadState& state = thread_state;
  TestProcess& process = *TestProcess::current;
  if (state.process_number != process.number()) {
    std::memset(state.memory, 0, sizeof state.memory);
    state.stack = begin_thread(process.tables(), state.memory);
    state.process_number = process.number();
  }
  return capture(process.tables(), *state.stack, frame);
}

inline void print_difference(const Stack& ours, const Stack& theirs) {
  std::fprintf(stderr, "depth %u%s, witness %u\n", ours.count, ours.is_truncated ? " truncated" : "",
               theirs.count);
  for (std::uint32_t i = 0; i < 24 && (i < ours.count || i + 1 < theirs.count); ++i) {
    const std::uint64_t mine = i < ours.count ? ours.pcs[i] : 0;
    const std::uint64_t other = i + 1 < theirs.count ? theirs.pcs[i + 1] : 0;
    std::fprintf(stderr, "  %2u %16lx %16lx%s\n", i, mine, other, mine == other ? "" : "  <--");
  }
}

// The kernel's own object has no tables on aarch64: both end where it was interrupted, and we say so.
#if defined(__aarch64__)
inline bool ends_in_kernel_code(const Stack& ours) {
  constexpr std::uint64_t kernel_code_bytes = 4096;
  const std::uint64_t last = ours.count == 0 ? 0 : ours.pcs[ours.count - 1];
  return ours.mark == session::mark_no_tables && last - getauxval(AT_SYSINFO_EHDR) < kernel_code_bytes;
}
#else
inline bool ends_in_kernel_code(const Stack& /*ours*/) { return false; }
#endif

// No table describes the linker's stubs on aarch64. libgcc ends where one was interrupted; ours goes on, to
// the outermost frame that both have found before.
#if defined(__aarch64__)
inline thread_local std::uint64_t outermost_pc = 0;

inline bool goes_on_beyond_stub(const Stack& ours, std::uint32_t depth) {
  if (ours.is_truncated || depth == 0 || ours.count <= depth) return false;
  const std::uint64_t stub = ours.pcs[depth - 1];
  return rule_without_table(stub, stub + 4, true).type() == RuleType::link_register &&
         ours.pcs[ours.count - 1] == outermost_pc;
}
inline void note_outermost(const Stack& ours) { outermost_pc = ours.pcs[ours.count - 1]; }
#else
inline bool goes_on_beyond_stub(const Stack& /*ours*/, std::uint32_t /*depth*/) { return false; }
inline void note_outermost(const Stack& /*ours*/) {}
#endif

// theirs[0] is the hook itself, which captures leave out.
inline bool is_same_stack(const Stack& ours, const Stack& theirs, std::uint32_t max_frames) {
  const std::uint32_t depth = theirs.count - 1;
  const bool is_cut = depth > max_frames;
  if (ours.is_table_full || (ours.is_truncated != is_cut && !ends_in_kernel_code(ours))) return false;
  if (is_cut != (ours.mark == session::mark_too_deep) || ours.by_frame_pointer != 0) return false;
  const bool goes_on = goes_on_beyond_stub(ours, depth);
  if (!goes_on && ours.count != (is_cut ? max_frames : depth)) return false;
  if (!goes_on && !ours.is_truncated && ours.count != 0) note_outermost(ours);
  const std::uint32_t common = goes_on ? depth : ours.count;
  return std::memcmp(ours.pcs, theirs.pcs + 1, common * sizeof ours.pcs[0]) == 0;
}

// For hooks. clang keeps the frame pointer wherever its address is asked for.
#if defined(__clang__)
#define HOOK gnu::noinline
#else
#define HOOK gnu::noinline, gnu::optimize("no-omit-frame-pointer")
#endif

// The hook: captures, checks and returns the node.
[[HOOK, maybe_unused]] static std::uint32_t checked_capture() {
  ThreadState& state = thread_state;
  if (state.is_busy) return 0;  // a signal handler inside a check
  state.is_busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const std::uint32_t node = capture_from(__builtin_frame_address(0));
  decode(TestProcess::current->block(), node, state.ours);
  witness(state.theirs);
  checked_count.fetch_add(1, std::memory_order_relaxed);
  if (!is_same_stack(state.ours, state.theirs, TestProcess::current->tables().max_frames)) {
    if (wrong_count.fetch_add(1) < 3) print_difference(state.ours, state.theirs);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  state.is_busy = false;
  return node;
}

// Counts what a test checked; the test ends with expect_exact().
class Checks {
 public:
  Checks() : checked_(checked_count), wrong_(wrong_count) {}
  std::uint64_t checked() const { return checked_count - checked_; }
  std::uint64_t wrong() const { return wrong_count - wrong_; }

 private:
  std::uint64_t checked_;
  std::uint64_t wrong_;
};

#define EXPECT_EXACT(checks, at_least)       \
  do {                                       \
    EXPECT_GE((checks).checked(), at_least); \
    EXPECT_EQ((checks).wrong(), 0U);         \
  } while (false)

// Keeps calls and arguments that the optimizer would remove.
#define KEEP(value) asm volatile("" : : "r,m"(value) : "memory")

}  // namespace heapwright::unwind
