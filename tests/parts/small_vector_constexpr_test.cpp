// SPDX-License-Identifier: MIT
// At compile time small_vector does what std::vector does there: the same
// functions are evaluated for both, and the results must be equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "heapwright/small_vector.hpp"

namespace {

// Not trivially copyable, owns memory: a lost destruction does not compile.
class Owned {
 public:
  constexpr Owned() : Owned(0) {}
  constexpr Owned(int number) : number_(new int(number)) {}  // NOLINT: converts
  constexpr Owned(const Owned& other) : Owned(*other.number_) {}
  constexpr Owned(Owned&& other) noexcept : number_(std::exchange(other.number_, nullptr)) {}
  constexpr Owned& operator=(Owned other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  constexpr ~Owned() { delete number_; }
  constexpr operator int() const { return *number_; }  // NOLINT: converts

 private:
  int* number_;
};

struct Digest {
  std::array<unsigned long, 40> steps{};
  std::size_t count = 0;
  template <class V>
  constexpr void add(const V& vector) {
    unsigned long sum = vector.size();
    for (const auto& value : vector) sum = sum * 31 + static_cast<unsigned long>(int{value});
    steps[count++] = sum;
  }
  constexpr bool operator==(const Digest&) const = default;
};

template <class V>
constexpr void grow_and_shrink(Digest& digest) {
  V v{1, 2, 3};
  v.push_back(4);
  v.emplace_back(5);
  digest.add(v);
  v.insert(v.begin(), 9);
  v.insert(v.begin() + 2, 3, 7);
  v.insert(v.end(), {6, 8});
  v.emplace(v.begin() + 1, 5);
  digest.add(v);
  v.push_back(v.front());
  v.erase(v.begin() + 1);
  v.erase(v.begin(), v.begin() + 2);
  v.pop_back();
  digest.add(v);
  v.resize(12, 1);
  v.resize(5);
  v.resize(6);
  v.reserve(100);
  v.shrink_to_fit();
  digest.add(v);
  v.clear();
  digest.add(v);
}

template <class V>
constexpr void copy_move_and_swap(Digest& digest) {
  const V source(4, 3);
  V copy = source;
  V moved = std::move(copy);
  digest.add(moved);
  copy = source;
  copy = std::move(moved);
  moved = {8, 9};
  copy.swap(moved);
  swap(copy, moved);
  digest.add(copy);
  digest.add(moved);
  const std::array<int, 3> numbers{4, 5, 6};
  copy.assign(numbers.begin(), numbers.end());
  moved.assign(7, 2);
  digest.add(copy);
  digest.add(moved);
  digest.steps[digest.count++] = copy == moved;
  digest.steps[digest.count++] = copy < moved;
  digest.steps[digest.count++] = static_cast<unsigned long>(copy[0] * 100 + copy.at(1) * 10 + copy.back());
  digest.add(V(copy.rbegin(), copy.rend()));
  std::sort(copy.begin(), copy.end());
  digest.add(copy);
}

template <class V>
constexpr Digest digest_of() {
  Digest digest;
  grow_and_shrink<V>(digest);
  copy_move_and_swap<V>(digest);
  return digest;
}

template <class T, std::size_t N>
constexpr bool agrees = digest_of<heapwright::small_vector<T, N>>() == digest_of<std::vector<T>>();

static_assert(agrees<int, 0>);
static_assert(agrees<int, 3>);
static_assert(agrees<int, 50>);
static_assert(agrees<Owned, 0>);
static_assert(agrees<Owned, 3>);
static_assert(agrees<Owned, 50>);

// And that the digest tells what happened: at run time it is the same.
TEST(SmallVectorConstexpr, IsAsAtRunTime) {
  constexpr Digest early = digest_of<heapwright::small_vector<Owned, 3>>();
  EXPECT_EQ((digest_of<heapwright::small_vector<Owned, 3>>()), early);
  EXPECT_EQ((digest_of<heapwright::compact_vector<Owned, 3>>()), early);
  EXPECT_EQ(early.count, 15U);
  EXPECT_NE(early.steps[0], early.steps[1]);
}

}  // namespace
