// SPDX-License-Identifier: MIT
#include "analyze/page_cells.hpp"

#include <algorithm>

namespace heapwright::analyze {
namespace {

// One page has few, so searching a list is faster than a map.
template <typename Shares>
void add_share(Shares& shares, std::uint32_t number, std::uint64_t bytes) {
  for (auto& share : shares) {
    if (share.number == number) {
      share.bytes += bytes;
      return;
    }
  }
  shares.push_back({number, bytes});
}

template <typename Shares>
std::uint32_t largest(const Shares& shares) {
  const auto found = std::max_element(shares.begin(), shares.end(),
                                      [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return found->number;
}

}  // namespace

void PageCells::add_block(std::uint64_t page, std::uint64_t block, std::uint32_t site, std::uint32_t stack,
                          std::uint64_t bytes) {
  if (cell_bytes_ == 0) {
    return;
  }
  const auto address = page - page % cell_bytes_;
  if (open_ == nullptr || open_->address != address) {
    settle_cell();
    open_ = &cells_[address];
    open_->address = address;
  }
  open_->used_bytes += bytes;
  open_->blocks += block != last_block_ || open_->blocks == 0 ? 1 : 0;
  last_block_ = block;
  add_share(sites_, site, bytes);
  add_share(stacks_, stack, bytes);
}

void PageCells::end_page(std::uint64_t page, std::uint64_t page_bytes, std::uint64_t free_bytes) {
  if (stacks_.empty()) {
    return;
  }
  cells_[page - page % cell_bytes_].resident_bytes += page_bytes;
  if (free_bytes != 0) {
    pinned_[largest(stacks_)] += free_bytes;
  }
  stacks_.clear();
}

void PageCells::add_free_page(std::uint64_t page, std::uint64_t page_bytes) {
  if (cell_bytes_ == 0) {
    return;
  }
  auto& cell = cells_[page - page % cell_bytes_];
  cell.address = page - page % cell_bytes_;
  cell.resident_bytes += page_bytes;
}

void PageCells::settle_cell() {
  if (open_ != nullptr) {
    open_->site = largest(sites_);
  }
  sites_.clear();
}

void PageCells::finish(std::uint32_t scan, std::vector<PageCell>& cells, std::vector<PathPin>& pins) {
  settle_cell();
  open_ = nullptr;
  for (auto [address, cell] : cells_) {
    cell.scan = scan;
    cells.push_back(cell);
  }
  const auto first = static_cast<std::ptrdiff_t>(pins.size());
  for (const auto& [stack, bytes] : pinned_) {
    pins.push_back({scan, stack, bytes});
  }
  std::sort(pins.begin() + first, pins.end(),
            [](const PathPin& a, const PathPin& b) { return a.stack < b.stack; });
}

}  // namespace heapwright::analyze
