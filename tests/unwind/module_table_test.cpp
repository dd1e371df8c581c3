// SPDX-License-Identifier: MIT
#include <elf.h>
#include <gtest/gtest.h>

#include <string>

#include "unwind/loaded_objects.hpp"
#include "witness.hpp"

namespace heapwright::unwind {
namespace {

// Levels that are "mapped" at the place of the whole table.
MappedPart mapped_modules;
std::uint32_t highest_level;
bool grow_to(std::uint32_t level) noexcept {
  if (level > highest_level) return false;
  mapped_modules.place.fetch_add(1);
  return true;
}

Tables begin_growing(TestProcess& process, std::uint32_t highest) {
  highest_level = highest;
  mapped_modules.place = reinterpret_cast<std::uint64_t>(process.block().modules);
  mapped_modules.grow = grow_to;
  Tables tables = process.tables();
  tables.modules = &mapped_modules;
  return tables;
}

// Each beside the one before; without notes.
LoadedObject object_number(std::uint32_t number) {
  static const Elf64_Phdr no_headers{};
  LoadedObject object;
  object.tables.start = (std::uint64_t{number} + 1) << 20U;
  object.tables.end = object.tables.start + 4096;
  object.tables.headers = &no_headers;
  object.name = "/lib/any.so";
  return object;
}

TEST(ModuleTable, GrowsByLevelsAndKeepsWhatItHas) {
  TestProcess process;
  const Tables tables = begin_growing(process, last_module_level);
  constexpr std::uint32_t count = 3000;
  for (std::uint32_t i = 0; i < count; ++i) {
    ASSERT_EQ(note_module(tables, object_number(i)), i);
    ASSERT_LT(i, module_levels[mapped_modules.level()]);
  }
  EXPECT_EQ(mapped_modules.level(), 2U);
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(note_module(tables, object_number(i)), i);
  EXPECT_EQ(process.block().module_count.load(), count);
  EXPECT_EQ(std::string(process.block().modules[count - 1].path), "/lib/any.so");
}

TEST(ModuleTable, WithoutMemoryForMoreItIsFull) {
  TestProcess process;
  const Tables tables = begin_growing(process, 0);
  for (std::uint32_t i = 0; i < module_levels[0]; ++i) ASSERT_EQ(note_module(tables, object_number(i)), i);
  EXPECT_EQ(note_module(tables, object_number(module_levels[0])), no_module);
  EXPECT_EQ(note_module(tables, object_number(7)), 7U);
}

}  // namespace
}  // namespace heapwright::unwind
