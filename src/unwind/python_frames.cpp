// SPDX-License-Identifier: MIT
#include "unwind/python_frames.hpp"

#include <new>

#include "unwind/node_table.hpp"
#include "unwind/python_names.hpp"
#include "unwind/thread_stack.hpp"

namespace heapwright::unwind {

struct PythonFrame {
  std::uint64_t frame;  // its address
  std::uint64_t code;
  std::uint64_t instruction;
  std::uint64_t loop;      // what its native frame has on the stack: a _PyCFrame, or an entry
  std::uint32_t position;  // no_python_position: not shown
  std::uint32_t node;      // of the stack down to it
};

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
static_assert(sizeof(PythonStack) <= python_stack_bytes);

namespace {

constexpr std::uint32_t scratch_end = 2 * frame_limit;

bool is_address(std::uint64_t value) { return (value & 7) == 0 && is_program_address(value); }

// The calling thread's PyThreadState; 0: none, or the interpreter is being ended by another thread.
std::uint64_t own_thread_state(const Interpreter& in) {
  if (static_cast<std::uint32_t>(load_word(in.runtime + in.layout.is_begun)) == 0) return 0;
  const auto state = reinterpret_cast<std::uint64_t>(in.own_thread_state());
  if (!is_address(state)) return 0;
  const std::uint64_t ending = load_word(in.runtime + in.layout.finalizing);
  if (ending != 0 && ending != state) return 0;
  const auto self = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  return load_word(state + in.layout.thread_id) == self ? state : 0;
}

// The instruction is in the code object.
bool has_same_place(const PythonFrame& frame) {
  return load_word(frame.frame + python::frame_instruction) == frame.instruction;
}

// The interpreter's frames of the calling thread, innermost first.
class Reading {
 public:
  Reading(const python::Layout& layout, PythonStack& stored, std::uint32_t stored_count, std::uint64_t low,
          std::uint64_t end, std::uint32_t most)
      : layout_(layout),
        stored_(stored),
        frames_(stored.frames),
        splice_limit_(stored_count),
        least_(low),
        end_(end),
        first_(scratch_end),
        full_(scratch_end - most) {}

  // False: the structures do not agree with each other.
  bool run(std::uint64_t state) {
    const std::uint64_t found = load_word(state + layout_.thread_frames);
    if (layout_.loops == python::Loops::cframes) {
      root_ = state + python::thread_root_cframe;
      return read_cframes(found);
    }
    if (layout_.loops == python::Loops::entries) return read_entries(found);
    return is_address(found) && read_entries(load_word(found));
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

  bool read_cframes(std::uint64_t cframe) {
    while (cframe != root_ && cframe < end_) {
      if (!is_next_on_stack(cframe, python::cframe_bytes) || !read_frames_of(cframe)) return false;
      if (is_done_) return true;
      cframe = load_word(cframe + python::cframe_previous);
    }
    return true;
  }

  bool read_frames_of(std::uint64_t cframe) {
    std::uint64_t frame = load_word(cframe + python::cframe_current);
    for (;;) {
      if (!is_address(frame)) return false;
      if (add(frame, cframe)) return true;
      const bool is_last = owner_of(frame) != 0;
      frame = caller_of(frame);
      if (is_last) return is_called_from(cframe, frame);
    }
  }

  // The last frame's caller is the current frame of the outer _PyCFrame.
  bool is_called_from(std::uint64_t cframe, std::uint64_t caller) const {
    const std::uint64_t outer = load_word(cframe + python::cframe_previous);
    const bool is_there = outer == root_ || (outer > cframe && (outer & 7) == 0);
    if (is_there && outer >= end_ && outer != root_) return true;  // beyond what is looked at
    return is_there && load_word(outer + python::cframe_current) == caller;
  }

  bool read_entries(std::uint64_t frame) {
    while (frame != 0) {
      const std::uint32_t begin = first_;
      while (is_address(frame) && !is_entry(frame)) {
        if (add(frame, 0)) return end_loop(begin, is_cut_ ? entry_of(frame) : frames_[kept_ - 1].loop);
        frame = caller_of(frame);
      }
      if (frame >= end_ && is_address(frame)) {  // beyond what is looked at
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
    for (std::uint32_t i = 0; i < most && is_address(frame); ++i, frame = caller_of(frame)) {
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
    frames_[--first_] = {frame,
                         load_word(frame + layout_.frame_code) & ~1ULL,
                         load_word(frame + python::frame_instruction),
                         loop,
                         no_python_position,
                         0};
    return false;
  }

  // Whether this frame and all outer ones are as stored.
  bool may_splice(std::uint64_t frame, std::uint64_t loop) {
    const std::uint32_t place = stored_.place_of(frame);
    if (place >= splice_limit_) return false;
    const PythonFrame& found = frames_[place];
    if (found.frame != frame || (loop != 0 && found.loop != loop) || !has_same_place(found)) return false;
    if (first_ - full_ < place + 1) return false;
    splice_limit_ = first_change(place);
    if (splice_limit_ != 0) return false;
    kept_ = place + 1;
    return true;
  }

  // 0: all frames outside of this one are as stored; otherwise the outermost ones below this number may be.
  std::uint32_t first_change(std::uint32_t match) const {
    const PythonFrame* frame = frames_ + match;
    for (; frame != frames_; --frame) {
      if (!is_called_by(*frame, frame[-1]) || !has_same_place(frame[-1])) {
        return static_cast<std::uint32_t>(frame - frames_);
      }
    }
    return is_outermost(*frame) ? 0 : 1;
  }

  bool is_called_by(const PythonFrame& frame, const PythonFrame& caller) const {
    const std::uint64_t next = caller_of(frame.frame);
    if (frame.loop == caller.loop) [[likely]] {
      return next == caller.frame;
    }
    if (layout_.loops == python::Loops::cframes) {
      return next == caller.frame && load_word(frame.loop + python::cframe_previous) == caller.loop;
    }
    return next == frame.loop && is_entry(next) && caller_of(next) == caller.frame;
  }

  bool is_outermost(const PythonFrame& frame) const {
    if (layout_.loops != python::Loops::cframes) {
      return caller_of(frame.frame) == frame.loop && is_entry(frame.loop) && caller_of(frame.loop) == 0;
    }
    const std::uint64_t outer = load_word(frame.loop + python::cframe_previous);
    return outer == root_ || outer >= end_;
  }

  const python::Layout& layout_;
  PythonStack& stored_;
  PythonFrame* frames_;
  std::uint32_t splice_limit_;  // stored frames from here on do not lead to the same outer ones
  std::uint64_t root_ = 0;      // the outermost _PyCFrame
  std::uint64_t least_;         // native stack that is looked at
  std::uint64_t end_;
  std::uint32_t first_;  // outermost new frame
  std::uint32_t full_;
  std::uint32_t kept_ = 0;
  bool is_done_ = false;
  bool is_cut_ = false;
};

// One chain of native and Python frames.
class Chain {
 public:
  Chain(const Tables& tables, ThreadStack& stack, PythonStack& python, std::uint32_t python_count)
      : tables_(tables), stack_(stack), python_(python), python_count_(python_count) {}

  // Interns what follows the first `natives` native frames and the first `pythons` Python frames, which are
  // as stored. 0: the table is full.
  std::uint32_t build(std::uint32_t natives, std::uint32_t pythons, bool is_cut) {
    native_ = natives;
    next_ = pythons;
    go_back();
    node_ = is_cut ? begin_of_cut() : stored_node();
    while (native_ < stack_.depth || next_ < python_count_) {
      const bool is_of_native = next_ < python_count_ && (native_ == stack_.depth || belongs(native_, next_));
      if (!(is_of_native ? add_python() : add_native())) return 0;
    }
    return node_;
  }

 private:
  // Whether the Python frame is run by the native frame before `native`.
  bool belongs(std::uint32_t native, std::uint32_t python) const {
    return native > 0 && stack_.frames()[native - 1].sp <= python_.frames[python].loop;
  }

  // Until neither is behind a frame of the other kind that has changed.
  void go_back() {
    while (next_ > 0 && !belongs(native_, next_ - 1)) --next_;
    if (next_ == python_count_) return;
    while (native_ > 1 && belongs(native_ - 1, next_)) --native_;
  }

  std::uint32_t stored_node() const {
    if (native_ == 0) return stack_.root.base_node;
    if (next_ > 0 && !belongs(native_ - 1, next_ - 1)) return python_.frames[next_ - 1].node;
    return python_.nodes[native_ - 1];
  }

  // Outer Python frames are missing: so are the native ones around them.
  std::uint32_t begin_of_cut() {
    native_ = 0;
    next_ = 0;
    while (native_ < stack_.depth && !belongs(native_, 0)) ++native_;
    for (std::uint32_t i = 0; i < native_; ++i) {
      python_.native_nodes[i] = 0;
      python_.nodes[i] = 0;
    }
    return stack_.end_nodes[static_cast<std::size_t>(StepResult::caller)];
  }

  bool add_python() {
    PythonFrame& frame = python_.frames[next_++];
    if (frame.position != no_python_position && !intern(frame.position)) return false;
    frame.node = node_;
    return true;
  }

  bool add_native() {
    const Frame& frame = stack_.frames()[native_];
    if (frame.facts.has(FrameFacts::by_frame_pointer) && native_ != 0 &&
        !intern(session::mark_by_frame_pointer)) {
      return false;
    }
    if (!intern(frame.facts.pc_number())) return false;
    python_.native_nodes[native_] = frame.node;
    python_.nodes[native_] = node_;
    ++native_;
    return true;
  }

  bool intern(std::uint32_t frame) {
    const std::uint64_t word = node_word(node_, frame);
    std::uint32_t& hint =
        stack_.node_hints[word * 0x9e3779b97f4a7c15ULL >> (64 - ThreadStack::node_hint_bits)];
    if (nodes_of(tables_)[hint].load(std::memory_order_relaxed) != word) {
      hint = intern_node(tables_, node_, frame);
    }
    node_ = hint;
    return node_ != node_not_stored;
  }

  const Tables& tables_;
  ThreadStack& stack_;
  PythonStack& python_;
  std::uint32_t python_count_;
  std::uint32_t native_ = 0;  // the next one
  std::uint32_t next_ = 0;    // the next Python frame
  std::uint32_t node_ = 0;
};

// Outer native frames that are as in the last chain.
std::uint32_t kept_natives(const ThreadStack& stack, const PythonStack& python) {
  std::uint32_t kept = stack.depth < stack.python_natives ? stack.depth : stack.python_natives;
  while (kept > 0 && python.native_nodes[kept - 1] != stack.frames()[kept - 1].node) --kept;
  return kept;
}

bool has_signal_frame(const session::ProcessBlock& block, const ThreadStack& stack) {
  for (std::uint32_t i = 0; i < stack.depth; ++i) {
    const FrameFacts facts = stack.frames()[i].facts;
    const Rule rule{block.pcs[facts.pc_number()].rule.load(std::memory_order_relaxed)};
    if (rule.type() == RuleType::signal_frame || !facts.has(FrameFacts::on_own_stack)) return true;
  }
  return false;
}

// Whether the Python frames of this stack are whole and on the thread's own stack.
bool is_readable(const Tables& tables, const ThreadStack& stack, std::uint64_t stack_pointer) {
  if (stack.depth == 0 || stack_pointer < stack.own.low || stack_pointer >= stack.own.top) return false;
  return stack.frames()[stack.depth - 1].facts.has(FrameFacts::plain_to_root) ||
         !has_signal_frame(*tables.block, stack);
}

// What of the stored chain is still there, and where the new Python frames are.
struct Found {
  std::uint32_t kept;
  std::uint32_t first;
  std::uint32_t natives;
  bool is_cut;
  std::uint64_t key = 0;
  std::uint32_t count() const { return kept + scratch_end - first; }
};

// Where a chain is known if only few Python frames are new, and sets its key. It depends on the outer chain
// up to the last Python frame kept, the native frames, and the new ones.
PythonStack::KnownChain* known_chain(const ThreadStack& stack, PythonStack& python, Found& found,
                                     std::uint32_t node) {
  constexpr std::uint32_t most_new = 2;
  if (scratch_end - found.first > most_new || found.kept == 0 || found.natives == 0) return nullptr;
  const PythonFrame& outer = python.frames[found.kept - 1];
  if (stack.frames()[found.natives - 1].sp > outer.loop) return nullptr;
  std::uint64_t key = (static_cast<std::uint64_t>(outer.node) << 32 | node) * 0x9e3779b97f4a7c15ULL;
  for (std::uint32_t i = found.first; i != scratch_end; ++i) {
    const PythonFrame& frame = python.frames[i];
    key = (key ^ key >> 29) * 0xd6e8feb86659fd93ULL;
    key += frame.instruction * 0xbf58476d1ce4e5b9ULL + frame.loop * 0x94d049bb133111ebULL +
           python_stamp(frame.code);
  }
  key *= 0x9fb21c651e98df25ULL;
  found.key = key;
  return &python.known[key >> (64 - PythonStack::known_bits)];
}

// Interns the chain and keeps it as the stored one. Returns its node; `node` if the table is full.
[[gnu::noinline]] std::uint32_t store(const Tables& tables, ThreadStack& stack, const Found& found,
                                      std::uint32_t node) {
  PythonStack& python = *stack.python;
  // As in the walk: what a longjmp leaves behind reads as empty.
  stack.python_count = stack.python_natives = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  PythonFrame* to = python.frames + found.kept;
  for (std::uint32_t from = found.first; from != scratch_end; ++from, ++to) {
    *to = python.frames[from];
    python.place_of(to->frame) = static_cast<std::uint8_t>(to - python.frames);
    to->position = find_python_position(*tables.interpreter, to->code, to->instruction);
  }
  const std::uint32_t count = found.count();
  const std::uint32_t chain =
      Chain(tables, stack, python, count).build(found.natives, found.kept, found.is_cut);
  if (chain == node_not_stored) {
    tables.block->stacks_not_stored.fetch_add(1, std::memory_order_relaxed);
    return node;
  }
  stack.python_node = chain;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (found.is_cut) return chain;  // the next one has other outermost frames
  stack.python_natives = stack.depth;
  stack.python_count = count;
  return chain;
}

}  // namespace

std::uint32_t add_python_frames(const Tables& tables, ThreadStack& stack, std::uint64_t stack_pointer,
                                std::uint32_t node) noexcept {
  const std::uint64_t state = own_thread_state(*tables.interpreter);
  if (state == 0 || !is_readable(tables, stack, stack_pointer)) return node;
  PythonStack& python = *stack.python;
  // What lies beyond the outermost native frame that was found belongs to none.
  const std::uint64_t end = stack.root.slot != 0 ? stack.root.slot : stack.own.top;
  const std::uint32_t most = tables.max_frames < frame_limit ? tables.max_frames : frame_limit;
  Reading reading(tables.interpreter->layout, python, stack.python_count, stack_pointer, end, most);
  if (!reading.run(state)) return node;

  Found found{reading.kept(), reading.first(), kept_natives(stack, python), reading.is_cut()};
  if (found.count() == 0) return node;
  const bool is_same = found.first == scratch_end && found.kept == stack.python_count &&
                       found.natives == stack.depth && found.natives == stack.python_natives;
  if (is_same) return stack.python_node;
  PythonStack::KnownChain* const known = known_chain(stack, python, found, node);
  if (known != nullptr && known->key == found.key) return static_cast<std::uint32_t>(known->node);
  const std::uint32_t chain = store(tables, stack, found, node);
  if (known != nullptr && chain != node) *known = {found.key, chain};
  return chain;
}

}  // namespace heapwright::unwind
