// SPDX-License-Identifier: MIT
#include "collect/stack_definitions.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "collect/session_text.hpp"

namespace heapwright::collect {

using session::ModuleEntry;

namespace {

// The deepest stack of an intact recorder: 128 frames, a mark beyond each, and 128 of Python.
constexpr std::size_t deepest_walk = 416;
static_assert(session::mark_by_frame_pointer - session::mark_truncated ==
              trace::frame_by_frame_pointer - trace::frame_truncated);
constexpr std::uint32_t module_ready = 2;

trace::Module describe(const ModuleEntry& entry, const TickConversion& clock) {
  trace::Module module;
  module.start = entry.start;
  module.end = std::max(entry.start, entry.end);
  module.bias = entry.bias;
  module.loaded_ns = clock.since_epoch_ns(entry.loaded_ticks);
  module.path = text_of(entry.path);
  module.build_id = hexadecimal(entry.build_id, entry.build_id_bytes);
  return module;
}

}  // namespace

std::uint32_t StackDefinitions::define_stack(Within& within, std::uint32_t node) {
  if (within.root != 0 && stack_count_ >= most_stacks_in_contexts) return stack_id(node);
  struct Step {
    std::uint32_t node;
    std::uint32_t frame_number;
  };
  std::array<Step, deepest_walk> steps;
  std::size_t depth = 0;
  std::uint32_t parent_id = within.root;
  bool is_cut = false;
  while (node != 0) {
    const std::uint32_t known = within.stack_ids.find(node);
    if (known != NumberMap::absent) {
      parent_id = known;
      break;
    }
    const std::uint64_t word =
        node < session::node_table_slots ? block_.nodes[node].load(std::memory_order_acquire) : 0;
    is_cut = word == 0 || depth == deepest_walk;
    if (is_cut) break;
    // Frame number + 1 is stored, so that a used word is never 0.
    steps[depth++] = {node, static_cast<std::uint32_t>(word) - 1};
    node = static_cast<std::uint32_t>(word >> 32);
  }
  if (is_cut) parent_id = truncated_stack_id();
  while (depth != 0) {
    const Step step = steps[--depth];
    pending_stacks.push_back({parent_id, frame_id(step.frame_number)});
    parent_id = ++stack_count_;
    // A corrupted table may lead through one node twice.
    if (within.stack_ids.find(step.node) == NumberMap::absent) within.stack_ids.insert(step.node, parent_id);
  }
  return parent_id;
}

// For a walk that does not end properly. One stack for all of these, so that garbage cannot fill the tables.
std::uint32_t StackDefinitions::truncated_stack_id() {
  if (truncated_stack_id_ == 0) {
    pending_stacks.push_back({0, trace::frame_truncated});
    truncated_stack_id_ = ++stack_count_;
  }
  return truncated_stack_id_;
}

std::uint32_t StackDefinitions::context(const std::string& name) {
  if (name.empty()) return 0;
  const auto known = context_numbers_.find(name);
  if (known != context_numbers_.end()) return known->second;
  const bool is_other = context_numbers_.size() >= max_contexts;
  const auto number = static_cast<std::uint32_t>(is_other ? max_contexts + 1 : within_.size());
  if (number == within_.size()) add_context(is_other ? trace::other_contexts : name);
  if (!is_other) context_numbers_.emplace(name, number);
  return number;
}

void StackDefinitions::add_context(const std::string& name) {
  trace::PythonFrame named;
  named.frame = frame_count_++;
  named.function = name;
  trace::Frame frame;
  frame.module = context_module();
  frame.pc = trace::context_module_start + within_.size();
  frame.is_exact = true;
  pending_frames.push_back(frame);
  pending_python_frames.push_back(std::move(named));
  pending_stacks.push_back({0, frame_count_ - 1});
  within_.emplace_back().root = ++stack_count_;
}

std::uint32_t StackDefinitions::context_module() {
  if (context_module_ != trace::Frame::no_module) return context_module_;
  trace::Module module;
  module.start = trace::context_module_start;
  module.end = module.start + max_contexts + 2;
  module.bias = module.start;
  module.path = trace::context_module_path;
  pending_modules.push_back(std::move(module));
  return context_module_ = module_count_++;
}

std::uint32_t StackDefinitions::frame_id(std::uint32_t frame_number) {
  if (frame_number >= session::first_python_frame) {
    return python_frame_id(frame_number - session::first_python_frame);
  }
  if (frame_number >= session::pc_table_slots) {
    const std::uint32_t mark = frame_number - session::mark_truncated;
    return mark < session::mark_count ? trace::frame_truncated + mark : trace::frame_truncated;
  }
  const std::uint32_t known = frame_ids_.find(frame_number);
  if (known != NumberMap::absent) return known;
  const std::uint64_t key = block_.pcs[frame_number].key.load(std::memory_order_acquire);
  trace::Frame frame;
  frame.pc = key & session::pc_mask;
  frame.is_exact = (key & session::pc_key_exact) != 0;
  read_modules(false);
  frame.module = module_of(frame_number);
  if (frame.module == trace::Frame::no_module) {
    loose_frames.push_back({frame_count_, frame.pc - (frame.is_exact ? 0 : 1)});
  }
  pending_frames.push_back(frame);
  frame_ids_.insert(frame_number, frame_count_);
  return frame_count_++;
}

std::uint32_t StackDefinitions::python_frame_id(std::uint32_t slot) {
  if (slot >= session::python_position_slots) return trace::frame_truncated;
  const std::uint32_t known = frame_ids_.find(session::first_python_frame + slot);
  if (known != NumberMap::absent) return known;
  const std::uint64_t place = block_.python.positions[slot].place.load(std::memory_order_acquire);
  const auto [entry, is_new] = python_frames_.try_emplace(place, frame_count_);
  if (is_new) add_python_frame(place);
  frame_ids_.insert(session::first_python_frame + slot, entry->second);
  return entry->second;
}

// `place`: as in session::PythonPosition.
void StackDefinitions::add_python_frame(std::uint64_t place) {
  const std::uint64_t function = place >> 32;
  trace::PythonFrame named;
  named.frame = frame_count_++;
  named.line = static_cast<std::uint32_t>(place);
  if (function != 0 && function <= session::max_python_functions) {
    const session::PythonFunction& texts = block_.python.functions[function - 1];
    named.function = text_of(texts.name);
    named.file = text_of(texts.file);
  }
  trace::Frame frame;
  frame.module = python_module();
  frame.pc = trace::python_module_start + python_frames_.size();
  frame.is_exact = true;
  pending_frames.push_back(frame);
  pending_python_frames.push_back(std::move(named));
}

std::uint32_t StackDefinitions::python_module() {
  if (python_module_ != trace::Frame::no_module) return python_module_;
  trace::Module module;
  module.start = trace::python_module_start;
  module.end = module.start + session::python_position_slots + 1;
  module.bias = module.start;
  module.path = trace::python_module_path;
  pending_modules.push_back(std::move(module));
  return python_module_ = module_count_++;
}

// Several modules may have been at one address, one after the other: the recorder says which one.
std::uint32_t StackDefinitions::module_of(std::uint32_t frame_number) const noexcept {
  const std::uint32_t number = block_.pc_modules[frame_number].load(std::memory_order_acquire);
  return number == 0 || number > modules_.size() ? trace::Frame::no_module : modules_[number - 1].number;
}

void StackDefinitions::read_modules(bool is_thorough) {
  const std::uint32_t count =
      std::min(block_.module_count.load(std::memory_order_acquire), session::max_modules);
  if (count > modules_.size()) modules_.resize(count);
  const std::uint32_t first = is_thorough ? 0 : first_unread_module_;
  for (std::uint32_t index = first; index < modules_.size(); ++index) read_module(index);
  while (first_unread_module_ < modules_.size() && modules_[first_unread_module_].is_read) {
    ++first_unread_module_;
  }
}

void StackDefinitions::read_module(std::uint32_t index) {
  const ModuleEntry& entry = block_.modules[index];
  SeenModule& seen = modules_[index];
  if (entry.state.load(std::memory_order_acquire) != module_ready) return;
  const std::uint64_t unloaded_ticks = entry.unloaded_ticks.load(std::memory_order_acquire);
  const bool is_closed_now = unloaded_ticks != 0 && seen.unloaded_ticks == 0;
  if (seen.is_read && (!is_closed_now || seen.number == trace::Frame::no_module)) return;

  trace::Module module = describe(entry, clock_);
  if (!seen.is_read) {
    seen.is_read = true;
    seen.start = module.start;
    if (!module_keys_.insert({module.start, module.loaded_ns}).second) return;
    seen.number = module_count_++;
  } else if (module.start != seen.start || !module_keys_.contains({module.start, module.loaded_ns})) {
    return;
  }
  seen.unloaded_ticks = unloaded_ticks;
  if (unloaded_ticks != 0) {
    module.unloaded_ns = std::max(clock_.since_epoch_ns(unloaded_ticks), module.loaded_ns + 1);
  }
  pending_modules.push_back(std::move(module));
}

}  // namespace heapwright::collect
