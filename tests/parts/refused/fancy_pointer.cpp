// SPDX-License-Identifier: MIT
// An allocator whose pointer is a class: VECTOR says so instead of failing somewhere inside.
#include <heapwright/small_vector.hpp>
#include <memory>

template <class T>
struct fancy_pointer {
  T* at = nullptr;
};
template <class T>
struct fancy_allocator {
  using value_type = T;
#ifdef FANCY
  using pointer = fancy_pointer<T>;
#else
  using pointer = T*;
#endif
  pointer allocate(std::size_t count) { return {std::allocator<T>().allocate(count)}; }
  void deallocate(pointer, std::size_t) {}
  bool operator==(const fancy_allocator&) const = default;
};

int main() { return static_cast<int>(sizeof(heapwright::VECTOR<int, 4, fancy_allocator<int>>)) == 0; }
