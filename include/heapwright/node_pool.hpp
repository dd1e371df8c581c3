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
// A block's page is computed from its address. The block freed last is allocated
// first, then the blocks of its size's ready list, which takes over all free
// blocks of a page at once. A page without a block in use serves any size, or is
// returned (detail/node_spans.hpp). The first pages of a pooled container are parts of
// pages that all containers of its type share (detail/node_parts.hpp). Not thread-safe.
#ifndef HEAPWRIGHT_NODE_POOL_HPP
#define HEAPWRIGHT_NODE_POOL_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/node_pages.hpp"
#include "heapwright/detail/node_parts.hpp"
#include "heapwright/detail/node_sizes.hpp"
#include "heapwright/detail/node_spans.hpp"
#include "heapwright/detail/node_statistics.hpp"
#include "heapwright/detail/pool_annotation.hpp"
#include "heapwright/detail/type_name.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

struct node_pool_options {
  std::size_t page_bytes = 16 * 1024;             // a power of two from 4 KiB to 1 MiB
  std::pmr::memory_resource* upstream = nullptr;  // null: std::pmr::new_delete_resource()
  const char* name = nullptr;                     // see totals(); must stay valid
};

class node_pool final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t largest_node = 512;

  node_pool() noexcept : node_pool(node_pool_options{}) {}
  explicit node_pool(const node_pool_options& options) noexcept : node_pool(options, nullptr) {}
  node_pool(const node_pool&) = delete;
  node_pool& operator=(const node_pool&) = delete;
  // Frees all memory, including blocks in use.
  ~node_pool() override {
    if (name_ != nullptr) delist();
    take_all_back();
  }

  // O(1) except for upstream; throws what upstream throws.
  void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    const std::size_t index = size_index(bytes, alignment);
    void* given = index > largest_index ? allocate_large(bytes, alignment) : take(index);
    annotation_.took(given, bytes);
    return given;
  }

  // O(1). Requires the size and alignment of the allocation.
  void deallocate(void* first, std::size_t bytes,
                  std::size_t alignment = alignof(std::max_align_t)) noexcept {
    annotation_.gave(first);
    const std::size_t index = size_index(bytes, alignment);
    if (index > largest_index) [[unlikely]] {
      return deallocate_large(first);
    }
    detail::node_size& size = sizes_.at(index);
    HEAPWRIGHT_CHECK(page_of(first)->block_bytes == index * step && owns(page_of(first)), "node_pool",
                     "deallocate() of a block of another pool or size");
    HEAPWRIGHT_CHECK(page_of(first)->live != 0 && page_of(first)->free != first && size.last != first,
                     "node_pool", "deallocate() of a block that is already back");
    if (size.last == nullptr) {
      size.last = detail::put_block(first, index * step, nullptr);
      return;
    }
    detail::node_page* page = page_of(first);
    give(size, page, first, index * step);
    if (page->live == 0) [[unlikely]] {
      free_page(size, page);
    }
  }

  // Frees all blocks at once, in time linear in the pages: for containers that are
  // no longer used and whose nodes need no destruction.
  void release() noexcept {
    take_all_back();
    annotation_.gave_all();
  }

  // Frees all pages without a block in use.
  void shrink() noexcept {
    for (std::size_t index = 1; index <= largest_index; ++index) {
      if (!sizes_.has(index)) continue;
      detail::node_size& size = sizes_.at(index);
      put_back(size, std::exchange(size.last, nullptr), index * step);
      put_back(size, std::exchange(size.ready, nullptr), index * step);
    }
    if (pages_ == nullptr) sizes_.end(spans_.upstream());
    spans_.shrink();
  }

  // Linear in the pages.
  node_pool_statistics statistics() const noexcept {
    node_pool_statistics result{};
    for (const auto* page = pages_; page != nullptr; page = page->next_of_all) {
      result.live_blocks += page->live;
      result.live_bytes += std::size_t{page->live} * page->block_bytes;
      ++result.pages;
    }
    for (std::size_t index = 1; index <= largest_index; ++index) {
      const detail::node_size& size = sizes_.at(index);
      const std::size_t waiting = detail::length_of(size.last) + detail::length_of(size.ready);
      result.live_blocks -= waiting;
      result.live_bytes -= waiting * index * step;
    }
    for (const auto* large = large_; large != nullptr; large = large->next) ++result.large_blocks;
    result.retained_bytes = spans_.retained_bytes() + large_bytes_ + sizes_.bytes() +
                            part_count_ * detail::node_parts::part_bytes;
    result.idle_pages = spans_.idle_pages();
    return result;
  }
  // "1000 nodes of 40000 bytes in 3 pages, 1 large block, 49152 bytes held"
  std::string report() const { return detail::node_report(statistics()); }

  // The sums over all pools with this name. Linear in their pages. No thread may
  // use one of these pools during the call.
  static node_pool_totals totals(std::string_view name) noexcept {
    node_pool_totals result{};
    const std::scoped_lock<std::mutex> lock(named_mutex_);
    for (const node_pool* pool = named_; pool != nullptr; pool = pool->next_named_) {
      if (pool->name_ != name) continue;
      ++result.pools;
      detail::add_statistics(result.sum, pool->statistics());
    }
    return result;
  }

 private:
  static constexpr std::size_t step = 8;
  static constexpr std::size_t largest_index = largest_node / step;
  template <class T>
  friend class node_allocator;
  template <class Container>
  friend class pooled;
  // parts: where the first pages come from; null: they are whole ones as well.
  node_pool(const node_pool_options& options, detail::node_parts* parts) noexcept
      : spans_(options.upstream != nullptr ? options.upstream : std::pmr::new_delete_resource(),
               options.page_bytes, options.upstream == nullptr),
        page_mask_(options.page_bytes - 1),
        parts_(parts),
        name_(options.name),
        annotation_(this, options.name != nullptr ? options.name : "node_pool") {
    HEAPWRIGHT_CHECK(std::has_single_bit(options.page_bytes) && options.page_bytes >= 4096 &&
                         options.page_bytes <= 1 << 20,
                     "node_pool", "page_bytes must be a power of two from 4 KiB to 1 MiB");
    if (name_ != nullptr) enlist();
  }

  void* do_allocate(std::size_t bytes, std::size_t alignment) override { return allocate(bytes, alignment); }
  void do_deallocate(void* first, std::size_t bytes, std::size_t alignment) noexcept override {
    deallocate(first, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  // In steps of 8 bytes, or 16 if the alignment requires it.
  static constexpr std::size_t size_index(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > largest_node || alignment > 16) [[unlikely]] {
      return largest_index + 1;
    }
    const std::size_t index = std::max<std::size_t>((bytes + step - 1) / step, 1);
    return alignment > step ? (index + 1) & ~std::size_t{1} : index;
  }
  std::size_t page_bytes() const noexcept { return page_mask_ + 1; }
  // Without its header. A page without a span is a part.
  std::size_t room_of(const detail::node_page* page) const noexcept {
    return (page->span != nullptr ? page_bytes() : detail::node_parts::part_bytes) - sizeof(*page);
  }
  // A block behind it is one of another pool, for checks.
  bool owns(const detail::node_page* page) const noexcept {
    return page->span != nullptr ? spans_.has(page->span) : parts_ != nullptr;
  }
  detail::node_page* page_of(void* block) const noexcept {
    const auto inside = reinterpret_cast<std::uintptr_t>(block) & page_mask_;
    auto* page = reinterpret_cast<detail::node_page*>(static_cast<std::byte*>(block) - inside);
    if (page->block_bytes == detail::node_parts::part_bytes) [[unlikely]] {
      return detail::node_parts::part_of(page, block);
    }
    return page;
  }

  void* take(std::size_t index) {
    detail::node_size& size = sizes_.at(index);
    if (size.last != nullptr) {
      detail::unpoison(size.last, index * step);
      return std::exchange(size.last, nullptr);
    }
    detail::node_block* block = size.ready;
    if (block == nullptr) [[unlikely]] {
      return take_from_page(index);
    }
    detail::unpoison(block, index * step);
    size.ready = block->next;
    return block;
  }
  static void give(detail::node_size& size, detail::node_page* page, void* first,
                   std::size_t bytes) noexcept {
    detail::node_block* others = page->free;
    page->free = detail::put_block(first, bytes, others);
    --page->live;
    if (others == nullptr) [[unlikely]] {
      offer(size, page);
    }
  }
  [[gnu::noinline]] void* take_from_page(std::size_t index) {
    detail::node_size& size = sizes_.make(index, spans_.upstream());
    if (size.partial.first() == nullptr) add_page(size, index);
    detail::node_page* page = size.partial.first();
    detail::node_block* first = page->take_blocks();
    if (!page->has_blocks()) size.partial.remove(page);
    detail::unpoison(first, index * step);
    size.ready = first->next;
    return first;
  }
  // The page got its first free block; with untouched blocks it is in the ring already.
  [[gnu::noinline]] static void offer(detail::node_size& size, detail::node_page* page) noexcept {
    if (page->touched == page->capacity) size.partial.add(page);
  }
  // Returns blocks of one page to it; frees the page if none of its blocks is in use.
  void put_back(detail::node_size& size, detail::node_block* list, std::size_t bytes) noexcept {
    if (list == nullptr) return;
    detail::node_page* page = page_of(list);
    while (list != nullptr) give(size, page, std::exchange(list, detail::block_after(list)), bytes);
    if (page->live == 0) free_page(size, page);
  }

  void add_page(detail::node_size& size, std::size_t index) {
    const bool is_part = parts_ != nullptr && part_count_ < most_parts && index * step <= largest_in_part;
    const auto [memory, span] = is_part ? detail::node_spans::taken{parts_->take(), nullptr} : spans_.take();
    if (is_part) ++part_count_;
    auto* page = ::new (memory) detail::node_page{};
    page->span = span;
    page->block_bytes = static_cast<std::uint32_t>(index * step);
    page->capacity = static_cast<std::uint32_t>(room_of(page)) / page->block_bytes;
    page->next_of_all = pages_;
    if (pages_ != nullptr) pages_->previous_of_all = page;
    pages_ = page;
    detail::poison(page->begin(), room_of(page));
    size.partial.add(page);
  }
  void free_page(detail::node_page* page) noexcept {
    (page->previous_of_all != nullptr ? page->previous_of_all->next_of_all : pages_) = page->next_of_all;
    if (page->next_of_all != nullptr) page->next_of_all->previous_of_all = page->previous_of_all;
    detail::unpoison(page->begin(), room_of(page));
    if (page->span != nullptr) {
      spans_.give(page, page->span);
    } else {
      parts_->give(page);
      --part_count_;
    }
  }
  [[gnu::noinline]] void free_page(detail::node_size& size, detail::node_page* page) noexcept {
    size.partial.remove(page);
    free_page(page);
  }
  void take_all_back() noexcept {
    while (pages_ != nullptr) free_page(pages_);
    sizes_.end(spans_.upstream());
    spans_.shrink();
    while (large_ != nullptr) free_large(large_);
  }

  // The list of named pools of all threads.
  void enlist() noexcept {
    const std::scoped_lock<std::mutex> lock(named_mutex_);
    next_named_ = std::exchange(named_, this);
    if (next_named_ != nullptr) next_named_->previous_named_ = this;
  }
  void delist() noexcept {
    const std::scoped_lock<std::mutex> lock(named_mutex_);
    (previous_named_ != nullptr ? previous_named_->next_named_ : named_) = next_named_;
    if (next_named_ != nullptr) next_named_->previous_named_ = previous_named_;
  }

  [[gnu::noinline]] void* allocate_large(std::size_t bytes, std::size_t alignment) {
    const std::size_t front = std::max(alignment, sizeof(detail::large_node));
    if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - front) detail::throw_bad_alloc();
    alignment = std::max(alignment, alignof(detail::large_node));
    auto* memory = static_cast<std::byte*>(spans_.upstream()->allocate(bytes + front, alignment));
    large_bytes_ += bytes + front;
    std::byte* first = memory + front;
    auto* header = ::new (first - sizeof(detail::large_node))
        detail::large_node{nullptr, large_, bytes + front, alignment};
    if (large_ != nullptr) large_->previous = header;
    large_ = header;
    return first;
  }
  // What is no node, such as the buckets of a small hash table: a page for each size would be
  // several times the table.
  void* allocate_array(std::size_t bytes, std::size_t alignment) {
    void* given = allocate_large(bytes, alignment);
    annotation_.took(given, bytes);
    return given;
  }
  void deallocate_array(void* first) noexcept {
    annotation_.gave(first);
    deallocate_large(first);
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
    large_bytes_ -= bytes;
    spans_.upstream()->deallocate(reinterpret_cast<std::byte*>(header + 1) - front, bytes, alignment);
  }

  static constexpr std::size_t most_parts = 30;        // a page of them
  static constexpr std::size_t largest_in_part = 240;  // two in a part
  static inline constinit std::mutex named_mutex_;
  static inline constinit node_pool* named_ = nullptr;

  detail::node_spans spans_;
  std::size_t page_mask_;
  std::size_t large_bytes_ = 0;
  detail::node_parts* parts_;
  std::size_t part_count_ = 0;
  detail::node_page* pages_ = nullptr;
  detail::large_node* large_ = nullptr;
  const char* name_;
  node_pool* previous_named_ = nullptr;
  node_pool* next_named_ = nullptr;
  detail::node_sizes<largest_index> sizes_;
  [[no_unique_address]] detail::pool_annotation annotation_;
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
    if (count == 1) return static_cast<T*>(pool_->allocate(sizeof(T), alignof(T)));
    return static_cast<T*>(pool_->allocate_array(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* first, std::size_t count) noexcept {
    count == 1 ? pool_->deallocate(first, sizeof(T), alignof(T)) : pool_->deallocate_array(first);
  }
  node_pool* resource() const noexcept { return pool_; }
  template <class U>
  bool operator==(const node_allocator<U>& other) const noexcept {
    return pool_ == other.resource();
  }

 private:
  node_pool* pool_;
};

// A container with its own pool. If its elements, comparator and hash are trivially
// destructible, destruction and clear() free all nodes at once instead of one by
// one. Container must be constructible from an allocator over a node_pool. The
// pool's name is the container's type unless the options name it. It does not move,
// because its container points to its pool: movable_pooled does.
template <class Container>
class pooled {
  static constexpr bool needs_no_destruction() noexcept {
    bool answer = std::is_trivially_destructible_v<typename Container::value_type>;
    if constexpr (requires { typename Container::key_compare; }) {
      answer = answer && std::is_trivially_destructible_v<typename Container::key_compare>;
    }
    if constexpr (requires { typename Container::hasher; }) {
      answer = answer && std::is_trivially_destructible_v<typename Container::hasher> &&
               std::is_trivially_destructible_v<typename Container::key_equal>;
    }
    return answer;
  }

 public:
  pooled() : pooled(node_pool_options{}) {}
  explicit pooled(const node_pool_options& options) : pool_(named(options), parts_for(options)) { make(); }
  pooled(const pooled&) = delete;
  pooled& operator=(const pooled&) = delete;
  ~pooled() { end_container(); }

  Container& operator*() noexcept { return *operator->(); }
  const Container& operator*() const noexcept { return *operator->(); }
  Container* operator->() noexcept { return const_cast<Container*>(std::as_const(*this).operator->()); }
  const Container* operator->() const noexcept {
    HEAPWRIGHT_CHECK(has_container_, "node_pool", "a pooled container is used after its clear() threw");
    return std::addressof(container_);
  }

  // Removes all elements and constructs the container anew. If its constructor
  // throws, there is no container until a clear() succeeds.
  void clear() {
    end_container();
    pool_.release();
    make();
  }
  node_pool& pool() noexcept { return pool_; }
  node_pool_statistics statistics() const noexcept { return pool_.statistics(); }
  // Over all containers of this type; see node_pool::totals().
  static node_pool_totals totals() noexcept { return node_pool::totals(detail::type_name<Container>::value); }

 private:
  static node_pool_options named(node_pool_options options) noexcept {
    if (options.name == nullptr) options.name = detail::type_name<Container>::value;
    return options;
  }
  // With other pages or another upstream, none of its memory is shared.
  static detail::node_parts* parts_for(const node_pool_options& options) {
    const bool is_usual = options.upstream == nullptr && options.page_bytes == detail::node_parts::page_bytes;
    return is_usual ? &detail::parts_of<Container>() : nullptr;
  }
  void make() {
    std::construct_at(std::addressof(container_), typename Container::allocator_type(pool_));
    has_container_ = true;
  }
  void end_container() noexcept {
    if (!std::exchange(has_container_, false)) return;
    if constexpr (!needs_no_destruction()) std::destroy_at(std::addressof(container_));
  }

  node_pool pool_;
  bool has_container_ = false;
  union {
    Container container_;
  };
};

// A pooled container that moves, for members of classes that do: it takes one more block.
// A move is O(1), allocates nothing, and leaves references to elements valid. What was
// moved from may be destroyed, assigned to, or cleared, which makes its container anew.
template <class Container>
class movable_pooled {
 public:
  movable_pooled() : movable_pooled(node_pool_options{}) {}
  explicit movable_pooled(const node_pool_options& options) : options_(options) { make(); }
  movable_pooled(movable_pooled&&) noexcept = default;
  movable_pooled& operator=(movable_pooled&&) noexcept = default;
  ~movable_pooled() = default;

  Container& operator*() noexcept { return *whole(); }
  const Container& operator*() const noexcept { return *std::as_const(whole()); }
  Container* operator->() noexcept { return whole().operator->(); }
  const Container* operator->() const noexcept { return std::as_const(whole()).operator->(); }

  // As pooled::clear(). Makes container and pool anew, with the options of its
  // construction or of what was last moved here, if they were moved from.
  void clear() { owned_ != nullptr ? owned_->clear() : make(); }
  node_pool& pool() noexcept { return whole().pool(); }
  node_pool_statistics statistics() const noexcept { return whole().statistics(); }
  // As pooled<Container>::totals(), whose containers these are.
  static node_pool_totals totals() noexcept { return pooled<Container>::totals(); }

 private:
  void make() { owned_ = std::make_unique<pooled<Container>>(options_); }
  pooled<Container>& whole() const noexcept {
    HEAPWRIGHT_CHECK(owned_ != nullptr, "node_pool", "a pooled container is used after it was moved from");
    return *owned_;
  }

  node_pool_options options_;
  std::unique_ptr<pooled<Container>> owned_;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
