// SPDX-License-Identifier: MIT
// A model of record/ring.hpp and collect/lane_drain.cpp: a thread writes slots to a ring of two, waits where
// it is full, and the collector takes them and gives them back. Explored by relacy, with C++'s memory
// orders: nothing is found in the model as it is, and each of its faults is.
//
// What is modelled, by the names they have there: write_slot(), make_room_in(), wait_for_room(), take(),
// give_back(). A futex's sleep has no end here but being woken: who sleeps beside an empty ring was not.
#include "../explore_model.hpp"

namespace {

// What may be wrong, one at a time.
enum class Fault : int {
  none,
  head_does_not_release,
  head_is_not_acquired,
  tail_does_not_release,
  tail_is_not_acquired,
  waits_unannounced,         // is_waiting after the look at the tail
  announced_without_fence,   // is_waiting and the tail in no order of all
  given_back_without_fence,  // the same at the other side
  seen_after_the_look        // the futex's word
};

constexpr unsigned ring_slots = 2;
constexpr unsigned slots = 4;

template <Fault fault>
struct Lane : rl::test_suite<Lane<fault>, 2> {
  rl::atomic<unsigned> head;
  rl::atomic<unsigned> tail;
  rl::atomic<unsigned> is_waiting;
  rl::atomic<unsigned> space_futex;
  rl::var<unsigned> ring[ring_slots];
  rl::mutex sleepers_lock;  // the kernel's
  rl::condition_variable sleepers;
  rl::var<unsigned> is_asleep;  // under the lock

  void before() {
    head($) = 0;
    tail($) = 0;
    is_waiting($) = 0;
    space_futex($) = 0;
    is_asleep($) = 0;
    for (rl::var<unsigned>& slot : ring) slot($) = 0;
  }

  static constexpr rl::memory_order order_unless(Fault one, rl::memory_order order) {
    return fault == one ? rl::mo_relaxed : order;
  }

  void futex_wait(unsigned seen) {
    sleepers_lock.lock($);
    is_asleep($) = space_futex($).load(rl::mo_relaxed) == seen ? 1 : 0;
    while (is_asleep($) != 0) sleepers.wait(sleepers_lock, $);
    sleepers_lock.unlock($);
  }
  void futex_wake() {
    sleepers_lock.lock($);
    is_asleep($) = 0;
    sleepers.notify_all($);
    sleepers_lock.unlock($);
  }
  void check_sleeper(unsigned taken) {
    sleepers_lock.lock($);
    RL_ASSERT(is_asleep($) == 0 || head($).load(rl::mo_relaxed) != taken);
    sleepers_lock.unlock($);
  }

  bool has_room(unsigned written, rl::memory_order order) {
    return written - tail($).load(order) < ring_slots;
  }

  void announce() {
    is_waiting($).store(1, fault == Fault::announced_without_fence ? rl::mo_release : rl::mo_seq_cst);
  }
  void wait_for_room(unsigned written) {
    constexpr rl::memory_order order =
        fault == Fault::announced_without_fence ? rl::mo_acquire : rl::mo_seq_cst;
    for (;;) {
      if (fault != Fault::waits_unannounced) announce();
      unsigned seen = space_futex($).load(rl::mo_acquire);
      if (has_room(written, order)) break;
      if (fault == Fault::waits_unannounced) announce();
      if (fault == Fault::seen_after_the_look) seen = space_futex($).load(rl::mo_acquire);
      futex_wait(seen);
    }
    is_waiting($).store(0, rl::mo_relaxed);
  }
  void write_slot(unsigned written) {
    if (!has_room(written, order_unless(Fault::tail_is_not_acquired, rl::mo_acquire))) wait_for_room(written);
    ring[written % ring_slots]($) = written + 1;
    head($).store(written + 1, order_unless(Fault::head_does_not_release, rl::mo_release));
  }

  void give_back(unsigned position) {
    constexpr bool is_ordered = fault != Fault::given_back_without_fence;
    tail($).store(position, fault == Fault::tail_does_not_release ? rl::mo_relaxed
                            : is_ordered                          ? rl::mo_seq_cst
                                                                  : rl::mo_release);
    if (is_waiting($).load(is_ordered ? rl::mo_seq_cst : rl::mo_acquire) == 0) return;
    space_futex($).fetch_add(1, rl::mo_release);
    futex_wake();
  }
  unsigned take(unsigned taken) {
    const unsigned end = head($).load(order_unless(Fault::head_is_not_acquired, rl::mo_acquire));
    if (end == taken) return taken;
    RL_ASSERT(end - taken <= ring_slots);
    for (; taken != end; ++taken) RL_ASSERT(ring[taken % ring_slots]($) == taken + 1);
    give_back(taken);
    return taken;
  }

  void thread(unsigned index) {
    if (index == 0) {
      for (unsigned written = 0; written != slots; ++written) write_slot(written);
      return;
    }
    for (unsigned taken = 0; taken != slots;) {
      const unsigned before = taken;
      taken = take(taken);
      check_sleeper(taken);
      if (taken == before) rl::yield(1, $);
    }
  }
};

template <Fault fault>
bool is_found(rl::scheduler_type_e scheduler = rl::sched_random) {
  return ::is_found<Lane<fault>>(200'000, scheduler);
}

}  // namespace

int main() {
  bool is_good = report("as it is", !is_found<Fault::none>(rl::sched_bound) && !is_found<Fault::none>());
  is_good &= report("the head does not release", is_found<Fault::head_does_not_release>());
  is_good &= report("the head is not acquired", is_found<Fault::head_is_not_acquired>());
  is_good &= report("the tail does not release", is_found<Fault::tail_does_not_release>());
  is_good &= report("the tail is not acquired", is_found<Fault::tail_is_not_acquired>());
  is_good &= report("waits unannounced", is_found<Fault::waits_unannounced>());
  is_good &= report("announced without a fence", is_found<Fault::announced_without_fence>());
  is_good &= report("given back without a fence", is_found<Fault::given_back_without_fence>());
  is_good &= report("seen after the look", is_found<Fault::seen_after_the_look>());
  return is_good ? 0 : 1;
}
