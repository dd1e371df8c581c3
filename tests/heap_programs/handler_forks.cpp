// SPDX-License-Identifier: MIT
// A signal handler forks while the program is in malloc, over and over: none of
// the forks waits for a lock that its own thread holds, and both sides go on.
//   handler_forks
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <thread>

#include "public_names.hpp"

namespace {

volatile sig_atomic_t forks = 0;
volatile sig_atomic_t failed = 0;

constexpr int most_forks = 150;

void on_alarm(int) {
  if (forks >= most_forks) return;
  const int before = errno;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) failed = 1;
  forks = forks + 1;
  errno = before;
}

// Slabs are opened and closed all the time, so that locks are held often.
void churn(std::size_t seed) {
  constexpr std::size_t slots = 256;
  void* blocks[slots] = {};
  for (std::size_t i = seed; failed == 0 && forks < most_forks; ++i) {
    void*& block = blocks[i * 7919 % slots];
    std::free(block);
    block = std::malloc(1 + i * 2654435761U % 200'000);
    REQUIRE(block != nullptr);
  }
  for (void* block : blocks) std::free(block);
}

}  // namespace

int main() {
  alarm(0);
  std::thread others[2];
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  for (std::size_t i = 0; i < 2; ++i) others[i] = std::thread(churn, i + 1);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  signal(SIGALRM, on_alarm);
  const itimerval often{{0, 2000}, {0, 2000}};
  REQUIRE(setitimer(ITIMER_REAL, &often, nullptr) == 0);
  churn(0);
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  for (std::thread& other : others) other.join();
  REQUIRE(failed == 0);
  require_valid();
  say("done\n");
  return 0;
}
