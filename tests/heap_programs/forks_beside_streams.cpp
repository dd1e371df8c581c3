// SPDX-License-Identifier: MIT
// Two threads fork while others open and close streams, and have malloc_info write to one: who asks for
// streams' locks while it holds the heap's, or the other way round, waits here forever. The child may use
// both.
//   forks_beside_streams FORKS
#include <malloc.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <vector>

#include "public_names.hpp"

namespace {

std::atomic<bool> is_over{false};

void open_streams() {
  while (!is_over) {
    std::FILE* file = std::fopen("/dev/null", "w");
    REQUIRE(file != nullptr);
    std::fprintf(file, "%d\n", 1);
    std::fclose(file);
  }
}

// The stream grows by realloc, under its lock.
std::size_t ask_info() {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* stream = open_memstream(&text, &bytes);
  REQUIRE(stream != nullptr && malloc_info(0, stream) == 0 && std::fclose(stream) == 0);
  std::free(text);
  return bytes;
}

void ask_often() {
  while (!is_over) REQUIRE(ask_info() > 100);
}

[[noreturn]] void run_child() {
  alarm(60);
  std::FILE* file = std::fopen("/dev/null", "w");
  REQUIRE(file != nullptr && std::fprintf(file, "%d", 1) == 1);
  std::fclose(file);
  REQUIRE(ask_info() > 100);
  std::free(keep(std::malloc(100'000)));
  _exit(0);
}

void fork_often(int forks) {
  for (int i = 0; i < forks; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) run_child();
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  alarm(120);
  const int forks = argc > 1 ? std::atoi(argv[1]) : 200;
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) others.emplace_back(open_streams);
  others.emplace_back(ask_often);
  std::thread forking(fork_often, forks / 2);
  fork_often(forks / 2);
  forking.join();
  is_over = true;
  for (std::thread& other : others) other.join();
  require_valid();
  say("done\n");
  return 0;
}
