// SPDX-License-Identifier: MIT
// An array of millions of elements: it grows without a second copy of them, and its beginning can be given
// back while the rest is in use.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace heapwright::collect {

template <typename T>
class LargeArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  LargeArray() = default;
  ~LargeArray() { std::free(elements_); }
  LargeArray(const LargeArray&) = delete;
  LargeArray& operator=(const LargeArray&) = delete;

  void push_back(const T& element) {
    if (size_ == room_) grow();
    new (elements_ + size_++) T(element);
  }
  // To a smaller size.
  void shrink(std::size_t size) noexcept { size_ = size; }

  T& operator[](std::size_t place) noexcept { return elements_[place]; }
  const T& operator[](std::size_t place) const noexcept { return elements_[place]; }
  T* begin() noexcept { return elements_; }
  T* end() noexcept { return elements_ + size_; }
  std::size_t size() const noexcept { return size_; }

  // The elements before this one are not used any longer.
  void give_back_before(std::size_t place) noexcept {
    const auto whole_pages = [](const T* at) {
      return (reinterpret_cast<std::uintptr_t>(at) + page_bytes - 1) / page_bytes * page_bytes;
    };
    const std::uintptr_t from = whole_pages(elements_);
    const std::uintptr_t to = whole_pages(elements_ + place) - page_bytes;
    if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }

 private:
  static constexpr std::uintptr_t page_bytes = 4096;
  static constexpr std::size_t least_room = 1024;

  // The allocator lets the kernel move large blocks.
  void grow() {
    const std::size_t room = std::max(least_room, room_ * 2);
    void* const made = std::realloc(static_cast<void*>(elements_), room * sizeof(T));
    if (made == nullptr) throw std::bad_alloc();
    elements_ = static_cast<T*>(made);
    room_ = room;
  }

  T* elements_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

}  // namespace heapwright::collect
