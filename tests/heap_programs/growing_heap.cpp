// SPDX-License-Identifier: MIT
// A private heap that asks the system for memory holds no lock: while its
// request is answered, another thread allocates from it and frees to it.
#include <atomic>
#include <thread>

#include "page_request_trap.hpp"

namespace {

enum State { idle, armed, asked, answered, over };
std::atomic<int> state{idle};
std::atomic<int> answers{0};
pthread_t grower;

// Waits until the other thread has had its turn; a minute means that it never will.
long answer(PageRequest& request) {
  int expected = armed;
  if (pthread_equal(pthread_self(), grower) && request.number == SYS_mmap &&
      state.compare_exchange_strong(expected, asked)) {
    for (int i = 0; i < 60'000 && state != answered; ++i) usleep(1000);
    REQUIRE(state == answered);
    state = idle;
    answers.fetch_add(1);
  }
  return request.carry_out();
}

void use_while_asked(heapwright_heap* heap) {
  void* block = heapwright_heap_allocate(heap, 100, 16);
  for (;;) {
    const int now = state;
    if (now == over) break;
    if (now == asked) {
      heapwright_heap_free(heap, block);
      block = heapwright_heap_allocate(heap, 100, 16);
      REQUIRE(block != nullptr);
      state = answered;
    }
    usleep(100);
  }
  heapwright_heap_free(heap, block);
}

}  // namespace

int main() {
  if (!is_preloaded()) {
    say("done\n");
    return 0;
  }
  heapwright_heap* heap = heapwright_heap_create("growing");
  REQUIRE(heap != nullptr);
  grower = pthread_self();
  // Before the trap, which is then this thread's alone.
  std::thread other(use_while_asked, heap);
  answer_page_request = answer;
  trap_page_requests();
  for (int i = 0; i < 400'000 && answers < 3; ++i) {
    if (state == idle) state = armed;
    REQUIRE(heapwright_heap_allocate(heap, 3000, 16) != nullptr);
  }
  state = over;
  other.join();
  REQUIRE(answers == 3);
  heapwright_heap_destroy(heap);
  say("done\n");
  return 0;
}
