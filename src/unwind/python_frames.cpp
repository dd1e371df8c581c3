// SPDX-License-Identifier: MIT
#include "unwind/python_frames.hpp"

#include "unwind/node_table.hpp"
#include "unwind/python_reading.hpp"
#include "unwind/thread_stack.hpp"

namespace heapwright::unwind {

static_assert(sizeof(PythonStack) <= python_stack_bytes);

namespace {

// The calling thread's PyThreadState; 0: none, or the interpreter is being ended by another thread.
std::uint64_t own_thread_state(const Interpreter& in) {
  if (static_cast<std::uint32_t>(load_word(in.runtime + in.layout.is_begun)) == 0) return 0;
  const auto state = reinterpret_cast<std::uint64_t>(in.own_thread_state());
  if (!is_object_address(state)) return 0;
  const std::uint64_t ending = load_word(in.runtime + in.layout.finalizing);
  if (ending != 0 && ending != state) return 0;
  const auto self = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  const std::uint64_t thread = load_word(state + in.layout.thread_id);  // pthread_self()
#if defined(__aarch64__)
  constexpr std::uint64_t most_descriptor_bytes = 8192;  // which ends at the thread pointer
  return self - thread < most_descriptor_bytes ? state : 0;
#else
  return thread == self ? state : 0;
#endif
}

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
    frame.node = node_ & PythonFrame::node_mask;
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
  std::uint32_t count() const { return kept + python_scratch_end - first; }
};

// Where a chain is known if only few Python frames are new, and sets its key. It depends on the outer chain
// up to the last Python frame kept, the native frames, and the new ones.
PythonStack::KnownChain* known_chain(const python::Layout& layout, const ThreadStack& stack,
                                     PythonStack& python, Found& found, std::uint32_t node) {
  constexpr std::uint32_t most_new = 2;
  if (python_scratch_end - found.first > most_new || found.kept == 0 || found.natives == 0) return nullptr;
  const PythonFrame& outer = python.frames[found.kept - 1];
  if (stack.frames()[found.natives - 1].sp > outer.loop) return nullptr;
  std::uint64_t key = (static_cast<std::uint64_t>(outer.node) << 32 | node) * 0x9e3779b97f4a7c15ULL;
  for (std::uint32_t i = found.first; i != python_scratch_end; ++i) {
    const PythonFrame& frame = python.frames[i];
    key = (key ^ key >> 29) * 0xd6e8feb86659fd93ULL;
    key += frame.instruction * 0xbf58476d1ce4e5b9ULL + frame.loop * 0x94d049bb133111ebULL +
           python_stamp(layout, frame.code);
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
  for (std::uint32_t from = found.first; from != python_scratch_end; ++from, ++to) {
    *to = python.frames[from];
    const auto number = static_cast<std::uint32_t>(to - python.frames);
    python.place_of(to->frame) = static_cast<std::uint8_t>(number);
    const bool is_in_same_loop = number != 0 && to[-1].loop == to->loop;
    to->loop_begin = (is_in_same_loop ? to[-1].loop_begin : number) & PythonFrame::number_mask;
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
  const std::uint32_t same_natives = kept_natives(stack, python);
  Reading reading(*tables.interpreter, stack, same_natives, stack_pointer, end, most);
  if (!reading.run(state)) return node;

  Found found{reading.kept(), reading.first(), same_natives, reading.is_cut()};
  if (found.count() == 0) return node;
  const bool is_same = found.first == python_scratch_end && found.kept == stack.python_count &&
                       found.natives == stack.depth && found.natives == stack.python_natives;
  if (is_same) return stack.python_node;
  PythonStack::KnownChain* const known = known_chain(tables.interpreter->layout, stack, python, found, node);
  if (known != nullptr && known->key == found.key) return static_cast<std::uint32_t>(known->node);
  const std::uint32_t chain = store(tables, stack, found, node);
  if (known != nullptr && chain != node) *known = {found.key, chain};
  return chain;
}

}  // namespace heapwright::unwind
