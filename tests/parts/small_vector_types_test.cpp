// SPDX-License-Identifier: MIT
// Element types and allocators at the edge of what a vector may hold, and
// vectors of different N together.
// length: one kind of element or allocator for each test
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include "heapwright/small_vector.hpp"
#include "throwing_value.hpp"

namespace {

using heapwright::compact_vector;
using heapwright::small_vector;
using heapwright::small_vector_ref;
using heapwright::tracked_small_vector;

template <class V, class... Args>
concept emplaces = requires(V& v, Args... args) {
  v.emplace_back(args...);
  v.emplace(v.begin(), args...);
};
static_assert(emplaces<small_vector<int*, 2>, int*>);
static_assert(!emplaces<small_vector<int*, 2>, double*>, "a pointer is not cast");
static_assert(!emplaces<compact_vector<int*, 2>, void*>);
static_assert(emplaces<small_vector<int, 2>, double> && emplaces<small_vector<int, 2>>);

TEST(SmallVectorTypes, DeducesAsStdVectorDoes) {
  small_vector words{"hello", "world"};
  static_assert(std::is_same_v<decltype(words)::value_type, const char*>);
  EXPECT_EQ(words.size(), 2U);
  const std::vector<int> source = {1, 2, 3};
  small_vector copied(source.begin(), source.end());
  static_assert(std::is_same_v<decltype(copied), small_vector<int>>);
  small_vector filled(3, 'x');
  static_assert(std::is_same_v<decltype(filled), small_vector<char>>);
  EXPECT_EQ(filled.size(), 3U);
  const parts_test::CountingAllocator<int> alloc(7);
  small_vector with(source.begin(), source.end(), alloc);
  static_assert(std::is_same_v<decltype(with)::allocator_type, parts_test::CountingAllocator<int>>);
  EXPECT_EQ(with.get_allocator().id, 7);
  small_vector listed({1, 2}, alloc);
  EXPECT_EQ(listed.size(), 2U);
  small_vector ranged(heapwright::from_range, source, alloc);
  EXPECT_EQ(ranged.get_allocator().id, 7);
  small_vector again{ranged};
  static_assert(std::is_same_v<decltype(again), decltype(ranged)>);
  compact_vector compact{1, 2, 3};
  static_assert(std::is_same_v<decltype(compact), compact_vector<int>>);
  compact_vector compact_copy(source.begin(), source.end());
  EXPECT_EQ(compact, compact_copy);
}

struct ConstMember {
  const int number;
  std::string text = {};
};
struct Reference {
  int& to;
};

template <template <class, std::size_t, class> class V>
void holds_what_cannot_be_assigned() {
  static int numbers[64];
  V<Reference, 2, std::allocator<Reference>> references;
  V<ConstMember, 2, std::allocator<ConstMember>> constants;
  for (int i = 0; i < 20; ++i) {
    references.push_back(Reference{numbers[i]});
    constants.push_back(ConstMember{i});
  }
  references.insert(references.begin(), Reference{numbers[40]});
  constants.insert(constants.begin() + 1, ConstMember{40});
  const auto copies = constants;
  auto moved = std::move(constants);
  constants = copies;
  constants.erase(constants.begin());
  EXPECT_EQ(constants[0].number, 40);
  EXPECT_EQ(constants.size(), 20U);
  EXPECT_EQ(moved[20].number, 19);
  const auto more = references;
  EXPECT_EQ(&more[0].to, &numbers[40]);
  EXPECT_EQ(&more[20].to, &numbers[19]);
}
TEST(SmallVectorTypes, HoldWhatCannotBeAssigned) {
  holds_what_cannot_be_assigned<small_vector>();
  holds_what_cannot_be_assigned<compact_vector>();
}

TEST(SmallVectorTypes, HoldWhatCannotMove) {
  const small_vector<std::mutex, 4> few(3);
  const small_vector<std::mutex, 1> many(5);
  const compact_vector<std::mutex> compact(5);
  EXPECT_TRUE(few.is_inline());
  EXPECT_EQ(many.size() + compact.size(), 10U);
}

struct MoveOnlyBytes {
  explicit MoveOnlyBytes(int n) : number(n) {}
  MoveOnlyBytes(const MoveOnlyBytes&) = delete;
  MoveOnlyBytes(MoveOnlyBytes&&) = default;
  MoveOnlyBytes& operator=(const MoveOnlyBytes&) = delete;
  MoveOnlyBytes& operator=(MoveOnlyBytes&&) = default;
  int number;
};
static_assert(std::is_trivially_copyable_v<MoveOnlyBytes>);

TEST(SmallVectorTypes, HoldMoveOnlyBytes) {
  small_vector<MoveOnlyBytes, 2> v;
  for (int i = 0; i < 9; ++i) v.emplace_back(i);
  v.push_back(MoveOnlyBytes(9));
  v.emplace(v.begin(), 10);
  v.insert(v.begin() + 1, MoveOnlyBytes(11));
  v.erase(v.begin() + 2);
  const auto w = std::move(v);
  EXPECT_EQ(w.size(), 11U);
  EXPECT_EQ(w[0].number + w[1].number + w[2].number, 22);
}

// Its move may throw, as that of a class whose author forgot noexcept.
struct CountsCopies {
  static inline long copies = 0;
  CountsCopies() = default;
  CountsCopies(const CountsCopies& other) : number(other.number) { ++copies; }
  CountsCopies(CountsCopies&& other) noexcept(false) : number(other.number) {}
  CountsCopies& operator=(const CountsCopies&) = default;
  CountsCopies& operator=(CountsCopies&&) = default;
  ~CountsCopies() = default;
  int number = 7;
};

template <template <class, std::size_t, class> class V>
void moves_without_a_copy() {
  using Few = V<CountsCopies, 4, std::allocator<CountsCopies>>;
  CountsCopies::copies = 0;
  Few a(3);
  Few b(std::move(a));
  a = std::move(b);
  b = Few(1);
  b.swap(a);
  Few many(9);
  many.swap(b);
  many = std::move(b);
  EXPECT_EQ(CountsCopies::copies, 0);
  EXPECT_EQ(many.size() + a.size(), 10U);
  many.reserve(10);  // growth is all or nothing
  EXPECT_EQ(CountsCopies::copies, 9);
}
TEST(SmallVectorTypes, MoveWithoutACopyThoughAMoveMayThrow) {
  moves_without_a_copy<small_vector>();
  moves_without_a_copy<compact_vector>();
}

template <class T>
void fills_with(T value) {
  small_vector<T, 4> v(3, value);
  v.insert(v.begin() + 1, 40, value);
  v.resize(50, value);
  EXPECT_EQ(std::count(v.begin(), v.end(), value), 50);
  v.assign(45, T{});
  v.assign(44, value);
  EXPECT_EQ(std::count(v.begin(), v.end(), value), 44);
  v.assign(0, value);
  EXPECT_TRUE(v.empty());
}
TEST(SmallVectorTypes, FillWithOneByte) {
  enum class Kind : unsigned char { none, last = 255 };
  fills_with(true);
  fills_with(static_cast<signed char>(-5));
  fills_with(std::byte{200});
  fills_with(Kind::last);
}

// construct() is the throwing point, though the element's move cannot throw.
struct Witness {
  static inline long live = 0;
  static inline long wrong = 0;
  Witness(int n) : number(n) { ++live; }  // NOLINT: converts
  Witness(const Witness& other) noexcept : number(other.number) { ++live; }
  Witness(Witness&& other) noexcept : number(other.number) { ++live; }
  Witness& operator=(const Witness& other) {
    number = other.number;  // and not who it is
    return *this;
  }
  ~Witness() {
    wrong += self != this;
    self = nullptr;
    --live;
  }
  int number;
  Witness* self = this;
};
static_assert(std::is_nothrow_move_constructible_v<Witness>);

template <class T>
struct ConstructThrows : std::allocator<T> {
  using value_type = T;
  template <class U>
  struct rebind {
    using other = ConstructThrows<U>;
  };
  ConstructThrows() = default;
  template <class U>
  ConstructThrows(const ConstructThrows<U>&) {}  // NOLINT: converts
  T* allocate(std::size_t count) {
    ++parts_test::HeapCount::blocks;
    return std::allocator<T>::allocate(count);
  }
  void deallocate(T* first, std::size_t count) {
    --parts_test::HeapCount::blocks;
    std::allocator<T>::deallocate(first, count);
  }
  template <class U, class... Args>
  void construct(U* where, Args&&... args) {
    parts_test::Countdown::pass();
    ::new (static_cast<void*>(where)) U(std::forward<Args>(args)...);
  }
};

template <class V>
void change(V& v, int kind) {
  const std::vector<int> numbers = {91, 92, 93, 94, 95, 96};
  switch (kind) {
    case 0:
      return v.push_back(5);
    case 1:
      return static_cast<void>(v.insert(v.begin() + 1, 5));
    case 2:
      return static_cast<void>(v.insert(v.begin() + 1, 3, Witness(5)));
    case 3:
      return static_cast<void>(v.insert(v.begin() + 1, numbers.begin(), numbers.end()));
    case 4:
      return v.resize(9, Witness(3));
    case 5:
      return v.reserve(100);
    case 6:
      return v.shrink_to_fit();
    case 7:
      return v.assign(9, Witness(3));
    case 8:
      return v.assign(numbers.begin(), numbers.end());
    case 9:
      return static_cast<void>(v.erase(v.begin()));
    case 10: {
      V other(2, Witness(8));
      return v.swap(other);
    }
    default: {
      V other = v;
      v = std::move(other);
    }
  }
}

template <class V>
void throw_while_changing(int kind, int start, long point) {
  V v;
  for (int i = 0; i < start; ++i) v.push_back(i);
  parts_test::Countdown::left = point;
  try {
    change(v, kind);
  } catch (const std::runtime_error&) {
  }
  parts_test::Countdown::left = 0;
  ASSERT_EQ(Witness::live, static_cast<long>(v.size())) << "no element twice, none lost";
  const std::size_t size = v.size();
  v.push_back(77);
  ASSERT_EQ(v.size(), size + 1);
  ASSERT_EQ(v.back().number, 77);
}

template <class V>
void survives_throwing_construct() {
  const long blocks = parts_test::HeapCount::blocks;
  for (int kind = 0; kind < 12; ++kind) {
    for (int start : {2, 3, 4, 7, 8}) {
      for (long point = 1; point < 24; ++point) {
        SCOPED_TRACE(testing::Message() << "kind " << kind << " start " << start << " point " << point);
        ASSERT_NO_FATAL_FAILURE(throw_while_changing<V>(kind, start, point));
        ASSERT_EQ(Witness::live, 0);
        ASSERT_EQ(Witness::wrong, 0);
        ASSERT_EQ(parts_test::HeapCount::blocks, blocks);
      }
    }
  }
}
TEST(SmallVectorTypes, SurviveAnAllocatorWhoseConstructThrows) {
  survives_throwing_construct<small_vector<Witness, 3, ConstructThrows<Witness>>>();
  survives_throwing_construct<compact_vector<Witness, 3, ConstructThrows<Witness>>>();
  survives_throwing_construct<small_vector<Witness, 0, ConstructThrows<Witness>>>();
}

TEST(SmallVectorTypes, InsertionIsAllOrNothingWhereElementsMoveSafely) {
  using Value = parts_test::ThrowingValue<false>;
  const std::vector<int> numbers = {7, 8, 9};
  for (long point = 1; point < 5; ++point) {
    small_vector<Value, 2> v = {1, 2, 3, 4};
    v.reserve(20);
    const small_vector<Value, 2> before = v;
    parts_test::Countdown::left = point;
    bool has_thrown = false;
    try {
      v.insert(v.begin() + 1, numbers.begin(), numbers.end());
    } catch (const std::runtime_error&) {
      has_thrown = true;
    }
    parts_test::Countdown::left = 0;
    EXPECT_EQ(has_thrown, point < 4);
    EXPECT_TRUE(has_thrown ? v == before : v.size() == 7);
  }
}

template <class T>
struct CountingConstruct : std::allocator<T> {
  static inline int constructed = 0;
  static inline int destroyed = 0;
  template <class U>
  struct rebind {
    using other = CountingConstruct<U>;
  };
  template <class U, class... Args>
  void construct(U* where, Args&&... args) {
    ++constructed;
    ::new (static_cast<void*>(where)) U(std::forward<Args>(args)...);
  }
  template <class U>
  void destroy(U* which) {
    ++destroyed;
    which->~U();
  }
};
TEST(SmallVectorTypes, LeaveConstructionToTheAllocator) {
  using Alloc = CountingConstruct<int>;
  {
    small_vector<int, 2, Alloc> v;
    for (int i = 0; i < 50; ++i) v.push_back(i);
    v.insert(v.begin(), {1, 2, 3});
    const auto w = v;
    v.erase(v.begin(), v.begin() + 9);
  }
  EXPECT_GT(Alloc::constructed, 53 * 2);
  EXPECT_EQ(Alloc::constructed, Alloc::destroyed);
}

TEST(SmallVectorTypes, CompareAcrossN) {
  const small_vector<int, 2> two = {1, 2, 3};
  const small_vector<int, 9> nine = {1, 2, 3};
  const compact_vector<int, 4> compact = {1, 2, 4};
  EXPECT_EQ(two, nine);
  EXPECT_NE(two, compact);
  EXPECT_LT(nine, compact);
}

template <class From, class To>
void moves_across() {
  for (int count : {0, 1, 3, 5, 9, 40}) {
    From from;
    for (int i = 0; i < count; ++i) from.push_back(std::string(20, static_cast<char>('a' + i)));
    const From kept = from;
    const To copied(kept);
    EXPECT_EQ(copied, kept);
    To moved(std::move(from));
    EXPECT_EQ(moved, kept);
    EXPECT_TRUE(from.empty() && from.is_inline());  // NOLINT: its moved-from state is the contract
    from = std::move(moved);
    EXPECT_EQ(from, kept);
    EXPECT_TRUE(moved.empty() && moved.is_inline());  // NOLINT
    moved = from;
    EXPECT_EQ(from, moved);
  }
}
TEST(SmallVectorTypes, MoveAcrossN) {
  moves_across<small_vector<std::string, 2>, small_vector<std::string, 8>>();
  moves_across<small_vector<std::string, 8>, small_vector<std::string, 0>>();
  moves_across<compact_vector<std::string, 2>, compact_vector<std::string, 8>>();
  moves_across<compact_vector<std::string, 2>, small_vector<std::string, 4>>();
  moves_across<tracked_small_vector<std::string, 2, struct across>, small_vector<std::string, 4>>();
  small_vector<int, 4> large(100, 1);
  const int* buffer = large.data();
  const small_vector<int, 8> thief(std::move(large));
  EXPECT_EQ(thief.data(), buffer) << "the buffer changes hands";
}

TEST(SmallVectorTypes, Hash) {
  std::unordered_set<small_vector<int, 2>> set = {{1, 2}, {1, 2}, {1, 2, 3}, {}};
  EXPECT_EQ(set.size(), 3U);
  EXPECT_TRUE(set.contains({1, 2, 3}));
  EXPECT_EQ((std::hash<small_vector<int, 2>>()({4, 5})), (std::hash<compact_vector<int, 9>>()({4, 5})));
  EXPECT_EQ((std::hash<small_vector<int, 2>>()({4, 5})),
            (std::hash<tracked_small_vector<int, 3, struct hashed>>()({4, 5})));
  std::unordered_set<small_vector<std::string, 2>> words = {{"a", "b"}, {"b", "a"}, {"ab"}};
  EXPECT_EQ(words.size(), 3U);
  EXPECT_NE((std::hash<small_vector<std::string, 2>>()({"a", "b"})),
            (std::hash<small_vector<std::string, 2>>()({"b", "a"})));
}

template <class V>
void erases(V&& vector) {
  EXPECT_EQ(erase(vector, 2), 2U);
  EXPECT_EQ(erase_if(vector, [](int n) { return n > 3; }), 2U);
  EXPECT_EQ(vector.size(), 2U);
}
TEST(SmallVectorTypes, EraseIfWorksForAllOfThem) {
  const std::initializer_list<int> values = {1, 2, 3, 2, 4, 5};
  erases(small_vector<int, 2>(values));
  erases(compact_vector<int, 2>(values));
  erases(tracked_small_vector<int, 2, struct erased>(values));
  small_vector<int, 2> referred = values;
  erases(small_vector_ref<int>(referred));
  small_vector<int, 2> again = values;
  EXPECT_EQ(erase(small_vector_ref<int>(again), 2), 2U);
  EXPECT_EQ(again.size(), 4U);
}

template <class V>
concept pushes = requires(V v) {
  v.push_back(1);
};
int sum(small_vector_ref<const int> values) { return std::accumulate(values.begin(), values.end(), 0); }
TEST(SmallVectorTypes, ReferToConst) {
  const small_vector<int, 2> few = {1, 2};
  small_vector<int, 9> many = {3, 4};
  EXPECT_EQ(sum(few) + sum(many), 10);
  const small_vector_ref<const int> view = many;
  many.assign(50, 1);
  EXPECT_EQ(view.size(), 50U) << "it follows the vector";
  EXPECT_EQ(view.front() + view.back() + view[3] + view.at(4), 4);
  EXPECT_EQ(view, small_vector_ref<const int>(many));
  const small_vector_ref<int> writable = many;
  EXPECT_EQ(sum(writable), 50);
  static_assert(!std::is_constructible_v<small_vector_ref<int>, const small_vector<int, 2>&>);
  static_assert(!pushes<small_vector_ref<const int>> && pushes<small_vector_ref<int>>);
  static_assert(std::is_same_v<decltype(view[0]), const int&>);
}

void insert_in_the_middle(std::size_t size, std::size_t added, std::size_t at) {
  std::vector<int> expected(size);
  std::iota(expected.begin(), expected.end(), 0);
  std::vector<int> more(added, 77);
  const auto offset = static_cast<std::ptrdiff_t>(at);
  small_vector<int, 4> ints(expected.begin(), expected.end());
  small_vector<std::string, 4> texts;
  for (const int n : expected) texts.push_back(std::to_string(n));
  const std::vector<std::string> words(added, std::string(30, 'w'));
  const bool is_reserved = (size + added) % 2 == 0;
  if (is_reserved) ints.reserve(64), texts.reserve(64);
  expected.insert(expected.begin() + offset, more.begin(), more.end());
  ints.insert(ints.begin() + offset, more.begin(), more.end());
  texts.insert(texts.begin() + offset, words.begin(), words.end());
  ASSERT_TRUE(std::equal(ints.begin(), ints.end(), expected.begin(), expected.end()));
  ASSERT_EQ(texts.size(), expected.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(texts[i], expected[i] == 77 ? words[0] : std::to_string(expected[i]));
  }
}

TEST(SmallVectorTypes, InsertInTheMiddleOfEveryKind) {
  for (std::size_t size : {0U, 1U, 3U, 7U, 30U}) {
    for (std::size_t added : {0U, 1U, 2U, 9U}) {
      for (std::size_t at = 0; at <= size; ++at) {
        ASSERT_NO_FATAL_FAILURE(insert_in_the_middle(size, added, at));
      }
    }
  }
}

}  // namespace
