// SPDX-License-Identifier: MIT
// The two ends of a lane, record/ring.hpp and collect/lane_end.hpp, compiled with the atomics of relacy,
// which explores what C++'s memory orders allow: a thread writes slots to a ring of two, waits where it is
// full, and the collector takes them and gives them back. Nothing is found in the two as they are, and a
// weaker order of each of their operations is. Other changes of them are for tests/mutants.
//
// A futex's sleep has no end here but being woken: who sleeps beside an empty ring was not.
#include "collect/lane_end.hpp"
#include "record/ring.hpp"

// After what it models: it has its own words for malloc and the memory orders.
#include "../explore_model.hpp"

namespace {

using Order = std::memory_order;

// What may be wrong, one at a time.
enum class Fault : int {
  none,
  head_does_not_release,
  head_is_not_acquired,
  tail_does_not_release,
  tail_is_not_acquired,
  announced_without_fence,  // is_waiting and the tail in no order of all
  given_back_without_fence  // the same at the other side
};
enum class Word : int { head, tail, is_waiting, other };

constexpr Order store_order(Fault fault, Word word, Order order) {
  if (fault == Fault::head_does_not_release && word == Word::head) return Order::relaxed;
  if (fault == Fault::tail_does_not_release && word == Word::tail) return Order::relaxed;
  if (fault == Fault::announced_without_fence && word == Word::is_waiting) return Order::release;
  if (fault == Fault::given_back_without_fence && word == Word::tail) return Order::release;
  return order;
}

constexpr Order load_order(Fault fault, Word word, Order order) {
  if (fault == Fault::head_is_not_acquired && word == Word::head) return Order::relaxed;
  if (fault == Fault::tail_is_not_acquired && word == Word::tail) return Order::relaxed;
  if (fault == Fault::announced_without_fence && word == Word::tail) return Order::acquire;
  if (fault == Fault::given_back_without_fence && word == Word::is_waiting) return Order::acquire;
  return order;
}

constexpr rl::memory_order in_relacy(Order order) {
  switch (order) {
    case Order::relaxed:
      return rl::mo_relaxed;
    case Order::acquire:
      return rl::mo_acquire;
    case Order::release:
      return rl::mo_release;
    case Order::acq_rel:
      return rl::mo_acq_rel;
    default:
      return rl::mo_seq_cst;
  }
}

// std::atomic's words for an atomic of relacy's.
template <typename T, Fault fault = Fault::none, Word word = Word::other>
struct Atomic {
  mutable rl::atomic<T> value;

  T load(Order order = Order::seq_cst) const {
    return value($).load(in_relacy(load_order(fault, word, order)));
  }
  void store(T to, Order order = Order::seq_cst) {
    value($).store(to, in_relacy(store_order(fault, word, order)));
  }
  T exchange(T to, Order order = Order::seq_cst) { return value($).exchange(to, in_relacy(order)); }
  T fetch_add(T more, Order order = Order::seq_cst) { return value($).fetch_add(more, in_relacy(order)); }
};

// A field that two threads may not touch at once.
template <typename T>
struct Plain {
  rl::var<T> value;

  void operator=(T to) { value($) = to; }
  operator T() { return value($); }
};

// As session::RawEvent.
struct Slot {
  Plain<std::uint64_t> begin_ticks;
  Plain<std::uint64_t> address_and_kind;
  Plain<std::uint32_t> size;
  Plain<std::uint32_t> usable_excess;
  Plain<std::uint32_t> stack_node;
  Plain<std::uint32_t> duration_ticks;
};

constexpr unsigned ring_slots = 2;
constexpr unsigned slots = 4;

// A futex's word, and the kernel's list of who sleeps.
struct Futex : Atomic<std::uint32_t> {
  rl::mutex sleepers_lock;
  rl::condition_variable sleepers;
  rl::var<unsigned> is_asleep;  // under the lock
};

void futex_wait(Futex& word, std::uint32_t seen, std::uint64_t) {
  word.sleepers_lock.lock($);
  word.is_asleep($) = word.load(Order::relaxed) == seen ? 1 : 0;
  while (word.is_asleep($) != 0) word.sleepers.wait(word.sleepers_lock, $);
  word.sleepers_lock.unlock($);
}

void futex_wake(Futex& word) {
  word.sleepers_lock.lock($);
  word.is_asleep($) = 0;
  word.sleepers.notify_all($);
  word.sleepers_lock.unlock($);
}

// As session::Lane.
template <Fault fault>
struct ModelLane {
  Atomic<std::uint64_t, fault, Word::head> head;
  Atomic<std::uint64_t, fault, Word::tail> tail;
  Atomic<std::uint32_t, fault, Word::is_waiting> is_waiting;
  Futex space_futex;
  Atomic<std::uint64_t> dropped_full;
  Atomic<std::uint64_t> waits;
  Atomic<std::uint64_t> waited_ticks;
  Slot ring[ring_slots];
};

struct Control {
  Futex collector_sleeps;
};

struct Reader {
  Control& control;
  bool ticks_are_tsc = true;
  static bool is_alive() { return true; }
  static bool is_confined() { return false; }
  static bool waits() { return true; }
};

template <Fault fault>
struct Producer {
  ModelLane<fault>* lane;
  std::uint64_t head = 0;
  std::uint64_t limit = ring_slots / 2;
  std::uint64_t ring_mask = ring_slots - 1;
};

template <Fault fault>
struct Lane : rl::test_suite<Lane<fault>, 2> {
  ModelLane<fault> lane;
  Control control;

  void before() {
    for (auto* word : {&lane.dropped_full, &lane.waits, &lane.waited_ticks}) word->store(0);
    lane.head.store(0);
    lane.tail.store(0);
    lane.is_waiting.store(0);
    for (Futex* word : {&lane.space_futex, &control.collector_sleeps}) {
      word->store(0);
      word->is_asleep($) = 0;
    }
  }

  void produce() {
    Producer<fault> thread{.lane = &lane};
    const Reader reader{.control = control};
    for (unsigned written = 0; written != slots; ++written) {
      if (thread.head == thread.limit) {
        RL_ASSERT(heapwright::record::make_room_in(thread, 1, reader));
      }
      heapwright::record::write_slot(
          thread, {.kind = heapwright::trace::EventKind::malloc_, .size = 8, .address = written + 1});
    }
  }

  std::uint64_t take(std::uint64_t taken) {
    const std::uint64_t end = heapwright::collect::written_slots(lane);
    if (end == taken) return taken;
    RL_ASSERT(end - taken <= ring_slots);
    for (; taken != end; ++taken) {
      const std::uint64_t packed = lane.ring[taken % ring_slots].address_and_kind;
      RL_ASSERT(packed >> 16 == taken + 1);
    }
    heapwright::collect::give_back(lane, taken);
    return taken;
  }

  void check_sleeper(std::uint64_t taken) {
    lane.space_futex.sleepers_lock.lock($);
    RL_ASSERT(lane.space_futex.is_asleep($) == 0 || lane.head.value($).load(rl::mo_relaxed) != taken);
    lane.space_futex.sleepers_lock.unlock($);
  }

  void consume() {
    for (std::uint64_t taken = 0; taken != slots;) {
      const std::uint64_t before = taken;
      taken = take(taken);
      check_sleeper(taken);
      if (taken == before) rl::yield(1, $);
    }
  }

  void thread(unsigned index) { index == 0 ? produce() : consume(); }
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
  is_good &= report("announced without a fence", is_found<Fault::announced_without_fence>());
  is_good &= report("given back without a fence", is_found<Fault::given_back_without_fence>());
  return is_good ? 0 : 1;
}
