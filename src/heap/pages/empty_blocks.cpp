// SPDX-License-Identifier: MIT
#include "heap/pages/empty_blocks.hpp"

#include <atomic>
#include <bit>
#include <cstdint>

#include "heap/base/counting.hpp"
#include "heap/base/messages.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/pages/unmapped_runs.hpp"

namespace heapwright::heap {

namespace {

constexpr std::uint32_t place_units = 16;
constexpr std::uint32_t place_bytes = 16;
constexpr std::uint32_t places = place_units * unit_bytes / place_bytes;

// `begin` is written once and read by many calls, so it has its own cache line.
struct EmptyBlocks {
  alignas(64) std::atomic<char*> begin;
  alignas(64) std::atomic<std::uint64_t> taken[places / 64];
  std::atomic<std::uint32_t> callers;
};
constinit EmptyBlocks empty_blocks{};

// Each caller cycles from its own start, and any number of starts are far apart, so
// that two callers seldom write to the same line.
std::uint32_t choose_first_place() noexcept {
  constexpr std::uint32_t golden = 40'503;  // of 65,536
  static_assert(places == 65'536);
  return 1 + empty_blocks.callers.fetch_add(1, std::memory_order_relaxed) * golden % places;
}

// The first free place of the word from `place` on; none: the next word's first.
std::uint32_t find_free_in_word(std::uint32_t place) noexcept {
  const std::uint64_t taken = empty_blocks.taken[place / 64].load(std::memory_order_relaxed);
  const std::uint64_t above = ~taken >> place % 64;
  return above != 0 ? place + static_cast<std::uint32_t>(std::countr_zero(above)) : (place | 63) + 1;
}

char* begin_of_places() noexcept {
  char* begin = empty_blocks.begin.load(std::memory_order_acquire);
  if (begin != nullptr) return begin;
  const Run run = allocate_run(place_units);
  if (run.unit == 0) return nullptr;
  char* made = memory_of(run.unit);
  forbid(made, place_units * unit_bytes);
  if (empty_blocks.begin.compare_exchange_strong(begin, made, std::memory_order_acq_rel)) return made;
  take_back(run.unit, place_units);
  return begin;
}

std::size_t place_of(const char* function, const void* block) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(block) - empty_blocks.begin.load());
  if (offset % place_bytes != 0) stop_for_invalid_pointer(function, block);
  return offset / place_bytes;
}

}  // namespace

void* take_empty_block(std::uint32_t* next) noexcept {
  constexpr int most_looked_at = 64;
  char* begin = begin_of_places();
  if (begin == nullptr) return nullptr;
  if (*next == 0) *next = choose_first_place();
  // In order, so that a place is reused as late as possible.
  for (int i = 0; i < most_looked_at; ++i) {
    count_steps();
    const std::uint32_t wanted = *next % places;
    const std::uint32_t place = find_free_in_word(wanted);
    *next = place;
    if (place / 64 != wanted / 64) continue;
    ++*next;
    const std::uint64_t bit = std::uint64_t{1} << place % 64;
    if ((empty_blocks.taken[place / 64].fetch_or(bit, std::memory_order_acq_rel) & bit) == 0) {
      return begin + std::size_t{place} * place_bytes;
    }
  }
  return nullptr;
}

bool is_empty_block(const void* pointer) noexcept {
  const char* begin = empty_blocks.begin.load(std::memory_order_acquire);
  return begin != nullptr && static_cast<std::size_t>(static_cast<const char*>(pointer) - begin) <
                                 std::size_t{places} * place_bytes;
}

std::uint32_t live_empty_blocks() noexcept {
  std::uint32_t live = 0;
  for (const std::atomic<std::uint64_t>& word : empty_blocks.taken) {
    live += static_cast<std::uint32_t>(std::popcount(word.load(std::memory_order_relaxed)));
  }
  return live;
}

void require_live_empty(const char* function, const void* block) noexcept {
  const std::size_t place = place_of(function, block);
  const std::uint64_t word = empty_blocks.taken[place / 64].load(std::memory_order_relaxed);
  if ((word >> place % 64 & 1) == 0) stop_for_freed(function, block, 0);
}

void free_empty_block(void* block) noexcept {
  const std::size_t place = place_of("free", block);
  const std::uint64_t bit = std::uint64_t{1} << place % 64;
  if ((empty_blocks.taken[place / 64].fetch_and(~bit, std::memory_order_acq_rel) & bit) == 0) {
    stop_for_double_free(block, 0);
  }
}

}  // namespace heapwright::heap
