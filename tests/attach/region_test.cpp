// SPDX-License-Identifier: MIT
#include "attach/region.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "attach/relocation.hpp"
#include "attach/target_maps.hpp"

namespace heapwright::attach {
namespace {

constexpr std::size_t region_bytes = 4 * 4096;

// A region in this process, and behind it a function that begins with a jump.
class RegionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::size_t bytes = region_bytes + 2 * 4096;
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    base_ = static_cast<std::uint8_t*>(memory);
    function_ = base_ + region_bytes + 4096;
    RegionHead head{};
    std::memcpy(head.magic.data(), "heapwright patch", head.magic.size());
    head.version = region_version;
    head.slots = 1;
    Slot slot{
        .function = reinterpret_cast<std::uint64_t>(function_), .original = {}, .padding = {}, .code = {}};
    std::memcpy(base_, &head, sizeof head);
    std::memcpy(base_ + sizeof head, &slot, sizeof slot);
  }
  void TearDown() override { munmap(base_, region_bytes + 2 * 4096); }

  const Slot* patch_after_jump_to(const std::uint8_t* target) {
    const auto jump =
        make_jump(reinterpret_cast<std::uint64_t>(function_), reinterpret_cast<std::uint64_t>(target));
    std::memcpy(function_, jump.data(), jump.size());
    mprotect(base_, region_bytes, PROT_READ | PROT_EXEC);
    const TargetMemory memory(getpid());
    regions_.clear();
    for (const FoundRegion& region : find_regions(memory, read_maps(getpid()))) {
      if (region.base == reinterpret_cast<std::uint64_t>(base_)) regions_.push_back(region);
    }
    EXPECT_EQ(regions_.size(), 1U);
    if (regions_.empty()) return nullptr;
    return find_patch(memory, regions_[0], reinterpret_cast<std::uint64_t>(function_));
  }

  std::uint8_t* base_ = nullptr;
  std::uint8_t* function_ = nullptr;
  std::vector<FoundRegion> regions_;
};

TEST_F(RegionTest, AJumpIntoTheRegionIsAPatch) { EXPECT_NE(patch_after_jump_to(base_ + 4096), nullptr); }

// As operator delete jumps to its library's linkage table, which may lie behind a region.
TEST_F(RegionTest, AJumpOfTheFunctionsOwnIsNoPatch) {
  EXPECT_EQ(patch_after_jump_to(base_ + region_bytes), nullptr);
}

int answer() { return 42; }

TEST(Annexes, AFarJumpReachesAnyAddress) {
  const std::size_t bytes = annex_bytes;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto base = reinterpret_cast<std::uint64_t>(memory);
  FarJump jump;
  const auto target = reinterpret_cast<std::uint64_t>(&answer);
  std::memcpy(jump.target.data(), &target, sizeof target);
  const std::uint64_t last = far_jump_of_slot(base, max_slots - 1);
  EXPECT_LE(last + sizeof jump, base + bytes);
  std::memcpy(reinterpret_cast<void*>(last), &jump, sizeof jump);
  mprotect(memory, bytes, PROT_READ | PROT_EXEC);
  EXPECT_EQ(reinterpret_cast<int (*)()>(last)(), 42);
  munmap(memory, bytes);
}

TEST(Annexes, AreToldFromRegions) {
  const AgentImage image(AgentKind::recording);
  EXPECT_TRUE(
      (FoundRegion{.base = 0, .head = make_annex_head(image), .slots = {}, .code_bytes = 0}).is_annex());
  EXPECT_FALSE((FoundRegion{.base = 0, .head = make_head(image), .slots = {}, .code_bytes = 0}).is_annex());
}

}  // namespace
}  // namespace heapwright::attach
