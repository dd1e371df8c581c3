// SPDX-License-Identifier: MIT
// What the programs of the advice have in common. Each does the same work in three ways:
//   as_is      the rule has to speak of the function `site`
//   fixed      with the advice followed
//   lookalike  looks like it, and the rule has to be silent
// and prints how long the work took.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace modes {

inline volatile unsigned char sink;

// The compiler has to keep what is stored through it.
inline void use(const void* memory) { sink = *static_cast<const unsigned char*>(memory); }

// The same in each run.
struct Random {
  std::uint64_t state = 42;
  std::uint64_t below(std::uint64_t limit) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % limit;
  }
};

// Work that is no heap's.
inline std::uint64_t compute(std::uint64_t rounds) {
  Random random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) sum += random.below(1000);
  sink = static_cast<unsigned char>(sum);
  return sum;
}

// Of the thread's own time: what others do on the machine is not in it.
inline std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

inline void say(const char* what, std::uint64_t value) {
  std::printf("%s %llu\n", what, static_cast<unsigned long long>(value));
  std::fflush(stdout);
}

template <class AsIs, class Fixed, class Lookalike>
int run(int argc, char** argv, AsIs as_is, Fixed fixed, Lookalike lookalike) {
  const char* const mode = argc > 1 ? argv[1] : "";
  const auto begin_ns = now_ns();
  if (std::strcmp(mode, "as_is") == 0) {
    as_is();
  } else if (std::strcmp(mode, "fixed") == 0) {
    fixed();
  } else if (std::strcmp(mode, "lookalike") == 0) {
    lookalike();
  } else {
    std::fprintf(stderr, "as_is, fixed or lookalike\n");
    return 2;
  }
  say("work_ns", now_ns() - begin_ns);
  return 0;
}

}  // namespace modes
