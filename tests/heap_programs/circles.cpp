// SPDX-License-Identifier: MIT
// A block that is freed again after some others makes the list of free blocks a circle. Whatever its
// length, malloc hands a block of it out twice at most, and the process stops with the line that names it.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "public_names.hpp"

namespace {

constexpr int kept = 60;
constexpr int most_handed_out = 100'000;
enum class Freer { own_thread, other_thread };

struct Circle {
  std::size_t block_bytes;
  int between;  // frees of other blocks between the two
  Freer freer;
};

void free_in_circle(void** blocks, const Circle& circle) {
  for (int i = 0; i < 3; ++i) std::free(blocks[40 + i]);
  std::free(blocks[0]);
  for (int i = 1; i <= circle.between; ++i) std::free(blocks[i]);
  std::free(blocks[0]);  // NOLINT(clang-analyzer-unix.Malloc): the misuse that is looked for
}

// Nothing is written into what malloc hands out: that would end the circle as well.
[[noreturn]] void run_circle(void** blocks, const Circle& circle) {
  std::signal(SIGABRT, SIG_DFL);
  if (circle.freer == Freer::own_thread) {
    free_in_circle(blocks, circle);
  } else {
    std::thread(free_in_circle, blocks, circle).join();
  }
  int seen = 0;
  for (int i = 0; i < most_handed_out; ++i) {
    seen += keep(std::malloc(circle.block_bytes)) == blocks[0] ? 1 : 0;
    if (seen > 2) _exit(3);
  }
  _exit(4);
}

bool is_stopped(const Circle& circle) {
  static void* blocks[kept];
  for (auto& block : blocks) block = keep(std::malloc(circle.block_bytes));
  int said[2];
  REQUIRE(pipe(said) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(said[1], 2);
    run_circle(blocks, circle);
  }
  close(said[1]);
  char line[300] = {};
  const ssize_t length = read(said[0], line, sizeof line - 1);
  close(said[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  char expected[100];
  std::snprintf(expected, sizeof expected, "heapwright: double free of %p, a block of ", blocks[0]);
  const bool is_named = length > 0 && std::strncmp(line, expected, std::strlen(expected)) == 0;
  const bool is_right = is_named && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  if (!is_right) {
    std::fprintf(stderr, "blocks of %zu bytes, %d frees between, by %s thread: status %x, said: %s\n",
                 circle.block_bytes, circle.between, circle.freer == Freer::own_thread ? "their" : "another",
                 static_cast<unsigned>(status), line);
  }
  for (void* block : blocks) std::free(block);
  return is_right;
}

}  // namespace

int main() {
  int missed = 0;
  for (const std::size_t bytes : {8U, 48U, 1000U}) {
    for (const int between : {1, 5}) {
      for (const Freer freer : {Freer::own_thread, Freer::other_thread}) {
        missed += is_stopped({bytes, between, freer}) ? 0 : 1;
      }
    }
  }
  REQUIRE(missed == 0);
  say("done\n");
  return 0;
}
