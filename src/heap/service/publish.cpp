// SPDX-License-Identifier: MIT
#include "heap/service/publish.hpp"

#include <sys/mman.h>
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

constexpr auto whole = static_cast<long>(counters_mapped_bytes);

// The page's present values go on in the file.
bool map_file() noexcept {
  file_name = counters::page_name(platform::raw_syscall(SYS_getpid));
  counters::remove_page(file_name);  // of an earlier process
  const long file = counters::create_page(file_name);
  if (file < 0) return false;
  bool is_done =
      platform::raw_syscall(SYS_write, file, platform::raw_argument(counters_page), whole) == whole;
  if (is_done) {
    const long mapped = platform::raw_syscall(SYS_mmap, platform::raw_argument(counters_page), whole,
                                              PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    is_done = mapped == platform::raw_argument(counters_page);
  }
  platform::raw_syscall(SYS_close, file);
  if (!is_done) counters::remove_page(file_name);
  return is_done;
}

// The child of a fork must not go on counting in its parent's file.
void map_copy() noexcept {
  const long copy =
      platform::raw_syscall(SYS_mmap, 0, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy < 0) return;
  std::memcpy(reinterpret_cast<void*>(copy), counters_page, counters_mapped_bytes);
  platform::raw_syscall(SYS_mremap, copy, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED,
                        platform::raw_argument(counters_page));
}

void publish_file() noexcept {
  const bool is_in_parents_file = file_process != 0;
  if (map_file()) {
    file_process = platform::raw_syscall(SYS_getpid);
    counters_page->head.process_start_ticks = counters::process_start_ticks();
    return;
  }
  file_process = 0;
  if (is_in_parents_file) map_copy();
  Line().text("no counters page: cannot make ").text(file_name.text).write();
}

struct Sums {
  std::uint64_t reasons[counters::reason_count];
  std::uint64_t first_touch_pages;
  std::uint64_t refills, taken, returned;
  std::uint32_t size_class;
};

void add_reasons(const ThreadCache& cache, void* context) noexcept {
  auto& sums = *static_cast<Sums*>(context);
  for (std::size_t i = 0; i < counters::reason_count; ++i) {
    sums.reasons[i] += cache.reasons[i].load(std::memory_order_relaxed);
  }
  sums.first_touch_pages += cache.first_touch_pages.load(std::memory_order_relaxed);
}

void add_class(const ThreadCache& cache, void* context) noexcept {
  auto& sums = *static_cast<Sums*>(context);
  const ClassSlot& slot = cache.slots[sums.size_class];
  sums.refills += slot.refills.load(std::memory_order_relaxed);
  sums.taken += slot.taken.load(std::memory_order_relaxed);
  // What malloc takes from now, not yet counted by the thread.
  const std::uint32_t first = slot.first;
  if (first != 0) sums.taken += line_of(first)->taken;
  const std::uint8_t detached = slot.detached;
  if (detached != 0) sums.taken += cache.detached.lists[detached - 1].taken;
  sums.returned += slot.returned.load(std::memory_order_relaxed);
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
  Sums sums{};
  for_each_cache(add_reasons, &sums);
  for (std::size_t i = 0; i < counters::reason_count; ++i) {
    heap.summed_reasons[i].store(sums.reasons[i], std::memory_order_relaxed);
  }
  heap.first_touch_pages.store(sums.first_touch_pages, std::memory_order_relaxed);
  for (std::uint32_t c = 0; c < class_count; ++c) {
    Sums of_class{};
    of_class.size_class = c;
    // Who frees a block of 0 bytes counts nothing.
    const std::uint64_t live = c == 0 ? live_empty_blocks() : 0;
    for_each_cache(add_class, &of_class);
    if (c == 0) of_class.returned = of_class.taken - std::min(live, of_class.taken);
    if (of_class.refills == 0) continue;
    counters::ClassCounters& row = counters_page->classes[c];
    row.refills.store(of_class.refills, std::memory_order_relaxed);
    row.taken.store(of_class.taken, std::memory_order_relaxed);
    row.returned.store(of_class.returned, std::memory_order_relaxed);
  }
  counters::end_update(counters_page->head, monotonic_ns());
}

void reopen_counters() noexcept {
  if (file_process != 0) publish_file();
  counters::Head& head = counters_page->head;
  head.process = static_cast<std::uint32_t>(platform::raw_syscall(SYS_getpid));
  ++head.generation;
  head.sequence.store(0, std::memory_order_release);  // the thread that was writing sums is not here
}

void close_counters() noexcept {
  if (file_process != 0 && file_process == platform::raw_syscall(SYS_getpid)) {
    counters::remove_page(file_name);
  }
}

}  // namespace heapwright::heap
