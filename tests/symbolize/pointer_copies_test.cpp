// SPDX-License-Identifier: MIT
#include "symbolize/pointer_copies.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "symbolize/x86_instruction.hpp"

namespace heapwright::symbolize {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int rax = 0;
constexpr int rdx = 2;
constexpr int rbx = 3;
constexpr int rsp = 4;
constexpr int rbp = 5;
constexpr int rdi = 7;
constexpr int r12 = 12;

// As objdump says.
TEST(X86Instruction, LengthsOfEachKind) {
  const std::vector<Bytes> all = {
      {0xc3},                                         // ret
      {0x55},                                         // push %rbp
      {0x41, 0x5c},                                   // pop %r12
      {0x48, 0x89, 0xc3},                             // mov %rax,%rbx
      {0x48, 0x8b, 0x45, 0xe8},                       // mov -0x18(%rbp),%rax
      {0x48, 0x89, 0x84, 0x24, 0x98, 0, 0, 0},        // mov %rax,0x98(%rsp)
      {0x48, 0x8d, 0x05, 0xb9, 0x5c, 0, 0},           // lea 0x5cb9(%rip),%rax
      {0xbf, 0x38, 0, 0, 0},                          // mov $0x38,%edi
      {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},           // movabs $…,%rax
      {0xe8, 0xd2, 0xfd, 0xff, 0xff},                 // call
      {0xff, 0x15, 0x1a, 0x2e, 0, 0},                 // call *0x2e1a(%rip)
      {0x0f, 0x84, 0x14, 0x03, 0, 0},                 // je
      {0x74, 0x0f},                                   // je
      {0xc7, 0x40, 0x08, 1, 0, 0, 0},                 // movl $1,0x8(%rax)
      {0x66, 0xc7, 0x44, 0x24, 0x3c, 0x6f, 0},        // movw $0x6f,0x3c(%rsp)
      {0xf6, 0x43, 0x10, 0x01},                       // testb $1,0x10(%rbx)
      {0xf7, 0xd8},                                   // neg %eax
      {0xf2, 0x0f, 0x2a, 0xc3},                       // cvtsi2sd %ebx,%xmm0
      {0x66, 0x0f, 0xef, 0xc0},                       // pxor %xmm0,%xmm0
      {0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08},           // palignr $8,%xmm1,%xmm0
      {0xc5, 0xfe, 0x6f, 0x06},                       // vmovdqu (%rsi),%ymm0
      {0xc4, 0xe2, 0x7d, 0x78, 0xc0},                 // vpbroadcastb %xmm0,%ymm0
      {0x62, 0xe1, 0xfe, 0x28, 0x6f, 0x06},           // vmovdqu64 (%rsi),%ymm16
      {0xf0, 0x0f, 0xb1, 0x0d, 1, 2, 3, 4},           // lock cmpxchg %ecx,…(%rip)
      {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},  // cs nopw 0x0(%rax,%rax,1)
      {0xf3, 0x0f, 0x1e, 0xfa},                       // endbr64
  };
  for (const Bytes& code : all) {
    Bytes followed = code;
    followed.resize(32, 0xcc);
    EXPECT_EQ(decode_x86(followed).length, code.size()) << std::hex << static_cast<unsigned>(code[0]);
    Bytes cut(code.begin(), code.end() - 1);
    EXPECT_EQ(decode_x86(cut).length, 0) << "the last byte is missing";
  }
  EXPECT_EQ(decode_x86(Bytes{0x06, 0, 0}).length, 0) << "there is none";
}

PointerCopies after(const std::vector<Bytes>& code) {
  PointerCopies copies;
  for (const Bytes& bytes : code) {
    const Instruction instruction = decode_x86(bytes);
    EXPECT_EQ(instruction.length, bytes.size());
    copies.pass(instruction);
  }
  return copies;
}

TEST(PointerCopies, FollowMovesAndPlacesInTheFrame) {
  const PointerCopies moved = after({{0x48, 0x89, 0xc3}, {0x48, 0x89, 0xdf}});  // rax, rbx, rdi
  EXPECT_TRUE(moved.in_register(rax) && moved.in_register(rbx) && moved.in_register(rdi));
  EXPECT_FALSE(moved.in_register(rdx) || moved.in_register(r12));
  // mov %rax,-0x18(%rbp); xor %eax,%eax; mov -0x18(%rbp),%rdi
  const PointerCopies kept = after({{0x48, 0x89, 0x45, 0xe8}, {0x31, 0xc0}, {0x48, 0x8b, 0x7d, 0xe8}});
  EXPECT_TRUE(kept.at(rbp, -0x18) && kept.in_register(rdi));
  EXPECT_FALSE(kept.in_register(rax) || kept.at(rsp, -0x18) || kept.at(rbp, -0x20));
}

TEST(PointerCopies, ForgetWhatMayBeOverwritten) {
  const Bytes to_frame = {0x48, 0x89, 0x45, 0xe8};  // mov %rax,-0x18(%rbp)
  EXPECT_FALSE(after({{0x89, 0xd8}}).in_register(rax)) << "mov %ebx,%eax";
  EXPECT_FALSE(after({{0x48, 0x83, 0xc0, 0x08}}).in_register(rax)) << "add $8,%rax";
  EXPECT_FALSE(after({{0xb8, 1, 0, 0, 0}}).in_register(rax)) << "mov $1,%eax";
  EXPECT_FALSE(after({{0x58}}).in_register(rax)) << "pop %rax";
  EXPECT_FALSE(after({{0x0f, 0xa2}}).in_register(rax)) << "cpuid";
  EXPECT_FALSE(after({to_frame, {0x89, 0x5d, 0xec}}).at(rbp, -0x18)) << "mov %ebx,-0x14(%rbp)";
  EXPECT_FALSE(after({to_frame, {0x48, 0x89, 0xe5}}).at(rbp, -0x18)) << "mov %rsp,%rbp";
  EXPECT_TRUE(after({to_frame, {0x48, 0x89, 0x5d, 0xe0}}).at(rbp, -0x18)) << "mov %rbx,-0x20(%rbp)";
  EXPECT_TRUE(after({{0xc7, 0x00, 5, 0, 0, 0}}).in_register(rax)) << "movl $5,(%rax)";
  EXPECT_TRUE(after({{0x66, 0x0f, 0xef, 0xc0}}).in_register(rax)) << "pxor %xmm0,%xmm0";
  EXPECT_TRUE(after({{0x48, 0x85, 0xc0}}).in_register(rax)) << "test %rax,%rax";
}

TEST(PointerCopies, CallsKeepWhatCalleesKeep) {
  PointerCopies copies = after({{0x48, 0x89, 0xc3}, {0x49, 0x89, 0xc4}, {0x48, 0x89, 0x45, 0xe8}});
  copies.pass_call();
  EXPECT_FALSE(copies.in_register(rax));
  EXPECT_TRUE(copies.in_register(rbx) && copies.in_register(r12) && copies.at(rbp, -0x18));
  EXPECT_FALSE(copies.is_lost());
  PointerCopies only_result;
  only_result.pass_call();
  EXPECT_TRUE(only_result.is_lost());
}

}  // namespace
}  // namespace heapwright::symbolize
