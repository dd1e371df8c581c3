// SPDX-License-Identifier: MIT
// A thread that gives up the time stamp counter, and then starts a thread and a process, opens and closes a
// library: the kernel kills each for reading a clock.
//
//   gives_up_clock prctl|syscall|wait   "wait": says so, and rests
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "say.hpp"

namespace {

constexpr int good_code = 4;

[[gnu::noinline]] void make_pairs(std::size_t size) {
  for (int i = 0; i < 100; ++i) std::free(keep(std::malloc(size)));
}

}  // namespace

int main(int count, char** arguments) {
  REQUIRE(count == 2);
  make_pairs(28'001);
  const bool is_prctl = arguments[1] != std::string("syscall");
  const long result =
      is_prctl ? prctl(PR_SET_TSC, PR_TSC_SIGSEGV) : syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
  REQUIRE(result == 0);
  make_pairs(28'002);
  if (arguments[1] == std::string("wait")) {
    say("note is_resting 1\n");
    for (;;) pause();
  }
  std::thread([] { make_pairs(28'002); }).join();
  const pid_t child = fork();
  if (child == 0) {
    make_pairs(28'002);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  void* const library = dlopen("libm.so.6", RTLD_NOW);
  if (library != nullptr) dlclose(library);
  std::exit(good_code);
}
