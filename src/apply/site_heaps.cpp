// SPDX-License-Identifier: MIT
#include "apply/site_heaps.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

#include "apply/deeds_line.hpp"
#include "apply/deferred_frees.hpp"
#include "apply/nearly_all.hpp"
#include "apply/remedy_file.hpp"
#include "apply/resident.hpp"
#include "apply/watch_page.hpp"
#include "base/kept_blocks.hpp"
#include "heap/base/clock.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/messages.hpp"
#include "heap/base/settings.hpp"
#include "heap/front/allocate.hpp"
#include "heap/pages/large.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/threads/heap_object.hpp"
#include "heapwright/heap.h"

namespace heapwright::apply {

namespace {

using base::KeptBlocks;

struct SiteHeap {
  heapwright_heap* heap;  // nullptr: a remedy without a site
  std::size_t most_kept_bytes;
  bool defers_frees;
  bool may_be_in_vain;  // nearly_all.hpp
  std::atomic<bool> is_in_vain;
  heap::Lock kept_lock;
  KeptBlocks kept;
  heap::Lock look_lock;
  std::uint64_t next_look_ns;
  NearlyAll nearly_all;
};
constinit SiteHeap site_heaps[most_remedies]{};
constinit counters::LockCounters lock_waits{};
constinit std::atomic<SkipsFree> skips_free{nullptr};

bool is_large(const heap::UnitLine* line) noexcept {
  return line != nullptr && line->kind == heap::UnitKind::large;
}

std::uint32_t number_of(const SiteHeap& site) noexcept {
  return static_cast<std::uint32_t>(&site - site_heaps);
}

counters::RemedyCounters& counters_of(const SiteHeap& site) noexcept { return watched(number_of(site)); }

// The remedy's heap that a block is in; nullptr: it is none's, as after a look-up that needed a block.
SiteHeap* owner_of(const heap::UnitLine* line) noexcept {
  if (line == nullptr) return nullptr;
  const heap::ThreadCache* owner = line->owner.load(std::memory_order_relaxed);
  for (SiteHeap& site : site_heaps) {
    if (site.heap != nullptr && owner == &site.heap->cache) return &site;
  }
  return nullptr;
}

// The levels that others read, and whether the site is to be left alone. Its time grows with the heap.
void look_at_locked(SiteHeap& site) noexcept {
  const heapwright_heap_statistics sums = statistics_of(number_of(site));
  counters::RemedyCounters& row = counters_of(site);
  row.deferred.store(deferred_frees(number_of(site)), std::memory_order_relaxed);
  // Other threads keep and take blocks meanwhile.
  const std::uint64_t kept_blocks = std::min<std::uint64_t>(site.kept.count(), sums.live_blocks);
  const std::uint64_t kept_bytes = std::min<std::uint64_t>(site.kept.bytes(), sums.live_bytes);
  row.live_blocks.store(sums.live_blocks - kept_blocks, std::memory_order_relaxed);
  row.live_bytes.store(sums.live_bytes - kept_bytes, std::memory_order_relaxed);
  row.held_bytes.store(sums.slab_bytes + sums.large_bytes, std::memory_order_relaxed);
  row.looked_ns.store(heap::coarse_ns(), std::memory_order_relaxed);
  if (!site.may_be_in_vain) return;
  const std::uint64_t resident = resident_bytes();
  if (resident != 0 && site.nearly_all.look(sums.live_bytes - sums.large_bytes, resident)) {
    site.is_in_vain.store(true, std::memory_order_relaxed);
  }
}

void look_if_due(SiteHeap& site) noexcept {
  if (!site.look_lock.try_lock()) return;
  const std::uint64_t now_ns = heap::coarse_ns();
  if (now_ns >= site.next_look_ns) {
    site.next_look_ns = now_ns + ns_between_looks;
    look_at_locked(site);
  }
  site.look_lock.unlock();
}

void release_to_heap(SiteHeap* site, void* block) noexcept {
  // The clock is read rarely.
  constexpr std::uint32_t releases_between_looks = 64;
  static constinit std::atomic<std::uint32_t> releases{0};
  heapwright_heap_free(site == nullptr ? nullptr : site->heap, block);
  const std::uint32_t count = releases.load(std::memory_order_relaxed) + 1;
  releases.store(count, std::memory_order_relaxed);
  if (count % releases_between_looks != 0) return;
  heap::give_back_if_due();
  if (site != nullptr) look_if_due(*site);
}

void* take_kept(SiteHeap& site, std::size_t bytes) noexcept {
  site.kept_lock.lock(lock_waits);
  void* const found = site.kept.take(bytes);
  site.kept_lock.unlock();
  if (found != nullptr) counters::add(counters_of(site).reused, 1);
  return found;
}

void keep(SiteHeap& site, void* block) noexcept {
  const std::size_t usable = heap::usable_bytes(block);
  site.kept_lock.lock(lock_waits);
  if (site.kept.has(block)) heap::stop_for_double_free(block, usable);
  const KeptBlocks::Surplus surplus = site.kept.keep({block, usable}, site.most_kept_bytes);
  site.kept_lock.unlock();
  for (std::size_t i = 0; i < surplus.count; ++i) release_to_heap(&site, surplus.blocks[i]);
}

void* noted(SiteHeap& site, void* block, int before) noexcept {
  if (block == nullptr) {
    errno = before;  // the program's allocator is asked next
    counters::add(counters_of(site).refused, 1);
    return nullptr;
  }
  constexpr std::uint64_t blocks_between_looks = 1024;
  const std::uint64_t made = counters_of(site).made.fetch_add(1, std::memory_order_relaxed);
  if (made % blocks_between_looks == 0) look_if_due(site);
  return block;
}

bool is_left(SiteHeap& site) noexcept {
  if (!site.is_in_vain.load(std::memory_order_relaxed)) return false;
  counters::add(counters_of(site).left, 1);
  return true;
}

bool may_be_kept(const SiteHeap& site, std::size_t bytes) noexcept {
  return site.most_kept_bytes != 0 && bytes >= base::least_kept_block && !heap::settings.is_hardened;
}

static_assert(base::least_kept_block == heap::slab_limit_bytes + 1);  // has pages of its own

}  // namespace

bool make_site_heaps(const Remedies& remedies) noexcept {
  if (!heap::initialize_process()) return false;
  for (std::uint32_t i = 0; i < remedies.remedy_count; ++i) {
    const Remedy& remedy = remedies.remedies[i];
    if (!has_site(remedy.kind)) continue;
    site_heaps[i].heap = heapwright_heap_create(remedy.site);
    if (site_heaps[i].heap == nullptr) return false;
    site_heaps[i].most_kept_bytes = remedy.kind == RemedyKind::reuse ? remedy.most_bytes : 0;
    site_heaps[i].may_be_in_vain = remedy.kind == RemedyKind::segregate;
    site_heaps[i].defers_frees = remedy.kind == RemedyKind::defer && !heap::settings.is_hardened;
  }
  return true;
}

void* allocate_for(std::uint32_t remedy, std::size_t bytes, std::size_t alignment) noexcept {
  SiteHeap& site = site_heaps[remedy];
  if (is_left(site)) return nullptr;
  const int before = errno;
  void* block = nullptr;
  if (may_be_kept(site, bytes) && alignment <= heap::unit_bytes) block = take_kept(site, bytes);
  if (block == nullptr) {
    const std::size_t least_bytes = bytes == 0 ? 1 : bytes;
    if (alignment < 16) alignment = 16;
    block = heapwright_heap_allocate(site.heap, least_bytes, alignment);
    if (block == nullptr && site.defers_frees && release_waiting()) {
      block = heapwright_heap_allocate(site.heap, least_bytes, alignment);
    }
  }
  return noted(site, block, before);
}

void* allocate_zeroed_for(std::uint32_t remedy, std::size_t bytes) noexcept {
  SiteHeap& site = site_heaps[remedy];
  const bool is_large = bytes > heap::slab_limit_bytes && bytes <= PTRDIFF_MAX;
  if (!is_large || heap::settings.is_hardened || site.most_kept_bytes != 0) {
    void* block = allocate_for(remedy, bytes, 16);
    return block == nullptr ? nullptr : std::memset(block, 0, bytes);
  }
  if (is_left(site)) return nullptr;
  // New pages are zeros already: who asks for so much may use little.
  const int before = errno;
  const heap::LargeBlock large = heap::allocate_large(bytes, 16, &site.heap->cache);
  if (large.memory != nullptr && !large.is_zeroed) std::memset(large.memory, 0, bytes);
  return noted(site, large.memory, before);
}

void release_own(void* block) noexcept {
  const SkipsFree skips = skips_free.load(std::memory_order_relaxed);
  if (skips != nullptr && skips(heap::usable_bytes(block))) return;
  const heap::UnitLine* line = heap::head_line_of(block);
  SiteHeap* site = owner_of(line);
  if (site != nullptr && site->defers_frees && defer(number_of(*site), block, heap::usable_bytes(block))) {
    return;
  }
  if (site != nullptr && is_large(line) && may_be_kept(*site, line->large_bytes)) return keep(*site, block);
  release_to_heap(site, block);
}

void skip_own_frees(SkipsFree skips) noexcept { skips_free.store(skips, std::memory_order_relaxed); }

std::size_t usable_bytes_of_own(void* block) noexcept { return heap::usable_bytes(block); }

void* resize_own(std::uint32_t remedy, void* block, std::size_t bytes) noexcept {
  heap::UnitLine* line = heap::head_line_of(block);
  const SiteHeap* site = owner_of(line);
  if (site == nullptr || site != &site_heaps[remedy] || heap::settings.is_hardened) return nullptr;
  if (is_large(line)) return heap::resize_large(line, bytes);
  const std::size_t usable = heap::usable_bytes(block);
  return bytes <= usable && bytes >= usable / 2 ? block : nullptr;
}

heapwright_heap_statistics statistics_of(std::uint32_t remedy) noexcept {
  heapwright_heap_statistics sums{};
  heapwright_heap_get_statistics(site_heaps[remedy].heap, &sums);
  return sums;
}

void print_statistics(const Remedies& remedies, int file) noexcept {
  for (std::uint32_t i = 0; i < remedies.remedy_count; ++i) {
    if (site_heaps[i].heap == nullptr) continue;
    look_at_locked(site_heaps[i]);  // the process ends
    const counters::RemedyCounters& row = watched(i);
    DeedsLine line;
    line.text("heapwright: ").text(row.change).text("@").text(row.site).text(": ");
    const auto put = [&line](const auto& counter, const char* what) {
      line.number(counter.load(std::memory_order_relaxed)).text(what);
    };
    put(row.made, " blocks made, ");
    put(row.reused, " of them again, ");
    put(row.deferred, " freed later, ");
    put(row.refused, " refused, ");
    put(row.left, " left; live ");
    put(row.live_blocks, " blocks, ");
    put(row.live_bytes, " bytes; held ");
    put(row.held_bytes, " bytes\n");
    line.write(file);
  }
}

void lock_kept_blocks() noexcept {
  constexpr std::uint64_t patient_ns = 100'000'000;
  for (SiteHeap& site : site_heaps) site.kept_lock.lock_for_fork(patient_ns);
}
void unlock_kept_blocks() noexcept {
  for (SiteHeap& site : site_heaps) site.kept_lock.unlock_after_fork();
}
void reset_kept_blocks_in_child() noexcept {
  for (SiteHeap& site : site_heaps) {
    site.kept_lock.reset_in_child();
    site.look_lock.reset_in_child();
  }
}

}  // namespace heapwright::apply
