// SPDX-License-Identifier: MIT
// An element and an allocator that count what lives and throw on command.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>

namespace parts_test {

struct Countdown {
  // The n-th throwing point from now throws; 0 means none does.
  static inline long left = 0;
  static void pass() {
    if (left > 0 && --left == 0) throw std::runtime_error("counted down");
  }
};

// Copies, moves and comparisons are throwing points. Owns heap memory, so a
// lost or a double destruction is seen by AddressSanitizer too.
template <bool MoveThrows>
class ThrowingValue {
 public:
  static inline long live = 0;

  ThrowingValue() : ThrowingValue(0) {}
  ThrowingValue(int number) : value_((Countdown::pass(), new int(number))) { ++live; }  // NOLINT: converts
  ThrowingValue(const ThrowingValue& other) : ThrowingValue(*other.value_) {}
  ThrowingValue(ThrowingValue&& other) noexcept(!MoveThrows) {
    if constexpr (MoveThrows) Countdown::pass();
    value_ = std::exchange(other.value_, new int(-1));
    ++live;
  }
  ThrowingValue& operator=(const ThrowingValue& other) {
    Countdown::pass();
    *value_ = *other.value_;
    return *this;
  }
  ThrowingValue& operator=(ThrowingValue&& other) noexcept(!MoveThrows) {
    if constexpr (MoveThrows) Countdown::pass();
    std::swap(value_, other.value_);
    return *this;
  }
  ~ThrowingValue() {
    delete value_;
    value_ = nullptr;
    --live;
  }
  int number() const { return *value_; }
  friend bool operator==(const ThrowingValue& a, const ThrowingValue& b) { return *a.value_ == *b.value_; }
  friend bool operator<(const ThrowingValue& a, const ThrowingValue& b) { return *a.value_ < *b.value_; }

 private:
  int* value_ = nullptr;
};

struct HeapCount {
  static inline long blocks = 0;
  static inline long bytes = 0;
  static inline long allocations = 0;
};

// Every allocation is a throwing point and is counted; stateful when Id is used.
template <class T>
struct CountingAllocator {
  using value_type = T;
  int id = 0;
  CountingAllocator() = default;
  explicit CountingAllocator(int number) : id(number) {}
  template <class U>
  CountingAllocator(const CountingAllocator<U>& other) : id(other.id) {}  // NOLINT: converts
  T* allocate(std::size_t count) {
    Countdown::pass();
    ++HeapCount::blocks;
    ++HeapCount::allocations;
    HeapCount::bytes += static_cast<long>(count * sizeof(T));
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* first, std::size_t count) {
    --HeapCount::blocks;
    HeapCount::bytes -= static_cast<long>(count * sizeof(T));
    std::allocator<T>().deallocate(first, count);
  }
  template <class U>
  bool operator==(const CountingAllocator<U>& other) const {
    return id == other.id;
  }
};

}  // namespace parts_test
