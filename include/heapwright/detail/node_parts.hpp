// SPDX-License-Identifier: MIT
// Small pages for small containers: all containers of one type take them from the same
// pages, which are divided into parts.
//
//   | header | part | part | free -> | free | not yet touched ... |
//
// A part is a node_page of one container. block_bytes of the page that holds it is
// part_bytes, which no node has: so the parts are told from a whole page by address alone.
#ifndef HEAPWRIGHT_DETAIL_NODE_PARTS_HPP
#define HEAPWRIGHT_DETAIL_NODE_PARTS_HPP

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <new>

#include "heapwright/detail/node_pages.hpp"
#include "heapwright/detail/node_spans.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

// Thread-safe: its containers may be in use by different threads. The memory of parts
// in no use stays with it until all parts of a page are free.
class node_parts {
 public:
  static constexpr std::size_t page_bytes = 16 * 1024;
  static constexpr std::size_t part_bytes = 544;  // 30 in a page, without a rest
  static_assert((page_bytes - sizeof(node_page)) % part_bytes == 0);

  // The part with this block in it. Requires page->block_bytes == part_bytes.
  static node_page* part_of(node_page* page, void* block) noexcept {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - page->begin());
    return reinterpret_cast<node_page*>(page->begin() + offset / part_bytes * part_bytes);
  }

  // part_bytes of memory. Strong guarantee when operator new throws.
  void* take() {
    const std::scoped_lock<std::mutex> lock(mutex_);
    if (open_.first() == nullptr) add_page();
    node_page* page = open_.first();
    ++page->live;
    void* part = page->begin() + std::size_t{page->touched} * part_bytes;
    if (page->free != nullptr) {
      part = std::exchange(page->free, page->free->next);
    } else {
      ++page->touched;
    }
    if (!page->has_blocks()) open_.remove(page);
    return part;
  }
  void give(void* part) noexcept {
    const std::scoped_lock<std::mutex> lock(mutex_);
    auto* page = reinterpret_cast<node_page*>(reinterpret_cast<std::uintptr_t>(part) & ~(page_bytes - 1));
    if (!page->has_blocks()) open_.add(page);
    page->free = ::new (part) node_block{page->free};
    if (--page->live != 0) return;
    open_.remove(page);
    spans_.give(page, page->span);
  }

 private:
  void add_page() {
    const auto [memory, span] = spans_.take();
    auto* page = ::new (memory) node_page{};
    page->span = span;
    page->block_bytes = part_bytes;
    page->capacity = (page_bytes - sizeof(node_page)) / part_bytes;
    open_.add(page);
  }

  std::mutex mutex_;
  node_spans spans_{std::pmr::new_delete_resource(), page_bytes, true};
  page_ring open_;  // pages with free parts
};

// Those of one type of container; never destroyed, because containers with static
// storage may end later.
template <class Container>
node_parts& parts_of() {
  alignas(node_parts) static std::byte place[sizeof(node_parts)];
  static node_parts* const parts = ::new (place) node_parts;
  return *parts;
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
