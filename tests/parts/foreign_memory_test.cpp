// SPDX-License-Identifier: MIT
// Arenas that forbid memory elsewhere, in a program that counts heap calls.
#include <gtest/gtest.h>

#include <memory>
#include <memory_resource>
#include <string>

#include "heapwright/arena.hpp"

namespace {

// The compiler must not remove an allocation that nobody uses.
template <class T>
T* kept(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

// The arena's check that objects own nothing outside it stands on this hook.
TEST(ForeignMemory, IsWatchedWhereHeapCallsAreCounted) {
  heapwright::arena memory;
  EXPECT_TRUE(memory.forbid_foreign_memory());
  memory.create<std::pmr::string>("a text longer than the small buffer", &memory);
  memory.reset();
}

struct WithinTheArena {
  explicit WithinTheArena(heapwright::arena& memory, std::size_t bytes) : text(bytes, 'x', &memory) {}
  std::pmr::string text;
};

// A block that the arena itself takes is not the object's.
TEST(ForeignMemory, IsNotWhatTheArenaTakes) {
  heapwright::arena memory;
  EXPECT_TRUE(memory.forbid_foreign_memory());
  for (const std::size_t bytes : {5000U, 50000U, 5000U, 50000U}) memory.create<WithinTheArena>(memory, bytes);
  memory.reset();
  memory.create<WithinTheArena>(memory, 500000U);
}

struct OwnsByPointer {
  int* numbers = kept(new int[10]);
};
struct OwnsAnInt {
  std::unique_ptr<int> number{kept(new int(3))};
};

TEST(ForeignMemory, IsSeenInAllThatIsCreated) {
  heapwright::arena memory;
  EXPECT_TRUE(memory.forbid_foreign_memory());
  EXPECT_DEATH(memory.create<OwnsByPointer>(), "owns memory outside the arena.*OwnsByPointer");
  EXPECT_DEATH(memory.create_array<OwnsAnInt>(3), "owns memory outside the arena.*OwnsAnInt");
}

}  // namespace
