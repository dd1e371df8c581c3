// SPDX-License-Identifier: MIT
#include "apply/sites.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace heapwright::apply {
namespace {

using unwind::RbpSource;
using unwind::Rule;
using unwind::RuleType;

// As if called: the caller's frame pointer and the return address, and above them its frame.
struct FakeStack {
  std::uint64_t words[32] = {};
  const void* frame() const { return words; }
};

ArmedStack stack_of(std::vector<std::uint64_t> addresses, std::vector<Rule> rules, std::uint32_t remedy) {
  ArmedStack stack{};
  stack.remedy = remedy;
  stack.frame_count = static_cast<std::uint32_t>(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) stack.addresses[i] = addresses[i];
  for (std::size_t i = 0; i < rules.size(); ++i) stack.rules[i] = rules[i];
  return stack;
}

TEST(Sites, AreFoundByOneAddressAndNothingElseIs) {
  const ArmedStack stacks[] = {stack_of({0x1000}, {}, 3), stack_of({0x2000}, {}, 4)};
  arm_stacks(stacks, 2);
  FakeStack call;
  call.words[1] = 0x1000;
  EXPECT_TRUE(may_be_site(reinterpret_cast<void*>(0x1000)));
  EXPECT_EQ(remedy_of_call(call.frame()), 3U);
  call.words[1] = 0x2000;
  EXPECT_EQ(remedy_of_call(call.frame()), 4U);
  int maybe = 0;
  for (std::uint64_t address = 0x400000; address < 0x400000 + 10000 * 7; address += 7) {
    maybe += may_be_site(reinterpret_cast<void*>(address)) ? 1 : 0;
    call.words[1] = address;
    ASSERT_EQ(remedy_of_call(call.frame()), no_remedy);
  }
  EXPECT_LT(maybe, 30);  // 2 of 4096 bits
}

TEST(Sites, AreToldApartByTheFramesAround) {
  const Rule by_sp{RuleType::rsp_offset, 32, RbpSource::unchanged, 0};
  const ArmedStack stacks[] = {stack_of({0x1000, 0x5000}, {by_sp}, 1),
                               stack_of({0x1000, 0x6000}, {by_sp}, 2)};
  arm_stacks(stacks, 2);
  FakeStack call;
  call.words[1] = 0x1000;
  call.words[2 + 3] = 0x6000;  // 8 below 32 above the caller's stack pointer
  EXPECT_EQ(remedy_of_call(call.frame()), 2U);
  call.words[2 + 3] = 0x5000;
  EXPECT_EQ(remedy_of_call(call.frame()), 1U);
  call.words[2 + 3] = 0x7000;
  EXPECT_EQ(remedy_of_call(call.frame()), no_remedy);
}

// The inner function has a frame pointer and a frame of any size; the outer one realigned its stack.
TEST(Sites, FollowFramePointers) {
  const Rule by_rbp{RuleType::rbp_offset, 16, RbpSource::cfa_slot, -16};
  const Rule by_load{RuleType::rbp_load, -8, RbpSource::rbp_slot, 0};
  const ArmedStack stacks[] = {stack_of({0x1000, 0x5000, 0x9000}, {by_rbp, by_load}, 7)};
  arm_stacks(stacks, 1);
  FakeStack call;
  std::uint64_t* const words = call.words;
  const auto address_of = [&](int word) { return reinterpret_cast<std::uint64_t>(&words[word]); };
  words[0] = address_of(10);
  words[1] = 0x1000;
  words[10] = address_of(20);  // the caller's frame pointer
  words[11] = 0x5000;
  words[19] = address_of(27);  // where the stack was before it was realigned
  words[26] = 0x9000;
  EXPECT_EQ(remedy_of_call(call.frame()), 7U);
  words[26] = 0x9001;
  EXPECT_EQ(remedy_of_call(call.frame()), no_remedy);
}

TEST(Sites, GoWhenTheirCodeGoes) {
  ArmedStack stacks[] = {stack_of({0x1000}, {}, 1)};
  arm_stacks(stacks, 1);
  stacks[0].frame_count = 0;
  arm_stacks(stacks, 1);
  FakeStack call;
  call.words[1] = 0x1000;
  EXPECT_EQ(remedy_of_call(call.frame()), no_remedy);
  EXPECT_FALSE(may_be_site(reinterpret_cast<void*>(0x1000)));
}

// While they are armed anew a call is the right remedy's or none's.
TEST(Sites, AreNeverMixedUp) {
  const ArmedStack first[] = {stack_of({0x1000}, {}, 1), stack_of({0x2000}, {}, 1)};
  const ArmedStack second[] = {stack_of({0x3000}, {}, 2), stack_of({0x1000}, {}, 2),
                               stack_of({0x4000}, {}, 2)};
  arm_stacks(first, 2);
  std::atomic<bool> is_over{false};
  std::atomic<int> mixed{0};
  std::thread reader([&] {
    FakeStack call;
    call.words[1] = 0x2000;  // never of the second
    while (!is_over.load()) {
      const std::uint32_t remedy = remedy_of_call(call.frame());
      if (remedy != 1 && remedy != no_remedy) mixed.fetch_add(1);
    }
  });
  for (int i = 0; i < 5000; ++i) {
    arm_stacks(second, 3);
    arm_stacks(first, 2);
  }
  is_over.store(true);
  reader.join();
  EXPECT_EQ(mixed.load(), 0);
}

}  // namespace
}  // namespace heapwright::apply
