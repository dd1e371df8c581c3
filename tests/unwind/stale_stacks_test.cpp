// SPDX-License-Identifier: MIT
// A stored stack whose words are all still there, and which is not the
// thread's stack any more.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "witness.hpp"

// Return addresses whose frames are three words: CFA = RSP + 24 behind the
// first instruction.
asm(".text\n"
    ".globl heapwright_test_frame\n"
    ".type heapwright_test_frame, @function\n"
    "heapwright_test_frame:\n"
    ".cfi_startproc\n"
    "nop\n"
    ".cfi_def_cfa_offset 24\n"
    "nop\n"
    "nop\n"
    "nop\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size heapwright_test_frame, .-heapwright_test_frame\n");
extern "C" void heapwright_test_frame();

namespace heapwright::unwind {
namespace {

TestProcess* process;
ThreadStack* thread_stack;
std::uint32_t last_node;

[[HOOK]] void capture_callback() {
  last_node = capture(process->tables(), *thread_stack, __builtin_frame_address(0));
  asm volatile("");
}

std::uint32_t frames_of(std::uint32_t node) {
  std::uint32_t count = 0;
  for (; node != 0; node = static_cast<std::uint32_t>(process->block().nodes[node].load() >> 32)) ++count;
  return count;
}

bool has_dead_frame(std::uint32_t node) {
  for (; node != 0; node = static_cast<std::uint32_t>(process->block().nodes[node].load() >> 32)) {
    const auto number = static_cast<std::uint32_t>(process->block().nodes[node].load()) - 1;
    if (number < session::pc_table_slots &&
        (process->block().pcs[number].key.load() & session::pc_key_dead) != 0) {
      return true;
    }
  }
  return false;
}

// Of the stack's frames, those in a module whose path ends so.
std::uint32_t frames_in(std::uint32_t node, const std::string& end_of_path) {
  std::uint32_t count = 0;
  for (; node != 0; node = static_cast<std::uint32_t>(process->block().nodes[node].load() >> 32)) {
    const auto number = static_cast<std::uint32_t>(process->block().nodes[node].load()) - 1;
    if (number >= session::pc_table_slots) continue;
    const std::uint16_t module = process->block().pc_modules[number];
    if (module != 0 && std::string(process->block().modules[module - 1].path).ends_with(end_of_path)) ++count;
  }
  return count;
}

class StaleStacks : public ::testing::Test {
 protected:
  void SetUp() override {
    process = &process_;
    thread_stack = begin_thread(process_.tables(), memory_.data());
  }
  TestProcess process_;
  alignas(64) std::array<unsigned char, 14 * 1024> memory_{};
};

// Both libraries have the same code at the same place: every word of the
// stack is the same, and belongs to another library.
TEST_F(StaleStacks, ALibraryThatTakesAnothersPlaceBringsNewFrames) {
  std::uint64_t last_address = 0;
  std::uint32_t node_before = 0;
  std::uint32_t same_place_count = 0;
  for (int round = 0; round < 6; ++round) {
    void* library = dlopen(round % 2 == 0 ? PLUGIN_SMALL : PLUGIN_TWIN, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto call = reinterpret_cast<void (*)(void (*)(), int)>(dlsym(library, "plugin_call"));
    call(capture_callback, 1);
    EXPECT_FALSE(has_dead_frame(last_node)) << round;
    EXPECT_NE(last_node, node_before) << round << ": of the other library";
    EXPECT_EQ(frames_in(last_node, "plugin_small.so"), round % 2 == 0 ? 2U : 0U);
    EXPECT_EQ(frames_in(last_node, "plugin_twin.so"), round % 2 == 0 ? 0U : 2U);
    node_before = last_node;
    same_place_count += reinterpret_cast<std::uint64_t>(call) == last_address ? 1 : 0;
    last_address = reinterpret_cast<std::uint64_t>(call);
    dlclose(library);
    forget_unloaded(process_.tables());
  }
  EXPECT_GT(same_place_count, 0U);
}

// The outermost frame's caller was none and is one: inner words do not tell.
TEST_F(StaleStacks, AChangedRootIsSeen) {
  const auto frame = reinterpret_cast<std::uint64_t>(&heapwright_test_frame) + 3;
  // [saved RBP][return] of the hook, then three words a frame.
  volatile std::uint64_t words[16] = {};
  words[1] = frame;
  words[4] = frame;
  const auto take = [&words] {
    return capture(process->tables(), *thread_stack, const_cast<const std::uint64_t*>(words));
  };
  const std::uint32_t first = take();
  EXPECT_EQ(frames_of(first), 2U);
  EXPECT_EQ(take(), first);
  words[7] = frame;
  const std::uint32_t second = take();
  EXPECT_EQ(frames_of(second), 3U);
  words[7] = 0;
  EXPECT_EQ(take(), first);
}

}  // namespace
}  // namespace heapwright::unwind
