// SPDX-License-Identifier: MIT
#include "attach/counter_page.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>

#include "attach/process_links.hpp"
#include "attach/refusal.hpp"
#include "counters/calls_section.hpp"
#include "counters/page_file.hpp"
#include "tracee/process_status.hpp"

namespace heapwright::attach {
namespace {

using counters::CallsPage;

template <std::size_t capacity>
void copy_name(char (&to)[capacity], const std::string& from) {
  std::memcpy(to, from.data(), std::min(from.size(), capacity - 1));
}

}  // namespace

CounterPage::CounterPage(pid_t process, const PageFacts& facts)
    : process_(process), path_(counters::page_name(process, ".calls").text) {
  const counters::PageName name = counters::page_name(process, ".calls");
  long file = counters::create_page(name);
  // Left by an earlier attach, or by an earlier process with this id: a process that counts by itself was
  // refused before.
  if (file == -EEXIST && counters::remove_page(name) == 0) file = counters::create_page(name);
  if (file < 0) throw Refusal("cannot make " + path_ + ": " + std::strerror(static_cast<int>(-file)));
  file_ = static_cast<int>(file);
  try {
    make_room();
  } catch (...) {
    unlink(path_.c_str());
    close(file_);
    throw;
  }
  const auto page = std::make_unique<CallsPage>();
  counters::CallsSection& section = page->section;
  section.flags = facts.is_whole ? counters::is_patched : counters::is_attached | counters::is_patched;
  if (!facts.knows_usable) section.flags |= counters::has_unknown_usable;
  section.functions = counters::function_count;
  section.bins = counters::bin_count;
  section.time_bins = counters::time_bin_count;
  section.lock_bins = counters::lock_bin_count;
  section.table_bytes = sizeof(counters::CallTable);
  section.tables_offset = offsetof(CallsPage, tables);
  section.keeper = static_cast<std::uint32_t>(facts.keeper);
  section.keeper_start_ticks = start_ticks_of(facts.keeper);
  section.mean_stride = counters::mean_stride;
  section.slow_from_ns = counters::slow_from_ns;
  section.clock_ns = facts.clock_ns;
  copy_name(section.program, facts.program);
  copy_name(section.allocator, facts.allocator);
  counters::Head& head = page->head;
  head.version = counters::head_version;
  head.page_bytes = sizeof(CallsPage);
  head.process = static_cast<std::uint32_t>(process);
  head.process_start_ticks = start_ticks_of(process);
  head.sections[0] = {counters::SectionKind::calls, counters::calls_section_version,
                      offsetof(CallsPage, section), sizeof(CallsPage) - offsetof(CallsPage, section)};
  put(0, page.get(), offsetof(CallsPage, tables));
}

CounterPage::~CounterPage() {
  if (!is_kept_) unlink(path_.c_str());
  close(file_);
}

void CounterPage::make_room() {
  if (ftruncate(file_, sizeof(CallsPage)) != 0 || posix_fallocate(file_, 0, sizeof(CallsPage)) != 0) {
    throw Refusal("there is no room for " + path_ + ", " + std::to_string(sizeof(CallsPage) >> 10) +
                  " KiB; make room in /dev/shm");
  }
  // The process opens it with its filesystem user id, the last of the four.
  std::istringstream ids(tracee::read_status(process_)["Uid"]);
  uid_t owner = geteuid();
  for (uid_t id = 0; ids >> id;) owner = id;
  if (owner != geteuid() && fchown(file_, owner, static_cast<gid_t>(-1)) != 0) {
    throw Refusal("cannot give " + path_ + " to user " + std::to_string(owner));
  }
}

void CounterPage::begin(std::uint64_t tables_used) {
  const std::uint64_t now = monotonic_ns();
  put(offsetof(CallsPage, section) + offsetof(counters::CallsSection, tables_used), &tables_used,
      sizeof tables_used);
  put(offsetof(CallsPage, section) + offsetof(counters::CallsSection, started_ns), &now, sizeof now);
  put(offsetof(CallsPage, head) + offsetof(counters::Head, updated_ns), &now, sizeof now);
  // Last: with it, readers accept the file as a page.
  put(offsetof(CallsPage, head) + offsetof(counters::Head, magic), &counters::page_magic,
      sizeof counters::page_magic);
  is_kept_ = true;
}

void CounterPage::end() {
  const std::uint64_t now = monotonic_ns();
  put(offsetof(CallsPage, section) + offsetof(counters::CallsSection, ended_ns), &now, sizeof now);
}

void CounterPage::put(std::uint64_t offset, const void* from, std::size_t bytes) {
  if (pwrite(file_, from, bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes)) {
    throw Refusal("cannot write " + path_ + ": " + std::strerror(errno));
  }
}

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace heapwright::attach
