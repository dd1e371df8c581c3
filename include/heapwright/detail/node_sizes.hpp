// SPDX-License-Identifier: MIT
// A node_pool's free blocks, by size.
#ifndef HEAPWRIGHT_DETAIL_NODE_SIZES_HPP
#define HEAPWRIGHT_DETAIL_NODE_SIZES_HPP

#include <array>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <utility>

#include "heapwright/detail/node_pages.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

// The blocks of `last` and `ready` count as in use for their pages.
struct node_size {
  node_block* last = nullptr;   // freed last, allocated first
  node_block* ready = nullptr;  // free blocks of one page
  page_ring partial;            // pages with free blocks
};

// One for each index from 1 to `count`. Few of them are used in most pools: they are made
// in groups, when the first one of a group is used. Until then at() returns one without
// any block, which must not be written.
template <std::size_t count>
class node_sizes {
 public:
  node_sizes() noexcept { groups_.fill(&none_); }
  node_size& at(std::size_t index) const noexcept {
    return (*groups_[(index - 1) / group_sizes])[(index - 1) % group_sizes];
  }
  bool has(std::size_t index) const noexcept { return groups_[(index - 1) / group_sizes] != &none_; }
  std::size_t bytes() const noexcept { return bytes_; }

  // Returns at(index), which may be written from now on. Strong guarantee when upstream throws.
  node_size& make(std::size_t index, std::pmr::memory_resource* upstream) {
    if (!has(index)) {
      groups_[(index - 1) / group_sizes] = ::new (upstream->allocate(sizeof(group), alignof(group))) group{};
      bytes_ += sizeof(group);
    }
    return at(index);
  }
  void end(std::pmr::memory_resource* upstream) noexcept {
    for (group*& one : groups_) {
      if (one != &none_) upstream->deallocate(std::exchange(one, &none_), sizeof(group), alignof(group));
    }
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t group_sizes = 4;
  static_assert(count % group_sizes == 0);
  using group = std::array<node_size, group_sizes>;

  static inline constinit group none_{};
  std::array<group*, count / group_sizes> groups_;
  std::size_t bytes_ = 0;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
