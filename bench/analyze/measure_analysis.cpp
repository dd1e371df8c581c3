// SPDX-License-Identifier: MIT
// Times the analysis of a trace file: decoding alone, then all facts.
//
//   measure_analysis FILE [runs] [analyze]    `analyze`: nothing else
//
// Prints one line of JSON per run. `cpu_ns_per_event` is both cores' time,
// so it holds on a machine that others use as well.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "analyze/analyze.hpp"
#include "analyze/facts.hpp"
#include "analyze/facts/activity.hpp"
#include "analyze/facts/calls.hpp"
#include "analyze/facts/heap_parts.hpp"
#include "analyze/facts/mappings.hpp"
#include "analyze/facts/page_cells.hpp"
#include "analyze/facts/patterns.hpp"
#include "analyze/facts/realloc_chains.hpp"
#include "analyze/facts/residency.hpp"
#include "analyze/facts/series.hpp"
#include "analyze/facts/sites.hpp"
#include "analyze/facts/threads.hpp"
#include "analyze/facts/timeline.hpp"
#include "analyze/options.hpp"
#include "trace/reader.hpp"

namespace {

using namespace heapwright;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Stopwatch {
 public:
  void print(const char* name, std::uint64_t events) const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
    const auto count = static_cast<double>(events);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf(
        "{\"what\":\"%s\",\"events\":%.0f,\"seconds\":%.3f,\"million_events_per_s\":%.1f,\"cpu_ns_per_"
        "event\":%.1f,\"peak_rss_mb\":%.0f}\n",
        name, count, wall.count(), count / wall.count() * 1e-6, (cpu_seconds() - cpu_) * 1e9 / count,
        static_cast<double>(usage.ru_maxrss) / 1024);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double cpu_ = cpu_seconds();
};

void measure_parts(const char* path) {
  {
    const Stopwatch watch;
    const auto reader = trace::Reader::open(path);
    watch.print("open", reader.event_count());
  }
  const auto reader = trace::Reader::open(path);
  {
    const Stopwatch watch;
    trace::DecodeScratch scratch;
    trace::EventBatch batch;
    for (const auto& chunk : reader.event_chunks()) {
      reader.decode(chunk, scratch, batch);
    }
    watch.print("decode", reader.event_count());
  }
}

void measure_all(const char* path) {
  const Stopwatch watch;
  const auto reader = trace::Reader::open(path);
  const auto facts = analyze::analyze(reader, {});
  watch.print("analyze", facts.totals.events);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: measure_analysis FILE [runs] [analyze]\n");
    return 2;
  }
  const int runs = argc > 2 ? std::atoi(argv[2]) : 1;
  try {
    for (int run = 0; run < runs; ++run) {
      if (argc <= 3) {
        measure_parts(argv[1]);
      }
      measure_all(argv[1]);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "measure_analysis: %s\n", error.what());
    return 2;
  }
  return 0;
}
