// SPDX-License-Identifier: MIT
// An array of zeroed plain structs directly from the kernel: it grows without copies, large ones use huge
// pages, and pages cost nothing until they are written. malloc would have to clear recycled memory, touching
// all of it. Not thread-safe. Throws std::bad_alloc.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace heapwright::order {

template <class T>
class MappedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit MappedArray(std::size_t count) : count_(count), memory_(map(count)) {}
  ~MappedArray() { munmap(memory_, count_ * sizeof(T)); }
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;

  // Keeps the content; new elements are zero. Invalidates references.
  void grow(std::size_t count) {
    memory_ = checked(mremap(memory_, count_ * sizeof(T), count * sizeof(T), MREMAP_MAYMOVE), count);
    count_ = count;
  }
  // As if newly constructed.
  void reset(std::size_t count) {
    auto* fresh = map(count);
    munmap(memory_, count_ * sizeof(T));
    memory_ = fresh;
    count_ = count;
  }

  void swap(MappedArray& other) noexcept {
    std::swap(count_, other.count_);
    std::swap(memory_, other.memory_);
  }

  std::size_t size() const noexcept { return count_; }
  T& operator[](std::size_t index) noexcept { return memory_[index]; }
  const T& operator[](std::size_t index) const noexcept { return memory_[index]; }

 private:
  static constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

  static T* map(std::size_t count) {
    return checked(
        mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), count);
  }
  static T* checked(void* memory, std::size_t count) {
    if (memory == MAP_FAILED) {
      throw std::bad_alloc();
    }
    if (count * sizeof(T) >= huge_page_bytes) {
      // Random access over many megabytes: without huge pages each lookup also pays for a page walk. If
      // refused, only speed suffers.
      madvise(memory, count * sizeof(T), MADV_HUGEPAGE);
    }
    return static_cast<T*>(memory);
  }

  std::size_t count_;
  T* memory_;
};

}  // namespace heapwright::order
