// SPDX-License-Identifier: MIT
#include <alloca.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "witness.hpp"

namespace heapwright::unwind {
namespace {

using Handler = void (*)(int);

void install(int signal, Handler handler, int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

// An alternate signal stack for the calling thread while it lives.
struct AlternateStack {
  static constexpr std::size_t bytes = 1 << 16;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  AlternateStack() {
    stack_t stack = {};
    stack.ss_sp = memory;
    stack.ss_size = bytes;
    sigaltstack(&stack, nullptr);
  }
  ~AlternateStack() {
    stack_t stack = {};
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
    munmap(memory, bytes);
  }
  AlternateStack(const AlternateStack&) = delete;
};

[[gnu::noinline]] void work_in_handler(int depth) {
  checked_capture();
  if (depth > 0) work_in_handler(depth - 1);
  checked_capture();
  KEEP(depth);
}

void handle_and_capture(int) {
  work_in_handler(3);
  work_in_handler(1);
}

void handle_and_raise(int) {
  checked_capture();
  raise(SIGUSR1);
  checked_capture();
}

[[gnu::noinline]] void raise_from(int depth, int signal) {
  checked_capture();
  if (depth > 0) {
    raise_from(depth - 1, signal);
  } else {
    raise(signal);
  }
  checked_capture();
  KEEP(depth);
}

void raise_many() {
  for (int round = 0; round < 60; ++round) {
    raise_from(round % 9, SIGUSR1);
    raise_from(round % 5, SIGUSR2);
  }
  raise_from(200, SIGUSR2);
}

TEST(Signals, OnTheInterruptedStack) {
  TestProcess process;
  const Checks checks;
  install(SIGUSR1, handle_and_capture, 0);
  install(SIGUSR2, handle_and_raise, 0);
  raise_many();
  EXPECT_EXACT(checks, 1000U);
}

TEST(Signals, OnAnAlternateStack) {
  TestProcess process;
  const Checks checks;
  const AlternateStack stack;
  install(SIGUSR1, handle_and_capture, SA_ONSTACK);
  install(SIGUSR2, handle_and_raise, SA_ONSTACK);
  raise_many();
  install(SIGUSR2, handle_and_raise, 0);
  raise_many();
  EXPECT_EXACT(checks, 2000U);
}

TEST(Signals, OnAnAlternateStackOfAThread) {
  TestProcess process;
  const Checks checks;
  install(SIGUSR1, handle_and_capture, SA_ONSTACK);
  install(SIGUSR2, handle_and_raise, 0);
  pthread_t thread;
  const auto body = [](void*) -> void* {
    const AlternateStack stack;
    raise_many();
    return nullptr;
  };
  pthread_create(&thread, nullptr, body, nullptr);
  pthread_join(thread, nullptr);
  EXPECT_EXACT(checks, 1000U);
}

[[gnu::noinline]] long busy_work(int depth) {
  char text[64];
  long sum = 0;
  for (int i = 0; i < 20; ++i) {
    std::memset(text, '1' + i % 5, 9);
    text[9] = '\0';
    sum += std::strtol(text, nullptr, 10) + static_cast<long>(std::strlen(text));
    KEEP(text);
  }
  if (depth % 8 == 0) checked_capture();
  if (depth > 0) sum += busy_work(depth - 1);
  return sum + std::labs(depth);
}

class AlarmStorm {
 public:
  explicit AlarmStorm(Handler handler, int flags) {
    install(SIGALRM, handler, flags | SA_RESTART);
    const itimerval every{{0, 250}, {0, 250}};
    setitimer(ITIMER_REAL, &every, nullptr);
  }
  ~AlarmStorm() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    signal(SIGALRM, SIG_IGN);
  }
  AlarmStorm(const AlarmStorm&) = delete;

  bool is_over() const { return std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
};

std::atomic<int> alarms_seen{0};

TEST(Signals, AsynchronousStorm) {
  TestProcess process;
  const Checks checks;
  const AlternateStack stack;
  const auto handler = [](int) {
    const int saved = errno;
    alarms_seen = alarms_seen + (thread_state.is_busy ? 0 : 1);
    work_in_handler(1);
    errno = saved;
  };
  for (const int flags : {0, SA_ONSTACK}) {
    const AlarmStorm storm(handler, flags);
    for (int depth = 1; !storm.is_over(); depth = depth % 30 + 1) KEEP(busy_work(depth));
  }
  EXPECT_GT(alarms_seen.load(), 100);
  EXPECT_EXACT(checks, 1000U);
}

[[gnu::noinline]] int realigned_work(int depth) {
  alignas(64) char aligned[64];
  auto* memory = static_cast<char*>(alloca(static_cast<std::size_t>(depth) + 16));
  std::memset(aligned, depth, sizeof aligned);
  KEEP(aligned);
  KEEP(memory);
  return depth > 0 ? realigned_work(depth - 1) + aligned[3] : 0;
}

[[HOOK]] void unchecked_capture() {
  if (thread_state.is_busy) return;
  thread_state.is_busy = true;
  EXPECT_NE(capture_from(__builtin_frame_address(0)), 0U);
  thread_state.is_busy = false;
}

// The compiler's tables are wrong in the epilogue of such frames, so libgcc
// cannot be asked (it crashes); the walk must survive them.
TEST(Signals, AsynchronousStormInRealignedFrames) {
  TestProcess process;
  const AlarmStorm storm([](int) { unchecked_capture(); }, 0);
  while (!storm.is_over()) KEEP(realigned_work(12));
}

}  // namespace
}  // namespace heapwright::unwind
