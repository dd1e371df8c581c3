// SPDX-License-Identifier: MIT
// An upstream for arenas and pools that asks the kernel for huge pages: one
// page fault and one TLB entry per 2 MiB instead of 512. Linux.
// Documentation: docs/parts/arena.md
#ifndef HEAPWRIGHT_HUGE_PAGES_HPP
#define HEAPWRIGHT_HUGE_PAGES_HPP

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

#include "heapwright/detail/check.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// Blocks of at least 1 MiB occupy whole huge pages and are unmapped when freed;
// smaller ones come from new. Throws std::bad_alloc. Thread-safe. The kernel may
// fall back to small pages (/sys/kernel/mm/transparent_hugepage/enabled).
class huge_page_resource : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t page_bytes = std::size_t{2} << 20;

  // One for the whole program. Never destroyed: static objects may free into it at exit.
  static huge_page_resource* instance() noexcept {
    alignas(huge_page_resource) static std::byte room[sizeof(huge_page_resource)];
    static auto* const own = ::new (static_cast<void*>(room)) huge_page_resource;
    return own;
  }

 private:
  static bool is_mapped(std::size_t bytes) noexcept { return bytes >= page_bytes / 2; }
  static std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + page_bytes - 1) & ~(page_bytes - 1);
  }

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (!is_mapped(bytes)) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    if (bytes > PTRDIFF_MAX / 2 || alignment > page_bytes) detail::throw_bad_alloc();
    const std::size_t length = rounded(bytes);
    // One huge page more, for alignment.
    void* found =
        mmap(nullptr, length + page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) detail::throw_bad_alloc();
    auto* begin = static_cast<std::byte*>(found);
    const std::size_t before =
        (page_bytes - reinterpret_cast<std::uintptr_t>(begin) % page_bytes) % page_bytes;
    if (before != 0) munmap(begin, before);
    munmap(begin + before + length, page_bytes - before);
    madvise(begin + before, length, MADV_HUGEPAGE);
    return begin + before;
  }
  void do_deallocate(void* first, std::size_t bytes, std::size_t alignment) noexcept override {
    if (!is_mapped(bytes)) return std::pmr::new_delete_resource()->deallocate(first, bytes, alignment);
    munmap(first, rounded(bytes));
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
