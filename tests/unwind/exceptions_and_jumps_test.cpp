// SPDX-License-Identifier: MIT
// Stacks that end or change without returning: exceptions, longjmp, coroutines.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <ucontext.h>

#include <random>
#include <stdexcept>

#include "witness.hpp"

namespace heapwright::unwind {
namespace {

struct CapturesWhenDestroyed {
  ~CapturesWhenDestroyed() { checked_capture(); }
};

[[gnu::noinline]] void throw_from(int depth) {
  const CapturesWhenDestroyed guard;
  checked_capture();
  if (depth == 0) throw std::runtime_error("expected");
  throw_from(depth - 1);
  KEEP(depth);
}

[[gnu::noinline]] int catch_at(int depth, int inner) {
  try {
    if (depth > 0) return catch_at(depth - 1, inner) + 1;
    throw_from(inner);
  } catch (const std::exception&) {
    checked_capture();
    if (depth % 3 == 0) throw;
  }
  checked_capture();
  return 0;
}

jmp_buf jump_target;

bool may_jump = true;  // an endless recursion otherwise, to the compiler

[[gnu::noinline]] void jump_from(int depth) {
  checked_capture();
  if (depth > 0) {
    jump_from(depth - 1);
  } else if (may_jump) {
    longjmp(jump_target, 1);
  }
  KEEP(depth);
}

[[gnu::noinline]] void return_from(int depth) {
  checked_capture();
  if (depth > 0) return_from(depth - 1);
  checked_capture();
  KEEP(depth);
}

ucontext_t scheduler;

// A coroutine on its own mapping with a hole behind it.
struct Coroutine {
  static constexpr std::size_t page_bytes = 4096;
  ucontext_t context;
  char* memory;
  std::size_t bytes;
  bool is_done = false;

  Coroutine(std::size_t stack_bytes, int depth) : bytes(stack_bytes + page_bytes) {
    memory = static_cast<char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    mprotect(memory + stack_bytes, page_bytes, PROT_NONE);
    getcontext(&context);
    context.uc_stack.ss_sp = memory;
    context.uc_stack.ss_size = stack_bytes;
    context.uc_link = &scheduler;
    makecontext(&context, reinterpret_cast<void (*)()>(body), 2, this, depth);
  }
  ~Coroutine() { munmap(memory, bytes); }
  Coroutine(const Coroutine&) = delete;

  void resume() { swapcontext(&scheduler, &context); }
  void pause() { swapcontext(&context, &scheduler); }

  [[gnu::noinline]] void work(int depth) {
    checked_capture();
    pause();
    checked_capture();
    if (depth > 0) work(depth - 1);
    pause();
    checked_capture();
    KEEP(depth);
  }

  static void body(Coroutine* self, int depth) {
    self->work(depth);
    self->is_done = true;
  }
};

void run_coroutines(int rounds) {
  std::mt19937 random(11);
  constexpr int count = 4;
  Coroutine* running[count] = {};
  for (int round = 0; round < rounds; ++round) {
    Coroutine*& slot = running[random() % count];
    if (slot == nullptr) slot = new Coroutine(65536, static_cast<int>(random() % 6));
    slot->resume();
    checked_capture();
    if (!slot->is_done) continue;
    delete slot;
    slot = nullptr;
    checked_capture();
  }
  for (const Coroutine* left : running) delete left;
}

TEST(ExceptionsAndJumps, ExceptionsThroughCapturedFrames) {
  TestProcess process;
  const Checks checks;
  for (int round = 0; round < 200; ++round) {
    try {
      catch_at(round % 7, round % 11);
    } catch (const std::exception&) {
      checked_capture();
    }
  }
  EXPECT_EXACT(checks, 1000U);
}

TEST(ExceptionsAndJumps, LongJumps) {
  TestProcess process;
  const Checks checks;
  for (int round = 0; round < 200; ++round) {
    if (setjmp(jump_target) == 0) jump_from(round % 40);
    return_from(round % 9);
  }
  EXPECT_EXACT(checks, 1000U);
}

TEST(ExceptionsAndJumps, Coroutines) {
  TestProcess process;
  const Checks checks;
  run_coroutines(5000);
  EXPECT_EXACT(checks, 5000U);
}

TEST(ExceptionsAndJumps, CoroutinesOfAThread) {
  TestProcess process;
  const Checks checks;
  pthread_t thread;
  pthread_create(
      &thread, nullptr, [](void*) -> void* { return run_coroutines(5000), nullptr; }, nullptr);
  pthread_join(thread, nullptr);
  EXPECT_EXACT(checks, 5000U);
}

}  // namespace
}  // namespace heapwright::unwind
