// SPDX-License-Identifier: MIT
// Allocates, then ends in the way named: _exit, quick_exit, abort, kill,
// segfault, throw, or return; what came before must be in the trace.
#include <csignal>
#include <stdexcept>
#include <string_view>

#include "say.hpp"

int main(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "return";
  for (int i = 0; i < 1000; ++i) keep(std::malloc(3001));
  say("allocated 1000 3001 malloc\n");
  if (way == "_exit") _exit(9);
  if (way == "quick_exit") std::quick_exit(10);
  if (way == "abort") std::abort();
  if (way == "kill") std::raise(SIGKILL);
  if (way == "segfault") std::raise(SIGSEGV);
  if (way == "throw") throw std::runtime_error("nobody catches this");
  return 11;
}
