// SPDX-License-Identifier: MIT
#include "collect/page_map.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace heapwright::collect {
namespace {

using trace::Mapping;
using trace::MappingFlag;
using trace::PageKind;
using trace::PageRun;

constexpr std::uint64_t page_bytes = trace::residency_unit_bytes;

// From linux/fs.h of 6.7.
struct KernelRegion {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t categories;
};
struct KernelScan {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t walk_end;
  std::uint64_t regions;
  std::uint64_t most_regions;
  std::uint64_t most_pages;
  std::uint64_t inverted;
  std::uint64_t all_of;
  std::uint64_t any_of;
  std::uint64_t returned;
};
constexpr unsigned long pagemap_scan = _IOWR('f', 16, KernelScan);
constexpr std::uint64_t of_file = 1U << 2U;
constexpr std::uint64_t present = 1U << 3U;
constexpr std::uint64_t swapped = 1U << 4U;
constexpr std::uint64_t zero_page = 1U << 5U;
constexpr std::uint64_t huge = 1U << 6U;

// Bits of a pagemap entry.
constexpr std::uint64_t entry_present = 1ULL << 63U;
constexpr std::uint64_t entry_swapped = 1ULL << 62U;
constexpr std::uint64_t entry_of_file = 1ULL << 61U;

void append(std::vector<PageRun>& runs, std::size_t first, const PageRun& run) {
  const bool continues = runs.size() > first && runs.back().end == run.begin &&
                         runs.back().kind == run.kind && runs.back().is_huge == run.is_huge;
  if (continues) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

PageKind kind_of(bool is_present, bool is_of_file) {
  if (!is_present) return PageKind::swapped;
  return is_of_file ? PageKind::file : PageKind::anonymous;
}

// The number at the start of `text`; advances past it and the one character that follows.
std::uint64_t take_hexadecimal(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const auto length = static_cast<std::size_t>(stop - text.data());
  text.remove_prefix(std::min(length + 1, text.size()));
  return error == std::errc{} ? value : 0;
}

void skip_field(std::string_view& text) {
  text.remove_prefix(std::min(text.find(' '), text.size()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

// "5555555000-55555560000 rw-p 00002000 08:01 1234    /path"
Mapping parse_line(std::string_view line) {
  constexpr std::size_t flags = 4;
  constexpr std::array<MappingFlag, flags> meanings = {MappingFlag::readable, MappingFlag::writable,
                                                       MappingFlag::executable, MappingFlag::shared};
  Mapping mapping;
  mapping.begin = take_hexadecimal(line);
  mapping.end = take_hexadecimal(line);
  if (line.size() < flags) return {};
  for (std::size_t index = 0; index < flags; ++index) {
    const bool is_set = line[index] != '-' && line[index] != 'p';
    if (is_set) mapping.flags |= static_cast<std::uint8_t>(meanings[index]);
  }
  skip_field(line);
  mapping.file_offset = take_hexadecimal(line);
  skip_field(line);  // device
  skip_field(line);  // inode
  mapping.name = line;
  return mapping;
}

}  // namespace

PageMap::PageMap(const std::string& path, bool may_ask_kernel)
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)), may_ask_kernel_(may_ask_kernel) {}

PageMap::~PageMap() {
  if (file_ >= 0) close(file_);
}

std::uint64_t PageMap::read_window(std::uint64_t from, std::span<const Mapping> mappings,
                                   std::vector<PageRun>& runs) {
  if (may_ask_kernel_) {
    const std::uint64_t end = ask_kernel(from, runs);
    if (end != 0 || from != 0) return end;
    may_ask_kernel_ = false;  // refused at the first window: the kernel does not support it
  }
  return read_entries(from, mappings, runs);
}

std::uint64_t PageMap::ask_kernel(std::uint64_t from, std::vector<PageRun>& runs) {
  std::array<KernelRegion, window_pages> regions;
  KernelScan scan{};
  scan.size = sizeof scan;
  scan.begin = from;
  scan.end = end_address;
  scan.regions = reinterpret_cast<std::uint64_t>(regions.data());
  scan.most_regions = regions.size();
  scan.most_pages = window_pages;
  scan.inverted = zero_page;
  scan.all_of = zero_page;
  scan.any_of = present | swapped;
  scan.returned = of_file | present | swapped | huge;
  const int count = ioctl(file_, pagemap_scan, &scan);
  if (count < 0) return 0;
  const std::size_t first = runs.size();
  std::uint64_t end = std::max(scan.walk_end, from);
  for (const KernelRegion& region : std::span(regions).first(static_cast<std::size_t>(count))) {
    append(runs, first,
           {region.begin, region.end,
            kind_of((region.categories & present) != 0, (region.categories & of_file) != 0),
            (region.categories & huge) != 0});
    // The kernel's walk_end lags behind if its internal buffer filled up meanwhile.
    end = std::max(end, region.end);
  }
  return end > from ? end : 0;
}

std::uint64_t PageMap::read_entries(std::uint64_t from, std::span<const Mapping> mappings,
                                    std::vector<PageRun>& runs) {
  const auto mapping = std::find_if(mappings.begin(), mappings.end(), [from](const Mapping& candidate) {
    // An inaccessible mapping holds nothing, and may be huge.
    return candidate.end > from && candidate.has(MappingFlag::readable);
  });
  if (mapping == mappings.end() || mapping->begin >= end_address) return end_address;
  const std::uint64_t begin = std::max(from, mapping->begin);
  const std::uint64_t end = std::min(mapping->end, begin + window_pages * page_bytes);
  std::array<std::uint64_t, window_pages> entries;
  const auto bytes = static_cast<std::size_t>((end - begin) / page_bytes * sizeof entries[0]);
  if (pread(file_, entries.data(), bytes, static_cast<off_t>(begin / page_bytes * sizeof entries[0])) < 0) {
    return 0;
  }
  const std::size_t first = runs.size();
  for (std::uint64_t at = begin; at < end; at += page_bytes) {
    const std::uint64_t entry = entries[(at - begin) / page_bytes];
    if ((entry & (entry_present | entry_swapped)) == 0) continue;
    append(runs, first,
           {at, at + page_bytes, kind_of((entry & entry_present) != 0, (entry & entry_of_file) != 0), false});
  }
  return end;
}

std::vector<Mapping> parse_mappings(const std::string& text) {
  std::vector<Mapping> mappings;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = std::min(rest.find('\n'), rest.size());
    Mapping mapping = parse_line(rest.substr(0, length));
    rest.remove_prefix(std::min(length + 1, rest.size()));
    const bool follows = mappings.empty() || mapping.begin >= mappings.back().end;
    // The kernel's page at the top (vsyscall) is not the process's memory.
    if (!follows || mapping.begin >= mapping.end || mapping.end > PageMap::end_address) continue;
    mappings.push_back(std::move(mapping));
    if (mappings.size() == trace::max_mappings) break;
  }
  return mappings;
}

}  // namespace heapwright::collect
