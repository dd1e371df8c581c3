// SPDX-License-Identifier: MIT
// A node_pool's pages, each with blocks of one size, and its large blocks.
#ifndef HEAPWRIGHT_DETAIL_NODE_PAGES_HPP
#define HEAPWRIGHT_DETAIL_NODE_PAGES_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

struct node_block {
  node_block* next;
};

// A free block is poisoned, including its link.
inline node_block* put_block(void* first, std::size_t bytes, node_block* next) noexcept {
  unpoison(first, sizeof(node_block));
  auto* block = ::new (first) node_block{next};
  poison(first, bytes);
  return block;
}
inline node_block* block_after(node_block* block) noexcept {
  unpoison(block, sizeof(*block));
  node_block* next = block->next;
  poison(block, sizeof(*block));
  return next;
}

inline std::size_t length_of(node_block* list) noexcept {
  std::size_t length = 0;
  for (; list != nullptr; list = block_after(list)) ++length;
  return length;
}

struct node_span;

struct alignas(16) node_page {
  node_page* previous;  // in the ring of pages of its size with free blocks
  node_page* next;
  node_page* previous_of_all;
  node_page* next_of_all;
  node_span* span;
  node_block* free;
  std::uint32_t live;     // blocks in use, in `last` or in the ready list
  std::uint32_t touched;  // blocks ever allocated or listed: the first ones of the page
  std::uint32_t capacity;
  std::uint32_t block_bytes;

  std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  bool has_blocks() const noexcept { return free != nullptr || touched != capacity; }

  // All free blocks, or if there are none, some untouched ones. Requires has_blocks().
  node_block* take_blocks() noexcept {
    if (free != nullptr) {
      live = touched;
      return std::exchange(free, nullptr);
    }
    const std::uint32_t batch = 1024 / block_bytes;
    const std::uint32_t last = capacity - touched < batch ? capacity : touched + batch;
    node_block* first = nullptr;
    for (std::uint32_t i = last; i-- > touched;) {
      first = put_block(begin() + std::size_t{i} * block_bytes, block_bytes, first);
    }
    live += last - touched;
    touched = last;
    return first;
  }
};

// Pages of one size in order of insertion.
class page_ring {
 public:
  node_page* first() const noexcept { return first_; }
  void add(node_page* page) noexcept {
    page->next = first_ != nullptr ? first_ : page;
    page->previous = first_ != nullptr ? first_->previous : page;
    page->previous->next = page->next->previous = page;
    if (first_ == nullptr) first_ = page;
  }
  void remove(node_page* page) noexcept {
    page->previous->next = page->next;
    page->next->previous = page->previous;
    if (first_ == page) first_ = page->next != page ? page->next : nullptr;
  }

 private:
  node_page* first_ = nullptr;
};

struct alignas(16) large_node {
  large_node* previous;
  large_node* next;
  std::size_t bytes;  // including this header
  std::size_t alignment;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
