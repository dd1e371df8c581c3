// SPDX-License-Identifier: MIT
// length: the code that is recognised is written out here, instruction by instruction.
// Stacks through functions that the compiler gave no unwind tables.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <initializer_list>
#include <vector>

#include "bare.hpp"
#include "unwind/return_address.hpp"
#include "unwind/rule.hpp"
#include "witness.hpp"

namespace heapwright::unwind {
namespace {

Stack found;

[[HOOK]] std::uint32_t capture_here() { return capture_from(__builtin_frame_address(0)); }

[[gnu::noinline]] int capture_bare(Bare&) {
  decode(TestProcess::current->block(), capture_here(), found);
  return 0;
}

// How many of the captured frames, from the second on, are those that the functions know of.
std::uint32_t count_right(const Bare& bare) {
  std::uint32_t right = 0;
  for (int i = bare.depth - 1; i >= 0 && right + 2 < found.count; --i, ++right) {
    if (found.pcs[right + 2] != reinterpret_cast<std::uint64_t>(bare.returns[i])) break;
  }
  return right;
}

template <typename Call>
[[gnu::noinline]] Bare run(Call call, int levels) {
  Bare bare{capture_bare, {}, 0};
  KEEP(call(bare, levels));
  return bare;
}

TEST(NoTables, FramePointersLeadOn) {
  TestProcess process;
  std::uint32_t whole_depth = 0;
  for (const int levels : {0, 1, 9, 30, 9, 30}) {
    const Bare bare = run(framed_call, levels);
    EXPECT_EQ(count_right(bare), static_cast<std::uint32_t>(bare.depth));
    EXPECT_EQ(found.by_frame_pointer, static_cast<std::uint32_t>(bare.depth));
    EXPECT_FALSE(found.is_truncated);
    // The frames beyond are those of the tables.
    const std::uint32_t outer = found.count - static_cast<std::uint32_t>(bare.depth);
    if (whole_depth == 0) whole_depth = outer;
    EXPECT_EQ(outer, whole_depth);
    EXPECT_GT(outer, 3U);
  }
}

// The frame pointer is then that of a function further out: it is not followed.
TEST(NoTables, WithoutFramePointersTheStackIsCut) {
  TestProcess process;
  for (const int levels : {0, 1, 9, 30}) {
    run(frameless_call, levels);
    EXPECT_EQ(found.count, 2U);
    EXPECT_EQ(found.by_frame_pointer, 0U);
    EXPECT_TRUE(found.is_truncated);
    EXPECT_EQ(found.mark, session::mark_no_tables);
  }
}

// A stack kept between captures: the outer part changes, and so do the frames beyond the kept ones.
TEST(NoTables, StoredFramesAreCheckedAgain) {
  TestProcess process;
  for (int round = 0; round < 50; ++round) {
    const Bare bare = run(framed_call, round % 5);
    EXPECT_EQ(count_right(bare), static_cast<std::uint32_t>(bare.depth)) << round;
    run(frameless_call, round % 3);
    EXPECT_EQ(found.count, 2U);
  }
}

// Code in no object that calls capture_made(). Written from `at` on, in three pages.
class MadeCode {
 public:
  explicit MadeCode(std::size_t at) : at_(at) {
    memory_ = static_cast<unsigned char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(memory_, 0x90, bytes);
  }
  ~MadeCode() { munmap(memory_, bytes); }
  MadeCode(const MadeCode&) = delete;
  MadeCode& operator=(const MadeCode&) = delete;

  MadeCode& put(std::initializer_list<unsigned char> code) {
    for (const unsigned char byte : code) memory_[at_++] = byte;
    return *this;
  }
  MadeCode& write_from(std::size_t at) {
    EXPECT_EQ(mprotect(memory_, bytes, PROT_READ | PROT_WRITE), 0);
    at_ = at;
    return *this;
  }
  MadeCode& skip(std::size_t nops) {
    at_ += nops;
    return *this;
  }
  MadeCode& put_call(void (*callee)()) {
    put({0x48, 0xb8});
    std::memcpy(memory_ + at_, &callee, sizeof callee);
    at_ += sizeof callee;
    return put({0xff, 0xd0});
  }
  [[gnu::noinline]] void run(std::size_t from) const {
    ASSERT_EQ(mprotect(memory_, bytes, PROT_READ | PROT_EXEC), 0);
    void (*code)();
    void* const start = memory_ + from;
    std::memcpy(&code, &start, sizeof code);
    code();
    KEEP(code);
  }

 private:
  static constexpr std::size_t bytes = 3 * 4096;
  unsigned char* memory_;
  std::size_t at_;
};

[[gnu::noinline]] void capture_made() {
  decode(TestProcess::current->block(), capture_here(), found);
  KEEP(found.count);
}

TEST(MadeCode, AFunctionLongerThanAPageIsFollowed) {
  TestProcess process;
  MadeCode code(16);
  code.put({0x55, 0x48, 0x89, 0xe5}).skip(5000).put_call(capture_made).put({0x90, 0x5d, 0xc3});
  code.run(16);
  EXPECT_EQ(found.by_frame_pointer, 1U);
  EXPECT_GT(found.count, 6U);
  EXPECT_FALSE(found.is_truncated);
}

// What looks like its prologue is the end of another function; RBP is that of its caller, which would be
// missing.
TEST(MadeCode, AFrameOfAFunctionFurtherOutIsNotTaken) {
  TestProcess process;
  MadeCode code(16);
  code.put({0x55, 0x48, 0x89, 0xe5}).skip(28);  // the other one
  code.put({0x48, 0x83, 0xec, 8}).put_call(capture_made).put({0x90, 0x48, 0x83, 0xc4, 8, 0xc3});
  void (MadeCode::*const volatile run)(std::size_t) const = &MadeCode::run;
  (code.*run)(48);  // by an indirect call, which may lead anywhere
  EXPECT_EQ(found.by_frame_pointer, 0U);
  EXPECT_TRUE(found.is_truncated);
  EXPECT_EQ(found.mark, session::mark_no_object);
}

// As V8's baseline code: it calls `prologue` first. before, after: what it does around the call of
// capture_made().
void put_called_prologue(MadeCode& code, std::initializer_list<unsigned char> prologue,
                         std::initializer_list<unsigned char> before,
                         std::initializer_list<unsigned char> after) {
  code.put(
      {0x55, 0x48, 0x89, 0xe5, 0x53, 0x41, 0x54, 0x41, 0x57, 0x48, 0x83, 0xec, 8});  // saves what is used
  code.put({0xe8, 43, 0, 0, 0});
  code.put({0x48, 0x83, 0xc4, 8, 0x41, 0x5f, 0x41, 0x5c, 0x5b, 0x5d, 0xc3});
  code.write_from(48).put(prologue).write_from(77);
  code.put({0xbb, 1, 0, 0, 0, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 0xcf, 0xff, 0xff, 0xff});
  code.put(before).put_call(capture_made).put(after);
}

TEST(MadeCode, APrologueThatIsCalledCounts) {
  TestProcess process;
  MadeCode code(16);
  put_called_prologue(code, {0x90, 0x41, 0x5f, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0xc3, 0x90}, {},
                      {0x90, 0x5d, 0xc3});
  code.run(16);
  EXPECT_EQ(found.by_frame_pointer, 2U);
  EXPECT_GT(found.count, 6U);
  EXPECT_FALSE(found.is_truncated);
}

// It leaves its return address where it is: the frame pointer that it sets up is its own.
TEST(MadeCode, AnotherFunctionThatIsCalledIsNoPrologue) {
  TestProcess process;
  MadeCode code(16);
  put_called_prologue(code, {0x90, 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3, 0x90}, {0x48, 0x83, 0xec, 8},
                      {0x90, 0x48, 0x83, 0xc4, 8, 0xc3});
  code.run(16);
  EXPECT_EQ(found.by_frame_pointer, 0U);
  EXPECT_TRUE(found.is_truncated);
}

TEST(MadeCode, ThatOnlyReturnsSaysWhereTo) {
  TestProcess process;
  MadeCode code(16);
  code.put({0x48, 0x83, 0xec, 0x18}).put_call(capture_made).put({0x48, 0x83, 0xc4, 0x18, 0xc3});
  code.run(16);
  EXPECT_EQ(found.by_frame_pointer, 0U);
  EXPECT_GT(found.count, 6U);
  EXPECT_FALSE(found.is_truncated);
}

// What was found of it is kept beyond a thread's stored stack, but not for long.
TEST(MadeCode, ThatIsReplacedIsFoundAnew) {
  MadeCode code(16);
  const auto is_followed = [&] {
    const TestProcess process;
    code.run(16);
    return found.by_frame_pointer == 1 && !found.is_truncated;
  };
  code.put({0x48, 0x83, 0xec, 8}).put_call(capture_made).put({0x90, 0x48, 0x83, 0xc4, 8, 0xc3});
  EXPECT_FALSE(is_followed());
  EXPECT_FALSE(is_followed());
  code.write_from(16).put({0x55, 0x48, 0x89, 0xe5}).put_call(capture_made).put({0x90, 0x5d, 0xc3});
  int rounds = 1;
  while (!is_followed() && rounds < 100) ++rounds;
  EXPECT_LE(rounds, 64);
  for (int round = 0; round < 100; ++round) EXPECT_TRUE(is_followed()) << round;
}

// As in Go 1.26 and 1.19, and with the thread's own memory loaded before (-buildmode=pie). Then what differs
// in one instruction from the first.
asm(R"(
  .pushsection .text
goroutine_test_1_26:
  mov 8(%rsp), %rdi
  mov 8(%rdi), %rsi
  sub (%rsp), %rsi
  mov %rdi, %fs:0xfffffffffffffff8
  mov %rsi, %rsp
  mov %eax, 0x20(%rsp)
  pop %rbp
  ret
goroutine_test_1_19:
  mov 0x30(%rsp), %rdi
  mov 8(%rdi), %rsi
  sub 0x28(%rsp), %rsi
  mov %rdi, %fs:0xfffffffffffffff8
  mov %rsi, %rsp
  mov %eax, 0x18(%rsp)
  ret
goroutine_test_pie:
  mov goroutine_test_1_26(%rip), %rcx
  mov 8(%rsp), %rdi
  mov 8(%rdi), %rsi
  sub (%rsp), %rsi
  mov %rdi, %fs:(%rcx)
  mov %rsi, %rsp
  mov %eax, 0x20(%rsp)
  pop %rbp
  ret
goroutine_test_other_load:
  mov 8(%rsp), %rdi
  mov 16(%rdi), %rsi
  sub (%rsp), %rsi
  mov %rsi, %rsp
  mov %eax, 0x20(%rsp)
  ret
goroutine_test_other_end:
  mov 8(%rsp), %rdi
  mov 8(%rdi), %rsi
  sub (%rsp), %rsi
  mov %rdi, %fs:0xfffffffffffffff8
  mov %rsi, %rsp
  mov %eax, 0x20(%rsp)
  pop %rbx
  ret
goroutine_test_exit:
  nop
  call goroutine_test_1_26
  nop
goroutine_test_store:
  sub $0x30, %rsp
  mov %rbp, 0x28(%rsp)
  lea 0x28(%rsp), %rbp
  call goroutine_test_1_26
goroutine_test_after_store:
  ret
  int3
goroutine_test_wide_store:
  sub $0x300, %rsp
  mov %rbp, 0x2f8(%rsp)
  lea 0x2f8(%rsp), %rbp
  call goroutine_test_1_26
goroutine_test_after_wide_store:
  ret
  int3
goroutine_test_other_store:
  sub $0x30, %rsp
  mov %rbp, 0x28(%rsp)
  lea 0x20(%rsp), %rbp
  call goroutine_test_1_26
goroutine_test_after_other_store:
  ret
  .popsection
)");
extern "C" const std::uint8_t goroutine_test_1_26[], goroutine_test_1_19[], goroutine_test_pie[],
    goroutine_test_other_load[], goroutine_test_other_end[], goroutine_test_exit[],
    goroutine_test_after_store[], goroutine_test_after_wide_store[], goroutine_test_after_other_store[];

std::uint64_t place(const std::uint8_t* code) { return reinterpret_cast<std::uint64_t>(code); }

TEST(Goroutines, TheSwitchOfStacksIsRecognised) {
  const auto switched = [](const std::uint8_t* code) {
    const GoroutineSwitch found = goroutine_switch(place(code), nullptr);
    return std::vector<int>{found.goroutine_offset, found.depth_offset, found.return_bytes};
  };
  EXPECT_EQ(switched(goroutine_test_1_26), (std::vector<int>{8, 0, 16}));
  EXPECT_EQ(switched(goroutine_test_1_19), (std::vector<int>{0x30, 0x28, 8}));
  EXPECT_EQ(switched(goroutine_test_pie), (std::vector<int>{8, 0, 16}));
  EXPECT_EQ(goroutine_switch(place(goroutine_test_other_load), nullptr).return_bytes, 0);
  EXPECT_EQ(goroutine_switch(place(goroutine_test_other_end), nullptr).return_bytes, 0);
  EXPECT_EQ(goroutine_switch(4096, nullptr).return_bytes, 0);
  const Rule rule = Rule::goroutine_switch(0x30, 0x28, 8);
  EXPECT_TRUE(rule.is_goroutine_switch());
  EXPECT_EQ(rule.goroutine_offset(), 0x30U);
  EXPECT_EQ(rule.depth_offset(), 0x28U);
  EXPECT_NE(rule.traits() & Rule::is_barrier, 0U) << "other goroutines switch at the same place";
  EXPECT_FALSE(Rule::without_tables(RuleType::unfollowable, true).is_goroutine_switch());
}

TEST(Goroutines, TheirEndIsRecognised) {
  EXPECT_TRUE(is_goroutine_end(place(goroutine_test_exit) + 1, nullptr));
  EXPECT_FALSE(is_goroutine_end(place(goroutine_test_exit), nullptr));
  EXPECT_FALSE(is_goroutine_end(place(goroutine_test_1_26), nullptr));
}

TEST(Goroutines, FramePointersOfOlderCompilersAreSeen) {
  EXPECT_TRUE(has_frame_pointer(place(goroutine_test_after_store), nullptr));
  EXPECT_TRUE(has_frame_pointer(place(goroutine_test_after_wide_store), nullptr));
  EXPECT_FALSE(has_frame_pointer(place(goroutine_test_after_other_store), nullptr));
}

// What follows the call of Go in runtime.cgocallback and that of runtime.cgocallback in crosscall2, of
// Go 1.26 and 1.19.
asm(R"(
  .pushsection .text
callback_test_1_26:
  lea 0x28(%rsp), %rax
  sub %rsp, %rax
  mov %fs:0xfffffffffffffff8, %rsi
  mov %rsp, %rdi
  add %rax, %rdi
  mov -8(%rdi), %rbx
callback_test_other:
  lea 0x28(%rsp), %rax
  sub %rsp, %rax
  mov %fs:0xfffffffffffffff8, %rsi
  mov %rsp, %rdi
  sub %rax, %rdi
  mov -8(%rdi), %rbx
  ret
restore_test_1_26:
  add $0x18, %rsp
  mov (%rsp), %rbx
  mov 8(%rsp), %r12
  mov 0x10(%rsp), %r13
  mov 0x18(%rsp), %r14
  mov 0x20(%rsp), %r15
  mov 0x28(%rsp), %rbp
  add $0x30, %rsp
  pop %rbp
  ret
restore_test_1_19:
  add $0x18, %rsp
  mov (%rsp), %rbx
  mov 8(%rsp), %r12
  mov 0x10(%rsp), %r13
  mov 0x18(%rsp), %r14
  mov 0x20(%rsp), %r15
  mov 0x28(%rsp), %rbp
  add $0x30, %rsp
  ret
restore_test_pops:
  pop %rbx
  pop %rbp
  pop %r12
  pop %r13
  pop %r14
  pop %r15
  ret
restore_test_not_all:
  pop %rbx
  pop %rbp
  pop %r12
  pop %r13
  pop %r14
  ret
restore_test_other:
  pop %rbx
  pop %rbp
  pop %r12
  pop %r13
  pop %r14
  pop %r15
  sub $0x30, %rsp
  ret
  .popsection
)");
// What calls main(), a thread's function and a C11 thread's in musl 1.2; then what differs in one
// instruction.
asm(R"(
  .pushsection .text
  call *%rbx
start_test_main:
  mov %eax, %edi
  call start_test_main
  call *(%rbx)
start_test_thread:
  mov %rax, %rdi
  call start_test_main
  call *%r12
start_test_c11:
  movslq %eax, %rdi
  call start_test_main
  call start_test_main
start_test_direct:
  mov %eax, %edi
  call start_test_main
  call *%rbx
start_test_other_argument:
  mov %eax, %esi
  call start_test_main
  call *%rbx
start_test_goes_on:
  mov %eax, %edi
  ret
  .popsection
)");
extern "C" const std::uint8_t start_test_main[], start_test_thread[], start_test_c11[], start_test_direct[],
    start_test_other_argument[], start_test_goes_on[];

TEST(StartOfMusl, IsTheCallWhoseResultEndsAll) {
  for (const std::uint8_t* code : {start_test_main, start_test_thread, start_test_c11}) {
    EXPECT_TRUE(ends_with_result(place(code), nullptr));
    EXPECT_FALSE(is_start_of_musl(place(code), nullptr)) << "this program's loader is another file";
  }
  for (const std::uint8_t* code : {start_test_direct, start_test_other_argument, start_test_goes_on}) {
    EXPECT_FALSE(ends_with_result(place(code), nullptr));
  }
  EXPECT_FALSE(ends_with_result(4096, nullptr));
}

extern "C" const std::uint8_t callback_test_1_26[], callback_test_other[], restore_test_1_26[],
    restore_test_1_19[], restore_test_pops[], restore_test_not_all[], restore_test_other[];

TEST(Goroutines, CallsFromCAreRecognised) {
  EXPECT_TRUE(is_callback_from_c(place(callback_test_1_26), nullptr));
  EXPECT_FALSE(is_callback_from_c(place(callback_test_other), nullptr));
  EXPECT_FALSE(is_callback_from_c(4096, nullptr));
  const Rule rule = Rule::callback_from_c();
  EXPECT_TRUE(rule.is_callback_from_c());
  EXPECT_FALSE(rule.is_goroutine_switch());
  EXPECT_NE(rule.traits() & Rule::is_barrier, 0U) << "the stack goes on elsewhere";
  EXPECT_FALSE(Rule{RuleType::unfollowable}.is_callback_from_c());
}

TEST(ReturnAddresses, CodeThatOnlyRestoresRegistersSaysWhereTheNextOneIs) {
  const auto restored = [](const std::uint8_t* code) {
    const RestoredRegisters found = restored_registers(place(code), nullptr);
    return std::vector<std::uint32_t>{found.frame_bytes, found.rbp_bytes};
  };
  EXPECT_EQ(restored(restore_test_1_26), (std::vector<std::uint32_t>{0x58, 0x48}));
  EXPECT_EQ(restored(restore_test_1_19), (std::vector<std::uint32_t>{0x50, 0x40}));
  EXPECT_EQ(restored(restore_test_pops), (std::vector<std::uint32_t>{0x38, 8}));
  EXPECT_EQ(restored(restore_test_not_all).front(), 0U);
  EXPECT_EQ(restored(restore_test_other).front(), 0U);
}

// A program at a low address has them within reach of its code.
TEST(ReturnAddresses, SmallNumbersOnAStackAreNone) {
  constexpr std::uint64_t low_code = 0x440000;
  for (std::uint64_t number = 4096; number < 4096 + 16; ++number) {
    EXPECT_FALSE(may_be_return_address(number, low_code, nullptr)) << number;
  }
}

}  // namespace
}  // namespace heapwright::unwind
