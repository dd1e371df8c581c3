// SPDX-License-Identifier: MIT
// Figures that are no times, as one JSON object: what the cache's policies do
// with the poisoning load, what a pool retains after a spike. `figures drain`:
// how long the calls of drain() take behind a background thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <heapwright/buffer_cache.hpp>
#include <heapwright/deferred_free.hpp>
#include <heapwright/object_pool.hpp>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "poisoning_load.hpp"

namespace {

using heapwright::buffer_event;

template <class Policy>
void print_cache(const char* name, const char* variant, const std::vector<buffer_event>& events,
                 heapwright::cache_limits limits) {
  Policy policy(limits);
  const auto f = heapwright::replay(policy, events);
  std::printf(
      "{\"policy\": \"%s\", \"load\": \"%s\", \"hit_percent\": %.2f, \"used_percent\": %.2f, "
      "\"peak_retained_bytes\": %zu},\n",
      name, variant, f.hit_percent, f.used_percent, f.peak_retained_bytes);
}

void print_caches() {
  const struct {
    const char* name;
    unsigned doubles_in;
  } loads[] = {{"flat", 2}, {"steep", 4}};
  for (const auto& load : loads) {
    const auto events = poisoning_load(1, load.doubles_in, 500000);
    const heapwright::cache_limits limits{1000000, 256};
    print_cache<heapwright::learnt_cutoff>("learnt_cutoff", load.name, events, limits);
    print_cache<heapwright::fixed_cutoff<200>>("fixed_cutoff<200>", load.name, events, limits);
    print_cache<heapwright::calibrated_pool>("calibrated_pool", load.name, events, limits);
    print_cache<heapwright::keep_the_larger>("keep_the_larger, 1 entry", load.name, events, {64 << 20, 1});
    print_cache<heapwright::keep_the_larger>("keep_the_larger, 4 entries", load.name, events, {64 << 20, 4});
  }
}

// 1,000 objects, one spike each, then the usual use.
void print_pools() {
  constexpr std::size_t objects = 1000;
  constexpr std::size_t spike = 100000;
  constexpr std::size_t usual = 400;
  heapwright::object_pool<std::string> pool({.max_idle = objects});
  std::vector<std::string> cleared(objects);
  {
    std::vector<heapwright::object_pool<std::string>::handle> all;
    for (std::size_t i = 0; i < objects; ++i) all.push_back(pool.acquire());
    for (std::size_t i = 0; i < objects; ++i) {
      all[i]->assign(spike, 'x');
      cleared[i].assign(spike, 'x');
      cleared[i].clear();
    }
  }
  for (std::size_t i = 0; i < 4 * objects; ++i) {
    pool.acquire()->assign(usual, 'x');
    cleared[i % objects].assign(usual, 'x');
    cleared[i % objects].clear();
  }
  std::size_t creep = 0;
  for (const std::string& text : cleared) creep += text.capacity();
  std::printf("\"pool\": {\"object_pool\": %zu, \"clear() only\": %zu, \"twice_p90\": %zu}\n",
              pool.statistics().retained_bytes, creep, 2 * usual * objects);
}

// The owner drains with a budget while the background thread frees the same queue: how long
// its calls take. The lists are tens of milliseconds of work.
void print_drains() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds budget(2);
  heapwright::deferred_free queue({.entries = 4096, .has_background_thread = true});
  std::vector<std::unique_ptr<std::list<int>>> lists;
  for (int i = 0; i < 2000; ++i) lists.push_back(std::make_unique<std::list<int>>(1000, i));
  for (auto& list : lists) queue.defer(std::move(list));
  std::vector<double> calls_ms;
  do {
    const auto start = Clock::now();
    queue.drain(budget);
    calls_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  } while (queue.statistics().pending != 0);
  std::sort(calls_ms.begin(), calls_ms.end());
  std::printf("{\"budget_ms\": %d, \"calls\": %zu, \"median_ms\": %.3f, \"worst_ms\": %.3f}\n",
              static_cast<int>(budget.count()), calls_ms.size(), calls_ms[calls_ms.size() / 2],
              calls_ms.back());
}

// For callgrind: `figures defer N` enqueues N objects.
[[gnu::noinline]] void enqueue(heapwright::deferred_free& queue, int count) {
  static int object = 0;
  for (int i = 0; i < count; ++i) queue.defer(&object, [](void*) {});
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::strcmp(arguments[1], "defer") == 0) {
    heapwright::deferred_free queue({.entries = 65536});
    enqueue(queue, std::atoi(arguments[2]));
    std::_Exit(0);  // what is measured is the enqueueing, not the end of the queue
  }
  if (count == 2 && std::strcmp(arguments[1], "drain") == 0) {
    print_drains();
    return 0;
  }
  std::printf("{\"caches\": [\n");
  print_caches();
  std::printf("null],\n");
  print_pools();
  std::printf("}\n");
}
