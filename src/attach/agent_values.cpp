// SPDX-License-Identifier: MIT
#include "attach/agent_values.hpp"

namespace heapwright::attach {
namespace {

using agent::Agent;
using agent::Entry;
using agent::index_of;

agent::Function function_at(std::uint64_t address) { return reinterpret_cast<agent::Function>(address); }

std::uint64_t function_of(const Allocator& allocator, Entry entry) {
  for (const EntryPoint& point : allocator.points) {
    if (point.entry == entry) return point.symbol.address;
  }
  return 0;
}

// Where a call of this entry must go to bypass the hook.
std::uint64_t code_of(const Plan& plan, const Allocator& allocator, Entry entry) {
  const std::uint64_t function = function_of(allocator, entry);
  for (const Patch& patch : plan.patches) {
    if (patch.function == function) return patch.code;
  }
  return function;
}

void fill_in_functions(const Plan& plan, const Allocator& allocator, Agent& made) {
  const bool is_second = &allocator != &plan.allocator;
  for (const Patch& patch : plan.patches) {
    if (patch.is_second != is_second) continue;
    const std::size_t index = index_of(patch.entry);
    made.real[index] = made.otherwise[index] = function_at(patch.code);
    const Entry nothrow = nothrow_form(patch.entry);
    if (nothrow != Entry::count_) made.real[index] = function_at(code_of(plan, allocator, nothrow));
  }
  if (allocator.operators != Operators::of_runtime) return;
  made.real[index_of(Entry::new_)] = function_at(code_of(plan, allocator, Entry::malloc_));
  made.real[index_of(Entry::delete_)] = function_at(code_of(plan, allocator, Entry::free_));
  made.real[index_of(Entry::delete_aligned_)] = function_at(code_of(plan, allocator, Entry::free_));
}

Agent values_of(const Plan& plan, const Allocator& allocator) {
  Agent made;
  fill_in_functions(plan, allocator, made);
  made.usable_size = reinterpret_cast<decltype(made.usable_size)>(allocator.usable_size);
  made.has_glibc_headers = allocator.is_glibc && allocator.usable_size != 0 ? 1 : 0;
  made.own_code = allocator.own_code;
  made.own_code_bytes = allocator.own_code_bytes;
  made.free_entry = function_of(allocator, Entry::free_);
  return made;
}

}  // namespace

agent::Agent make_agent(const Plan& plan) {
  Agent made = values_of(plan, plan.allocator);
  made.clock_gettime = reinterpret_cast<decltype(made.clock_gettime)>(plan.clock_gettime);
  return made;
}

agent::Agent make_second(const Plan& plan) {
  return plan.second ? values_of(plan, *plan.second) : agent::Agent{};
}

}  // namespace heapwright::attach
