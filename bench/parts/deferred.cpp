// SPDX-License-Identifier: MIT
// What it costs to put an object on a queue for later. One library per build:
// -DLIBRARY_<name>; draining is not timed.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#if defined(LIBRARY_heapwright)
#include <heapwright/deferred_free.hpp>
#elif defined(LIBRARY_moodycamel)
#include <concurrentqueue/concurrentqueue.h>
#elif defined(LIBRARY_urcu)
#define RCU_MB
#include <urcu.h>
// after urcu.h, which says whose names it takes
#include <urcu-defer.h>
#endif

namespace {

[[maybe_unused]] void destroy(void*) {}

#if defined(LIBRARY_heapwright)
struct Queue {
  heapwright::deferred_free queue{{.entries = 4096}};
  void put(void* object) { queue.defer(object, &destroy); }
  void drain() { queue.drain(); }
};
#elif defined(LIBRARY_moodycamel)
struct Queue {
  struct entry {
    void* object;
    void (*destroy)(void*);
  };
  moodycamel::ConcurrentQueue<entry> queue{4096, 1, 1};
  moodycamel::ProducerToken token{queue};
  void put(void* object) { queue.try_enqueue(token, {object, &destroy}); }
  void drain() {
    entry oldest;
    while (queue.try_dequeue(oldest)) oldest.destroy(oldest.object);
  }
};
#elif defined(LIBRARY_urcu)
struct Queue {
  Queue() {
    rcu_register_thread();
    rcu_defer_register_thread();
  }
  ~Queue() {
    rcu_defer_unregister_thread();
    rcu_unregister_thread();
  }
  void put(void* object) { defer_rcu(&destroy, object); }
  void drain() { rcu_defer_barrier_thread(); }
};
#endif

void enqueue(benchmark::State& state) {
  static int object = 0;
  Queue queue;
  int left = 0;
  for (auto _ : state) {
    if (left-- == 0) {
      state.PauseTiming();
      queue.drain();
      left = 4000;
      state.ResumeTiming();
    }
    queue.put(&object);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(enqueue);

}  // namespace

BENCHMARK_MAIN();
