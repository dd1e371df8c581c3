// SPDX-License-Identifier: MIT
#include "unwind/node_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "witness.hpp"

namespace heapwright::unwind {
namespace {

// A tree with long chains, and parents of many thousand children.
std::vector<std::uint64_t> random_tree(std::uint32_t count, session::ProcessBlock& block,
                                       std::vector<std::uint32_t>& nodes) {
  std::mt19937 random(9);
  std::vector<std::uint64_t> words;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t choice = random() % 8;
    std::uint32_t parent = 0;
    if (i != 0) parent = nodes[choice < 4 ? i - 1 : choice < 6 ? random() % i : random() % 16 % i];
    const std::uint32_t frame = random() % session::pc_table_slots;
    words.push_back(node_word(parent, frame));
    nodes.push_back(intern_node(block, parent, frame));
  }
  return words;
}

TEST(NodeTable, HoldsATreeOfTwoMillion) {
  TestProcess process;
  session::ProcessBlock& block = process.block();
  std::vector<std::uint32_t> nodes;
  const std::vector<std::uint64_t> words = random_tree(2'000'000, block, nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ASSERT_NE(nodes[i], node_not_stored) << i;
    ASSERT_EQ(block.nodes[nodes[i]].load(), words[i]) << i;
  }
}

TEST(NodeTable, SameChildSameNode) {
  TestProcess process;
  const std::uint32_t root = intern_node(process.block(), 0, 5);
  const std::uint32_t child = intern_node(process.block(), root, 5);
  EXPECT_NE(root, child);
  EXPECT_EQ(intern_node(process.block(), 0, 5), root);
  EXPECT_EQ(intern_node(process.block(), root, 5), child);
  EXPECT_EQ(process.block().node_count.load(), 2U);
}

TEST(NodeTable, FillsToSevenEighths) {
  TestProcess process;
  std::uint32_t refused_at = 0;
  std::mt19937 random(2);
  std::uint32_t parent = 0;
  for (std::uint32_t i = 0; refused_at == 0 && i < session::node_table_slots; ++i) {
    const std::uint32_t node =
        intern_node(process.block(), i % 16 == 0 ? 0 : parent, random() % session::pc_table_slots);
    if (node == node_not_stored) refused_at = process.block().node_count.load();
    parent = node;
  }
  EXPECT_GT(refused_at, session::node_table_slots / 4 * 3);
  EXPECT_LE(refused_at, session::node_table_slots / 8 * 7);
}

TEST(NodeTable, BeyondSevenEighthsOnlyWhatIsThereIsFound) {
  TestProcess process;
  const std::uint32_t node = intern_node(process.block(), 0, 5);
  process.block().node_count.store(session::node_table_slots / 8 * 7);
  EXPECT_EQ(intern_node(process.block(), 0, 6), node_not_stored);
  EXPECT_EQ(intern_node(process.block(), 0, 5), node);
}

}  // namespace
}  // namespace heapwright::unwind
