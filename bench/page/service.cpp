// SPDX-License-Identifier: MIT
// A made-up service with many call paths, for pages of large recordings: two threads take requests through
// four steps of eight kinds each, 4096 paths a thread. Requests' blocks come and go, a cache fills, a few
// sessions stay, in three phases.
//
//   service REQUESTS    a request is 20 calls and a few for what stays
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "heapwright/annotate.h"

namespace {

constexpr int steps = 4;
constexpr std::size_t cache_slots = 20'000;

struct Random {
  std::uint64_t state;
  std::uint32_t next() noexcept {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state >> 33);
  }
};

void* filled(std::size_t bytes) {
  void* block = malloc(bytes);
  if (block == nullptr) abort();
  memset(block, 1, bytes < 64 ? bytes : 64);
  return block;
}

struct Service {
  Random random;
  std::vector<void*> cache = std::vector<void*>(cache_slots);
  std::vector<void*> sessions;
};

[[gnu::noinline]] void keep(Service& service) {
  auto& slot = service.cache[service.random.next() % cache_slots];
  free(slot);
  slot = filled(64 + service.random.next() % 1500);
}

[[gnu::noinline]] void log_in(Service& service) { service.sessions.push_back(filled(600)); }

template <int step, int kind>
[[gnu::noinline]] void handle(Service& service, std::uint32_t path) {
  void* before = filled(16 + path % 97 * (kind + 1));
  void* beside = filled(24 + 8 * step);
  if constexpr (step + 1 < steps) {
    constexpr void (*next[])(Service&, std::uint32_t) = {
        handle<step + 1, 0>, handle<step + 1, 1>, handle<step + 1, 2>, handle<step + 1, 3>,
        handle<step + 1, 4>, handle<step + 1, 5>, handle<step + 1, 6>, handle<step + 1, 7>};
    next[path % 8](service, path / 8);
  } else {
    void* answer = filled(200 + path % 4000);
    if (path % 16 == 0) keep(service);
    free(answer);
    free(filled(40));
  }
  free(beside);
  free(before);
}

void serve(std::uint64_t seed, std::uint64_t requests) {
  Service service{{seed}, std::vector<void*>(cache_slots), {}};
  constexpr void (*roots[])(Service&, std::uint32_t) = {handle<0, 0>, handle<0, 1>, handle<0, 2>,
                                                        handle<0, 3>, handle<0, 4>, handle<0, 5>,
                                                        handle<0, 6>, handle<0, 7>};
  const char* const phases[] = {"warm up", "busy", "late"};
  for (const char* phase : phases) {
    const heapwright::annotated_phase annotated(phase);
    for (std::uint64_t request = 0; request < requests / 3; ++request) {
      const auto path = service.random.next();
      roots[path % 8](service, path / 8);
      if (request % 4096 == 0) log_in(service);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const auto requests = count > 1 ? strtoull(arguments[1], nullptr, 10) : 10'000;
  std::thread other(serve, 2, requests / 2);
  serve(1, requests / 2);
  other.join();
  return 0;
}
