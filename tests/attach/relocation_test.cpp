// SPDX-License-Identifier: MIT
#include "attach/relocation.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace heapwright::attach {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t from = 0x7f0000001000;
constexpr std::uint64_t to = 0x7f0000101000;

std::int32_t distance_at(const Bytes& code, std::size_t at) {
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + at, sizeof distance);
  return distance;
}

std::uint64_t lands_at(const Bytes& code, std::size_t at) {
  return to + at + 4 + static_cast<std::uint64_t>(std::int64_t{distance_at(code, at)});
}

// push r12; push rbp; push rbx; mov rbx, rdi
const Bytes pushes{0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb, 0xc3};

TEST(Relocation, PlainInstructionsAreCopiedAndFollowedByAJumpBack) {
  const MovedEntry moved = move_entry(pushes, from, to);
  ASSERT_EQ(moved.refusal, "");
  ASSERT_EQ(moved.code.size(), 7U + jump_bytes);
  EXPECT_EQ(Bytes(moved.code.begin(), moved.code.begin() + 7), Bytes(pushes.begin(), pushes.begin() + 7));
  EXPECT_EQ(moved.code[7], 0xe9);
  EXPECT_EQ(lands_at(moved.code, 8), from + 7);
  ASSERT_EQ(moved.instructions.size(), 4U);
  EXPECT_EQ(moved.instructions[3].from, 4U);
  EXPECT_EQ(moved.instructions[3].to, 4U);
}

TEST(Relocation, AShortConditionalJumpBecomesALongOne) {
  // test rdi, rdi; je +0x10; ret
  const MovedEntry moved = move_entry(Bytes{0x48, 0x85, 0xff, 0x74, 0x10, 0xc3}, from, to);
  ASSERT_EQ(moved.refusal, "");
  ASSERT_EQ(moved.code.size(), 3U + 6 + jump_bytes);
  EXPECT_EQ(moved.code[3], 0x0f);
  EXPECT_EQ(moved.code[4], 0x84);
  EXPECT_EQ(lands_at(moved.code, 5), from + 5 + 0x10);
  EXPECT_EQ(lands_at(moved.code, 10), from + 5);
}

TEST(Relocation, ALongConditionalJumpKeepsItsTarget) {
  // glibc's free: test rdi, rdi; je +0xbf
  const Bytes code{0x48, 0x85, 0xff, 0x0f, 0x84, 0xbf, 0x00, 0x00, 0x00, 0x55};
  const MovedEntry moved = move_entry(code, from, to);
  ASSERT_EQ(moved.refusal, "");
  EXPECT_EQ(lands_at(moved.code, 5), from + 9 + 0xbf);
}

TEST(Relocation, AReferenceRelativeToTheInstructionKeepsItsTarget) {
  // glibc's memalign: cmp byte ptr [rip + 0x140e71], 0
  const MovedEntry moved = move_entry(Bytes{0x80, 0x3d, 0x71, 0x0e, 0x14, 0x00, 0x00, 0xc3}, from, to);
  ASSERT_EQ(moved.refusal, "");
  // The immediate byte follows the displacement.
  EXPECT_EQ(lands_at(moved.code, 2) + 1, from + 7 + 0x140e71);
}

TEST(Relocation, AFunctionThatIsAJumpEndsThere) {
  // libstdc++'s operator delete: endbr64; jmp free
  const Bytes code{0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 0x87, 0x2f, 0xff, 0xff};
  const MovedEntry moved = move_entry(code, from, to);
  ASSERT_EQ(moved.refusal, "");
  ASSERT_EQ(moved.code.size(), code.size());
  EXPECT_EQ(lands_at(moved.code, 5), from + 9 - 0xd079);
}

struct Refused {
  const char* name;
  Bytes code;
  const char* word;
};

TEST(Relocation, WhatCannotBeMovedIsRefused) {
  const Refused all[] = {
      {"ret", {0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90}, "too short"},
      {"short jump away", {0xeb, 0x20, 0x90, 0x90, 0x90, 0x90}, "too short"},
      {"call", {0xe8, 0, 0, 0, 0, 0xc3}, "call"},
      {"indirect call", {0xff, 0x15, 0, 0, 0, 0, 0xc3}, "call"},
      {"loop", {0xe2, 0x10, 0x90, 0x90, 0x90, 0xc3}, "unsupported branch"},
      {"jrcxz", {0xe3, 0x10, 0x90, 0x90, 0x90, 0xc3}, "unsupported branch"},
      {"breakpoint", {0xcc, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb, 0xc3}, "breakpoint"},
      {"no instruction", {0x06, 0x06, 0x06, 0x06, 0x06, 0x06}, "not an instruction"},
      {"cut short", {0x48, 0x85}, "not an instruction"},
      {"nothing", {}, "not an instruction"},
      {"jump within", {0x74, 0x01, 0x90, 0x90, 0x90, 0xc3}, "within"},
      {"jump back later", {0x55, 0x53, 0x50, 0x51, 0x52, 0x90, 0xeb, 0xfa, 0xc3}, "jumps back"},
      {"jump back after data", {0x55, 0x53, 0x50, 0x51, 0x52, 0xc3, 0x06, 0x75, 0xf9}, "jumps back"},
  };
  for (const Refused& one : all) {
    const MovedEntry moved = move_entry(one.code, from, to);
    EXPECT_NE(moved.refusal.find(one.word), std::string::npos) << one.name << ": " << moved.refusal;
    EXPECT_TRUE(moved.code.empty()) << one.name;
  }
}

TEST(Relocation, AJumpToTheVeryBeginIsNone) {
  // The whole function again, by way of its hook.
  const MovedEntry moved = move_entry(Bytes{0x55, 0x53, 0x50, 0x51, 0x52, 0xeb, 0xf9}, from, to);
  EXPECT_EQ(moved.refusal, "");
}

TEST(Relocation, WhatIsTooFarAwayIsRefused) {
  const Bytes code{0x80, 0x3d, 0x71, 0x0e, 0x14, 0x00, 0x00, 0xc3};
  EXPECT_NE(move_entry(code, from, from + (3ULL << 30)).refusal.find("too far"), std::string::npos);
  EXPECT_EQ(move_entry(code, from, from + (1ULL << 30)).refusal, "");
}

TEST(Relocation, JumpsAreMadeAndRead) {
  for (const std::uint64_t target : {from + 5, from, from - 0x7fff0000, from + 0x7fff0000}) {
    const Bytes jump = make_jump(from, target);
    ASSERT_EQ(jump.size(), jump_bytes);
    EXPECT_EQ(jump_target(jump, from), target);
  }
  EXPECT_EQ(jump_target(pushes, from), 0U);
}

// long f(long a) { return a == 0 ? -1 : a * 2 + global; }, by hand; then run where it was moved to.
TEST(Relocation, MovedCodeDoesTheSame) {
  void* const memory =
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const base = static_cast<std::uint8_t*>(memory);
  const Bytes code{
      0x48, 0x85, 0xff,                          // test rdi, rdi
      0x74, 0x0c,                                // je to the last two instructions
      0x48, 0x8b, 0x05, 0xf4, 0x00, 0x00, 0x00,  // mov rax, [rip + 0xf4]: base + 0x100
      0x48, 0x8d, 0x04, 0x78,                    // lea rax, [rax + rdi * 2]
      0xc3,                                      // ret
      0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff,  // mov rax, -1
      0xc3,
  };
  std::memcpy(base, code.data(), code.size());
  const std::int64_t global = 1000;
  std::memcpy(base + 0x100, &global, sizeof global);
  const auto begin = reinterpret_cast<std::uint64_t>(base);
  const MovedEntry moved = move_entry(code, begin, begin + 4096);
  ASSERT_EQ(moved.refusal, "");
  std::memcpy(base + 4096, moved.code.data(), moved.code.size());
  std::memset(base, 0xcc, jump_bytes);
  const auto function = reinterpret_cast<long (*)(long)>(begin + 4096);
  EXPECT_EQ(function(21), 1042);
  EXPECT_EQ(function(0), -1);
  munmap(memory, 8192);
}

}  // namespace
}  // namespace heapwright::attach
