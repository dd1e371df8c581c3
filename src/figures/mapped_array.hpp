// SPDX-License-Identifier: MIT
// A measuring program's own data, kept out of the heap under test.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <span>
#include <type_traits>

#include "figures/refusal.hpp"

namespace heapwright::figures {

// A fixed number of zeroed elements in their own pages, all resident from the start, so that they neither
// fault nor grow during a measurement.
template <typename T>
class MappedArray {
  static_assert(std::is_trivially_destructible_v<T>, "nobody runs destructors here");

 public:
  // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
  explicit MappedArray(std::size_t count) : count_(count), bytes_(count * sizeof(T) + 1) {
    void* memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) refuse("cannot get %zu bytes of memory for bookkeeping", bytes_);
    elements_ = static_cast<T*>(memory);
  }
  ~MappedArray() { munmap(static_cast<void*>(elements_), bytes_); }
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;

  std::size_t size() const noexcept { return count_; }
  T& operator[](std::size_t index) noexcept { return elements_[index]; }
  const T& operator[](std::size_t index) const noexcept { return elements_[index]; }
  T* begin() noexcept { return elements_; }
  T* end() noexcept { return elements_ + count_; }
  std::span<const T> first(std::size_t count) const noexcept { return {elements_, count}; }

 private:
  std::size_t count_;
  std::size_t bytes_;
  T* elements_;
};

}  // namespace heapwright::figures
