// SPDX-License-Identifier: MIT
#include "heap/service/publish.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "counters/page_file.hpp"
#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/messages.hpp"
#include "heap/base/settings.hpp"
#include "heap/pages/empty_blocks.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/holdings.hpp"
#include "heap/slabs/mixed_slab.hpp"
#include "heap/threads/caches.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

namespace {

counters::PageName file_name;
long file_process = 0;

void describe() noexcept {
  counters::HeapSection& heap = counters_page->heap;
  heap.class_count = class_count;
  heap.class_row_bytes = sizeof(counters::ClassCounters);
  heap.classes_offset = offsetof(CountersPage, classes);
  heap.reasons = counters::reason_count;
  counters::Head& head = counters_page->head;
  head.version = counters::head_version;
  head.page_bytes = sizeof(CountersPage);
  head.sections[0] = {counters::SectionKind::heap, counters::heap_section_version,
                      offsetof(CountersPage, heap), sizeof(CountersPage) - offsetof(CountersPage, heap)};
  head.process = static_cast<std::uint32_t>(platform::raw_syscall(SYS_getpid));
  head.magic = counters::page_magic;
}

void publish_file() noexcept {
  counters_page->head.process_start_ticks = counters::process_start_ticks();
  const bool is_done = counters::move_into_file(counters_page, counters_mapped_bytes, "", file_name);
  file_process = is_done ? platform::raw_syscall(SYS_getpid) : 0;
  if (!is_done) Line().text("no counters page: cannot make ").text(file_name.text).write();
}

struct CacheSums {
  std::uint64_t reasons[counters::reason_count];
  std::uint64_t first_touch_pages;
};

struct ClassSums {
  std::uint64_t refills, taken, returned;
  std::uint32_t size_class;
};

// The caches' counts at the last fork, from which they continue.
CacheSums at_fork{};
ClassSums classes_at_fork[class_count]{};

void add_cache(const ThreadCache& cache, void* context) noexcept {
  auto& sums = *static_cast<CacheSums*>(context);
  for (std::size_t i = 0; i < counters::reason_count; ++i) {
    sums.reasons[i] += cache.reasons[i].load(std::memory_order_relaxed);
  }
  sums.first_touch_pages += cache.first_touch_pages.load(std::memory_order_relaxed);
}

void add_class(const ThreadCache& cache, void* context) noexcept {
  auto& sums = *static_cast<ClassSums*>(context);
  const ClassSlot& slot = cache.slots[sums.size_class];
  sums.refills += slot.refills.load(std::memory_order_relaxed);
  sums.taken += slot.taken.load(std::memory_order_relaxed);
  // The current slab's blocks that the thread has not yet counted.
  const std::uint32_t first = slot.first;
  if (first != 0) sums.taken += line_of(first)->taken;
  const std::uint8_t detached = slot.detached;
  if (detached != 0) {
    const std::uint32_t taken = cache.detached.lists[(detached & ~borrowed_list) - 1U].taken;
    sums.taken += taken;
    if ((detached & borrowed_list) != 0) sums.returned += taken;
  }
  sums.returned += slot.returned.load(std::memory_order_relaxed);
}

CacheSums sums_of_caches() noexcept {
  CacheSums sums{};
  for_each_cache(add_cache, &sums);
  return sums;
}

ClassSums sums_of_class(std::uint32_t size_class) noexcept {
  ClassSums sums{};
  sums.size_class = size_class;
  // Frees of blocks of 0 bytes are not counted.
  const std::uint64_t live = size_class == 0 ? live_empty_blocks() : 0;
  for_each_cache(add_class, &sums);
  sums.returned += mixed_away(size_class);
  if (size_class == 0) sums.returned = sums.taken - std::min(live, sums.taken);
  return sums;
}

// At the fork another thread may have counted a list's blocks twice for a moment.
std::uint64_t since_fork(std::uint64_t now, std::uint64_t then) noexcept { return now - std::min(now, then); }

// The child's page: levels are already its own, all other counters restart at 0.
void begin_at_zero() noexcept {
  const std::uint64_t committed_bytes = counters_page->heap.committed_bytes.load(std::memory_order_relaxed);
  const std::uint64_t threads = counters_page->heap.threads.load(std::memory_order_relaxed);
  const std::uint32_t generation = counters_page->head.generation + 1;
  std::memset(static_cast<void*>(counters_page), 0, sizeof *counters_page);
  counters_page->head.generation = generation;
  describe();
  counters_page->heap.committed_bytes.store(committed_bytes, std::memory_order_relaxed);
  counters_page->heap.dirty_bytes.store(dirty_bytes(), std::memory_order_relaxed);
  counters_page->heap.threads.store(threads, std::memory_order_relaxed);
  at_fork = sums_of_caches();
  for (std::uint32_t c = 0; c < class_count; ++c) classes_at_fork[c] = sums_of_class(c);
}

}  // namespace

void open_counters() noexcept {
  describe();
  if (settings.publishes_counters) publish_file();
}

void publish_counters() noexcept {
  counters::HeapSection& heap = counters_page->heap;
  counters::begin_update(counters_page->head);
  heap.dirty_bytes.store(dirty_bytes(), std::memory_order_relaxed);
  const CacheSums sums = sums_of_caches();
  for (std::size_t i = 0; i < counters::reason_count; ++i) {
    heap.summed_reasons[i].store(since_fork(sums.reasons[i], at_fork.reasons[i]), std::memory_order_relaxed);
  }
  heap.first_touch_pages.store(since_fork(sums.first_touch_pages, at_fork.first_touch_pages),
                               std::memory_order_relaxed);
  for (std::uint32_t c = 0; c < class_count; ++c) {
    const ClassSums of_class = sums_of_class(c);
    if (of_class.refills == 0) continue;
    const ClassSums& before = classes_at_fork[c];
    counters::ClassCounters& row = counters_page->classes[c];
    row.refills.store(since_fork(of_class.refills, before.refills), std::memory_order_relaxed);
    row.taken.store(since_fork(of_class.taken, before.taken), std::memory_order_relaxed);
    row.returned.store(since_fork(of_class.returned, before.returned), std::memory_order_relaxed);
  }
  // A walk over all units, whose owners go on meanwhile: only for those who ask.
  if (settings.publishes_counters) publish_holdings();
  counters::end_update(counters_page->head, monotonic_ns());
}

void reopen_counters() noexcept {
  const bool was_published = file_process != 0;
  file_process = 0;
  // Without memory for its own page the child continues in its parent's.
  if (was_published && !counters::move_out_of_file(counters_page, counters_mapped_bytes)) return;
  begin_at_zero();
  if (was_published) publish_file();
}

void close_counters() noexcept {
  if (settings.prints_counters) print_most_held();
  if (file_process != 0 && file_process == platform::raw_syscall(SYS_getpid)) {
    counters::remove_page(file_name);
  }
}

}  // namespace heapwright::heap
