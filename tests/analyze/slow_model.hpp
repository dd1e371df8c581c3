// SPDX-License-Identifier: MIT
// The analysis once more, the simple way: every effect in one sorted list,
// maps for everything, whole copies at the peak. Shares no code with the
// fast one. Expects effects of different threads at different quanta.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "memory_trace.hpp"

namespace heapwright::analyze {

struct SlowBlock {
  std::uint64_t time_ns = 0;
  std::uint64_t size = 0;
  std::uint64_t usable = 0;
  std::uint32_t stack = 0;
  std::uint32_t thread = 0;
  std::uint64_t order = 0;  // number of the allocation within its thread
  std::uint64_t steps = 0;
  std::uint64_t moved = 0;
  std::uint64_t copied = 0;
};

struct SlowChain {
  std::uint64_t chains = 0;
  std::uint64_t steps = 0;
  std::uint64_t moved = 0;
  std::uint64_t copied = 0;
  std::uint64_t longest = 0;
  std::uint64_t final_bytes = 0;
  bool operator==(const SlowChain&) const = default;
};

class SlowModel {
 public:
  explicit SlowModel(const MemoryTrace& trace) {
    for (const auto& [thread, calls] : trace.calls()) {
      for (std::size_t index = 0; index < calls.size(); ++index) {
        add_effects(thread, calls[index]);
      }
    }
    std::stable_sort(effects_.begin(), effects_.end(),
                     [](const Effect& a, const Effect& b) { return a.time_ns < b.time_ns; });
    for (const auto& effect : effects_) {
      apply(effect);
    }
    for (const auto& entry : live) {
      close_chain(entry.second);
    }
  }

  std::map<std::uint64_t, SlowBlock> live;
  std::map<std::uint64_t, SlowBlock> live_at_peak;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_time_ns = 0;
  std::uint64_t unknown = 0;
  std::uint64_t reused = 0;
  std::uint64_t mismatches = 0;
  std::map<std::uint32_t, std::uint64_t> temporaries_of_stack;
  std::map<std::uint32_t, std::uint64_t> temporaries_of_thread;
  std::map<std::uint32_t, std::uint64_t> own_peak_of_stack;
  std::map<std::uint32_t, std::uint64_t> own_peak_of_thread;
  std::map<std::uint32_t, std::vector<std::uint64_t>> lifetimes_of_stack;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> size_and_lifetime;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint64_t, std::uint64_t>> freed_by;
  std::map<std::uint32_t, SlowChain> chains;                         // by stack
  std::vector<std::pair<std::uint64_t, std::uint64_t>> live_course;  // (time, live bytes) after each effect

 private:
  struct Effect {
    std::uint64_t time_ns;
    std::uint32_t thread;
    bool is_acquisition;
    bool is_realloc;
    Call call;
  };

  void add_effects(std::uint32_t thread, const Call& call) {
    const bool is_realloc = trace::is_realloc(call.kind);
    const auto end_ns = call.begin_ns + call.duration_ns;
    if (trace::is_release(call.kind) && call.address != 0) {
      effects_.push_back({call.begin_ns, thread, false, false, call});
    }
    if (is_realloc && call.old_address != 0 && (call.address != 0 || call.size == 0)) {
      effects_.push_back({call.begin_ns, thread, false, true, call});
    }
    if (trace::is_allocation(call.kind) && call.address != 0) {
      effects_.push_back({end_ns, thread, true, is_realloc && call.old_address != 0, call});
    }
  }

  void apply(const Effect& effect) {
    if (effect.is_acquisition) {
      acquire(effect);
    } else {
      release(effect);
    }
    live_course.emplace_back(effect.time_ns, live_bytes);
  }

  std::uint64_t sum_of(auto&& passes) const {
    std::uint64_t sum = 0;
    for (const auto& entry : live) {
      sum += passes(entry.second) ? entry.second.size : 0;
    }
    return sum;
  }

  void acquire(const Effect& effect) {
    const auto& call = effect.call;
    if (live.contains(call.address)) {
      ++reused;
      close_chain(live[call.address]);
      live_bytes -= live[call.address].size;
      live.erase(call.address);
    }
    SlowBlock block{effect.time_ns,
                    call.size,
                    std::max(call.size, call.usable),
                    call.stack,
                    effect.thread,
                    ++allocations_[effect.thread],
                    0,
                    0,
                    0};
    if (effect.is_realloc) {
      const auto old = moving_[effect.thread].value_or(SlowBlock{});
      const bool is_move = call.old_address != call.address;
      block.steps = old.steps + 1;
      block.moved = old.moved + (is_move ? 1 : 0);
      block.copied = old.copied + (is_move ? std::min(old.size, call.size) : 0);
      moving_[effect.thread].reset();
    }
    live[call.address] = block;
    live_bytes += call.size;
    auto& stack_peak = own_peak_of_stack[call.stack];
    stack_peak =
        std::max(stack_peak, sum_of([&](const SlowBlock& other) { return other.stack == call.stack; }));
    auto& thread_peak = own_peak_of_thread[effect.thread];
    thread_peak =
        std::max(thread_peak, sum_of([&](const SlowBlock& other) { return other.thread == effect.thread; }));
    if (live_bytes > peak_bytes) {
      peak_bytes = live_bytes;
      peak_time_ns = effect.time_ns;
      live_at_peak = live;
    }
  }

  void release(const Effect& effect) {
    const auto address = effect.is_realloc ? effect.call.old_address : effect.call.address;
    const auto found = live.find(address);
    if (found == live.end()) {
      ++unknown;
      return;
    }
    const auto block = found->second;
    const bool moves_on = effect.is_realloc && effect.call.address != 0;
    if (moves_on) {
      moving_[effect.thread] = block;
    } else {
      close_chain(block);
    }
    if (!moves_on && block.thread == effect.thread && block.order == allocations_[effect.thread]) {
      ++temporaries_of_stack[block.stack];
      ++temporaries_of_thread[effect.thread];
    }
    const auto lifetime = effect.time_ns > block.time_ns ? effect.time_ns - block.time_ns : 0;
    lifetimes_of_stack[block.stack].push_back(lifetime);
    size_and_lifetime.emplace_back(block.size, lifetime);
    auto& cell = freed_by[{block.thread, effect.thread}];
    ++cell.first;
    cell.second += block.size;
    if (effect.call.kind == trace::EventKind::delete_sized && effect.call.size != block.size) {
      ++mismatches;
    }
    live_bytes -= block.size;
    live.erase(found);
  }

  void close_chain(const SlowBlock& block) {
    if (block.steps == 0) {
      return;
    }
    auto& sums = chains[block.stack];
    ++sums.chains;
    sums.steps += block.steps;
    sums.moved += block.moved;
    sums.copied += block.copied;
    sums.longest = std::max(sums.longest, block.steps);
    sums.final_bytes += block.size;
  }

  std::vector<Effect> effects_;
  std::map<std::uint32_t, std::uint64_t> allocations_;
  std::map<std::uint32_t, std::optional<SlowBlock>> moving_;
};

}  // namespace heapwright::analyze
