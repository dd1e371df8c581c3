// SPDX-License-Identifier: MIT
// /proc/PID/pagemap: which pages of a process are in memory. The descriptor is
// opened once, since a process that changes its user or forbids dumps can no
// longer be opened.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/residency.hpp"

namespace heapwright::collect {

class PageMap {
 public:
  // `path` of the pagemap. `may_ask_kernel`: use PAGEMAP_SCAN where the kernel
  // has it (6.7); without, a page of zeros that was only read counts as present.
  explicit PageMap(const std::string& path, bool may_ask_kernel = true);
  ~PageMap();
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  bool is_open() const noexcept { return file_ >= 0; }

  // Looks at the addresses from `from` on, up to `window_pages` pages that are
  // there, and appends their runs. The end of what was looked at; end_address
  // when nothing is left, 0 when the process cannot be asked any more.
  // Holds the lock of the process's mappings meanwhile, some 50 us.
  std::uint64_t read_window(std::uint64_t from, std::span<const trace::Mapping> mappings,
                            std::vector<trace::PageRun>& runs);

  static constexpr std::uint64_t window_pages = 1024;
  static constexpr std::uint64_t end_address = 0x7ffffffff000;  // of what a process may map

 private:
  std::uint64_t ask_kernel(std::uint64_t from, std::vector<trace::PageRun>& runs);
  std::uint64_t read_entries(std::uint64_t from, std::span<const trace::Mapping> mappings,
                             std::vector<trace::PageRun>& runs);

  int file_ = -1;
  bool may_ask_kernel_;
};

// The lines of /proc/PID/maps, by address; lines that are none are left out.
std::vector<trace::Mapping> parse_mappings(const std::string& text);

}  // namespace heapwright::collect
