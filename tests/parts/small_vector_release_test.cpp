// SPDX-License-Identifier: MIT
// The release contract: every spelling that means "give the memory back" gives
// it back, for every kind of element and every layout.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heapwright/small_vector.hpp"
#include "throwing_value.hpp"

namespace {

using parts_test::CountingAllocator;
using parts_test::HeapCount;
using parts_test::ThrowingValue;

template <class T>
T make(int number) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::to_string(number);
  } else if constexpr (std::is_same_v<T, std::unique_ptr<int>>) {
    return std::make_unique<int>(number);
  } else {
    return T(number);
  }
}

struct alignas(64) Overaligned {
  explicit Overaligned(int value) : number(value) {}
  int number;
};

struct Tag {};

template <class V>
struct ReleaseMatrix : testing::Test {
  void SetUp() override { before = HeapCount::blocks; }
  // Not inlined: the vectors' code in each of 150 tests would be half of the compiler's work.
  [[gnu::noinline]] static V on_heap(int count = 40) {
    V vector;
    for (int i = 0; i < count; ++i) vector.push_back(make<typename V::value_type>(i));
    EXPECT_TRUE(vector.is_on_heap());
    return vector;
  }
  [[gnu::noinline]] void expect_released(const V& vector) {
    EXPECT_TRUE(vector.empty());
    EXPECT_FALSE(vector.is_on_heap());
    EXPECT_EQ(vector.capacity(), vector.inline_capacity());
    EXPECT_EQ(HeapCount::blocks, before);
  }
  long before = 0;
};

template <class T, std::size_t N>
using Fast = heapwright::small_vector<T, N, CountingAllocator<T>>;
template <class T, std::size_t N>
using Compact = heapwright::compact_vector<T, N, CountingAllocator<T>>;
template <class T, std::size_t N>
using Tracked = heapwright::tracked_small_vector<T, N, Tag, CountingAllocator<T>>;

using Matrix = testing::Types<Fast<int, 0>, Fast<int, 4>, Fast<std::string, 0>, Fast<std::string, 3>,
                              Fast<std::unique_ptr<int>, 1>, Fast<ThrowingValue<true>, 2>,
                              Fast<Overaligned, 2>, Compact<int, 0>, Compact<int, 1>, Compact<std::string, 2>,
                              Compact<std::unique_ptr<int>, 1>, Compact<ThrowingValue<true>, 2>,
                              Compact<Overaligned, 1>, Tracked<std::string, 2>>;
TYPED_TEST_SUITE(ReleaseMatrix, Matrix);

TYPED_TEST(ReleaseMatrix, ClearAndShrinkToFit) {
  TypeParam v = this->on_heap();
  v.clear();
  EXPECT_TRUE(v.is_on_heap()) << "clear() alone keeps the buffer";
  v.shrink_to_fit();
  this->expect_released(v);
}
TYPED_TEST(ReleaseMatrix, SwapIntoTemporary) {
  TypeParam v = this->on_heap();
  TypeParam().swap(v);
  this->expect_released(v);
}
TYPED_TEST(ReleaseMatrix, SwapWithTemporary) {
  TypeParam v = this->on_heap();
  {
    TypeParam empty;
    using std::swap;
    swap(v, empty);
  }
  this->expect_released(v);
}
TYPED_TEST(ReleaseMatrix, AssignTemporary) {
  TypeParam v = this->on_heap();
  v = TypeParam();
  this->expect_released(v);
}
TYPED_TEST(ReleaseMatrix, AssignBraces) {
  TypeParam v = this->on_heap();
  if constexpr (std::is_copy_constructible_v<typename TypeParam::value_type>) {
    v = {};
  } else {
    v = TypeParam{};
  }
  this->expect_released(v);
}
TYPED_TEST(ReleaseMatrix, MoveConstructFrom) {
  TypeParam v = this->on_heap();
  { TypeParam taken(std::move(v)); }
  this->expect_released(v);  // NOLINT: its moved-from state is the contract
}
TYPED_TEST(ReleaseMatrix, MoveAssignFrom) {
  TypeParam v = this->on_heap();
  {
    TypeParam taken = this->on_heap(50);
    taken = std::move(v);
    EXPECT_EQ(taken.size(), 40U);
  }
  this->expect_released(v);  // NOLINT
}
TYPED_TEST(ReleaseMatrix, Exchange) {
  TypeParam v = this->on_heap();
  static_cast<void>(std::exchange(v, TypeParam()));
  this->expect_released(v);
}
TYPED_TEST(ReleaseMatrix, ExplicitRelease) {
  TypeParam v = this->on_heap();
  v.release();
  this->expect_released(v);
}
TYPED_TEST(ReleaseMatrix, AssignShorterTemporaryReturnsInline) {
  TypeParam v = this->on_heap();
  TypeParam shorter;
  if (shorter.inline_capacity() == 0) return;
  shorter.push_back(make<typename TypeParam::value_type>(7));
  v = std::move(shorter);
  EXPECT_EQ(v.size(), 1U);
  EXPECT_FALSE(v.is_on_heap());
  EXPECT_EQ(HeapCount::blocks, this->before);
}
TYPED_TEST(ReleaseMatrix, UsableAgainAfterwards) {
  TypeParam v = this->on_heap();
  v.release();
  for (int i = 0; i < 20; ++i) v.push_back(make<typename TypeParam::value_type>(i));
  EXPECT_EQ(v.size(), 20U);
}

TEST(SmallVectorRelease, ThroughTheReferenceOfAnyN) {
  const long before = HeapCount::blocks;
  Fast<std::string, 2> v;
  heapwright::small_vector_ref<std::string, CountingAllocator<std::string>> ref = v;
  for (int i = 0; i < 9; ++i) ref.push_back("element");
  EXPECT_TRUE(v.is_on_heap());
  ref.release();
  EXPECT_FALSE(v.is_on_heap());
  EXPECT_EQ(HeapCount::blocks, before);
}

TEST(SmallVectorRelease, ShrinkWithHysteresis) {
  Fast<int, 4> v;
  v.reserve(1000);
  v.resize(600);
  EXPECT_FALSE(v.shrink_if_wasteful()) << "more than half is used";
  v.resize(400);
  EXPECT_TRUE(v.shrink_if_wasteful());
  EXPECT_EQ(v.capacity(), 501U);
  EXPECT_FALSE(v.shrink_if_wasteful()) << "the headroom is kept";
  v.resize(3);
  EXPECT_TRUE(v.shrink_if_wasteful());
  EXPECT_TRUE(v.is_inline());
  v.resize(9);
  v.resize(1);
  EXPECT_FALSE(v.shrink_if_wasteful()) << "too little to gain";
}

}  // namespace
