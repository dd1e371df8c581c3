// SPDX-License-Identifier: MIT
#include "heap/service/holdings.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "heap/base/counting.hpp"
#include "heap/base/messages.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/kept_runs.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/caches.hpp"

namespace heapwright::heap {

namespace {

using counters::Held;

struct Sums {
  std::uint64_t bytes[counters::held_count];

  std::uint64_t& operator[](Held part) noexcept { return bytes[static_cast<std::size_t>(part)]; }
  std::uint64_t whole() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t part : bytes) sum += part;
    return sum;
  }
};

Held place_of(const UnitLine* slab) noexcept {
  const ThreadCache* owner = slab->owner.load(std::memory_order_relaxed);
  if (owner == nullptr || has_flag(slab, is_pooled)) return Held::free_in_pool;
  if (owner->is_idle) return Held::free_of_ended;
  if (!has_flag(slab, is_listed)) return Held::free_in_full;
  return owner->slots[slab->size_class].first == unit_of(slab) ? Held::free_first : Held::free_next;
}

void add_slab_parts(const UnitLine* slab, Sums& sums) noexcept {
  const std::uint64_t block_bytes = class_of_slab(slab).block_bytes;
  const std::uint64_t carved = slab->carved;
  // Bounded, because the counts change meanwhile.
  const std::uint64_t live = std::min<std::uint64_t>(unlisted_count(slab) - remote_of(slab).count(), carved);
  sums[Held::live] += live * block_bytes;
  sums[place_of(slab)] += (carved - live) * block_bytes;
  const std::uint64_t slab_bytes = std::uint64_t{slab->units} * unit_bytes;
  if (!has_flag(slab, is_zeroed) && slab->dropped == 0) {
    sums[Held::never_used] += slab_bytes - std::min(carved * block_bytes, slab_bytes);
  }
}

void add_mixed_parts(const UnitLine* slab, Sums& sums) noexcept {
  const std::uint64_t resident =
      std::uint64_t{static_cast<std::uint32_t>(std::popcount(slab->freed))} * carve_bytes;
  const std::uint64_t live = std::min<std::uint64_t>(slab->taken * std::uint64_t{16}, resident);
  sums[Held::live] += live;
  sums[Held::free_in_pool] += resident - live;
}

void add_large_parts(const UnitLine* line, Sums& sums) noexcept {
  if ((line->flags & is_forbidden_large) != 0) return;
  const std::uint64_t run_bytes = std::uint64_t{line->units} * unit_bytes;
  const std::uint64_t bytes = std::min<std::uint64_t>(line->large_bytes, run_bytes);
  sums[Held::large] += bytes;
  sums[Held::large_ends] += run_bytes - bytes;
}

void add_cache_parts(const ThreadCache& cache, void* into) noexcept {
  Sums& sums = *static_cast<Sums*>(into);
  sums[Held::records] += sizeof(ThreadCache);
  sums[Held::runs_of_thread] += kept_count(cache.kept) * kept_units * unit_bytes;
  // Their slabs count them as live.
  for (std::uint32_t i = 0; i < DetachedLists::capacity; ++i) {
    constexpr std::uint32_t most = slab_map_words * 64;
    const std::uint32_t count = 0 - cache.detached.lists[i].countdown();
    if (count == 0 || count > most) continue;
    const std::uint64_t bytes =
        std::uint64_t{size_classes[cache.detached.size_classes[i]].block_bytes} * count;
    const std::uint64_t moved = std::min(bytes, sums[Held::live]);
    sums[Held::live] -= moved;
    sums[Held::free_first] += moved;
  }
}

Sums sums_now() noexcept {
  Sums sums{};
  if (region.span_bytes == 0) return sums;
  const std::uint32_t begin = first_unit();
  const std::uint32_t end = std::max(begin, std::min(unit_frontier(), reached_units()));
  for (std::uint32_t unit = begin; unit < end; ++unit) {
    const UnitLine* line = line_of(unit);
    if (line->kind == UnitKind::slab) add_slab_parts(line, sums);
    if (line->kind == UnitKind::mixed) add_mixed_parts(line, sums);
    if (line->kind == UnitKind::large) add_large_parts(line, sums);
  }
  sums[Held::runs] = dirty_bytes() + short_bytes();
  sums[Held::records] = std::uint64_t{end - begin} * line_bytes;
  for_each_cache(add_cache_parts, &sums);
  return sums;
}

Sums read(const counters::Counter (&from)[counters::held_count]) noexcept {
  Sums sums{};
  for (std::size_t i = 0; i < counters::held_count; ++i) {
    sums.bytes[i] = from[i].load(std::memory_order_relaxed);
  }
  return sums;
}

void write(counters::Counter (&into)[counters::held_count], const Sums& sums) noexcept {
  for (std::size_t i = 0; i < counters::held_count; ++i) {
    into[i].store(sums.bytes[i], std::memory_order_relaxed);
  }
}

constexpr const char* names[] = {
    "blocks up to 64 KiB",
    "free in the slabs that threads allocate from",
    "free in the slabs that threads use next",
    "free in slabs that were full",
    "free in slabs of ended threads",
    "free in sparse slabs of no thread",
    "used before, in slabs that have no blocks there yet",
    "blocks above 64 KiB",
    "behind these, in their last 64 KiB",
    "free runs, waiting to be used or given back",
    "free runs that threads keep",
    "records",
};
static_assert(std::size(names) == counters::held_count);

void print(std::uint64_t bytes, const char* what) noexcept {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  Line().number(bytes / mib).text(".").number(bytes % mib * 10 / mib).text(" MiB ").text(what).write();
}

}  // namespace

void publish_holdings() noexcept {
  counters::HeapSection& heap = counters_page->heap;
  const Sums now = sums_now();
  write(heap.held, now);
  // Freed memory stays for a while: of equal sums, the first shows what needed it.
  const std::uint64_t most = read(heap.most_held).whole();
  if (now.whole() > most + most / 32) write(heap.most_held, now);
}

void print_most_held() noexcept {
  publish_holdings();
  const Sums most = read(counters_page->heap.most_held);
  print(most.whole(), "held at most, seen every 16 ms:");
  for (std::size_t i = 0; i < counters::held_count; ++i) {
    if (most.bytes[i] != 0) print(most.bytes[i], names[i]);
  }
}

}  // namespace heapwright::heap
