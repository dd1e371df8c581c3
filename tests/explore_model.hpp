// SPDX-License-Identifier: MIT
// What the models have in common: relacy looks for a way of the threads in
// which a model's assertion fails, and says nothing itself.
#pragma once

#include <cstdio>
#include <ostream>
#include <relacy/relacy.hpp>
#include <streambuf>

struct Nothing : std::streambuf {
  int overflow(int character) override { return character; }
};

// Whether an assertion fails in one of the ways that are looked at: all with two
// switches between threads that do not wait (sched_bound), or `iterations` at random.
template <typename Model>
bool is_found(unsigned iterations, rl::scheduler_type_e scheduler = rl::sched_random) {
  rl::test_params params;
  params.search_type = scheduler;
  params.context_bound = 2;
  params.iteration_count = iterations;
  Nothing nowhere;
  std::ostream nothing(&nowhere);
  params.output_stream = &nothing;
  params.progress_stream = &nothing;
  return !rl::simulate<Model>(params);
}

inline bool report(const char* name, bool is_as_expected) {
  std::printf("%-32s %s\n", name, is_as_expected ? "as expected" : "NOT AS EXPECTED");
  return is_as_expected;
}
