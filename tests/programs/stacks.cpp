// SPDX-License-Identifier: MIT
// Allocations in stacks that are hard to walk, each under a function with an
// exported name: recursion deeper than the limit, after longjmp, in a
// coroutine, in a callback of libc, while an exception flies.
#include <ucontext.h>

#include <csetjmp>
#include <stdexcept>

#include "say.hpp"

namespace {

std::jmp_buf mark;
ucontext_t main_context;
ucontext_t other_context;

}  // namespace

extern "C" {

[[gnu::noinline]] int recurse(int depth, std::size_t size) {
  if (depth == 0) {
    std::free(keep(std::malloc(size)));
    return 1;
  }
  return recurse(depth - 1, size) + (last_block != nullptr ? 1 : 0);
}

[[gnu::noinline]] void jump_out(int depth) {
  if (depth == 0) {
    std::free(keep(std::malloc(3011)));
    std::longjmp(mark, 1);
  }
  jump_out(depth - 1);
  keep(nullptr);
}

[[gnu::noinline]] void after_jump() {
  if (setjmp(mark) == 0) jump_out(20);
  std::free(keep(std::malloc(3019)));
}

[[gnu::noinline]] void in_coroutine() {
  for (;;) {
    std::free(keep(std::malloc(3023)));
    swapcontext(&other_context, &main_context);
  }
}

[[gnu::noinline]] void switch_often() {
  static char stack[65536];
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack;
  other_context.uc_stack.ss_size = sizeof stack;
  other_context.uc_link = &main_context;
  makecontext(&other_context, in_coroutine, 0);
  for (int i = 0; i < 100; ++i) {
    swapcontext(&main_context, &other_context);
    std::free(keep(std::malloc(3037)));
  }
}

[[gnu::noinline]] int compare_blocks(const void* left, const void* right) {
  std::free(keep(std::malloc(3041)));
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

[[gnu::noinline]] void sort_with_callback() {
  int numbers[] = {2, 1};
  std::qsort(numbers, 2, sizeof numbers[0], compare_blocks);
}

[[gnu::noinline]] void throw_deep(int depth) {
  struct Owner {
    void* block = std::malloc(3049);
    ~Owner() { std::free(block); }
  } owner;
  keep(owner.block);
  if (depth == 0) throw std::runtime_error("expected");
  throw_deep(depth - 1);
}

[[gnu::noinline]] void catch_often() {
  int caught = 0;
  for (int i = 0; i < 500; ++i) {
    try {
      throw_deep(3);
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  REQUIRE(caught == 500);
}

}  // extern "C"

int main() {
  recurse(3000, 3001);
  say("allocated 1 3001 malloc\nreleased 1 3001 free\n");
  recurse(50, 3061);
  say("allocated 1 3061 malloc\nreleased 1 3061 free\n");
  after_jump();
  say("allocated 1 3011 malloc\nallocated 1 3019 malloc\nreleased 1 3011 free\nreleased 1 3019 free\n");
  switch_often();
  say("allocated 100 3023 malloc\nallocated 100 3037 malloc\n");
  sort_with_callback();
  say("allocated 1 3041 malloc\n");
  catch_often();
  say("allocated 2000 3049 malloc\nreleased 2000 3049 free\n");
  return 0;
}
