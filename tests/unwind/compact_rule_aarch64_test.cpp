// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "unwind/compact_rule.hpp"
#include "unwind/stack_bounds.hpp"

namespace heapwright::unwind {
namespace {

using Kind = SavedRegister::Kind;

FrameRow row(std::uint64_t cfa_register, std::int64_t cfa_offset, std::int64_t link_offset) {
  FrameRow made;
  made.cfa_register = cfa_register;
  made.cfa_offset = cfa_offset;
  made.return_address = {Kind::at_cfa_offset, link_offset, {}};
  return made;
}

TEST(CompactRuleOfAarch64, TheReturnAddressIsWhereTheTableSays) {
  for (const std::int64_t frame_bytes : {16, 32, 48, 4096, 65520, 262'128}) {
    for (const std::int64_t link : {std::int64_t{-8}, 8 - frame_bytes}) {
      const Rule rule = compact(row(register_rsp, frame_bytes, link), false, 0);
      EXPECT_EQ(rule.type(), RuleType::rsp_offset);
      EXPECT_EQ(rule.cfa_offset(), frame_bytes);
      EXPECT_EQ(rule.return_address_offset(), link);
      EXPECT_EQ(rule.rbp_source(), RbpSource::unchanged);
    }
  }
  // Beyond what a rule can say, it says nothing.
  EXPECT_EQ(compact(row(register_rsp, 262'144, -8), false, 0).type(), RuleType::unfollowable);
  EXPECT_EQ(compact(row(register_rsp, 16, -262'152), false, 0).type(), RuleType::unfollowable);
  EXPECT_EQ(compact(row(register_rsp, 12, -8), false, 0).type(), RuleType::unfollowable);
}

TEST(CompactRuleOfAarch64, TheFramePointerIsFollowed) {
  FrameRow made = row(register_rbp, 48, -40);
  made.rbp = {Kind::at_cfa_offset, -48, {}};
  const Rule rule = compact(made, false, 0);
  EXPECT_EQ(rule.type(), RuleType::rbp_offset);
  EXPECT_EQ(rule.cfa_offset(), 48);
  EXPECT_EQ(rule.rbp_source(), RbpSource::cfa_slot);
  EXPECT_EQ(rule.rbp_offset(), -48);
  EXPECT_EQ(rule.return_address_offset(), -40);
}

TEST(CompactRuleOfAarch64, ALeafHasItsReturnAddressInTheLinkRegister) {
  FrameRow made = row(register_rsp, 16, 0);
  made.return_address = {};
  EXPECT_EQ(compact(made, false, 0).type(), RuleType::link_register);
  EXPECT_EQ(compact(made, false, 0).cfa_offset(), 16);
  made.cfa_register = register_rbp;
  EXPECT_EQ(compact(made, false, 0).type(), RuleType::unfollowable);
  made.return_address.kind = Kind::undefined;
  EXPECT_EQ(compact(made, false, 0).type(), RuleType::end);
}

TEST(CompactRuleOfAarch64, OtherRegistersAndExpressionsAreNotFollowed) {
  EXPECT_EQ(compact(row(9, 16, -8), false, 0).type(), RuleType::unfollowable);
  FrameRow made = row(register_rsp, 16, -8);
  made.has_cfa_expression = true;
  EXPECT_EQ(compact(made, false, 0).type(), RuleType::unfollowable);
  made = row(register_rsp, 16, -8);
  made.rbp = {Kind::at_expression, 0, {}};
  EXPECT_EQ(compact(made, false, 0).rbp_source(), RbpSource::lost);
}

TEST(CompactRuleOfAarch64, TheKernelsReturnFromASignalIsKnownByItsCode) {
  const std::uint32_t code[] = {0xd2801168, 0xd4000001, 0xd503201f};
  const auto begin = reinterpret_cast<std::uint64_t>(code);
  EXPECT_TRUE(is_signal_return(begin, begin + 8));
  EXPECT_FALSE(is_signal_return(begin, begin + 4));
  EXPECT_FALSE(is_signal_return(begin + 4, begin + 12));
}

TEST(CompactRuleOfAarch64, AFrameOfASignalIsTheKernels) {
  EXPECT_EQ(compact(row(register_rbp, 0, 8), true, 0).type(), RuleType::signal_frame);
}

TEST(CompactRuleOfAarch64, AStubOfTheLinkerIsFollowedWhereItWasInterrupted) {
  const std::uint32_t code[] = {0xf00003d0, 0xf940c611, 0x91062210, 0xd61f0220, 0xd503201f};
  const auto begin = reinterpret_cast<std::uint64_t>(code);
  for (std::uint64_t at = begin; at < begin + 16; at += 4) {
    EXPECT_EQ(rule_without_table(at, begin + 20, true).type(), RuleType::link_register);
    EXPECT_EQ(rule_without_table(at, begin + 20, false).type(), RuleType::unfollowable);
  }
  EXPECT_TRUE(rule_without_table(begin + 16, begin + 20, true).has_no_tables());
}

TEST(CompactRuleOfAarch64, ASignedReturnAddressIsAnAddress) {
  EXPECT_EQ(code_address(0x0077'aaaa'dead'beefULL), 0xaaaa'dead'beefULL);
  EXPECT_EQ(code_address(0xff7f'0000'0040'1234ULL), 0x40'1234ULL);
}

}  // namespace
}  // namespace heapwright::unwind
