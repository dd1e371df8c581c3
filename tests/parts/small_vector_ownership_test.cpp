// SPDX-License-Identifier: MIT
// Who owns a vector's elements and buffer while it is assigned and swapped:
// elements that own the source, and allocators that propagate.
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "heapwright/small_vector.hpp"
#include "throwing_value.hpp"

namespace {

using heapwright::compact_vector;
using heapwright::small_vector;
using heapwright::small_vector_ref;
using heapwright::tracked_small_vector;

// Each block goes back to the allocator that gave it.
struct BlockOwners {
  static inline std::map<void*, int> id_of;
  static inline int wrong = 0;
};
template <class T>
struct Propagating {
  using value_type = T;
  using propagate_on_container_swap = std::true_type;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  int id;
  explicit Propagating(int number) : id(number) {}
  template <class U>
  Propagating(const Propagating<U>& other) : id(other.id) {}  // NOLINT: converts
  T* allocate(std::size_t count) {
    T* const first = std::allocator<T>().allocate(count);
    BlockOwners::id_of[first] = id;
    return first;
  }
  void deallocate(T* first, std::size_t count) {
    BlockOwners::wrong += BlockOwners::id_of[first] != id;
    BlockOwners::id_of.erase(first);
    std::allocator<T>().deallocate(first, count);
  }
  template <class U>
  bool operator==(const Propagating<U>& other) const {
    return id == other.id;
  }
};

template <class V>
void swaps_and_throws(int in_a, int in_b, long point) {
  using Alloc = typename V::allocator_type;
  V a{Alloc(1)};
  V b{Alloc(2)};
  for (int i = 0; i < in_a; ++i) a.emplace_back(i);
  for (int i = 0; i < in_b; ++i) b.emplace_back(10 + i);
  parts_test::Countdown::left = point;
  bool has_thrown = false;
  try {
    a.swap(b);
  } catch (const std::runtime_error&) {
    has_thrown = true;
  }
  parts_test::Countdown::left = 0;
  EXPECT_EQ(a.get_allocator().id, has_thrown ? 1 : 2);
  EXPECT_EQ(b.get_allocator().id, has_thrown ? 2 : 1);
  a.emplace_back(5);
  b.emplace_back(6);
}
template <class V>
void keeps_allocators_when_a_swap_throws() {
  BlockOwners::wrong = 0;
  for (const int in_a : {0, 2, 3, 12}) {
    for (const int in_b : {1, 4, 11}) {
      for (long point = 0; point < 6; ++point) swaps_and_throws<V>(in_a, in_b, point);
    }
  }
  EXPECT_EQ(BlockOwners::wrong, 0);
  EXPECT_TRUE(BlockOwners::id_of.empty());
}
TEST(SmallVectorOwnership, ABufferKeepsItsAllocatorWhenASwapThrows) {
  using Value = parts_test::ThrowingValue<true>;
  keeps_allocators_when_a_swap_throws<small_vector<Value, 4, Propagating<Value>>>();
  keeps_allocators_when_a_swap_throws<compact_vector<Value, 4, Propagating<Value>>>();
}

// Assignment between different N propagates as that between equal N.
template <class To, class From>
void propagates_across() {
  BlockOwners::wrong = 0;
  for (const int count : {0, 1, 3, 20}) {
    From from{Propagating<int>(1)};
    for (int i = 0; i < count; ++i) from.push_back(i);
    To copied{Propagating<int>(2)};
    copied.assign(30, 7);
    To moved = copied;
    copied = from;
    EXPECT_EQ(copied.get_allocator().id, 1);
    EXPECT_EQ(copied, from);
    moved = std::move(from);
    EXPECT_EQ(moved.get_allocator().id, 1);
    EXPECT_EQ(moved, copied);
  }
  EXPECT_EQ(BlockOwners::wrong, 0);
  EXPECT_TRUE(BlockOwners::id_of.empty());
}
TEST(SmallVectorOwnership, AllocatorsPropagateAcrossN) {
  propagates_across<small_vector<int, 4, Propagating<int>>, small_vector<int, 2, Propagating<int>>>();
  propagates_across<small_vector<int, 2, Propagating<int>>, compact_vector<int, 2, Propagating<int>>>();
}

// A list is replaced by a child's: the usual way to flatten a tree.
template <template <class, std::size_t, class> class V>
struct Tree {
  int number = 0;
  V<Tree, 0, std::allocator<Tree>> children = {};
};
template <class Tree, class List>
void takes_the_list_of_a_child(List list) {
  list.emplace_back().children.resize(2);
  list.front().children[1].number = 7;
  list = std::move(list.front().children);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1].number, 7);
}
TEST(SmallVectorOwnership, AVectorTakesWhatItsElementsOwn) {
  using Small = Tree<small_vector>;
  using Compact = Tree<compact_vector>;
  takes_the_list_of_a_child<Small>(small_vector<Small, 0>());
  takes_the_list_of_a_child<Small>(small_vector<Small, 3>());  // of another N than the children
  takes_the_list_of_a_child<Compact>(compact_vector<Compact, 0>());
}

struct Owner {
  small_vector<std::unique_ptr<Owner>, 2, parts_test::CountingAllocator<std::unique_ptr<Owner>>> children;
  std::string text = "a text that is too long for the string itself";
  explicit Owner(int id) : children(parts_test::CountingAllocator<std::unique_ptr<Owner>>(id)) {}
};
TEST(SmallVectorOwnership, AVectorTakesInlineElementsAndThoseOfAnotherAllocator) {
  const long blocks = parts_test::HeapCount::blocks;
  for (const int id : {1, 2}) {
    for (const int count : {1, 2, 5}) {
      Owner root(1);
      auto& child = *root.children.emplace_back(std::make_unique<Owner>(id));
      for (int i = 0; i < count; ++i) child.children.push_back(std::make_unique<Owner>(1));
      root.children = std::move(child.children);
      ASSERT_EQ(root.children.size(), static_cast<std::size_t>(count));
      EXPECT_EQ(root.children.back()->text, Owner(1).text);
      EXPECT_EQ(root.children.get_allocator().id, 1);
    }
  }
  EXPECT_EQ(parts_test::HeapCount::blocks, blocks);
}

void append_and_drop(small_vector_ref<int> out, std::size_t most) {
  out.append_range(std::vector<int>(most, 1));
  out.clear();
}
std::size_t count_of(small_vector_ref<const int> values) { return values.size(); }

TEST(SmallVectorOwnership, ATrackedVectorGrowsByAReference) {
  using Tracked = tracked_small_vector<int, 2, struct referred>;
  {
    Tracked v = {1};
    append_and_drop(v, 6);
    EXPECT_EQ(count_of(v), 0U);
    Tracked moved = std::move(v);
    append_and_drop(v, 3);  // NOLINT: it lives on
  }
  EXPECT_EQ(Tracked::statistics().vectors(), 2U);
  EXPECT_EQ(Tracked::statistics().at_most(6), 1U);
  EXPECT_EQ(Tracked::statistics().at_most(7), 2U);
  EXPECT_EQ(Tracked::statistics().at_most(3), 1U);
}

}  // namespace
