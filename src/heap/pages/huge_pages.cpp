// SPDX-License-Identifier: MIT
#include "heap/pages/huge_pages.hpp"

#include <algorithm>
#include <atomic>

#include "heap/base/checked_size.hpp"
#include "heap/base/clock.hpp"
#include "heap/base/settings.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/region.hpp"

namespace heapwright::heap {

namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
// A touched huge page is resident at once: too much for a small program.
constexpr std::size_t least_tried_bytes = std::size_t{32} << 20;
// 512 faults of 4 KiB at 1.2 us each. A huge page takes 100 to 300 us if the memory is available, and 4 ms if
// a virtual machine's host has reclaimed it.
constexpr std::uint64_t most_quick_ns = 600'000;
// Each slow try delays a call; a later growth may be faster.
constexpr std::uint32_t most_slow = 3;
constinit std::atomic<std::uint32_t> slow_touches{0};

// Longer blocks gain most from huge pages, and lose at most one of them at each end.
constexpr std::size_t most_exempt_bytes = std::size_t{16} << 20;
// The exempt areas of the heap's first TiB, which are not exempted again.
constexpr std::size_t known_areas = std::size_t{1} << 19;
constinit std::atomic<std::uint64_t> exempt_areas[known_areas / 64];

// Whether it was not exempt before.
bool mark_exempt(std::size_t area) noexcept {
  if (area >= known_areas) return true;
  std::atomic<std::uint64_t>& word = exempt_areas[area / 64];
  const std::uint64_t bit = std::uint64_t{1} << area % 64;
  return (word.load(std::memory_order_relaxed) & bit) == 0 &&
         (word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

char* first_huge_page(char* begin) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return begin + (checked_round_up(address, huge_page_bytes) - address);
}

}  // namespace

bool ask_if_quick(char* begin, std::size_t bytes, std::uint64_t (*clock_ns)() noexcept) noexcept {
  ask_for_huge_pages(begin, bytes);
  const std::uint64_t begin_ns = clock_ns();
  *static_cast<volatile char*>(first_huge_page(begin)) = 0;
  if (clock_ns() - begin_ns <= most_quick_ns) return true;
  refuse_huge_pages(begin, bytes);
  return false;
}

void ask_for_growth(char* begin, std::size_t bytes) noexcept {
  if (settings.huge_pages == HugePages::always) return ask_for_huge_pages(begin, bytes);
  if (settings.huge_pages == HugePages::never || bytes < least_tried_bytes) return;
  if (slow_touches.load(std::memory_order_relaxed) >= most_slow) return;
  if (!ask_if_quick(begin, bytes, monotonic_ns)) slow_touches.fetch_add(1, std::memory_order_relaxed);
}

void exempt_block(char* begin, std::size_t bytes) noexcept {
  if (settings.huge_pages == HugePages::never || bytes > most_exempt_bytes) return;
  const auto first = reinterpret_cast<std::uintptr_t>(begin) / huge_page_bytes;
  const auto last = (reinterpret_cast<std::uintptr_t>(begin) + bytes - 1) / huge_page_bytes;
  const auto base_area = region.base / huge_page_bytes;
  for (auto area = first; area <= last; ++area) {
    if (!mark_exempt(area - base_area)) continue;
    // Not before the region, where others' memory may lie, nor behind its end, where nothing is mapped.
    const std::uintptr_t from = std::max(area * huge_page_bytes, region.base);
    const std::uintptr_t to = std::min((area + 1) * huge_page_bytes, region.base + region.used_bytes);
    refuse_huge_pages(reinterpret_cast<char*>(from), to - from);
  }
}

}  // namespace heapwright::heap
