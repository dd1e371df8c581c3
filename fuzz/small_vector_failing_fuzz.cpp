// SPDX-License-Identifier: MIT
// Bytes as operations on small_vector and compact_vector whose allocator and
// whose elements fail now and then. What succeeds must agree with std::vector;
// growth at the end is all or nothing; after the rest all elements are alive.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "heapwright/small_vector.hpp"

namespace {

long until_failure = 0;  // 0: never
long live_buffers = 0;
long live_elements = 0;

void may_fail() {
  if (until_failure > 0 && --until_failure == 0) throw std::bad_alloc();
}

template <class T>
struct Allocator {
  using value_type = T;
  Allocator() = default;
  template <class U>
  Allocator(const Allocator<U>&) {}  // NOLINT: converts
  T* allocate(std::size_t count) {
    may_fail();
    ++live_buffers;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* first, std::size_t count) noexcept {
    --live_buffers;
    std::allocator<T>().deallocate(first, count);
  }
  bool operator==(const Allocator&) const { return true; }
};

// Its address tells an element that was moved by its bytes, or never made.
template <bool moves_safely>
struct Element {
  unsigned number;
  const Element* self = this;
  explicit Element(unsigned n) : number(n) { made(); }
  Element(const Element& other) : number(other.checked()) { made(); }
  Element(Element&& other) noexcept(moves_safely) : number(other.checked()) {
    if (!moves_safely) may_fail();
    ++live_elements;
  }
  Element& operator=(const Element& other) {
    may_fail();
    number = other.checked();
    return *this;
  }
  Element& operator=(Element&& other) noexcept(moves_safely) {
    if (!moves_safely) may_fail();
    number = other.checked();
    return *this;
  }
  ~Element() {
    checked();
    self = nullptr;
    --live_elements;
  }
  bool operator==(const Element& other) const { return checked() == other.checked(); }
  unsigned checked() const {
    if (self != this) std::abort();
    return number;
  }
  void made() const {
    may_fail();
    ++live_elements;
  }
};

struct Operation {
  unsigned kind, a, b;
  bool is_all_or_nothing() const { return kind < 4; }
};

template <class V>
void at_the_end(V& v, const Operation& op) {
  using T = typename V::value_type;
  switch (op.kind) {
    case 0:
      v.push_back(T(op.b));
      break;
    case 1:
      if (!v.empty()) v.push_back(v[op.a % v.size()]);
      break;
    case 2:
      v.reserve(op.a % 60);
      break;
    default:
      v.shrink_to_fit();
      break;
  }
}

template <class V>
void anywhere(V& v, const Operation& op) {
  using T = typename V::value_type;
  const auto at = v.begin() + static_cast<std::ptrdiff_t>(op.a % (v.size() + 1));
  const T value(op.b);
  const std::vector<T> some(op.b % 9, value);
  V other(v);
  switch (op.kind) {
    case 4:
      v.insert(at, value);
      break;
    case 5:
      v.insert(at, op.b % 7, v.empty() ? value : v.back());
      break;
    case 6:
      v.insert(at, some.begin(), some.end());
      break;
    case 7:
      if (!v.empty()) v.emplace(at, v.front());
      break;
    case 8:
      v.erase(at, v.end());
      break;
    case 9:
      if (at != v.end()) v.erase(at);
      break;
    case 10:
      v.resize(op.a % 50, value);
      break;
    case 11:
      v.assign(op.b % 9, value);
      break;
    case 12:
      other.push_back(value);
      v = std::move(other);
      break;
    case 13:
      other.assign(some.begin(), some.end());
      v.swap(other);
      break;
    case 14:
      v.assign(some.begin(), some.end());
      v = other;
      break;
    default:
      v = {value, T(1)};
      break;
  }
}

template <class V>
void apply(V& v, const Operation& op) {
  op.is_all_or_nothing() ? at_the_end(v, op) : anywhere(v, op);
}

template <class V, class Model>
void expect_same(const V& v, const Model& model) {
  if (!std::equal(v.begin(), v.end(), model.begin(), model.end())) std::abort();
  if (v.is_on_heap() != (v.capacity() > v.inline_capacity())) std::abort();
}

template <class V>
void run(const std::uint8_t* data, std::size_t size) {
  {
    V v;
    std::vector<typename V::value_type> model;
    for (std::size_t i = 0; i + 3 < std::min<std::size_t>(size, 1200); i += 4) {
      const Operation op{data[i] % 16U, data[i + 1], data[i + 2]};
      until_failure = std::max(0, data[i + 3] - 128);
      bool has_failed = false;
      try {
        apply(v, op);
      } catch (const std::bad_alloc&) {
        has_failed = true;
      }
      until_failure = 0;
      if (!has_failed) apply(model, op);
      if (has_failed && !op.is_all_or_nothing()) model.assign(v.begin(), v.end());
      expect_same(v, model);
      if (v.size() > 500) v.clear(), model.clear();
    }
  }
  if (live_elements != 0 || live_buffers != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Safe = Element<true>;
  using Unsafe = Element<false>;
  run<heapwright::small_vector<Safe, 3, Allocator<Safe>>>(data, size);
  run<heapwright::small_vector<Unsafe, 3, Allocator<Unsafe>>>(data, size);
  run<heapwright::compact_vector<Unsafe, 2, Allocator<Unsafe>>>(data, size);
  return 0;
}
