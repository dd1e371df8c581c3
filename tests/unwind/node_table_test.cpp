// SPDX-License-Identifier: MIT
#include "unwind/node_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "witness.hpp"

namespace heapwright::unwind {
namespace {

// A tree with long chains, and parents of many thousand children.
std::vector<std::uint64_t> random_tree(std::uint32_t count, const Tables& tables,
                                       std::vector<std::uint32_t>& nodes) {
  std::mt19937 random(9);
  std::vector<std::uint64_t> words;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t choice = random() % 8;
    std::uint32_t parent = 0;
    if (i != 0) parent = nodes[choice < 4 ? i - 1 : choice < 6 ? random() % i : random() % 16 % i];
    const std::uint32_t frame = random() % session::pc_table_slots;
    words.push_back(node_word(parent, frame));
    nodes.push_back(intern_node(tables, parent, frame));
  }
  return words;
}

TEST(NodeTable, HoldsATreeOfTwoMillion) {
  TestProcess process;
  session::ProcessBlock& block = process.block();
  std::vector<std::uint32_t> nodes;
  const std::vector<std::uint64_t> words = random_tree(2'000'000, process.tables(), nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ASSERT_NE(nodes[i], node_not_stored) << i;
    ASSERT_EQ(block.nodes[nodes[i]].load(), words[i]) << i;
  }
}

// Levels that are "mapped" at the place of the whole table.
MappedPart mapped_nodes;
std::uint32_t highest_level;
bool grow_to(std::uint32_t level) noexcept {
  if (level > highest_level) return false;
  mapped_nodes.place.fetch_add(1);
  return true;
}

Tables begin_growing(TestProcess& process, std::uint32_t highest) {
  highest_level = highest;
  mapped_nodes.place = reinterpret_cast<std::uint64_t>(process.block().nodes);
  mapped_nodes.grow = grow_to;
  Tables tables = process.tables();
  tables.nodes = &mapped_nodes;
  return tables;
}

std::uint32_t mapped_level() { return mapped_nodes.level(); }

TEST(NodeTable, GrowsByLevelsAndKeepsWhatItHas) {
  TestProcess process;
  const Tables tables = begin_growing(process, last_node_level);
  std::vector<std::uint32_t> nodes;
  const std::vector<std::uint64_t> words = random_tree(200'000, tables, nodes);
  EXPECT_EQ(mapped_level(), 2U);  // 2^17 slots are too few, 2^19 are enough
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ASSERT_LT(nodes[i], node_levels[2]);
    ASSERT_EQ(process.block().nodes[nodes[i]].load(), words[i]) << i;
    const auto parent = static_cast<std::uint32_t>(words[i] >> 32U);
    ASSERT_EQ(intern_node(tables, parent, static_cast<std::uint32_t>(words[i]) - 1), nodes[i]) << i;
  }
}

TEST(NodeTable, ALevelIsWellFilledBeforeTheNext) {
  TestProcess process;
  const Tables tables = begin_growing(process, 0);
  std::vector<std::uint32_t> nodes;
  random_tree(node_levels[0] * 2, tables, nodes);
  EXPECT_EQ(mapped_level(), 0U);
  EXPECT_GT(process.block().node_count.load(), node_levels[0] / 4 * 3);
  for (const std::uint32_t node : nodes) ASSERT_LT(node, node_levels[0]);
}

TEST(NodeTable, SameChildSameNode) {
  TestProcess process;
  const std::uint32_t root = intern_node(process.tables(), 0, 5);
  const std::uint32_t child = intern_node(process.tables(), root, 5);
  EXPECT_NE(root, child);
  EXPECT_EQ(intern_node(process.tables(), 0, 5), root);
  EXPECT_EQ(intern_node(process.tables(), root, 5), child);
  EXPECT_EQ(process.block().node_count.load(), 2U);
}

TEST(NodeTable, FillsToSevenEighths) {
  TestProcess process;
  std::uint32_t refused_at = 0;
  std::mt19937 random(2);
  std::uint32_t parent = 0;
  for (std::uint32_t i = 0; refused_at == 0 && i < session::node_table_slots; ++i) {
    const std::uint32_t node =
        intern_node(process.tables(), i % 16 == 0 ? 0 : parent, random() % session::pc_table_slots);
    if (node == node_not_stored) refused_at = process.block().node_count.load();
    parent = node;
  }
  EXPECT_GT(refused_at, session::node_table_slots / 4 * 3);
  EXPECT_LE(refused_at, session::node_table_slots / 8 * 7);
}

TEST(NodeTable, BeyondSevenEighthsOnlyWhatIsThereIsFound) {
  TestProcess process;
  const std::uint32_t node = intern_node(process.tables(), 0, 5);
  process.block().node_count.store(session::node_table_slots / 8 * 7);
  EXPECT_EQ(intern_node(process.tables(), 0, 6), node_not_stored);
  EXPECT_EQ(intern_node(process.tables(), 0, 5), node);
}

}  // namespace
}  // namespace heapwright::unwind
