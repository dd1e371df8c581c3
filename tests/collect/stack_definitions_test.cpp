// SPDX-License-Identifier: MIT
#include "collect/stack_definitions.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace heapwright::collect {
namespace {

// A block of its own; zero pages until written.
class Definitions : public ::testing::Test {
 protected:
  Definitions() {
    void* memory = mmap(nullptr, sizeof(session::ProcessBlock), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    block_ = static_cast<session::ProcessBlock*>(memory);
    definitions_ = std::make_unique<StackDefinitions>(*block_, clock_);
  }
  ~Definitions() override { munmap(block_, sizeof(session::ProcessBlock)); }

  void add_module(std::uint32_t index, std::uint64_t start, std::uint64_t end, const char* path,
                  std::uint64_t unloaded = 0) {
    session::ModuleEntry& entry = block_->modules[index];
    entry.start = start;
    entry.end = end;
    entry.loaded_ticks = 10 + index;
    entry.unloaded_ticks = unloaded;
    std::strcpy(entry.path, path);
    entry.state = 2;
    block_->module_count = std::max(block_->module_count.load(), index + 1);
  }
  void add_frame(std::uint32_t number, std::uint64_t key, std::uint16_t module = 0) {
    block_->pcs[number].key = key;
    block_->pc_modules[number] = module;
  }
  void add_node(std::uint32_t node, std::uint32_t parent, std::uint32_t frame) {
    block_->nodes[node] = std::uint64_t{parent} << 32 | (frame + 1);
  }

  TickConversion clock_;  // one tick is one nanosecond
  session::ProcessBlock* block_;
  std::unique_ptr<StackDefinitions> definitions_;
};

TEST_F(Definitions, ParentsComeFirstAndIdsAreDense) {
  add_module(0, 0x1000, 0x2000, "/a");
  add_frame(70, 0x1500, 1);
  add_frame(71, 0x1600 | session::pc_key_exact, 1);
  add_frame(5, 0x9999);
  add_node(900, 0, 70);
  add_node(20, 900, 71);
  add_node(33, 20, 5);
  EXPECT_EQ(definitions_->stack_id(0), 0U);
  EXPECT_EQ(definitions_->stack_id(33), 3U);
  EXPECT_EQ(definitions_->stack_id(900), 1U);
  EXPECT_EQ(definitions_->stack_id(20), 2U);
  ASSERT_EQ(definitions_->pending_stacks.size(), 3U);
  EXPECT_EQ(definitions_->pending_stacks[0].parent, 0U);
  EXPECT_EQ(definitions_->pending_stacks[1].parent, 1U);
  EXPECT_EQ(definitions_->pending_stacks[2].parent, 2U);
  ASSERT_EQ(definitions_->pending_frames.size(), 3U);
  EXPECT_EQ(definitions_->pending_frames[0].pc, 0x1500U);
  EXPECT_EQ(definitions_->pending_frames[0].module, 0U);
  EXPECT_FALSE(definitions_->pending_frames[0].is_exact);
  EXPECT_EQ(definitions_->pending_frames[1].pc, 0x1600U);
  EXPECT_TRUE(definitions_->pending_frames[1].is_exact);
  EXPECT_EQ(definitions_->pending_frames[2].module, trace::Frame::no_module);
}

TEST_F(Definitions, MarksAreNoFrames) {
  add_node(1, 0, session::mark_truncated);
  add_node(2, 0, session::mark_table_full);
  add_node(3, 0, session::mark_by_frame_pointer);
  add_node(4, 0, session::mark_by_frame_pointer + 1);
  for (const std::uint32_t node : {1, 2, 3, 4}) definitions_->stack_id(node);
  EXPECT_TRUE(definitions_->pending_frames.empty());
  EXPECT_EQ(definitions_->pending_stacks[0].frame, trace::frame_truncated);
  EXPECT_EQ(definitions_->pending_stacks[1].frame, trace::frame_table_full);
  EXPECT_EQ(definitions_->pending_stacks[2].frame, trace::frame_by_frame_pointer);
  EXPECT_EQ(definitions_->pending_stacks[3].frame, trace::frame_truncated);
}

TEST_F(Definitions, PythonFramesAreNamedInAnObjectOfTheirOwn) {
  session::PythonTables& python = block_->python;
  std::strcpy(python.functions[2].name, "Service.handle");
  std::strcpy(python.functions[2].file, "/srv/app.py");
  python.positions[7].place = 3ULL << 32 | 14;
  python.positions[9].place = 3ULL << 32 | 14;  // another instruction of the line
  python.positions[8].place = 3ULL << 32 | 15;
  add_node(1, 0, session::first_python_frame + 7);
  add_node(2, 0, session::first_python_frame + 8);
  add_node(3, 0, session::first_python_frame + 9);
  for (const std::uint32_t node : {1, 2, 3}) definitions_->stack_id(node);
  ASSERT_EQ(definitions_->pending_python_frames.size(), 2U);
  EXPECT_EQ(definitions_->pending_python_frames[0].frame, 0U);
  EXPECT_EQ(definitions_->pending_python_frames[0].function, "Service.handle");
  EXPECT_EQ(definitions_->pending_python_frames[0].file, "/srv/app.py");
  EXPECT_EQ(definitions_->pending_python_frames[0].line, 14U);
  EXPECT_EQ(definitions_->pending_python_frames[1].line, 15U);
  ASSERT_EQ(definitions_->pending_modules.size(), 1U);
  EXPECT_EQ(definitions_->pending_modules[0].path, trace::python_module_path);
  ASSERT_EQ(definitions_->pending_frames.size(), 2U);
  EXPECT_EQ(definitions_->pending_frames[1].module, 0U);
  EXPECT_NE(definitions_->pending_frames[0].pc, definitions_->pending_frames[1].pc);
  EXPECT_EQ(definitions_->pending_stacks[2].frame, 0U);
}

TEST_F(Definitions, GarbageInPythonTablesIsNoName) {
  session::PythonTables& python = block_->python;
  python.positions[0].place = ~0ULL;
  python.positions[1].place = 0;
  python.positions[2].place = 1ULL << 32;
  std::memset(&python.functions[0], 'x', sizeof python.functions[0]);  // not terminated
  const std::uint32_t frames[] = {0, 1, 2, session::python_position_slots, 0xfffffff0U};
  std::uint32_t node = 1;
  for (const std::uint32_t frame : frames) add_node(node++, 0, session::first_python_frame + frame);
  for (std::uint32_t i = 1; i < node; ++i) definitions_->stack_id(i);
  ASSERT_EQ(definitions_->pending_python_frames.size(), 3U);
  EXPECT_EQ(definitions_->pending_python_frames[0].function, "");
  EXPECT_EQ(definitions_->pending_python_frames[1].function, "");
  EXPECT_EQ(definitions_->pending_python_frames[2].function.size(), sizeof python.functions[0].name);
  EXPECT_EQ(definitions_->pending_stacks[3].frame, trace::frame_truncated);
}

TEST_F(Definitions, AContextIsTheOutermostFrameOfItsStacks) {
  add_module(0, 0x1000, 0x2000, "/a");
  add_frame(70, 0x1500, 1);
  add_node(900, 0, 70);
  EXPECT_EQ(definitions_->context(""), 0U);
  EXPECT_EQ(definitions_->stack_id(900, 0), 1U);
  const std::uint32_t cart = definitions_->context("GET /cart");
  const std::uint32_t item = definitions_->context("GET /item");
  EXPECT_NE(cart, item);
  EXPECT_EQ(definitions_->context("GET /cart"), cart);
  const std::uint32_t in_cart = definitions_->stack_id(900, cart);
  EXPECT_EQ(definitions_->stack_id(900, cart), in_cart);
  EXPECT_NE(definitions_->stack_id(900, item), in_cart);
  EXPECT_EQ(definitions_->stack_id(900), 1U);
  const std::uint32_t root = definitions_->stack_id(0, cart);  // no stack was captured
  EXPECT_EQ(definitions_->pending_stacks[in_cart - 1].parent, root);
  EXPECT_EQ(definitions_->pending_stacks[in_cart - 1].frame, definitions_->pending_stacks[0].frame);
  EXPECT_EQ(definitions_->pending_stacks[root - 1].parent, 0U);
  const trace::PythonFrame& named = definitions_->pending_python_frames[0];
  EXPECT_EQ(named.function, "GET /cart");
  EXPECT_EQ(definitions_->pending_stacks[root - 1].frame, named.frame);
  const trace::Module& module = definitions_->pending_modules.back();
  EXPECT_EQ(module.path, trace::context_module_path);
  const trace::Frame& frame = definitions_->pending_frames[named.frame];
  EXPECT_EQ(frame.module, definitions_->pending_modules.size() - 1);
  EXPECT_TRUE(module.start <= frame.pc && frame.pc < module.end);
}

TEST_F(Definitions, FurtherContextsShareOne) {
  constexpr std::uint32_t most = StackDefinitions::max_contexts;
  std::set<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < most; ++i) numbers.insert(definitions_->context(std::to_string(i)));
  EXPECT_EQ(numbers.size(), most);
  const std::uint32_t other = definitions_->context("one more");
  EXPECT_EQ(definitions_->context("and another"), other);
  EXPECT_FALSE(numbers.contains(other));
  EXPECT_EQ(definitions_->context("7"), *std::next(numbers.begin(), 7));
  EXPECT_EQ(definitions_->pending_python_frames.size(), most + 1U);
  EXPECT_EQ(definitions_->pending_python_frames.back().function, trace::other_contexts);
  EXPECT_LT(definitions_->pending_frames.back().pc, definitions_->pending_modules.back().end);
}

// The first one's end is not read yet, and the second one is met in a call that began before.
TEST_F(Definitions, LibraryUnloadedAtTheSameAddressIsToldFromItsSuccessor) {
  add_module(0, 0x1000, 0x2000, "/first");
  add_frame(1, 0x1500, 1);
  add_node(1, 0, 1);
  definitions_->stack_id(1);
  block_->modules[0].unloaded_ticks = 100;
  block_->pcs[1].key = 0x1500 | session::pc_key_dead;
  add_module(1, 0x1000, 0x2000, "/second");
  add_frame(2, 0x1500, 2);
  add_node(2, 0, 2);
  definitions_->stack_id(2);
  EXPECT_EQ(definitions_->pending_frames[0].module, 0U);
  EXPECT_EQ(definitions_->pending_frames[1].module, 1U);
}

TEST_F(Definitions, AModuleThatIsNotThereIsNone) {
  add_module(0, 0x1000, 0x2000, "/a");
  add_frame(1, 0x1500, 9);
  add_node(1, 0, 1);
  definitions_->stack_id(1);
  EXPECT_EQ(definitions_->pending_frames[0].module, trace::Frame::no_module);
}

TEST_F(Definitions, ModuleIsWrittenAgainWhenItIsUnloaded) {
  add_module(0, 0x1000, 0x2000, "/a");
  definitions_->read_modules(false);
  ASSERT_EQ(definitions_->pending_modules.size(), 1U);
  EXPECT_EQ(definitions_->pending_modules[0].path, "/a");
  definitions_->pending_modules.clear();
  definitions_->read_modules(true);
  EXPECT_TRUE(definitions_->pending_modules.empty());
  block_->modules[0].unloaded_ticks = 500;
  definitions_->read_modules(true);
  ASSERT_EQ(definitions_->pending_modules.size(), 1U);
  EXPECT_EQ(definitions_->pending_modules[0].unloaded_ns, 500U);
  EXPECT_EQ(definitions_->pending_modules[0].loaded_ns, 10U);
}

TEST_F(Definitions, ModuleInTheMakingIsReadLater) {
  add_module(0, 0x1000, 0x2000, "/a");
  add_module(1, 0x3000, 0x4000, "/b");
  block_->modules[0].state = 1;
  definitions_->read_modules(false);
  ASSERT_EQ(definitions_->pending_modules.size(), 1U);
  block_->modules[0].state = 2;
  definitions_->read_modules(false);
  ASSERT_EQ(definitions_->pending_modules.size(), 2U);
  EXPECT_EQ(definitions_->pending_modules[1].path, "/a");
}

TEST_F(Definitions, TextWithoutAnEndIsCutAtItsArray) {
  add_module(0, 0x1000, 0x2000, "");
  std::memset(block_->modules[0].path, 'x', sizeof block_->modules[0].path);
  block_->modules[0].build_id_bytes = 0xffffffffU;
  definitions_->read_modules(false);
  EXPECT_EQ(definitions_->pending_modules[0].path, std::string(416, 'x'));
  EXPECT_EQ(definitions_->pending_modules[0].build_id.size(), 64U);
}

TEST_F(Definitions, CyclesAndMissingNodesEndInATruncationMark) {
  add_frame(1, 0x10);
  add_node(1, 2, 1);
  add_node(2, 1, 1);
  EXPECT_NE(definitions_->stack_id(1), 0U);
  EXPECT_EQ(definitions_->pending_stacks[0].frame, trace::frame_truncated);
  // Nodes that do not exist share one id, however many there are.
  const std::size_t before = definitions_->pending_stacks.size();
  for (std::uint32_t node = 0xf0000000U; node < 0xf0000100U; ++node) {
    EXPECT_EQ(definitions_->stack_id(node), 1U);
  }
  EXPECT_EQ(definitions_->stack_id(0xffffffffU), 1U);
  EXPECT_EQ(definitions_->stack_id(777), 1U);
  EXPECT_EQ(definitions_->pending_stacks.size(), before);
  for (std::size_t i = 0; i < definitions_->pending_stacks.size(); ++i) {
    EXPECT_LE(definitions_->pending_stacks[i].parent, i);
  }
}

TEST(NumberMapTest, FindsWhatWasPutIn) {
  NumberMap map;
  std::map<std::uint32_t, std::uint32_t> truth;
  for (std::uint32_t i = 0; i < 50000; ++i) {
    const std::uint32_t key = i * 2654435761U;
    if (key == NumberMap::absent || !truth.emplace(key, i).second) continue;
    map.insert(key, i);
  }
  EXPECT_EQ(map.count(), truth.size());
  for (const auto& [key, value] : truth) ASSERT_EQ(map.find(key), value);
  EXPECT_EQ(map.find(3), truth.contains(3) ? truth[3] : NumberMap::absent);
}

}  // namespace
}  // namespace heapwright::collect
