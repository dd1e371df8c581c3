// SPDX-License-Identifier: MIT
// The call stack a thread had at its last capture, outermost frame first, in
// the form in which the next capture can check and reuse it.
//
// A frame is known by (key, sp): its pc and the value RSP has there, which is
// the CFA of the frame it called. So for neighbours i (caller) and i + 1:
//
//   return address slot of i + 1 = frames[i].sp - 8, and it holds frames[i].key
//
// Reuse rests on this induction: if a walk arrives at the state of frames[j],
// and each memory word that led from there to the root still holds its value,
// a full walk would find frames[j - 1] .. frames[0] again. Those words are the
// return addresses and, where an outer CFA hangs on RBP, the slots RBP was
// saved to (`saved_rbp`). Other values of RBP do not matter and differ at each
// call, so they are not compared.
#pragma once

#include <cstdint>

#include "unwind/stack_bounds.hpp"

namespace heapwright::unwind {

inline constexpr std::uint32_t frame_limit = 128;

struct Frame {
  std::uint64_t key;  // as in the pc table
  std::uint64_t sp;
  std::uint64_t rbp;
  std::uint32_t node;
  std::uint32_t number : 17;            // slot in the pc table
  std::uint32_t saved_rbp_count : 8;    // entries of saved_rbp that concern frames[0 .. this]
  std::uint32_t is_rbp_essential : 1;   // the CFA of this or an outer frame hangs on this RBP
  std::uint32_t is_barrier : 1;         // its caller is found by more than a return address
  std::uint32_t is_on_own_stack : 1;
  std::uint32_t is_plain_to_root : 1;   // no barrier, and own stack only, from here outwards
};
static_assert(sizeof(Frame) == 32);

struct SavedWord {
  std::uint64_t slot;
  std::uint64_t value;
};

// How the outermost stored frame ends the stack.
struct Root {
  std::uint64_t slot = 0;  // word that decided it; 0 = none
  std::uint64_t value = 0;
  std::uint32_t base_node = 0;  // parent of frames[0]: 0 or the truncation mark
  bool is_cut = false;          // more frames follow beyond max_frames
};

struct ThreadStack {
  OwnStack own;
  Root root;
  std::uint32_t depth;  // frames stored; 0 while they are being rewritten
  std::uint32_t epoch;  // module_epoch() they belong to
  std::uint32_t truncated_node;
  std::uint32_t table_full_node;
  // A walk collects new frames at the far end, innermost last; [0, depth)
  // stays intact until it knows what it can keep.
  Frame frames[2 * frame_limit];
  SavedWord saved_rbp[frame_limit];
};

// Whether all words between frames[index] and the root hold their values.
// Requires that frames[index] is_plain_to_root and is live: then every slot
// lies between the stack pointer and the top of the thread's own stack, so
// that outer slots may be read before inner ones are proven.
inline bool is_plain_stack_unchanged(const ThreadStack& stack, std::uint32_t index) {
  std::uint64_t difference = 0;
  for (std::uint32_t i = 0; i < index; ++i) {
    difference |= load_word(stack.frames[i].sp - 8) ^ stack.frames[i].key;
  }
  for (std::uint32_t i = 0; i < stack.frames[index].saved_rbp_count; ++i) {
    difference |= load_word(stack.saved_rbp[i].slot) ^ stack.saved_rbp[i].value;
  }
  if (stack.root.slot != 0) difference |= load_word(stack.root.slot) ^ stack.root.value;
  return difference == 0;
}

inline bool is_same_frame(const Frame& frame, std::uint64_t key, std::uint64_t sp, std::uint64_t rbp) {
  return frame.key == key && frame.sp == sp && (!frame.is_rbp_essential || frame.rbp == rbp);
}

}  // namespace heapwright::unwind
