// SPDX-License-Identifier: MIT
// Forks while other threads allocate and free without pause: each child uses
// the whole family, frees what it inherited, starts threads of its own and
// forks again; the parent goes on all the while.
//   forks CHILDREN THREADS
#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <vector>

#include "public_names.hpp"
#include "test_seed.hpp"

namespace {

constexpr std::size_t slots = 500;
std::atomic<bool> is_over = false;
std::atomic<void*> shared[slots];

std::size_t size_of(std::uint32_t random) {
  if (random % 50 == 0) return 70000 + random % 500000;
  return random % 7 == 0 ? random % 20000 : random % 500;
}

// Exchanges blocks with the other threads, so that many frees are remote.
void churn(std::uint32_t random, long steps) {
  for (long i = 0; steps == 0 ? !is_over.load(std::memory_order_relaxed) : i < steps; ++i) {
    random = random * 1664525 + 1013904223;
    const std::size_t bytes = size_of(random >> 8) + 1;
    auto* block = static_cast<unsigned char*>(i % 5 == 0 ? std::calloc(1, bytes) : std::malloc(bytes));
    REQUIRE(block != nullptr);
    block[0] = 9;
    block[bytes - 1] = 9;
    void* old = shared[random % slots].exchange(block, std::memory_order_acq_rel);
    if (old == nullptr) continue;
    if (i % 11 == 0) old = std::realloc(old, bytes);
    REQUIRE(*static_cast<unsigned char*>(old) == 9);
    std::free(old);
  }
}

void use_everything(std::uint32_t seed) {
  churn(seed, 3000);
  std::thread one(churn, seed + 1, 2000);
  std::thread other(churn, seed + 2, 2000);
  one.join();
  other.join();
}

[[noreturn]] void end_child() {
  // Threads that the child has lost may have been in the middle of a call, so
  // require_valid() is not for it.
  for (auto& slot : shared) std::free(slot.exchange(nullptr));
  _exit(0);
}

[[noreturn]] void run_child(std::uint32_t seed, bool has_child) {
  alarm(60);
  use_everything(seed);
  if (!has_child) end_child();
  const pid_t grandchild = fork();
  REQUIRE(grandchild >= 0);
  if (grandchild == 0) {
    use_everything(seed + 3);
    end_child();
  }
  int status = 0;
  REQUIRE(waitpid(grandchild, &status, 0) == grandchild && status == 0);
  end_child();
}

int wait_for_children() {
  int failed = 0;
  int status = 0;
  while (waitpid(-1, &status, 0) > 0) {
    if (status == 0) continue;
    say("note status 0x%x\n", static_cast<unsigned>(status));
    ++failed;
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const int children = argc > 1 ? std::atoi(argv[1]) : 300;
  const std::size_t thread_count = argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 4;
  const auto seed = static_cast<std::uint32_t>(test_seed());
  say("note seed %u\n", seed);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < thread_count; ++i) threads.emplace_back(churn, seed + i * 77 + 1, 0);
  int failed = 0;
  for (int i = 0; i < children; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) run_child(seed + static_cast<std::uint32_t>(i) * 31, i % 8 == 0);
    if (i % 2 == 1) failed += wait_for_children();
  }
  failed += wait_for_children();
  is_over = true;
  for (auto& thread : threads) thread.join();
  for (auto& slot : shared) std::free(slot.exchange(nullptr));
  require_valid();
  say("note failed %d of %d\n", failed, children);
  REQUIRE(failed == 0);
  say("done\n");
  return 0;
}
