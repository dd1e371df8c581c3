// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "witness.hpp"

namespace heapwright::unwind {
namespace {

using session::ModuleEntry;

void capture_callback() {
  checked_capture();
  asm volatile("");
}

// Calls through the library; returns where it was loaded.
std::uint64_t call_plugin(const char* path, int depth) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return 0;
  using Call = void (*)(void (*)(), int);
  const auto call = reinterpret_cast<Call>(dlsym(library, "plugin_call"));
  for (int round = 0; round < 3; ++round) call(capture_callback, depth);
  const auto address = reinterpret_cast<std::uint64_t>(call);
  dlclose(library);
  return address;
}

const ModuleEntry* find_module(session::ProcessBlock& block, const std::string& end_of_path, bool is_loaded) {
  for (std::uint32_t i = 0; i < block.module_count; ++i) {
    const std::string path = block.modules[i].path;
    const bool is_it = path.size() >= end_of_path.size() &&
                       path.compare(path.size() - end_of_path.size(), end_of_path.size(), end_of_path) == 0;
    if (is_it && (block.modules[i].unloaded_ticks == 0) == is_loaded) return &block.modules[i];
  }
  return nullptr;
}

std::uint32_t count_dead_pcs(session::ProcessBlock& block) {
  std::uint32_t count = 0;
  for (const session::PcEntry& entry : block.pcs) count += (entry.key & session::pc_key_dead) != 0 ? 1 : 0;
  return count;
}

TEST(Tables, LibrariesThatTakeEachOthersPlace) {
  TestProcess process;
  const Checks checks;
  std::uint32_t same_place_count = 0;
  std::uint64_t last_address = 0;
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t address = call_plugin(round % 2 == 0 ? PLUGIN_SMALL : PLUGIN_LARGE, round % 5);
    ASSERT_NE(address, 0U) << dlerror();
    forget_unloaded(process.tables());
    same_place_count += address == last_address ? 1 : 0;
    last_address = address;
  }
  EXPECT_EXACT(checks, 60U);
  EXPECT_GT(same_place_count, 0U);
  EXPECT_GT(count_dead_pcs(process.block()), 0U);
  EXPECT_NE(find_module(process.block(), "plugin_small.so", false), nullptr);
  EXPECT_EQ(find_module(process.block(), "plugin_small.so", true), nullptr);
  EXPECT_EQ(find_module(process.block(), "plugin_large.so", true), nullptr);
}

// Slots are as many as after the first time: else the table is full after some 100.
TEST(Tables, ALibraryThatComesBackHasItsSlotsAgain) {
  TestProcess process;
  const Checks checks;
  std::uint32_t pcs = 0;
  std::uint32_t same_place_count = 0;
  std::uint64_t last_address = 0;
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t address = call_plugin(PLUGIN_SMALL, 3);
    forget_unloaded(process.tables());
    same_place_count += address == last_address ? 1 : 0;
    last_address = address;
    if (round == 2) pcs = process.block().pc_count;
  }
  EXPECT_EXACT(checks, 900U);
  EXPECT_GT(same_place_count, 290U);
  EXPECT_LE(process.block().pc_count.load(), pcs + 20);
  EXPECT_EQ(process.block().stacks_not_stored.load(), 0U);
}

// Others were at its place meanwhile.
TEST(Tables, LibrariesThatTakeTurnsHaveTheirSlotsAgain) {
  TestProcess process;
  const Checks checks;
  std::uint32_t pcs = 0;
  for (int round = 0; round < 200; ++round) {
    ASSERT_NE(call_plugin(round % 2 == 0 ? PLUGIN_SMALL : PLUGIN_LARGE, 2), 0U);
    forget_unloaded(process.tables());
    if (round == 5) pcs = process.block().pc_count;
  }
  EXPECT_EXACT(checks, 600U);
  EXPECT_LE(process.block().pc_count.load(), pcs + 20);
  EXPECT_EQ(process.block().stacks_not_stored.load(), 0U);
}

TEST(Tables, ModuleFacts) {
  TestProcess process;
  checked_capture();
  call_plugin(PLUGIN_SMALL, 2);
  const ModuleEntry* program = &process.block().modules[0];
  char path[512] = {};
  ASSERT_GT(readlink("/proc/self/exe", path, sizeof path - 1), 0);
  for (std::uint32_t i = 0; i < process.block().module_count; ++i) {
    if (std::string(process.block().modules[i].path) == path) program = &process.block().modules[i];
  }
  const auto here = reinterpret_cast<std::uint64_t>(&capture_callback);
  EXPECT_STREQ(program->path, path);
  EXPECT_TRUE(here >= program->start && here < program->end);
  EXPECT_GT(program->loaded_ticks, 0U);
  const ModuleEntry* libc = find_module(process.block(), "libc.so.6", true);
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(libc->build_id_bytes, 20U);
  EXPECT_NE(find_module(process.block(), "plugin_small.so", true), nullptr);
  forget_unloaded(process.tables());
  EXPECT_EQ(find_module(process.block(), "plugin_small.so", true), nullptr);
}

[[HOOK]] std::uint32_t unchecked_capture() { return capture_from(__builtin_frame_address(0)); }

[[gnu::noinline]] std::uint32_t unchecked_deep(int depth) {
  const std::uint32_t node = depth == 0 ? unchecked_capture() : unchecked_deep(depth - 1);
  KEEP(depth);
  return node;
}

TEST(Tables, FullNodeTableIsMarked) {
  TestProcess process;
  std::uint32_t known[2] = {};
  for (std::uint32_t& node : known) node = unchecked_deep(5);
  process.block().node_count = session::node_table_slots / 8 * 7;
  std::uint32_t refused = 0;
  for (int depth = 6; depth < 9; ++depth) refused = unchecked_deep(depth);
  Stack stack;
  decode(process.block(), refused, stack);
  EXPECT_TRUE(stack.is_table_full);
  EXPECT_EQ(stack.count, 0U);
  EXPECT_EQ(process.block().stacks_not_stored.load(), 3U);
  process.block().node_count = 100;
  decode(process.block(), unchecked_deep(6), stack);
  EXPECT_FALSE(stack.is_table_full);
}

TEST(Tables, FullPcTableIsMarked) {
  TestProcess process;
  unchecked_deep(5);
  process.block().pc_count = session::pc_table_slots / 8 * 7;
  Stack stack;
  decode(process.block(), unchecked_deep(0), stack);
  EXPECT_TRUE(stack.is_table_full);
  EXPECT_EQ(process.block().stacks_not_stored.load(), 1U);
}

TEST(Tables, CrowdedTablesEndTheSearch) {
  TestProcess process;
  unchecked_deep(2);
  for (session::NodeWord& node : process.block().nodes) {
    std::uint64_t expected = 0;
    if (&node != &process.block().nodes[0]) node.compare_exchange_strong(expected, ~0ULL);
  }
  Stack stack;
  decode(process.block(), unchecked_deep(40), stack);
  EXPECT_TRUE(stack.is_table_full);
  for (session::PcEntry& entry : process.block().pcs) {
    std::uint64_t expected = 0;
    entry.key.compare_exchange_strong(expected, session::pc_key_dead | 4096);
  }
  decode(process.block(), unchecked_deep(3), stack);
  EXPECT_TRUE(stack.is_table_full);
  EXPECT_EQ(process.block().stacks_not_stored.load(), 2U);
}

TEST(Tables, ErrnoIsKept) {
  TestProcess process;
  errno = 77;
  unchecked_deep(20);
  forget_unloaded(process.tables());
  EXPECT_EQ(errno, 77);
}

}  // namespace
}  // namespace heapwright::unwind
