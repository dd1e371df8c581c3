// SPDX-License-Identifier: MIT
// A fixed array of zeroed plain structs whose pages cost nothing until they are written: there are many stack
// ids, but few stacks allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace heapwright::analyze {

template <class T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ZeroedArray() = default;
  explicit ZeroedArray(std::size_t count) : size_(count) {
    if (count != 0) {
      // calloc passes large requests to mmap, which gives untouched pages but aligns only to 16 bytes: one
      // more element leaves room to align.
      memory_.reset(std::calloc(count + 1, sizeof(T)));
      if (!memory_) {
        throw std::bad_alloc();
      }
      const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
      first_ = reinterpret_cast<T*>((address + alignof(T) - 1) / alignof(T) * alignof(T));
    }
  }

  T& operator[](std::size_t index) noexcept { return first_[index]; }
  const T& operator[](std::size_t index) const noexcept { return first_[index]; }
  std::size_t size() const noexcept { return size_; }
  T* begin() noexcept { return first_; }
  T* end() noexcept { return first_ + size_; }
  const T* begin() const noexcept { return first_; }
  const T* end() const noexcept { return first_ + size_; }

 private:
  struct Release {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<void, Release> memory_;
  T* first_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace heapwright::analyze
