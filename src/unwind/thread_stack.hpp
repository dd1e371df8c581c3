// SPDX-License-Identifier: MIT
// A thread's call stack at its last capture, outermost frame first, in a form that the next capture can check
// and reuse.
//
// A frame is identified by (key, sp): its pc and the value of RSP there, which is the CFA of the frame it
// called. So for neighbours i (caller) and i + 1:
//
//   return address slot of i + 1 = frames[i].pc_slot(), and it holds frames[i].key
//
// On x86-64 that is frames[i].sp - 8. Code of aarch64 saves the return address where it likes, maybe signed.
//
// Reuse relies on this induction: if a walk reaches the state of frames[j], and each memory word that led
// from there to the root still holds its value, a full walk would find frames[j - 1] .. frames[0] again.
// Those words are the return addresses and, if an outer CFA depends on RBP, the slots RBP was saved to
// (`saved_rbp`). Other values of RBP do not matter and differ at each call, so they are not compared.
#pragma once

#include <cstdint>

#include "session/layout.hpp"
#include "unwind/rule.hpp"
#include "unwind/stack_bounds.hpp"
#include "unwind/step.hpp"

namespace heapwright::unwind {

inline constexpr std::uint32_t frame_limit = 128;

// Facts about one frame in 32 bits. Plain shifts, not a bit-field: frames are
// written and copied in the hot path, where a load wider than the store before
// it stalls.
class FrameFacts {
 public:
  // The first two have the bits of the rule's traits, moved up.
  static constexpr unsigned trait_shift = 20;
  static constexpr std::uint32_t rbp_essential = Rule::needs_rbp
                                                 << trait_shift;  // own or an outer CFA hangs on RBP
  static constexpr std::uint32_t passes_rbp = Rule::passes_rbp << trait_shift;
  static constexpr std::uint32_t barrier = Rule::is_barrier << trait_shift;
  static constexpr std::uint32_t by_frame_pointer = Rule::by_frame_pointer << trait_shift;
  static constexpr std::uint32_t on_own_stack = 1U << 29;
  static constexpr std::uint32_t plain_to_root = 1U
                                                 << 30;  // no barrier, and own stack only, from here outwards

  constexpr FrameFacts() = default;
  constexpr explicit FrameFacts(std::uint32_t bits) : bits_(bits) {}
  constexpr FrameFacts(std::uint32_t pc_number, std::uint32_t saved_rbp_count, std::uint32_t flags)
      : bits_(pc_number | saved_rbp_count << count_shift | flags) {}

  constexpr std::uint32_t bits() const { return bits_; }
  constexpr std::uint32_t pc_number() const { return bits_ & number_mask; }
  // Entries of saved_rbp that concern this frame and outer ones.
  constexpr std::uint32_t saved_rbp_count() const { return bits_ >> count_shift & 0xff; }
  constexpr bool has(std::uint32_t flag) const { return (bits_ & flag) != 0; }

  static constexpr unsigned count_shift = 17;

 private:
  static constexpr std::uint32_t number_mask = session::pc_table_slots - 1;
  static_assert(session::pc_table_slots == 1U << count_shift);
  static_assert(rbp_essential == 1U << (count_shift + 8));
  std::uint32_t bits_ = 0;
};

struct Frame {
  std::uint64_t key;  // as in the pc table
  std::uint64_t sp;
  std::uint64_t rbp;
  std::uint32_t node;
  FrameFacts facts;
#if defined(__aarch64__)
  std::uint64_t return_slot;
  std::uint64_t pc_slot() const { return return_slot; }
  void set_pc_slot(std::uint64_t slot) { return_slot = slot; }
#else
  std::uint64_t pc_slot() const { return sp - 8; }
  void set_pc_slot(std::uint64_t /*slot*/) {}
#endif
};

struct SavedWord {
  std::uint64_t slot;
  std::uint64_t value;
};

// How the outermost stored frame ends the stack.
struct Root {
  std::uint64_t slot = 0;  // word that decided it; 0 = none
  std::uint64_t value = 0;
  std::uint32_t base_node = 0;  // parent of frames[0]: 0 or a mark
  bool is_cut = false;          // more frames follow beyond max_frames
};

struct PythonStack;

struct ThreadStack {
  OwnStack own;
  Root root;
  std::uint32_t depth;                    // frames stored; 0 while they are being rewritten
  std::uint32_t epoch;                    // module_epoch() they belong to
  std::uint32_t end_nodes[step_results];  // the mark of a stack that ends so; 0: it is whole
  std::uint32_t table_full_node;
  // Of the last chain with Python frames (python_frames.hpp).
  PythonStack* python;  // nullptr: there is no memory for them
  std::uint32_t python_count;
  std::uint32_t python_natives;
  std::uint32_t python_node;
  // storage[0] ends every search outwards: no stack pointer is above its sp.
  // A walk collects new frames at the far end, innermost last; the stored ones
  // stay intact until it knows what it can keep.
  Frame storage[1 + 2 * frame_limit];
  SavedWord saved_rbp[frame_limit];
  // Nodes lately interned, by a hash of their word. Only hints: the node table
  // has the last word.
  static constexpr unsigned node_hint_bits = 8;
  std::uint32_t node_hints[1U << node_hint_bits];

  Frame* frames() { return storage + 1; }
  const Frame* frames() const { return storage + 1; }
};

// 0 when all words between frames[match] and the root hold their values;
// otherwise an index such that no frame from it inwards leads to the root.
// Requires that frames[match] is plain_to_root and live: then every slot lies
// between the stack pointer and the top of the thread's own stack, so that
// outer slots may be read before inner ones are proven.
[[gnu::always_inline]] inline std::uint32_t first_change_of_plain(const ThreadStack& stack,
                                                                  std::uint32_t match) {
  const Frame* frame = stack.frames() + match;
#pragma GCC unroll 4
  while (frame != stack.frames()) {
    --frame;
    if (code_address(load_word(frame->pc_slot())) != frame->key) [[unlikely]] {
      return static_cast<std::uint32_t>(frame - stack.frames()) + 1;
    }
  }
  std::uint64_t difference = 0;
  if (stack.root.slot != 0) difference = code_address(load_word(stack.root.slot)) ^ stack.root.value;
  const std::uint32_t saved_count = stack.frames()[match].facts.saved_rbp_count();
  for (std::uint32_t i = 0; i < saved_count; ++i) {
    difference |= load_word(stack.saved_rbp[i].slot) ^ stack.saved_rbp[i].value;
  }
  return difference == 0 ? 0 : match + 1;
}

inline bool is_same_frame(const Frame& frame, std::uint64_t key, std::uint64_t sp, std::uint64_t rbp) {
  return frame.key == key && frame.sp == sp &&
         (!frame.facts.has(FrameFacts::rbp_essential) || frame.rbp == rbp);
}

}  // namespace heapwright::unwind
