// SPDX-License-Identifier: MIT
// Random operations on a vector and on std::vector, compared after each; and
// the same operations with an exception at every throwing point.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "heapwright/small_vector.hpp"
#include "throwing_value.hpp"

namespace {

using parts_test::Countdown;
using parts_test::CountingAllocator;
using parts_test::HeapCount;
using parts_test::ThrowingValue;

template <class T>
T value_of(unsigned number) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(number % 40, static_cast<char>('a' + number % 26));
  } else {
    return T(static_cast<int>(number % 1000));
  }
}

struct Step {
  unsigned kind;
  unsigned a;
  unsigned b;
};

template <class V>
std::ptrdiff_t position(const V& v, unsigned n) {
  return static_cast<std::ptrdiff_t>(n % (v.size() + 1));
}
template <class V>
typename V::value_type& some_element(V& v, unsigned n) {
  return v[n % v.size()];
}

constexpr unsigned kinds = 22;
constexpr bool is_strong(unsigned kind) { return kind <= 7; }  // all or nothing when it throws

template <class V>
void change_end(V& v, const Step& step) {
  using T = typename V::value_type;
  switch (step.kind % kinds) {
    case 0:
      return v.push_back(value_of<T>(step.a));
    case 1:
      return static_cast<void>(v.emplace_back(value_of<T>(step.b)));
    case 2:
      return v.empty() ? v.push_back(value_of<T>(step.a)) : v.push_back(some_element(v, step.a));
    case 3:
      return v.resize(step.a % 20);
    case 4:
      return v.resize(step.a % 20, value_of<T>(step.b));
    case 5:
      return v.empty() ? v.clear() : v.resize(step.a % 20, some_element(v, step.b));
    case 6:
      return v.shrink_to_fit();
    case 7:
      return v.reserve(step.a % 30);
    case 8:
      return v.empty() ? v.clear() : v.pop_back();
    default:
      return v.clear();
  }
}

template <class V>
void change_inside(V& v, const Step& step) {
  using T = typename V::value_type;
  const auto at = v.begin() + position(v, step.a);
  const std::vector<T> some = {value_of<T>(step.a), value_of<T>(step.b), value_of<T>(step.a + 1)};
  switch (step.kind % kinds) {
    case 10:
      return static_cast<void>(v.insert(at, value_of<T>(step.b)));
    case 11:
      return static_cast<void>(v.insert(at, some.begin(), some.end()));
    case 12:
      return static_cast<void>(v.insert(at, step.b % 6, value_of<T>(step.b)));
    case 13:
      return v.empty() ? v.clear() : static_cast<void>(v.insert(at, some_element(v, step.b)));
    case 14:
      return v.empty() ? v.clear() : static_cast<void>(v.insert(at, step.a % 5, some_element(v, step.b)));
    case 15:
      return at == v.end() ? v.clear() : static_cast<void>(v.erase(at));
    default: {
      const auto rest = static_cast<unsigned>(v.end() - at);
      v.erase(at, at + static_cast<std::ptrdiff_t>(step.b % (rest + 1)));
    }
  }
}

template <class V>
void change_all(V& v, const Step& step) {
  using T = typename V::value_type;
  const std::vector<T> some = {value_of<T>(step.a), value_of<T>(step.b), value_of<T>(step.a + 1)};
  V other(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(step.a % 4));
  switch (step.kind % kinds) {
    case 17:
      return v.assign(step.b % 9, v.empty() ? value_of<T>(step.a) : some_element(v, step.a));
    case 18:
      return v.assign(some.begin(), some.end());
    case 19:
      other = v;
      v.clear();
      v = other;
      return;
    case 20:
      other.swap(v);
      v = std::move(other);
      return;
    default:
      v = {value_of<T>(step.a), value_of<T>(step.b)};
  }
}

// One operation of std::vector's interface, the same for both vectors.
template <class V>
void apply(V& v, const Step& step) {
  const unsigned kind = step.kind % kinds;
  kind < 10 ? change_end(v, step) : kind < 17 ? change_inside(v, step) : change_all(v, step);
}

template <class V>
struct Differential : testing::Test {};
template <class T, std::size_t N>
using Fast = heapwright::small_vector<T, N, CountingAllocator<T>>;
template <class T, std::size_t N>
using Compact = heapwright::compact_vector<T, N, CountingAllocator<T>>;
using Vectors =
    testing::Types<Fast<int, 0>, Fast<int, 5>, Fast<std::string, 2>, Fast<ThrowingValue<false>, 1>,
                   Compact<int, 1>, Compact<std::string, 0>, Compact<ThrowingValue<true>, 3>>;
TYPED_TEST_SUITE(Differential, Vectors);

TYPED_TEST(Differential, SameAsStdVector) {
  using T = typename TypeParam::value_type;
  const long blocks = HeapCount::blocks;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    TypeParam ours;
    std::vector<T> model;
    for (int i = 0; i < 120; ++i) {
      const Step step{static_cast<unsigned>(random()), static_cast<unsigned>(random() % 1000),
                      static_cast<unsigned>(random() % 1000)};
      apply(ours, step);
      apply(model, step);
      ASSERT_TRUE(std::equal(ours.begin(), ours.end(), model.begin(), model.end()))
          << "seed " << seed << ", step " << i << ", kind " << step.kind % kinds;
      ASSERT_EQ(ours.is_on_heap(), ours.capacity() > ours.inline_capacity());
      ASSERT_LE(ours.size(), ours.capacity());
    }
  }
  EXPECT_EQ(HeapCount::blocks, blocks);
}

template <class V>
struct Throwing : testing::Test {};
using ThrowingVectors = testing::Types<Fast<ThrowingValue<false>, 0>, Fast<ThrowingValue<false>, 3>,
                                       Fast<ThrowingValue<true>, 3>, Compact<ThrowingValue<true>, 2>>;
TYPED_TEST_SUITE(Throwing, ThrowingVectors);

// One change of a vector of `size` that throws at `point`, where there is such a point.
template <class Vector>
void throw_once(unsigned kind, unsigned size, long point, bool& has_thrown) {
  using T = typename Vector::value_type;
  Vector v;
  for (unsigned i = 0; i < size; ++i) v.push_back(T(static_cast<int>(i)));
  const std::vector<T> before(v.begin(), v.end());
  has_thrown = false;
  Countdown::left = point;
  try {
    apply(v, {kind, 5, 7});
  } catch (const std::runtime_error&) {
    has_thrown = true;
  }
  Countdown::left = 0;
  if (has_thrown && is_strong(kind)) {
    ASSERT_TRUE(std::equal(v.begin(), v.end(), before.begin(), before.end()));
  }
  v.push_back(T(1));
}

// Whatever throws, wherever: nothing leaks, nothing dies twice, the vector is
// usable; growth at the end and shrinking leave it as it was.
TYPED_TEST(Throwing, AtEveryPoint) {
  using T = typename TypeParam::value_type;
  for (unsigned kind = 0; kind < kinds; ++kind) {
    for (unsigned size = 0; size < 9; ++size) {
      bool has_thrown = true;
      for (long point = 1; point < 200 && has_thrown; ++point) {
        SCOPED_TRACE(testing::Message() << "kind " << kind << ", size " << size << ", point " << point);
        const long live = T::live;
        const long blocks = HeapCount::blocks;
        ASSERT_NO_FATAL_FAILURE(throw_once<TypeParam>(kind, size, point, has_thrown));
        ASSERT_EQ(T::live, live);
        ASSERT_EQ(HeapCount::blocks, blocks);
      }
    }
  }
}

}  // namespace
