// SPDX-License-Identifier: MIT
#include "attach/agent_values.hpp"

namespace heapwright::attach {
namespace {

using agent::Agent;
using agent::Entry;
using agent::index_of;

agent::Function function_at(std::uint64_t address) { return reinterpret_cast<agent::Function>(address); }

std::uint64_t function_of(const Plan& plan, Entry entry) {
  for (const EntryPoint& point : plan.allocator.points) {
    if (point.entry == entry) return point.symbol.address;
  }
  return 0;
}

// Where a call of this entry must go to bypass the hook.
std::uint64_t code_of(const Plan& plan, Entry entry) {
  const std::uint64_t function = function_of(plan, entry);
  for (const Patch& patch : plan.patches) {
    if (patch.function == function) return patch.code;
  }
  return function;
}

void fill_in_functions(const Plan& plan, Agent& made) {
  for (const Patch& patch : plan.patches) {
    const std::size_t index = index_of(patch.entry);
    made.real[index] = made.otherwise[index] = function_at(patch.code);
    const Entry nothrow = nothrow_form(patch.entry);
    if (nothrow != Entry::count_) made.real[index] = function_at(code_of(plan, nothrow));
  }
  if (plan.allocator.operators != Operators::of_runtime) return;
  made.real[index_of(Entry::new_)] = function_at(code_of(plan, Entry::malloc_));
  made.real[index_of(Entry::delete_)] = function_at(code_of(plan, Entry::free_));
  made.real[index_of(Entry::delete_aligned_)] = function_at(code_of(plan, Entry::free_));
}

}  // namespace

agent::Agent make_agent(const Plan& plan) {
  Agent made;
  fill_in_functions(plan, made);
  const Allocator& allocator = plan.allocator;
  made.usable_size = reinterpret_cast<decltype(made.usable_size)>(allocator.usable_size);
  made.clock_gettime = reinterpret_cast<decltype(made.clock_gettime)>(plan.clock_gettime);
  made.has_glibc_headers = allocator.is_glibc && allocator.usable_size != 0 ? 1 : 0;
  made.own_code = allocator.own_code;
  made.own_code_bytes = allocator.own_code_bytes;
  made.free_entry = function_of(plan, Entry::free_);
  return made;
}

}  // namespace heapwright::attach
