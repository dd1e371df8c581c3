// SPDX-License-Identifier: MIT
// A fresh buffer for each step of a message: the heap's end goes back to the kernel and is taken again.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "modes.hpp"

namespace {

constexpr int messages = 300;
constexpr std::size_t buffer_bytes = 1 << 20;

using Buffer = std::unique_ptr<char[]>;

[[gnu::noinline]] Buffer site() { return Buffer(new char[buffer_bytes]); }

void fill(const Buffer& buffer, int value) {
  std::memset(buffer.get(), value, buffer_bytes);
  modes::use(buffer.get());
}

void work() {
  for (int message = 0; message < messages; ++message) {
    const Buffer request = site();
    fill(request, message);
    const Buffer reply = site();
    fill(reply, message);
  }
}

// Its pages fault again as well, because each fork makes them common.
void keeps_and_forks() {
  const Buffer request = site();
  for (int message = 0; message < messages / 10; ++message) {
    fill(request, message);
    const pid_t child = fork();
    if (child == 0) _exit(0);
    fill(request, message + 1);
    waitpid(child, nullptr, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, work,
      [] {
        mallopt(M_TRIM_THRESHOLD, 64 << 20);
        mallopt(M_MMAP_THRESHOLD, 32 << 20);
        work();
      },
      keeps_and_forks);
}
