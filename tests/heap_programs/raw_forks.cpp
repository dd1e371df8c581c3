// SPDX-License-Identifier: MIT
// Forks without fork handlers, by _Fork, from a signal handler that interrupts malloc again and again, and
// from threads of their own: none of them waits for anything, and the parent's heap stays whole. The child
// makes only calls that a signal handler may.
//   raw_forks
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "public_names.hpp"

namespace {

constexpr int most_forks = 300;
std::atomic<int> forks{0};
std::atomic<int> failed{0};

void fork_raw() {
  const int before = errno;
  const pid_t child = _Fork();
  if (child == 0) _exit(write(1, "", 0) == 0 ? 0 : 1);
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++failed;
  ++forks;
  errno = before;
}

void on_alarm(int) {
  if (forks < most_forks) fork_raw();
}

void churn(std::size_t seed) {
  constexpr std::size_t slots = 256;
  void* blocks[slots] = {};
  for (std::size_t i = seed; forks < most_forks; ++i) {
    void*& block = blocks[i * 7919 % slots];
    std::free(block);
    block = std::malloc(1 + i * 2654435761U % 200'000);
    REQUIRE(block != nullptr);
    *static_cast<char*>(block) = 1;
  }
  for (void* block : blocks) std::free(block);
}

void fork_often() {
  while (forks < most_forks) {
    std::free(keep(std::malloc(1000)));
    fork_raw();
  }
}

}  // namespace

int main() {
  alarm(120);
  std::thread others[2];
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGVTALRM);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  others[0] = std::thread(churn, 1);
  others[1] = std::thread(fork_often);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  signal(SIGVTALRM, on_alarm);
  const itimerval often{{0, 1000}, {0, 1000}};
  REQUIRE(setitimer(ITIMER_VIRTUAL, &often, nullptr) == 0);
  churn(0);
  const itimerval never{};
  setitimer(ITIMER_VIRTUAL, &never, nullptr);
  for (std::thread& other : others) other.join();
  REQUIRE(failed == 0);
  require_valid();
  say("done\n");
  return 0;
}
