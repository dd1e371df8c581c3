// SPDX-License-Identifier: MIT
// The source of a node_pool's pages: spans of several pages, each one block of
// upstream. With single page-aligned allocations glibc does not reuse the hole of one
// page for the next: a program that fills and empties its trees took twice their
// memory.
//
// A span's size and its number of pages do not depend on addresses, so every run of a
// program makes the same requests.
//
// A span without a page in use is returned to upstream. Free pages of other spans are
// returned to the kernel when there are many (too_many_idle).
#ifndef HEAPWRIGHT_DETAIL_NODE_SPANS_HPP
#define HEAPWRIGHT_DETAIL_NODE_SPANS_HPP

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <utility>

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

// The header in front of a span's pages. A set has one bit per page.
struct alignas(16) node_span {
  node_span* previous;  // in the list of spans with a free page
  node_span* next;
  std::byte* first_page;
  std::size_t bytes;  // from upstream
  std::uint64_t all;
  std::uint64_t used;
  std::uint64_t idle;  // free and resident. Other free pages are untouched or purged.
  const void* owner;
};

class node_spans {
 public:
  // purges: whether free pages may be returned to the kernel.
  node_spans(std::pmr::memory_resource* upstream, std::size_t page_bytes, bool purges) noexcept
      : upstream_(upstream), page_bytes_(page_bytes), purges_(purges) {}

  std::pmr::memory_resource* upstream() const noexcept { return upstream_; }
  // Whether the span belongs here; for checks.
  bool has(const node_span* span) const noexcept { return span->owner == this; }
  std::size_t retained_bytes() const noexcept { return retained_bytes_; }
  std::size_t idle_pages() const noexcept { return idle_pages_; }

  struct taken {
    void* page;
    node_span* span;
  };
  // Strong guarantee when upstream throws.
  taken take() {
    if (open_ == nullptr) add_span();
    node_span* span = open_;
    const std::uint64_t choice = span->idle != 0 ? span->idle : span->all & ~span->used;
    const std::uint64_t page = choice & (0 - choice);
    if (span->idle != 0) --idle_pages_;
    span->idle &= ~page;
    span->used |= page;
    ++used_pages_;
    if (span->used == span->all) close(span);
    return {span->first_page + page_bytes_ * static_cast<std::size_t>(std::countr_zero(page)), span};
  }
  void give(void* memory, node_span* span) noexcept {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(memory) - span->first_page);
    const std::uint64_t page = std::uint64_t{1} << (offset / page_bytes_);
    if (span->used == span->all) open(span);
    span->used &= ~page;
    span->idle |= page;
    --used_pages_;
    ++idle_pages_;
    const bool is_only_one = open_ == span && span->next == nullptr;
    if (span->used == 0 && !is_only_one) end_span(span);
    if (purges_ && too_many_idle()) purge();
  }
  // Returns all spans without a page in use.
  void shrink() noexcept {
    for (node_span* span = open_; span != nullptr;) {
      node_span* next = span->next;
      if (span->used == 0) end_span(span);
      span = next;
    }
    if (purges_) purge();
  }

 private:
  static constexpr std::size_t first_bytes = 32 * 1024;
  // glibc maps each block of 128 KiB or more separately: only in large pools.
  static constexpr std::size_t usual_bytes = 112 * 1024;
  static constexpr std::size_t most_bytes = 1024 * 1024;
  static constexpr std::size_t least_purged_bytes = 1024 * 1024;

  // A page fault costs more than a resident free page: purge only when two thirds of the pages are free, and
  // more than 1 MiB.
  bool too_many_idle() const noexcept {
    return idle_pages_ * page_bytes_ > std::max(used_pages_ * page_bytes_ * 2, least_purged_bytes);
  }
  void purge() noexcept {
    const auto kernel_page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    for (node_span* span = open_; span != nullptr; span = span->next) {
      for (std::uint64_t left = span->idle; left != 0;) {
        const int first = std::countr_zero(left);
        const int count = std::countr_one(left >> first);
        std::byte* begin = span->first_page + static_cast<std::size_t>(first) * page_bytes_;
        give_to_kernel(begin, begin + static_cast<std::size_t>(count) * page_bytes_, kernel_page);
        left &= ~(((std::uint64_t{1} << count) - 1) << first);
      }
      span->idle = 0;
    }
    idle_pages_ = 0;
  }

  // Only whole kernel pages: the kernel would round up, into memory in use.
  static void give_to_kernel(std::byte* begin, std::byte* end, std::uintptr_t kernel_page) noexcept {
    begin += (0 - reinterpret_cast<std::uintptr_t>(begin)) & (kernel_page - 1);
    end -= reinterpret_cast<std::uintptr_t>(end) & (kernel_page - 1);
    if (begin < end) madvise(begin, static_cast<std::size_t>(end - begin), MADV_DONTNEED);
  }

  // Spans double in size up to usual_bytes, then grow to a 16th of the pool. Alignment costs one page per
  // span.
  void add_span() {
    const std::size_t span_bytes = std::clamp(retained_bytes_ / 16, next_bytes_, most_bytes);
    const std::size_t pages = std::clamp<std::size_t>(span_bytes / page_bytes_, 2, 64) - 1;
    const std::size_t bytes = sizeof(node_span) + (pages + 1) * page_bytes_ - alignof(node_span);
    auto* memory = static_cast<std::byte*>(upstream_->allocate(bytes, alignof(node_span)));
    retained_bytes_ += bytes;
    next_bytes_ = std::min(next_bytes_ * 2, usual_bytes);
    std::byte* first = memory + sizeof(node_span);
    first += (0 - reinterpret_cast<std::uintptr_t>(first)) & (page_bytes_ - 1);
    open(::new (memory)
             node_span{nullptr, nullptr, first, bytes, (std::uint64_t{1} << pages) - 1, 0, 0, this});
  }
  void end_span(node_span* span) noexcept {
    close(span);
    retained_bytes_ -= span->bytes;
    idle_pages_ -= static_cast<std::size_t>(std::popcount(span->idle));
    upstream_->deallocate(span, span->bytes, alignof(node_span));
  }
  void open(node_span* span) noexcept {
    span->previous = nullptr;
    span->next = std::exchange(open_, span);
    if (span->next != nullptr) span->next->previous = span;
  }
  void close(node_span* span) noexcept {
    (span->previous != nullptr ? span->previous->next : open_) = span->next;
    if (span->next != nullptr) span->next->previous = span->previous;
  }

  std::pmr::memory_resource* upstream_;
  std::size_t page_bytes_;
  bool purges_;
  node_span* open_ = nullptr;  // spans with a free page
  std::size_t retained_bytes_ = 0;
  std::size_t used_pages_ = 0;
  std::size_t idle_pages_ = 0;
  std::size_t next_bytes_ = first_bytes;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
