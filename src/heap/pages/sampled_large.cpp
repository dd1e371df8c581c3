// SPDX-License-Identifier: MIT
#include "heap/pages/sampled_large.hpp"

#include <atomic>
#include <cstdint>

#include "heap/base/random.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/guards.hpp"

namespace heapwright::heap {

namespace {

// Every program has first blocks, and they often live long; tests may allocate few. The cost is bounded: some
// system calls and new pages for each of these few.
constexpr std::uint32_t always_sampled = 8;
// Of the others, one in so many on average, at random.
constexpr std::uint32_t blocks_per_sample = 5000;
// A longer block costs a fault for each of its many pages, and realloc would copy it.
constexpr std::size_t most_sampled_bytes = std::size_t{1} << 20;
constexpr std::uint32_t most_waiting = 8;

struct SampledLarge {
  std::atomic<std::uint32_t> made;  // up to always_sampled
  std::atomic<std::uint32_t> freed;
  std::atomic<std::uint32_t> waiting[most_waiting];  // units of the most recently freed
};
constinit SampledLarge sampled{};

bool is_among_first() noexcept {
  return sampled.made.load(std::memory_order_relaxed) < always_sampled &&
         sampled.made.fetch_add(1, std::memory_order_relaxed) < always_sampled;
}

bool is_next(std::uint32_t* left) noexcept {
  if (*left > 1) {
    --*left;
    return false;
  }
  const bool is_drawn = *left == 1;
  *left = 1 + static_cast<std::uint32_t>(next_word() % (2 * blocks_per_sample));
  return is_drawn;
}

}  // namespace

LargeBlock allocate_sampled(std::size_t bytes, std::uint32_t* left) noexcept {
  // Under an address space limit, guard units count.
  if (bytes > most_sampled_bytes || source.limit_bytes != 0) return {nullptr, false};
  if (!is_among_first() && !is_next(left)) return {nullptr, false};
  if (guarded_runs.load(std::memory_order_relaxed) >= most_sampled) return {nullptr, false};
  const LargeBlock block = allocate_guarded(bytes, 1, nullptr);
  if (block.memory != nullptr) line_at(block.memory)->remote.store(0, std::memory_order_relaxed);
  return block;
}

bool free_sampled(UnitLine* line) noexcept {
  // If two threads free the block at once, one finds it freed.
  if (line->remote.exchange(1, std::memory_order_acq_rel) != 0) return false;
  withdraw_large(line);
  const std::uint32_t place = sampled.freed.fetch_add(1, std::memory_order_relaxed) % most_waiting;
  const std::uint32_t oldest = sampled.waiting[place].exchange(unit_of(line), std::memory_order_acq_rel);
  if (oldest != 0) free_guarded(line_of(oldest));
  return true;
}

}  // namespace heapwright::heap
