// SPDX-License-Identifier: MIT
// Reads the interpreter's frames of the calling thread, and which native frames run them.
#pragma once

#include <cstdint>

#include "unwind/python_names.hpp"
#include "unwind/thread_stack.hpp"

namespace heapwright::unwind {

struct PythonFrame {
  std::uint64_t frame;  // its address
  std::uint64_t code;
  std::uint64_t instruction;
  std::uint64_t loop;            // in its native frame: a CFrame, an entry, or where that frame begins
  std::uint32_t position;        // no_python_position: not shown
  std::uint32_t node : 24;       // of the stack down to it
  std::uint32_t loop_begin : 8;  // the number of the outermost one of its loop; only of stored frames

  static constexpr std::uint32_t node_mask = (1U << 24U) - 1;
  static constexpr std::uint32_t number_mask = (1U << 8U) - 1;
};
static_assert(session::node_table_slots <= PythonFrame::node_mask + 1);

struct PythonStack {
  // Outermost first; a reading collects new frames at the far end, innermost last.
  PythonFrame frames[2 * frame_limit];
  // By native frame: its own node, and that of the chain with Python frames down to it.
  std::uint32_t native_nodes[frame_limit];
  std::uint32_t nodes[frame_limit];
  // Chains whose innermost Python frames alone differ from the stored ones: most calls in a loop.
  struct KnownChain {
    std::uint64_t key;
    std::uint64_t node;
  };
  static constexpr unsigned known_bits = 7;
  KnownChain known[1U << known_bits];
  // Where a frame was last stored, by its address; to be compared with what is stored there.
  static constexpr unsigned place_bits = 8;
  std::uint8_t places[1U << place_bits];

  std::uint8_t& place_of(std::uint64_t frame) {
    return places[frame * 0x9e3779b97f4a7c15ULL >> (64 - place_bits)];
  }
};
static_assert(frame_limit <= 1U << 8);

inline constexpr std::uint32_t python_scratch_end = 2 * frame_limit;

inline bool is_object_address(std::uint64_t value) { return (value & 7) == 0 && is_program_address(value); }

// The interpreter's frames of the calling thread, innermost first.
class Reading {
 public:
  Reading(const Interpreter& interpreter, ThreadStack& stack, std::uint32_t same_natives, std::uint64_t low,
          std::uint64_t end, std::uint32_t most)
      : interpreter_(interpreter),
        layout_(interpreter.layout),
        stack_(stack),
        stored_(*stack.python),
        frames_(stored_.frames),
        splice_limit_(stack.python_count),
        native_(stack.depth),
        same_natives_(same_natives),
        least_(low),
        end_(end),
        first_(python_scratch_end),
        full_(python_scratch_end - most) {}

  // False: the structures do not agree with each other.
  bool run(std::uint64_t state) {
    const std::uint64_t found = load_word(state + layout_.thread_frames);
    root_ = state + layout_.thread_root_cframe;
    switch (layout_.loops) {
      case python::Loops::counted:
        return read_each(found, next_native_loop());
      case python::Loops::cframe_each:
        return read_each(found, load_word(state + layout_.thread_cframe));
      case python::Loops::cframes:
        return read_cframes(found);
      case python::Loops::entries_behind_cframe:
        return is_object_address(found) && read_entries(load_word(found));
      case python::Loops::entries:
        return read_entries(found);
    }
    return false;
  }

  std::uint32_t kept() const { return kept_; }
  std::uint32_t first() const { return first_; }
  bool is_cut() const { return is_cut_; }

 private:
  std::uint64_t caller_of(std::uint64_t frame) const { return load_word(frame + layout_.frame_previous); }
  std::uint8_t owner_of(std::uint64_t frame) const {
    return *reinterpret_cast<const std::uint8_t*>(frame + layout_.frame_owner);
  }
  bool is_entry(std::uint64_t frame) const { return owner_of(frame) >= python::owned_by_interpreter; }

  // Native frames have what belongs to them in the order of their calls.
  bool is_next_on_stack(std::uint64_t address, std::uint64_t bytes) {
    if (address < least_ || (address & 7) != 0 || address >= end_ || end_ - address < bytes) return false;
    least_ = address + bytes;
    return true;
  }

  // Where the stack frame of the next outer _PyEval_EvalFrameDefault begins; root_: there is none.
  std::uint64_t next_native_loop() {
    while (native_ > 0) {
      const Frame& frame = stack_.frames()[--native_];
      const std::uint64_t pc = frame.key & session::pc_mask;
      if (pc - interpreter_.loop_begin < interpreter_.loop_bytes) return frame.sp;
    }
    return stack_.root.base_node == 0 ? root_ : end_;
  }

  std::uint64_t outer_loop(std::uint64_t loop) {
    if (layout_.loops == python::Loops::counted) return next_native_loop();
    return load_word(loop + layout_.cframe_previous);
  }

  // One frame a loop.
  bool read_each(std::uint64_t frame, std::uint64_t loop) {
    for (; frame != 0; frame = caller_of(frame)) {
      if (loop >= end_ && loop != root_) return true;  // beyond what is looked at
      if (!is_object_address(frame) || !is_next_on_stack(loop, python::cframe_bytes)) return false;
      if (add(frame, loop)) return true;
      loop = outer_loop(loop);
    }
    return loop == root_ || loop >= end_;
  }

  bool read_cframes(std::uint64_t cframe) {
    while (cframe != root_ && cframe < end_) {
      if (!is_next_on_stack(cframe, python::cframe_bytes) || !read_frames_of(cframe)) return false;
      if (is_done_) return true;
      cframe = load_word(cframe + layout_.cframe_previous);
    }
    return true;
  }

  bool read_frames_of(std::uint64_t cframe) {
    std::uint64_t frame = load_word(cframe + layout_.cframe_current);
    for (;;) {
      if (!is_object_address(frame)) return false;
      if (add(frame, cframe)) return true;
      const bool is_last = owner_of(frame) != 0;
      frame = caller_of(frame);
      if (is_last) return is_called_from(cframe, frame);
    }
  }

  // The last frame's caller is the current frame of the outer _PyCFrame.
  bool is_called_from(std::uint64_t cframe, std::uint64_t caller) const {
    const std::uint64_t outer = load_word(cframe + layout_.cframe_previous);
    const bool is_there = outer == root_ || (outer > cframe && (outer & 7) == 0);
    if (is_there && outer >= end_ && outer != root_) return true;  // beyond what is looked at
    return is_there && load_word(outer + layout_.cframe_current) == caller;
  }

  bool read_entries(std::uint64_t frame) {
    while (frame != 0) {
      const std::uint32_t begin = first_;
      while (is_object_address(frame) && !is_entry(frame)) {
        if (add(frame, 0)) return end_loop(begin, is_cut_ ? entry_of(frame) : frames_[kept_ - 1].loop);
        frame = caller_of(frame);
      }
      if (frame >= end_ && is_object_address(frame)) {  // beyond what is looked at
        first_ = begin;
        return true;
      }
      if (!end_loop(begin, frame)) return false;
      frame = caller_of(frame);
    }
    return true;
  }

  // The frames that were read up to `begin` belong to this entry.
  bool end_loop(std::uint32_t begin, std::uint64_t entry) {
    for (std::uint32_t i = first_; i != begin; ++i) frames_[i].loop = entry;
    return is_next_on_stack(entry, python::entry_bytes);
  }

  // That a frame leads to; 0: none.
  std::uint64_t entry_of(std::uint64_t frame) const {
    constexpr std::uint32_t most = 1U << 16;
    for (std::uint32_t i = 0; i < most && is_object_address(frame); ++i, frame = caller_of(frame)) {
      if (is_entry(frame)) return frame;
    }
    return 0;
  }

  // `loop`: 0 if not yet known. True: what is outside needs not be read.
  bool add(std::uint64_t frame, std::uint64_t loop) {
    is_done_ = may_splice(frame, loop);
    if (is_done_) return true;
    is_done_ = is_cut_ = first_ == full_;
    if (is_cut_) return true;
    const std::uint64_t code = code_of(frame);
    frames_[--first_] = {frame, code, instruction_of(frame, code), loop, no_python_position, 0, 0};
    return false;
  }

  std::uint64_t code_of(std::uint64_t frame) const { return load_word(frame + layout_.frame_code) & ~1ULL; }
  // Since 3.11 its address in the code object. Before, a number: it is added to the code object's address.
  std::uint64_t instruction_of(std::uint64_t frame, std::uint64_t code) const {
    const std::uint64_t word = load_word(frame + layout_.frame_instruction);
    if (layout_.code_instructions != 0) return word;
    return code + static_cast<std::uint64_t>(static_cast<std::int32_t>(word));
  }
  bool has_same_place(const PythonFrame& frame) const {
    if (layout_.code_instructions == 0 && code_of(frame.frame) != frame.code) return false;
    return instruction_of(frame.frame, frame.code) == frame.instruction;
  }

  // Whether this frame and all outer ones are as stored.
  bool may_splice(std::uint64_t frame, std::uint64_t loop) {
    const std::uint32_t place = stored_.place_of(frame);
    if (place >= splice_limit_) return false;
    const PythonFrame& found = frames_[place];
    if (found.frame != frame || (loop != 0 && found.loop != loop) || !has_same_place(found)) return false;
    if (first_ - full_ < place + 1) return false;
    const bool has_other_natives = layout_.loops == python::Loops::counted && native_ >= same_natives_;
    if (has_other_natives) return false;
    splice_limit_ = first_change(place);
    if (splice_limit_ != 0) return false;
    kept_ = place + 1;
    return true;
  }

  // 0: all frames outside of this one are as stored; otherwise the outermost ones below this number may be.
  std::uint32_t first_change(std::uint32_t match) const {
    const PythonFrame* frame = frames_ + match;
    while ((frame = same_in_loop(frame)) != frames_) {
      if (!is_called_by(*frame, frame[-1]) || !has_same_place(frame[-1])) {
        return static_cast<std::uint32_t>(frame - frames_);
      }
      --frame;
    }
    return is_outermost(*frame) ? 0 : 1;
  }

  // How far outwards the frames are as stored, of one loop: of a deep stack nearly all of them, so that each
  // costs two comparisons. A frame is looked at only after the one inside has led to it.
  const PythonFrame* same_in_loop(const PythonFrame* frame) const {
    if (layout_.code_instructions == 0) return frame;
    const std::uint64_t previous = layout_.frame_previous;
    const std::uint64_t instruction = layout_.frame_instruction;
    const PythonFrame* const end = frames_ + frame->loop_begin;
    for (; frame != end; --frame) {
      const PythonFrame& caller = frame[-1];
      if (load_word(frame->frame + previous) != caller.frame) break;
      if (load_word(caller.frame + instruction) != caller.instruction) break;
    }
    return frame;
  }

  bool is_called_by(const PythonFrame& frame, const PythonFrame& caller) const {
    const std::uint64_t next = caller_of(frame.frame);
    if (frame.loop == caller.loop) [[likely]] {
      return next == caller.frame;
    }
    if (has_entries()) return next == frame.loop && is_entry(next) && caller_of(next) == caller.frame;
    if (layout_.loops == python::Loops::counted) return next == caller.frame;  // the natives are the same
    return next == caller.frame && load_word(frame.loop + layout_.cframe_previous) == caller.loop;
  }

  bool is_outermost(const PythonFrame& frame) const {
    if (has_entries()) {
      return caller_of(frame.frame) == frame.loop && is_entry(frame.loop) && caller_of(frame.loop) == 0;
    }
    if (layout_.loops == python::Loops::counted) return caller_of(frame.frame) == 0;
    const std::uint64_t outer = load_word(frame.loop + layout_.cframe_previous);
    return outer == root_ ? caller_of(frame.frame) == 0 : outer >= end_;
  }

  bool has_entries() const { return layout_.loops >= python::Loops::entries_behind_cframe; }

  const Interpreter& interpreter_;
  const python::Layout& layout_;
  const ThreadStack& stack_;
  PythonStack& stored_;
  PythonFrame* frames_;
  std::uint32_t splice_limit_;  // stored frames from here on do not lead to the same outer ones
  std::uint32_t native_;        // counted: the native frame of the last loop
  std::uint32_t same_natives_;  // outer native frames that are as in the stored chain
  std::uint64_t root_ = 0;      // the outermost _PyCFrame
  std::uint64_t least_;         // native stack that is looked at
  std::uint64_t end_;
  std::uint32_t first_;  // outermost new frame
  std::uint32_t full_;
  std::uint32_t kept_ = 0;
  bool is_done_ = false;
  bool is_cut_ = false;
};

}  // namespace heapwright::unwind
