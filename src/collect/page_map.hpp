// SPDX-License-Identifier: MIT
// /proc/PID/pagemap: which pages of a process are resident. The descriptor is opened once, because it can no
// longer be opened after the process changes its user or forbids dumps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/residency.hpp"

namespace heapwright::collect {

class PageMap {
 public:
  // `path` of the pagemap. `may_ask_kernel`: use PAGEMAP_SCAN if the kernel has it (6.7). Without it, a zero
  // page that was only read counts as present.
  explicit PageMap(const std::string& path, bool may_ask_kernel = true);
  ~PageMap();
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  bool is_open() const noexcept { return file_ >= 0; }

  // Scans addresses starting at `from`, up to `window_pages` present pages, and appends their runs. Returns
  // the end of the scanned range; end_address when nothing is left, 0 when the process can no longer be read.
  // Holds the process's mmap lock meanwhile, about 50 us.
  std::uint64_t read_window(std::uint64_t from, std::span<const trace::Mapping> mappings,
                            std::vector<trace::PageRun>& runs);

  static constexpr std::uint64_t window_pages = 1024;
  static constexpr std::uint64_t end_address = 0x7ffffffff000;  // end of the user address space

 private:
  std::uint64_t ask_kernel(std::uint64_t from, std::vector<trace::PageRun>& runs);
  std::uint64_t read_entries(std::uint64_t from, std::span<const trace::Mapping> mappings,
                             std::vector<trace::PageRun>& runs);

  int file_ = -1;
  bool may_ask_kernel_;
};

// Parses the lines of /proc/PID/maps, by address; invalid lines are skipped.
std::vector<trace::Mapping> parse_mappings(const std::string& text);

}  // namespace heapwright::collect
