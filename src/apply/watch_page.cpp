// SPDX-License-Identifier: MIT
#include "apply/watch_page.hpp"

#include <cstddef>
#include <cstring>

#include "apply/remedy_file.hpp"
#include "counters/page_file.hpp"

namespace heapwright::apply {

namespace {

struct Page {
  counters::Head head;
  counters::RemediesSection section;
  counters::RemedyCounters rows[most_remedies];
};

constexpr std::size_t page_bytes = (sizeof(Page) + 4095) / 4096 * 4096;
// Alone in its pages, so that a shared mapping can replace them.
alignas(4096) constinit union Storage {
  unsigned char bytes[page_bytes];
  Page page;
  constexpr Storage() : bytes{} {}
} storage;

constinit counters::PageName file_name{};
constinit long file_process = 0;

void make_file() noexcept {
  counters::Head& head = storage.page.head;
  head.process = static_cast<std::uint32_t>(platform::raw_syscall(SYS_getpid));
  head.process_start_ticks = counters::process_start_ticks();
  const bool is_done = counters::move_into_file(&storage, page_bytes, ".apply", file_name);
  file_process = is_done ? platform::raw_syscall(SYS_getpid) : 0;
}

}  // namespace

counters::RemedyCounters& watched(std::uint32_t remedy) noexcept { return storage.page.rows[remedy]; }

void prepare_watch_page(const Remedies& remedies) noexcept {
  Page& page = storage.page;
  page.head.magic = counters::page_magic;
  page.head.version = counters::head_version;
  page.head.page_bytes = sizeof(Page);
  page.head.sections[0] = {counters::SectionKind::remedies, counters::remedies_section_version,
                           offsetof(Page, section), sizeof(Page) - offsetof(Page, section)};
  page.section = {remedies.remedy_count, sizeof(counters::RemedyCounters), offsetof(Page, rows), 0};
  for (std::uint32_t i = 0; i < remedies.remedy_count; ++i) {
    const Remedy& remedy = remedies.remedies[i];
    if (!has_site(remedy.kind)) continue;
    std::strncpy(page.rows[i].change, name_of(remedy.kind), sizeof page.rows[i].change - 1);
    std::memcpy(page.rows[i].site, remedy.site, sizeof page.rows[i].site);
  }
}

void publish_watch_page() noexcept {
  static constinit bool is_tried = false;
  if (is_tried) return;
  is_tried = true;
  make_file();
}

void leave_watch_page_in_child() noexcept {
  const bool was_in_file = file_process != 0;
  file_process = 0;
  // Without memory for its own page the child continues in its parent's.
  if (was_in_file && !counters::move_out_of_file(&storage, page_bytes)) return;
  constexpr std::size_t names_bytes = offsetof(counters::RemedyCounters, made);
  for (counters::RemedyCounters& row : storage.page.rows) {
    std::memset(reinterpret_cast<char*>(&row) + names_bytes, 0, sizeof row - names_bytes);
  }
}

void close_watch_page() noexcept {
  if (file_process == 0 || file_process != platform::raw_syscall(SYS_getpid)) return;
  counters::remove_page(file_name);
}

}  // namespace heapwright::apply
