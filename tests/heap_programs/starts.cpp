// SPDX-License-Identifier: MIT
// Where the heap lies cannot be guessed: 400 processes, 400 different places,
// and at least 28 bits of them are drawn.
//   starts          the first block of each
//   starts limited  the same under a limit of the address space
#include <sys/resource.h>
#include <sys/wait.h>

#include <bit>
#include <cstdint>

#include "public_names.hpp"

namespace {

constexpr std::size_t processes = 400;
std::uintptr_t starts[processes];

std::uintptr_t start_of_another() {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], 1);
    char one[] = "one";
    char self[] = "starts";
    char* arguments[] = {self, one, nullptr};
    execv("/proc/self/exe", arguments);
    _exit(113);
  }
  close(ends[1]);
  std::uintptr_t start = 0;
  REQUIRE(read(ends[0], &start, sizeof(start)) == sizeof(start));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  return start;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "one") == 0) {
    const auto start = reinterpret_cast<std::uintptr_t>(keep(std::malloc(100'000)));
    return write(1, &start, sizeof(start)) == sizeof(start) ? 0 : 1;
  }
  if (argc > 1) {
    const rlimit limit{std::size_t{1} << 30, RLIM_INFINITY};
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  }
  std::uintptr_t zeros = 0;
  std::uintptr_t ones = 0;
  std::size_t different = 0;
  for (std::size_t i = 0; i < processes; ++i) {
    starts[i] = start_of_another();
    zeros |= ~starts[i];
    ones |= starts[i];
    bool is_new = true;
    for (std::size_t k = 0; k < i; ++k) is_new = is_new && starts[k] != starts[i];
    different += is_new ? 1 : 0;
  }
  say("note different %zu of %zu, bits %d\n", different, processes, std::popcount(zeros & ones));
  REQUIRE(different == processes);
  REQUIRE(!is_preloaded() || std::popcount(zeros & ones) >= 28);
  say("done\n");
  return 0;
}
