// SPDX-License-Identifier: MIT
#include "heap/pages/empty_blocks.hpp"

#include <atomic>
#include <cstdint>

#include "heap/base/counting.hpp"
#include "heap/base/messages.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/page_source.hpp"

namespace heapwright::heap {

namespace {

constexpr std::uint32_t place_units = 16;
constexpr std::uint32_t place_bytes = 16;
constexpr std::uint32_t places = place_units * unit_bytes / place_bytes;

struct EmptyBlocks {
  std::atomic<char*> begin;
  std::atomic<std::uint32_t> next;
  std::atomic<std::uint64_t> taken[places / 64];
};
constinit EmptyBlocks empty_blocks{};

char* begin_of_places() noexcept {
  char* begin = empty_blocks.begin.load(std::memory_order_acquire);
  if (begin != nullptr) return begin;
  const Run run = allocate_run(place_units);
  if (run.unit == 0) return nullptr;
  char* made = memory_of(run.unit);
  forbid(made, place_units * unit_bytes);
  if (empty_blocks.begin.compare_exchange_strong(begin, made, std::memory_order_acq_rel)) return made;
  if (map_anew(made, place_units * unit_bytes)) free_run(run.unit, place_units, false);
  return begin;
}

}  // namespace

void* take_empty_block() noexcept {
  constexpr int most_looked_at = 16;
  char* begin = begin_of_places();
  if (begin == nullptr) return nullptr;
  // In turn, so that a place is used again as late as possible.
  for (int i = 0; i < most_looked_at; ++i) {
    count_steps();
    const std::uint32_t place = empty_blocks.next.fetch_add(1, std::memory_order_relaxed) % places;
    const std::uint64_t bit = std::uint64_t{1} << place % 64;
    if ((empty_blocks.taken[place / 64].fetch_or(bit, std::memory_order_acq_rel) & bit) == 0)
      return begin + std::size_t{place} * place_bytes;
  }
  return nullptr;
}

bool is_empty_block(const void* pointer) noexcept {
  const char* begin = empty_blocks.begin.load(std::memory_order_acquire);
  return begin != nullptr && static_cast<std::size_t>(static_cast<const char*>(pointer) - begin) <
                                 std::size_t{places} * place_bytes;
}

void free_empty_block(void* block) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<char*>(block) - empty_blocks.begin.load());
  if (offset % place_bytes != 0) stop_for_invalid_pointer("free", block);
  const std::size_t place = offset / place_bytes;
  const std::uint64_t bit = std::uint64_t{1} << place % 64;
  if ((empty_blocks.taken[place / 64].fetch_and(~bit, std::memory_order_acq_rel) & bit) == 0)
    stop_for_double_free(block, 0);
}

}  // namespace heapwright::heap
