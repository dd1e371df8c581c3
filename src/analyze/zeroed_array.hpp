// SPDX-License-Identifier: MIT
// A fixed array of zeroed plain structs whose pages cost nothing until they
// are written: stack ids are many, stacks that allocate are few.
#pragma once

#include <cstddef>
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
      // calloc hands large requests to mmap, which gives untouched pages.
      memory_.reset(static_cast<T*>(std::calloc(count, sizeof(T))));
      if (!memory_) {
        throw std::bad_alloc();
      }
    }
  }

  T& operator[](std::size_t index) noexcept { return memory_.get()[index]; }
  const T& operator[](std::size_t index) const noexcept { return memory_.get()[index]; }
  std::size_t size() const noexcept { return size_; }
  T* begin() noexcept { return memory_.get(); }
  T* end() noexcept { return memory_.get() + size_; }
  const T* begin() const noexcept { return memory_.get(); }
  const T* end() const noexcept { return memory_.get() + size_; }

 private:
  struct Release {
    void operator()(T* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<T, Release> memory_;
  std::size_t size_ = 0;
};

}  // namespace heapwright::analyze
