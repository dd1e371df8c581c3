// SPDX-License-Identifier: MIT
// Calls with known stacks, for tools/run_aarch64.py, which has their counts.
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

volatile int* volatile nowhere = nullptr;
sigjmp_buf before_signal;

[[gnu::noinline]] void* planted_leaf(std::size_t bytes) {
  void* block = std::malloc(bytes);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

[[gnu::noinline]] void planted_session(int calls) {
  std::vector<void*> blocks;
  for (int i = 0; i < calls; ++i) blocks.push_back(planted_leaf(100));
  for (void* block : blocks) std::free(block);
}

[[gnu::noinline]] int planted_recursion(int depth) {
  if (depth > 0) {
    const volatile int below = planted_recursion(depth - 1);
    return below + 1;
  }
  planted_session(10);
  return 0;
}

[[gnu::noinline]] void planted_handler(int /*number*/) {
  std::free(planted_leaf(200));
  siglongjmp(before_signal, 1);
}

// Interrupted, it has saved nothing: its return address is in a register.
[[gnu::noinline]] int planted_interrupted() { return *nowhere; }

[[gnu::noinline]] int planted_faults(int count) {
  volatile int faults = 0;
  while (faults < count) {
    if (sigsetjmp(before_signal, 1) == 0) return planted_interrupted() + 1;
    faults = faults + 1;
  }
  return faults;
}

[[gnu::noinline]] void planted_throw(int number) {
  std::free(planted_leaf(300));
  throw number;
}

[[gnu::noinline]] int planted_catch(int count) {
  int caught = 0;
  for (int i = 0; i < count; ++i) {
    try {
      planted_throw(i);
    } catch (int) {
      ++caught;
    }
  }
  return caught;
}

}  // namespace

int main() {
  signal(SIGSEGV, planted_handler);
  planted_session(1000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(planted_session, 250);
  for (std::thread& thread : threads) thread.join();
  planted_recursion(60);
  const bool is_right = planted_faults(7) == 7 && planted_catch(11) == 11;
  const pid_t child = fork();
  if (child == 0) {
    planted_session(50);
    std::exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  std::puts(is_right && status == 0 ? "as planted" : "not as planted");
  return is_right ? status : 1;
}
