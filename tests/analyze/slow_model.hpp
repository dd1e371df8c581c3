// SPDX-License-Identifier: MIT
// length: one model, every answer of it from the same few maps
// The analysis once more, the simple way: every effect in one sorted list,
// maps for everything, whole copies at the peak. Shares no code with the
// fast one. Expects effects of different threads at different quanta.
//
// A time range and threads may be asked for, as of the fast one: what began
// before the range only makes blocks live or dead, blocks of other threads are
// paired and not counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "memory_trace.hpp"

namespace heapwright::analyze {

struct Asked {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = UINT64_MAX;
  std::set<std::uint32_t> threads;  // empty = all

  bool is_chosen(std::uint32_t thread) const { return threads.empty() || threads.contains(thread); }
  bool is_counted(const Call& call) const { return call.begin_ns >= from_ns && call.begin_ns < to_ns; }
};

struct SlowMapping {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t unmapped = 0;
  std::uint64_t at_end = 0;
  bool operator==(const SlowMapping&) const = default;
};

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
  bool is_chosen = true;
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
  explicit SlowModel(const MemoryTrace& trace, const Asked& asked = {}) : asked_(asked) {
    for (const auto& [thread, calls] : trace.calls()) {
      for (std::size_t index = 0; index < calls.size(); ++index) {
        if (calls[index].begin_ns < asked.to_ns) {
          add_effects(thread, calls[index]);
        }
      }
    }
    std::stable_sort(effects_.begin(), effects_.end(),
                     [](const Effect& a, const Effect& b) { return a.time_ns < b.time_ns; });
    for (const auto& effect : effects_) {
      if (!is_in_range_ && effect.time_ns >= asked.from_ns) {
        begin_range();
      }
      apply(effect);
    }
    if (!is_in_range_) {
      begin_range();
    }
    for (const auto& entry : live) {
      close_chain(entry.second);
    }
    std::erase_if(live, [](const auto& entry) { return !entry.second.is_chosen; });
    for (const auto& [page, owner] : pages_) {
      mappings[owner.first].at_end += owner.second ? page_bytes : 0;
    }
    std::erase_if(mappings, [](const auto& entry) { return entry.second == SlowMapping{}; });
  }

  std::map<std::uint64_t, SlowBlock> live;
  std::map<std::uint64_t, SlowBlock> live_at_peak;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_usable_bytes = 0;
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
  std::map<std::uint32_t, SlowChain> chains;                    // by stack
  std::map<std::uint32_t, SlowMapping> mappings;                // by stack
  std::map<std::uint32_t, std::uint64_t> releases_of_thread;    // of chosen blocks, by who released
  std::map<std::uint32_t, std::uint64_t> release_ns_of_thread;  // of these calls, reallocs apart
  // After each effect: time, live bytes, live usable bytes.
  struct State {
    std::uint64_t time_ns;
    std::uint64_t bytes;
    std::uint64_t usable;
  };
  std::vector<State> live_course;
  State before_course{};

 private:
  static constexpr std::uint64_t page_bytes = 4096;

  struct Effect {
    std::uint64_t time_ns;
    std::uint32_t thread;
    bool is_acquisition;
    bool is_realloc;
    Call call;
  };

  static bool is_mapping(trace::EventKind kind) {
    return kind == trace::EventKind::mmap_ || kind == trace::EventKind::munmap_ ||
           kind == trace::EventKind::mremap_;
  }

  void add_effects(std::uint32_t thread, const Call& call) {
    if (is_mapping(call.kind) && call.address != 0) {
      const auto late_ns = call.kind == trace::EventKind::munmap_ ? 0 : call.duration_ns;
      effects_.push_back({call.begin_ns + late_ns, thread, false, false, call});
      return;
    }
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
    if (is_mapping(effect.call.kind)) {
      change_pages(effect);
    } else if (effect.is_acquisition) {
      acquire(effect);
    } else {
      release(effect);
    }
    live_course.push_back(state(effect.time_ns));
  }

  State state(std::uint64_t time_ns) const { return {time_ns, live_bytes, live_usable_bytes}; }

  // Counts from zero; what is live stays live.
  void begin_range() {
    is_in_range_ = true;
    unknown = reused = mismatches = 0;
    temporaries_of_stack.clear();
    temporaries_of_thread.clear();
    own_peak_of_stack.clear();
    own_peak_of_thread.clear();
    lifetimes_of_stack.clear();
    size_and_lifetime.clear();
    freed_by.clear();
    chains.clear();
    mappings.clear();
    releases_of_thread.clear();
    release_ns_of_thread.clear();
    live_course.clear();
    before_course = state(asked_.from_ns);
    for (const auto& [address, block] : live) {
      own_peak_of_stack[block.stack] += block.is_chosen ? block.size : 0;
      own_peak_of_thread[block.thread] += block.is_chosen ? block.size : 0;
    }
    set_peak(asked_.from_ns);
  }

  void set_peak(std::uint64_t time_ns) {
    peak_bytes = live_bytes;
    peak_time_ns = time_ns;
    live_at_peak = live;
    std::erase_if(live_at_peak, [](const auto& entry) { return !entry.second.is_chosen; });
  }

  void change_pages(const Effect& effect) {
    const auto& call = effect.call;
    const auto end = [](std::uint64_t at, std::uint64_t bytes) {
      return (at + bytes + page_bytes - 1) / page_bytes;
    };
    const auto take_away = [&](std::uint64_t at, std::uint64_t bytes) {
      for (auto page = at / page_bytes; page < end(at, bytes); ++page) {
        const auto found = pages_.find(page);
        if (found == pages_.end()) {
          continue;
        }
        mappings[found->second.first].unmapped += found->second.second ? page_bytes : 0;
        pages_.erase(found);
      }
    };
    if (call.kind == trace::EventKind::mremap_) {
      take_away(call.old_address, call.usable);
    }
    take_away(call.address, call.size);
    if (call.kind == trace::EventKind::munmap_) {
      return;
    }
    const bool is_chosen = asked_.is_chosen(effect.thread);
    mappings[call.stack].calls += is_chosen ? 1 : 0;
    for (auto page = call.address / page_bytes; page < end(call.address, call.size); ++page) {
      pages_[page] = {call.stack, is_chosen};
      mappings[call.stack].bytes += is_chosen ? page_bytes : 0;
    }
  }

  std::uint64_t sum_of(auto&& passes) const {
    std::uint64_t sum = 0;
    for (const auto& entry : live) {
      sum += entry.second.is_chosen && passes(entry.second) ? entry.second.size : 0;
    }
    return sum;
  }

  void acquire(const Effect& effect) {
    const auto& call = effect.call;
    if (live.contains(call.address)) {
      ++reused;
      close_chain(live[call.address]);
      forget(live[call.address]);
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
                    0,
                    asked_.is_chosen(effect.thread)};
    if (effect.is_realloc) {
      const auto old = moving_[effect.thread].value_or(SlowBlock{});
      const bool is_move = call.old_address != call.address;
      block.steps = old.steps + 1;
      block.moved = old.moved + (is_move ? 1 : 0);
      block.copied = old.copied + (is_move ? std::min(old.size, call.size) : 0);
      moving_[effect.thread].reset();
    }
    live[call.address] = block;
    if (!block.is_chosen) {
      return;
    }
    live_bytes += block.size;
    live_usable_bytes += block.usable;
    auto& stack_peak = own_peak_of_stack[call.stack];
    stack_peak =
        std::max(stack_peak, sum_of([&](const SlowBlock& other) { return other.stack == call.stack; }));
    auto& thread_peak = own_peak_of_thread[effect.thread];
    thread_peak =
        std::max(thread_peak, sum_of([&](const SlowBlock& other) { return other.thread == effect.thread; }));
    if (live_bytes > peak_bytes) {
      set_peak(effect.time_ns);
    }
  }

  void release(const Effect& effect) {
    const auto address = effect.is_realloc ? effect.call.old_address : effect.call.address;
    const auto found = live.find(address);
    if (found == live.end()) {
      if (asked_.is_chosen(effect.thread)) {
        ++unknown;
        add_release(effect);
      }
      return;
    }
    const auto block = found->second;
    const bool moves_on = effect.is_realloc && effect.call.address != 0;
    if (moves_on) {
      moving_[effect.thread] = block;
    } else {
      close_chain(block);
    }
    if (!block.is_chosen) {
      live.erase(found);
      return;
    }
    add_release(effect);
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
    forget(block);
    live.erase(found);
  }

  void forget(const SlowBlock& block) {
    live_bytes -= block.is_chosen ? block.size : 0;
    live_usable_bytes -= block.is_chosen ? block.usable : 0;
  }

  void add_release(const Effect& effect) {
    ++releases_of_thread[effect.thread];
    release_ns_of_thread[effect.thread] += effect.is_realloc ? 0 : effect.call.duration_ns;
  }

  void close_chain(const SlowBlock& block) {
    if (block.steps == 0 || !block.is_chosen) {
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

  Asked asked_;
  bool is_in_range_ = false;
  std::map<std::uint64_t, std::pair<std::uint32_t, bool>> pages_;  // mapped: by which stack, is it counted
  std::vector<Effect> effects_;
  std::map<std::uint32_t, std::uint64_t> allocations_;
  std::map<std::uint32_t, std::optional<SlowBlock>> moving_;
};

}  // namespace heapwright::analyze
