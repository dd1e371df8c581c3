// SPDX-License-Identifier: MIT
#include "heap/front/statistics.hpp"

#include "heap/front/allocate.hpp"
#include "heap/pages/empty_blocks.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/slabs/dropped_blocks.hpp"
#include "heap/slabs/mixed_slab.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/threads/cache_check.hpp"
#include "heap/threads/caches.hpp"
#include "heap/threads/heap_object.hpp"
#include "heap/threads/quarantine.hpp"

namespace heapwright::heap {

namespace {

void add_slab(const UnitLine* slab, heapwright_heap_statistics& sums) noexcept {
  const std::uint64_t block_bytes = class_of_slab(slab).block_bytes;
  const std::uint64_t live = unlisted_count(slab) - remote_of(slab).count();
  sums.live_blocks += live;
  sums.live_bytes += live * block_bytes;
  sums.free_bytes += (slab->carved - live) * block_bytes;
  sums.slab_bytes += std::uint64_t{slab->units} * unit_bytes;
}

void add_mixed(const UnitLine* slab, heapwright_heap_statistics& sums) noexcept {
  const std::uint64_t live_bytes = slab->taken * std::uint64_t{16};
  sums.live_blocks += static_cast<std::uint64_t>(slab->rest);
  sums.live_bytes += live_bytes;
  sums.free_bytes += unit_bytes - live_bytes;
  sums.slab_bytes += unit_bytes;
}

// Everything that `owner` has; null: the whole process.
void add_units(const ThreadCache* owner, heapwright_heap_statistics& sums) noexcept {
  const std::uint32_t end = region.span_bytes == 0 ? 0 : unit_frontier();
  for (std::uint32_t unit = region.span_bytes == 0 ? 0 : first_unit(); unit < end; ++unit) {
    const UnitLine* line = line_of(unit);
    if (owner != nullptr && line->owner.load(std::memory_order_relaxed) != owner) continue;
    if (line->kind == UnitKind::slab) add_slab(line, sums);
    if (line->kind == UnitKind::mixed) add_mixed(line, sums);
    if (line->kind != UnitKind::large || (line->flags & is_forbidden_large) != 0) continue;
    ++sums.live_blocks;
    sums.live_bytes += line->large_bytes;
    sums.large_bytes += line->large_bytes;
  }
}

// Detached blocks are free.
void subtract_detached(const ThreadCache& cache, heapwright_heap_statistics& sums) noexcept {
  for (std::uint32_t i = 0; i < DetachedLists::capacity; ++i) {
    const std::uint32_t count = 0 - cache.detached.lists[i].countdown();
    const std::uint64_t bytes =
        std::uint64_t{count} * size_classes[cache.detached.size_classes[i]].block_bytes;
    sums.live_blocks -= count;
    sums.live_bytes -= bytes;
    sums.free_bytes += bytes;
  }
}

// Quarantined blocks are free.
void subtract_quarantined(const ThreadCache& cache, heapwright_heap_statistics& sums) noexcept {
  if (cache.quarantine == nullptr) return;
  sums.live_blocks -= cache.quarantine->slab_blocks();
  sums.live_bytes -= cache.quarantine->slab_bytes();
  sums.free_bytes += cache.quarantine->slab_bytes();
}

void subtract_free(const heapwright_heap& heap, void* into) noexcept {
  subtract_quarantined(heap.cache, *static_cast<heapwright_heap_statistics*>(into));
}

}  // namespace

heapwright_heap_statistics collect_statistics(const heapwright_heap* owner) noexcept {
  heapwright_heap_statistics sums{};
  const MaintenancePause pause;
  if (owner != nullptr) {
    const auto add = [](const heapwright_heap& heap, void* into) {
      add_units(&heap.cache, *static_cast<heapwright_heap_statistics*>(into));
      subtract_free(heap, into);
    };
    with_heap(owner, add, &sums);
    return sums;
  }
  if (region.span_bytes == 0) return sums;
  add_units(nullptr, sums);
  sums.live_blocks += live_empty_blocks();
  for_each_heap(subtract_free, &sums);
  sums.retained_bytes = dirty_bytes();
  sums.committed_bytes = committed_bytes();
  sums.metadata_bytes = (unit_frontier() - first_unit()) * line_bytes;
  const auto add_cache = [](const ThreadCache& cache, void* into) {
    auto& all = *static_cast<heapwright_heap_statistics*>(into);
    all.metadata_bytes += sizeof(ThreadCache);
    all.retained_bytes += kept_count(cache.kept) * kept_units * unit_bytes;
    subtract_detached(cache, all);
    subtract_quarantined(cache, all);
  };
  for_each_cache(add_cache, &sums);
  return sums;
}

bool heap_is_valid() noexcept {
  if (region.span_bytes == 0) return true;
  const MaintenancePause pause;
  bool is_valid = page_source_is_valid() && pool_is_valid();
  const std::uint32_t end = unit_frontier();
  for (std::uint32_t unit = first_unit(); is_valid && unit < end; ++unit) {
    const UnitLine* line = line_of(unit);
    if (line->kind == UnitKind::slab) is_valid = slab_is_valid(line);
    if (line->kind == UnitKind::mixed) is_valid = mixed_is_valid(line);
    if (line->kind == UnitKind::slab_rest) is_valid = line_of(unit - line->units)->kind == UnitKind::slab;
  }
  const auto check = [](const ThreadCache& cache, void* into) {
    *static_cast<bool*>(into) = *static_cast<bool*>(into) && cache_is_valid(&cache);
  };
  for_each_cache(check, &is_valid);
  return is_valid;
}

}  // namespace heapwright::heap
