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

// One operation of std::vector's interface, the same for both vectors.
template <class V>
void apply(V& v, const Step& step) {
  using T = typename V::value_type;
  const auto at = [&](unsigned n) { return static_cast<std::ptrdiff_t>(n % (v.size() + 1)); };
  const auto existing = [&](unsigned n) { return static_cast<std::size_t>(n % v.size()); };
  const std::vector<T> some = {value_of<T>(step.a), value_of<T>(step.b), value_of<T>(step.a + 1)};
  switch (step.kind % 22) {
    case 0: v.push_back(value_of<T>(step.a)); break;
    case 1: v.emplace_back(value_of<T>(step.b)); break;
    case 2: if (!v.empty()) v.pop_back(); break;
    case 3: v.insert(v.begin() + at(step.a), value_of<T>(step.b)); break;
    case 4: if (!v.empty()) v.erase(v.begin() + static_cast<std::ptrdiff_t>(existing(step.a))); break;
    case 5: v.resize(step.a % 20); break;
    case 6: v.resize(step.a % 20, value_of<T>(step.b)); break;
    case 7: v.insert(v.begin() + at(step.a), some.begin(), some.end()); break;
    case 8: v.insert(v.begin() + at(step.a), step.b % 6, value_of<T>(step.b)); break;
    case 9: if (!v.empty()) v.push_back(v[existing(step.a)]); break;
    case 10: if (!v.empty()) v.insert(v.begin() + at(step.b), v[existing(step.a)]); break;
    case 11: if (!v.empty()) v.insert(v.begin() + at(step.b), step.a % 5, v[existing(step.a)]); break;
    case 12: if (!v.empty()) v.assign(step.b % 9, T(v[existing(step.a)])); break;
    case 13: v.assign(some.begin(), some.end()); break;
    case 14: v.shrink_to_fit(); break;
    case 15: v.reserve(step.a % 30); break;
    case 16: { V copy(v); v.clear(); v = copy; break; }
    case 17: { V other(std::move(v)); v = std::move(other); break; }
    case 18: { V other(some.begin(), some.begin() + step.a % 3); other.swap(v); break; }
    case 19: {
      const auto first = at(step.a);
      const auto last = first + static_cast<std::ptrdiff_t>(step.b % (v.size() - static_cast<std::size_t>(first) + 1));
      v.erase(v.begin() + first, v.begin() + last);
      break;
    }
    case 20: v.clear(); break;
    default: v = {value_of<T>(step.a), value_of<T>(step.b)}; break;
  }
}

template <class V>
struct Differential : testing::Test {};
template <class T, std::size_t N>
using Fast = heapwright::small_vector<T, N, CountingAllocator<T>>;
template <class T, std::size_t N>
using Compact = heapwright::compact_vector<T, N, CountingAllocator<T>>;
using Vectors = testing::Types<Fast<int, 0>, Fast<int, 5>, Fast<std::string, 2>, Fast<ThrowingValue<false>, 1>,
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
          << "seed " << seed << ", step " << i << ", kind " << step.kind % 22;
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

// Whatever throws, wherever: nothing leaks, nothing dies twice, the vector is
// usable; growth at the end and shrinking leave it as it was.
TYPED_TEST(Throwing, AtEveryPoint) {
  using T = typename TypeParam::value_type;
  for (unsigned kind = 0; kind < 22; ++kind) {
    for (unsigned size = 0; size < 9; ++size) {
      for (long point = 1; point < 200; ++point) {
        const long live = T::live;
        const long blocks = HeapCount::blocks;
        bool has_thrown = false;
        {
          TypeParam v;
          for (unsigned i = 0; i < size; ++i) v.push_back(T(static_cast<int>(i)));
          const std::vector<T> before(v.begin(), v.end());
          Countdown::left = point;
          try {
            apply(v, {kind, 5, 7});
          } catch (const std::runtime_error&) {
            has_thrown = true;
          }
          Countdown::left = 0;
          const bool is_strong = kind <= 1 || kind == 5 || kind == 6 || kind == 9 || kind == 14 || kind == 15;
          if (has_thrown && is_strong) {
            ASSERT_TRUE(std::equal(v.begin(), v.end(), before.begin(), before.end()))
                << "kind " << kind << ", size " << size << ", point " << point;
          }
          v.push_back(T(1));
        }
        ASSERT_EQ(T::live, live) << "kind " << kind << ", size " << size << ", point " << point;
        ASSERT_EQ(HeapCount::blocks, blocks) << "kind " << kind << ", size " << size << ", point " << point;
        if (!has_thrown) break;
      }
    }
  }
}

}  // namespace
