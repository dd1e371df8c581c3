// SPDX-License-Identifier: MIT
// Few sessions among much that goes. Prints what is resident in the end.
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "heapwright/arena.hpp"
#include "modes.hpp"

namespace {

constexpr int sessions = 5000;
constexpr int others = 20;  // between two sessions
constexpr std::size_t other_bytes = 480;

struct Session {
  long id;
  char name[24];
};

[[gnu::noinline]] Session* site(int id) { return new Session{id, {}}; }
[[gnu::noinline]] char* temporary() { return new char[other_bytes]; }
// Makes what stays and what goes.
[[gnu::noinline]] char* either(std::size_t size) { return new char[size]; }

// Samples are taken every 100 ms at most.
void rest() {
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  long pages = 0;
  if (auto* file = std::fopen("/proc/self/statm", "r")) {
    long all = 0;
    if (std::fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
    std::fclose(file);
  }
  modes::say("resident_bytes", static_cast<std::uint64_t>(pages) * 4096);
}

template <class Make, class Temporary>
void work(Make make, Temporary make_temporary) {
  std::vector<void*> kept;
  std::vector<char*> going;
  kept.reserve(sessions);
  going.reserve(sessions * others);
  for (int id = 0; id < sessions; ++id) {
    kept.push_back(make(id));
    for (int other = 0; other < others; ++other) {
      going.push_back(make_temporary());
      std::memset(going.back(), 1, other_bytes);
    }
  }
  for (auto* block : going) delete[] block;
  rest();
}

}  // namespace

int main(int argc, char** argv) {
  return modes::run(
      argc, argv, [] { work(site, temporary); },
      [] {
        // Apart from the C library's heap, which an arena's own blocks would pin as well.
        alignas(16) static std::byte place[sessions * 64];
        static heapwright::arena memory{std::span<std::byte>(place)};
        work([](int id) { return memory.create<Session>(Session{id, {}}); }, temporary);
      },
      [] { work([](int) { return either(32); }, [] { return either(other_bytes); }); });
}
