// SPDX-License-Identifier: MIT
// Counts a container's requests, in a pass separate from the timed one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace heapwright::lab {

struct Requests {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

// Empty like std::allocator, so that its owner has the same size; hence one count for all, used by one thread
// at a time.
template <typename T>
struct CountingAllocator {
  using value_type = T;

  CountingAllocator() = default;
  template <typename Other>
  CountingAllocator(const CountingAllocator<Other>&) noexcept {}

  T* allocate(std::size_t count);
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory); }

  template <typename Other>
  bool operator==(const CountingAllocator<Other>&) const noexcept {
    return true;
  }
};

inline Requests counted_requests;

template <typename T>
T* CountingAllocator<T>::allocate(std::size_t count) {
  ++counted_requests.calls;
  counted_requests.bytes += count * sizeof(T);
  return static_cast<T*>(::operator new(count * sizeof(T)));
}

}  // namespace heapwright::lab
