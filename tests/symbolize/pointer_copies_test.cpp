// SPDX-License-Identifier: MIT
#include "symbolize/pointer_copies.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <utility>
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

TEST(X86Instruction, SaysWhereItGoesOn) {
  const std::vector<std::pair<Bytes, Flow>> all = {
      {{0x55}, Flow::next},                                    // push %rbp
      {{0xf3, 0x0f, 0x1e, 0xfa}, Flow::next},                  // endbr64
      {{0xff, 0x40, 0x08}, Flow::next},                        // incl 0x8(%rax)
      {{0xe8, 0xd2, 0xfd, 0xff, 0xff}, Flow::call},            // call
      {{0xff, 0x15, 0x1a, 0x2e, 0, 0}, Flow::call_elsewhere},  // call *0x2e1a(%rip)
      {{0xe9, 0xd2, 0xfd, 0xff, 0xff}, Flow::jump},            // jmp
      {{0xeb, 0x0f}, Flow::jump},                              // jmp
      {{0xff, 0xe0}, Flow::leaves},                            // jmp *%rax
      {{0x0f, 0x84, 0x14, 0x03, 0, 0}, Flow::jump_if_zero},    // je
      {{0x75, 0x0f}, Flow::jump_if_not_zero},                  // jne
      {{0x7c, 0x0f}, Flow::leaves},                            // jl
      {{0xe3, 0x0f}, Flow::leaves},                            // jrcxz
      {{0xc3}, Flow::returns},                                 // ret
      {{0x0f, 0x05}, Flow::leaves},                            // syscall
      {{0x0f, 0x0b}, Flow::leaves},                            // ud2
  };
  for (const auto& [code, flow] : all) {
    EXPECT_EQ(decode_x86(code).flow, flow) << std::hex << static_cast<unsigned>(code[0]);
    EXPECT_EQ(decode_x86(code).length, code.size());
    EXPECT_EQ(decode_x86(std::span(code).first(code.size() - 1)).length, 0) << "the last byte is missing";
  }
  EXPECT_EQ(decode_x86(all[3].first).branch, -0x22e);
  EXPECT_EQ(decode_x86(all[8].first).branch, 0x314);
  EXPECT_EQ(decode_x86(Bytes{0x06, 0, 0}).length, 0) << "there is none";
  EXPECT_EQ(decode_x86(Bytes{0x48, 0x85, 0xc0}).tested, rax);
  EXPECT_EQ(decode_x86(Bytes{0x85, 0xc0}).tested, no_register) << "half of it";
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
  EXPECT_FALSE(after({{0x48, 0x89, 0xc3}, {0x48, 0x93}}).in_register(rbx)) << "xchg %rax,%rbx, not followed";
  EXPECT_FALSE(after({{0x48, 0x0f, 0x44, 0xc3}}).in_register(rax)) << "cmove %rbx,%rax";
  EXPECT_FALSE(after({to_frame, {0xf3, 0x48, 0xab}}).at(rbp, -0x18)) << "rep stos, may be there";
  EXPECT_TRUE(after({to_frame, {0x50}}).at(rbp, -0x18)) << "push %rax";
  EXPECT_FALSE(after({{0x64, 0x48, 0x89, 0x45, 0xe8}}).at(rbp, -0x18)) << "mov %rax,%fs:-0x18(%rbp)";
  EXPECT_FALSE(after({to_frame, {0x0f, 0x29, 0x45, 0xe0}}).at(rbp, -0x18)) << "movaps %xmm0,-0x20(%rbp)";
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
