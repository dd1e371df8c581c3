// SPDX-License-Identifier: MIT
// A model of deferred_free.hpp: the owner defers to a ring of two, and frees itself where that is full, while
// another thread drains it. Explored by relacy, with C++'s memory orders: nothing is found in the model as
// it is, and each of its faults is.
//
// What is modelled, by the names they have there: defer(), defer_when_full(), put(), free_oldest(), drain().
#include "../explore_model.hpp"

namespace {

// What may be wrong, one at a time.
enum class Fault : int {
  none,
  tail_does_not_release,
  tail_is_not_acquired,
  head_does_not_release,
  head_is_not_acquired,  // defer_when_full()
  drained_without_lock,
  head_moves_first,  // before the entry is read
  put_at_a_full_ring
};

constexpr unsigned ring_entries = 2;
constexpr unsigned objects = 4;

template <Fault fault>
struct DeferredFree : rl::test_suite<DeferredFree<fault>, 2> {
  rl::atomic<unsigned> tail;
  rl::atomic<unsigned> head;
  rl::mutex drain_mutex;
  rl::var<unsigned> entries[ring_entries];
  rl::var<unsigned> is_freed[objects];
  unsigned known_head;

  void before() {
    tail($) = 0;
    head($) = 0;
    for (rl::var<unsigned>& entry : entries) entry($) = objects;
    for (rl::var<unsigned>& object : is_freed) object($) = 0;
    known_head = 0;
  }

  static constexpr rl::memory_order order_unless(Fault one, rl::memory_order order) {
    return fault == one ? rl::mo_relaxed : order;
  }

  void destroy(unsigned object) {
    RL_ASSERT(object < objects && is_freed[object]($) == 0);
    is_freed[object]($) = 1;
  }
  void put(unsigned object, unsigned at) {
    entries[at % ring_entries]($) = object;
    tail($).store(at + 1, order_unless(Fault::tail_does_not_release, rl::mo_release));
  }
  bool free_oldest() {
    const unsigned at = head($).load(rl::mo_relaxed);
    if (at == tail($).load(order_unless(Fault::tail_is_not_acquired, rl::mo_acquire))) return false;
    constexpr rl::memory_order order = order_unless(Fault::head_does_not_release, rl::mo_release);
    if (fault == Fault::head_moves_first) head($).store(at + 1, order);
    const unsigned oldest = entries[at % ring_entries]($);
    destroy(oldest);
    if (fault != Fault::head_moves_first) head($).store(at + 1, order);
    return true;
  }

  void defer_when_full(unsigned object) {
    const unsigned at = tail($).load(rl::mo_relaxed);
    known_head = head($).load(order_unless(Fault::head_is_not_acquired, rl::mo_acquire));
    if (at - known_head < ring_entries || fault == Fault::put_at_a_full_ring) return put(object, at);
    constexpr bool locks = fault != Fault::drained_without_lock;
    if (locks && !drain_mutex.try_lock($)) return destroy(object);
    free_oldest();
    known_head = head($).load(rl::mo_relaxed);
    put(object, at);
    if (locks) drain_mutex.unlock($);
  }
  void defer(unsigned object) {
    const unsigned at = tail($).load(rl::mo_relaxed);
    if (at - known_head >= ring_entries) return defer_when_full(object);
    put(object, at);
  }
  void drain() {
    if (!drain_mutex.try_lock($)) return;
    while (free_oldest()) {
    }
    drain_mutex.unlock($);
  }

  void thread(unsigned index) {
    if (index == 0) {
      for (unsigned object = 0; object != objects; ++object) defer(object);
    } else {
      drain();
      drain();
    }
  }

  void after() {
    while (free_oldest()) {
    }
    for (rl::var<unsigned>& object : is_freed) RL_ASSERT(object($) == 1);
  }
};

template <Fault fault>
bool is_found(rl::scheduler_type_e scheduler = rl::sched_random) {
  return ::is_found<DeferredFree<fault>>(200'000, scheduler);
}

}  // namespace

int main() {
  bool is_good = report("as it is", !is_found<Fault::none>(rl::sched_bound) && !is_found<Fault::none>());
  is_good &= report("the tail does not release", is_found<Fault::tail_does_not_release>());
  is_good &= report("the tail is not acquired", is_found<Fault::tail_is_not_acquired>());
  is_good &= report("the head does not release", is_found<Fault::head_does_not_release>());
  is_good &= report("the head is not acquired", is_found<Fault::head_is_not_acquired>());
  is_good &= report("drained without the lock", is_found<Fault::drained_without_lock>());
  is_good &= report("the head moves first", is_found<Fault::head_moves_first>());
  is_good &= report("put at a full ring", is_found<Fault::put_at_a_full_ring>());
  return is_good ? 0 : 1;
}
