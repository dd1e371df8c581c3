// SPDX-License-Identifier: MIT
// length: the pool, its allocator, and containers that own a pool
//
// Memory for the nodes of maps, sets, lists and hash tables.
// Documentation: docs/parts/node_pool.md
//
// A page holds blocks of one size; its header counts those in use:
//
//   | header | block | block | free -> | free | not yet touched ... |
//
// A block's page is found by its address. A page without a block in use goes
// back upstream, except for one of each size. Not thread-safe.
#ifndef HEAPWRIGHT_NODE_POOL_HPP
#define HEAPWRIGHT_NODE_POOL_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

struct node_pool_options {
  std::size_t page_bytes = 16 * 1024;             // a power of two from 4 KiB to 1 MiB
  std::pmr::memory_resource* upstream = nullptr;  // null: std::pmr::new_delete_resource()
};

struct node_pool_statistics {
  std::size_t live_blocks;     // in pages
  std::size_t live_bytes;      // of these blocks, as rounded up to 8
  std::size_t large_blocks;    // beyond node_pool::largest_node, or of a larger alignment than 16
  std::size_t retained_bytes;  // held from upstream, all together
  std::size_t pages;
};

namespace detail {

struct node_block {
  node_block* next;
};

struct alignas(16) node_page {
  node_page* previous;  // among those of its size that have a free block
  node_page* next;
  node_page* previous_of_all;
  node_page* next_of_all;
  node_block* free;
  std::byte* untouched;
  std::uint32_t live;
  std::uint32_t capacity;
  std::uint32_t block_bytes;
};

struct alignas(16) large_node {
  large_node* previous;
  large_node* next;
  std::size_t bytes;  // with this header
  std::size_t alignment;
};

}  // namespace detail

class node_pool final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t largest_node = 512;

  node_pool() noexcept : node_pool(node_pool_options{}) {}
  explicit node_pool(const node_pool_options& options) noexcept
      : upstream_(options.upstream != nullptr ? options.upstream : std::pmr::new_delete_resource()),
        page_bytes_(options.page_bytes) {
    HEAPWRIGHT_CHECK(std::has_single_bit(page_bytes_) && page_bytes_ >= 4096 && page_bytes_ <= 1 << 20,
                     "node_pool", "page_bytes must be a power of two from 4 KiB to 1 MiB");
  }
  node_pool(const node_pool&) = delete;
  node_pool& operator=(const node_pool&) = delete;
  // Takes all memory back, whatever is in use.
  ~node_pool() override { release(); }

  void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    const std::size_t index = size_index(bytes, alignment);
    if (index > largest_index) [[unlikely]]
      return allocate_large(bytes, alignment);
    detail::node_page* page = partial_[index];
    if (page == nullptr) [[unlikely]]
      page = add_page(index);
    detail::node_block* block = page->free;
    if (block != nullptr) {
      detail::unpoison(block, index * step);
      page->free = block->next;
    } else {
      block = reinterpret_cast<detail::node_block*>(page->untouched);
      page->untouched += index * step;
      detail::unpoison(block, index * step);
    }
    if (++page->live == page->capacity) [[unlikely]]
      unlink_partial(index, page);
    return block;
  }

  // With the size and alignment it was allocated with.
  void deallocate(void* first, std::size_t bytes,
                  std::size_t alignment = alignof(std::max_align_t)) noexcept {
    const std::size_t index = size_index(bytes, alignment);
    if (index > largest_index) [[unlikely]]
      return deallocate_large(first);
    detail::node_page* page = page_of(first);
    HEAPWRIGHT_CHECK(page->live != 0, "node_pool", "deallocate() of a block that is already back");
    auto* block = ::new (first) detail::node_block{page->free};
    page->free = block;
    detail::poison(first, index * step);
    if (page->live-- == page->capacity) [[unlikely]]
      link_partial(index, page);
    if (page->live == 0) [[unlikely]]
      retire(index, page);
  }

  // Takes back every block at once, in the time of their pages: for containers
  // whose nodes need no destruction and that are not used any more.
  void release() noexcept {
    while (pages_ != nullptr) free_page(pages_);
    while (large_ != nullptr) free_large(large_);
    partial_.fill(nullptr);
    spare_.fill(nullptr);
  }

  // Gives the pages back that no block uses.
  void shrink() noexcept {
    for (std::size_t index = 0; index <= largest_index; ++index) {
      detail::node_page* page = std::exchange(spare_[index], nullptr);
      if (page == nullptr || page->live != 0) continue;
      unlink_partial(index, page);
      free_page(page);
    }
  }

  // Looks at each page.
  node_pool_statistics statistics() const noexcept {
    node_pool_statistics result{};
    for (const auto* page = pages_; page != nullptr; page = page->next_of_all) {
      result.live_blocks += page->live;
      result.live_bytes += std::size_t{page->live} * page->block_bytes;
      ++result.pages;
    }
    for (const auto* large = large_; large != nullptr; large = large->next) ++result.large_blocks;
    result.retained_bytes = retained_;
    return result;
  }
  // "1000 nodes of 40000 bytes in 3 pages, 1 large block, 49152 bytes held"
  std::string report() const {
    const node_pool_statistics s = statistics();
    return std::to_string(s.live_blocks) + " nodes of " + std::to_string(s.live_bytes) + " bytes in " +
           std::to_string(s.pages) + " pages, " + std::to_string(s.large_blocks) + " large blocks, " +
           std::to_string(s.retained_bytes) + " bytes held";
  }

 private:
  static constexpr std::size_t step = 8;
  static constexpr std::size_t largest_index = largest_node / step;
  // A heap's own header in front of the next page keeps pages side by side.
  static constexpr std::size_t left_to_the_heap = 64;

  void* do_allocate(std::size_t bytes, std::size_t alignment) override { return allocate(bytes, alignment); }
  void do_deallocate(void* first, std::size_t bytes, std::size_t alignment) noexcept override {
    deallocate(first, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  // In steps of 8 bytes; of 16 where the alignment asks for it.
  static constexpr std::size_t size_index(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > largest_node || alignment > 16) [[unlikely]]
      return largest_index + 1;
    const std::size_t index = std::max<std::size_t>((bytes + step - 1) / step, 1);
    return alignment > step ? (index + 1) & ~std::size_t{1} : index;
  }
  std::size_t room() const noexcept { return page_bytes_ - left_to_the_heap - sizeof(detail::node_page); }
  detail::node_page* page_of(void* block) const noexcept {
    const auto inside = reinterpret_cast<std::uintptr_t>(block) & (page_bytes_ - 1);
    return reinterpret_cast<detail::node_page*>(static_cast<std::byte*>(block) - inside);
  }

  [[gnu::noinline]] detail::node_page* add_page(std::size_t index) {
    void* memory = upstream_->allocate(page_bytes_ - left_to_the_heap, page_bytes_);
    retained_ += page_bytes_ - left_to_the_heap;
    auto* page = ::new (memory) detail::node_page{};
    page->untouched = reinterpret_cast<std::byte*>(page + 1);
    page->block_bytes = static_cast<std::uint32_t>(index * step);
    page->capacity = static_cast<std::uint32_t>(room()) / page->block_bytes;
    page->next_of_all = pages_;
    if (pages_ != nullptr) pages_->previous_of_all = page;
    pages_ = page;
    detail::poison(page->untouched, room());
    link_partial(index, page);
    return page;
  }
  void free_page(detail::node_page* page) noexcept {
    (page->previous_of_all != nullptr ? page->previous_of_all->next_of_all : pages_) = page->next_of_all;
    if (page->next_of_all != nullptr) page->next_of_all->previous_of_all = page->previous_of_all;
    detail::unpoison(page + 1, room());
    retained_ -= page_bytes_ - left_to_the_heap;
    upstream_->deallocate(page, page_bytes_ - left_to_the_heap, page_bytes_);
  }
  // A page without a block in use: one of each size waits, others go.
  [[gnu::noinline]] void retire(std::size_t index, detail::node_page* page) noexcept {
    detail::node_page* spare = spare_[index];
    if (spare == page) return;
    if (spare == nullptr || spare->live != 0) {
      spare_[index] = page;
      return;
    }
    unlink_partial(index, page);
    free_page(page);
  }
  void link_partial(std::size_t index, detail::node_page* page) noexcept {
    page->previous = nullptr;
    page->next = partial_[index];
    if (page->next != nullptr) page->next->previous = page;
    partial_[index] = page;
  }
  void unlink_partial(std::size_t index, detail::node_page* page) noexcept {
    (page->previous != nullptr ? page->previous->next : partial_[index]) = page->next;
    if (page->next != nullptr) page->next->previous = page->previous;
  }

  [[gnu::noinline]] void* allocate_large(std::size_t bytes, std::size_t alignment) {
    const std::size_t front = std::max(alignment, sizeof(detail::large_node));
    if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - front) detail::throw_bad_alloc();
    alignment = std::max(alignment, alignof(detail::large_node));
    auto* memory = static_cast<std::byte*>(upstream_->allocate(bytes + front, alignment));
    retained_ += bytes + front;
    std::byte* first = memory + front;
    auto* header = ::new (first - sizeof(detail::large_node))
        detail::large_node{nullptr, large_, bytes + front, alignment};
    if (large_ != nullptr) large_->previous = header;
    large_ = header;
    return first;
  }
  void deallocate_large(void* first) noexcept {
    free_large(reinterpret_cast<detail::large_node*>(static_cast<std::byte*>(first)) - 1);
  }
  void free_large(detail::large_node* header) noexcept {
    (header->previous != nullptr ? header->previous->next : large_) = header->next;
    if (header->next != nullptr) header->next->previous = header->previous;
    const std::size_t bytes = header->bytes;
    const std::size_t alignment = header->alignment;
    const std::size_t front = std::max(alignment, sizeof(detail::large_node));
    retained_ -= bytes;
    upstream_->deallocate(reinterpret_cast<std::byte*>(header + 1) - front, bytes, alignment);
  }

  std::pmr::memory_resource* upstream_;
  std::size_t page_bytes_;
  std::size_t retained_ = 0;
  detail::node_page* pages_ = nullptr;
  detail::large_node* large_ = nullptr;
  std::array<detail::node_page*, largest_index + 1> partial_{};
  std::array<detail::node_page*, largest_index + 1> spare_{};
};

// std::allocator's interface over a node_pool, without a virtual call:
//   std::map<int, int, std::less<>, heapwright::node_allocator<std::pair<const int, int>>> map(pool);
template <class T>
class node_allocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  node_allocator(node_pool& pool) noexcept : pool_(&pool) {}  // NOLINT: converts
  template <class U>
  node_allocator(const node_allocator<U>& other) noexcept : pool_(other.resource()) {}  // NOLINT: converts
  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) detail::throw_bad_alloc();
    return static_cast<T*>(pool_->allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* first, std::size_t count) noexcept {
    pool_->deallocate(first, count * sizeof(T), alignof(T));
  }
  node_pool* resource() const noexcept { return pool_; }
  template <class U>
  bool operator==(const node_allocator<U>& other) const noexcept {
    return pool_ == other.resource();
  }

 private:
  node_pool* pool_;
};

// A container with a pool of its own. Where its elements need no destruction,
// its end and clear() take all nodes back at once instead of one by one.
// Container is constructible from (arguments..., allocator over a node_pool).
template <class Container>
class pooled {
  static constexpr bool is_released = std::is_trivially_destructible_v<typename Container::value_type>;

 public:
  pooled() : pooled(node_pool_options{}) {}
  explicit pooled(const node_pool_options& options) : pool_(options) { make(); }
  pooled(const pooled&) = delete;
  pooled& operator=(const pooled&) = delete;
  ~pooled() { end(); }

  Container& operator*() noexcept { return container_; }
  const Container& operator*() const noexcept { return container_; }
  Container* operator->() noexcept { return &container_; }
  const Container* operator->() const noexcept { return &container_; }

  // All elements at once; the container starts anew.
  void clear() {
    end();
    make();
  }
  node_pool& pool() noexcept { return pool_; }
  node_pool_statistics statistics() const noexcept { return pool_.statistics(); }

 private:
  void make() { std::construct_at(&container_, typename Container::allocator_type(pool_)); }
  void end() noexcept {
    if constexpr (!is_released) std::destroy_at(&container_);
    pool_.release();
  }

  node_pool pool_;
  union {
    Container container_;
  };
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
