// SPDX-License-Identifier: MIT
// Numbers the stacks, frames and modules of one process as the trace requires (dense, parents before
// children) and keeps the definitions that are still to be written. Every index read from the session is
// range-checked; walks are bounded.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collect/number_map.hpp"
#include "collect/tick_clock.hpp"
#include "session/layout.hpp"
#include "trace/records.hpp"

namespace heapwright::collect {

// A frame whose code is in no loaded object.
struct LooseFrame {
  std::uint32_t frame = 0;    // its number in the trace
  std::uint64_t address = 0;  // in the instruction that runs
};

class StackDefinitions {
 public:
  static constexpr std::uint32_t max_contexts = 255;  // with a name of their own
  // With more stacks than these, no further ones are told apart by context.
  static constexpr std::uint32_t most_stacks_in_contexts = 1U << 24;

  StackDefinitions(session::ProcessBlock& block, const TickConversion& clock) noexcept
      : block_(block), clock_(clock) {}

  // The trace's id of a stack that an event refers to; 0 for no stack. In a context, the context is its
  // outermost frame, and the only one if there is no stack.
  std::uint32_t stack_id(std::uint32_t node, std::uint32_t context = 0) {
    Within& within = within_[context];
    if (node == 0) return within.root;
    const std::uint32_t known = within.stack_ids.find(node);
    return known != NumberMap::absent ? known : define_stack(within, node);
  }

  // The number of the context that the program calls so; 0: no name. At most max_contexts have their own,
  // further ones share the last.
  std::uint32_t context(const std::string& name);

  // Takes in modules that were loaded or unloaded. Cheap if nothing was added, unless `is_thorough`, which
  // also looks for unloaded ones.
  void read_modules(bool is_thorough);

  // Definitions to write, in this order, before any event that uses them.
  std::vector<trace::Module> pending_modules;
  std::vector<trace::Frame> pending_frames;
  std::vector<trace::PythonFrame> pending_python_frames;
  std::vector<trace::StackNode> pending_stacks;
  std::vector<LooseFrame> loose_frames;  // all so far

 private:
  // What is known about ModuleEntry i; its number in the trace is `number`.
  struct SeenModule {
    std::uint64_t start = 0;
    std::uint64_t unloaded_ticks = 0;
    std::uint32_t number = trace::Frame::no_module;
    bool is_read = false;
  };

  // Of the calls in a context, or in none.
  struct Within {
    std::uint32_t root = 0;  // the id of the stack that is only the context
    NumberMap stack_ids;
  };

  std::uint32_t define_stack(Within& within, std::uint32_t node);
  void add_context(const std::string& name);
  std::uint32_t context_module();
  std::uint32_t truncated_stack_id();
  std::uint32_t frame_id(std::uint32_t frame_number);
  std::uint32_t python_frame_id(std::uint32_t slot);
  void add_python_frame(std::uint64_t place);
  std::uint32_t python_module();
  std::uint32_t module_of(std::uint32_t frame_number) const noexcept;
  void read_module(std::uint32_t index);

  session::ProcessBlock& block_;
  TickConversion clock_;
  std::vector<Within> within_{1};  // by the number of the context
  std::map<std::string, std::uint32_t> context_numbers_;
  std::uint32_t context_module_ = trace::Frame::no_module;
  NumberMap frame_ids_;
  std::uint32_t stack_count_ = 0;  // ids 1 .. stack_count_ are assigned
  std::uint32_t frame_count_ = 0;
  std::uint32_t truncated_stack_id_ = 0;
  std::uint32_t module_count_ = 0;
  std::uint32_t python_module_ = trace::Frame::no_module;
  std::map<std::uint64_t, std::uint32_t> python_frames_;  // by function and line
  std::vector<SeenModule> modules_;                       // by slot in the session
  std::uint32_t first_unread_module_ = 0;
  // The trace identifies a module by (start, loaded_ns): a corrupted table must not name the same one twice.
  std::set<std::pair<std::uint64_t, std::uint64_t>> module_keys_;
};

}  // namespace heapwright::collect
