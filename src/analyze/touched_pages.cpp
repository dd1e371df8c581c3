// SPDX-License-Identifier: MIT
#include "analyze/touched_pages.hpp"

#include <algorithm>

namespace heapwright::analyze {
namespace {

// Evenly spread, including the last one.
constexpr std::size_t most_samples = 8;

bool is_huge(const trace::PageRun& run) noexcept {
  return run.is_huge && run.kind == trace::PageKind::anonymous;
}

// A damaged scan is ignored.
trace::ResidencyScan decoded(const order::Source& source, std::size_t scan) {
  try {
    return source.decode(source.scans()[scan]);
  } catch (const trace::TraceError&) {
    return {};
  }
}

}  // namespace

TouchedPages::TouchedPages(const order::Source& source, const std::vector<std::size_t>& scans,
                           std::uint64_t most_runs)
    : source_(source) {
  const auto samples = std::min(scans.size(), most_samples);
  std::uint64_t runs = 0;
  for (std::size_t sample = 1; sample <= samples; ++sample) {
    const auto found = decoded(source, scans[scans.size() * sample / samples - 1]);
    runs += found.runs.size();
    is_wanted_ |= std::any_of(found.runs.begin(), found.runs.end(), is_huge);
  }
  if (samples != 0) stride_ = 1 + runs / samples * scans.size() / std::max<std::uint64_t>(most_runs, 1);
}

// A freed block counts as well: it may have been touched after the last scan.
void TouchedPages::add(const order::Run<Piece>& run, const Blocks& blocks) {
  const auto* const rows = run.piece->rows();
  for (auto index = run.from; index < run.to; ++index) {
    const auto& row = rows[index];
    if ((row.flags & row_is_mapping) != 0 || row.address == 0) {
      continue;
    }
    if ((row.flags & row_acquires) == 0) {
      const auto* const slot = blocks.live_at(row.address);
      if (slot != nullptr) touched_.mark(row.address, blocks.usable_bytes(*slot));
    } else if ((row.flags & row_is_wide) != 0) {
      const auto& wide = run.piece->wide[row.size];
      touched_.mark(row.address, wide.size + wide.excess);
    } else {
      touched_.mark(row.address, std::uint64_t{row.size} + row.excess);
    }
  }
}

void TouchedPages::look_at(std::size_t scan, bool is_asked) {
  if (passed_++ % stride_ != 0 && !is_asked) return;
  const auto found = decoded(source_, scan);
  huge_.clear();
  for (const auto& window : found.windows) {
    auto absent_from = window.begin;
    for (std::uint32_t index = 0; index < window.run_count; ++index) {
      const auto& run = found.runs[window.first_run + index];
      touched_.clear(absent_from, run.begin);
      absent_from = run.end;
      if (is_huge(run)) huge_.push_back({run.begin, run.end});
    }
    touched_.clear(absent_from, window.end);
  }
}

std::vector<PageRange> TouchedPages::untouched() const {
  std::vector<PageRange> ranges;
  for (const auto& range : huge_) {
    for (auto page = range.begin; page < range.end; page += HeldPages::page_bytes) {
      if (touched_.has(page)) continue;
      if (!ranges.empty() && ranges.back().end == page) {
        ranges.back().end += HeldPages::page_bytes;
      } else {
        ranges.push_back({page, page + HeldPages::page_bytes});
      }
    }
  }
  return ranges;
}

}  // namespace heapwright::analyze
