// SPDX-License-Identifier: MIT
// A model of take_over.hpp: one slab of two blocks, its owner, two threads that free one each, and one that
// takes the slab over. Explored by relacy, with C++'s memory orders:
//   take_over_model            nothing is found in the model as it is, and each of its faults is
//
// The heap's own functions cannot run here, because relacy replaces the atomics. What is
// modelled, by the names they have there: RemoteWord, notified, pending and passed, lists, has_returned.
#include "../explore_model.hpp"

namespace {

// What may be wrong, one at a time.
enum class Fault : int {
  none,
  free_does_not_release,     // a push to the remote list
  notice_does_not_release,   // a push to the stack of notices
  notice_does_not_acquire,   // so that who told late does not see that all is back
  owner_does_not_lock,       // where it changes which slab is the first
  unlock_does_not_release,   // of the owner's
  first_slab_is_taken,       // what the owner allocates from
  taken_before_all_is_back,  //
  forgotten_after_the_look,  // has_returned
  said_by_a_load,            // that it is said already
  taken_without_the_notice,  //
};

constexpr unsigned capacity = 2;
constexpr unsigned armed = 16;  // in the remote word, beside the count

template <Fault fault>
struct TakeOver : rl::test_suite<TakeOver<fault>, 4> {
  rl::atomic<unsigned> remote;
  rl::atomic<unsigned> notified;
  rl::atomic<unsigned> has_returned;
  rl::atomic<unsigned> lists;    // the lock
  rl::var<unsigned> has_passed;  // under the lock
  rl::var<unsigned> is_first;    // under the lock
  rl::var<unsigned> line;        // the rest of the slab's record
  rl::var<unsigned> memory[capacity];
  rl::var<unsigned> second_next;
  rl::var<unsigned> is_closed;

  void before() {
    remote($) = armed;
    notified($) = 0;
    has_returned($) = 1;  // of another slab
    lists($) = 0;
    has_passed($) = 0;
    is_first($) = 0;
    line($) = 0;
    second_next($) = 0;
    is_closed($) = 0;
    for (unsigned i = 0; i < capacity; ++i) memory[i]($) = i;
  }

  static constexpr rl::memory_order order_unless(Fault one, rl::memory_order order,
                                                 rl::memory_order instead) {
    return fault == one ? instead : order;
  }
  bool try_lock() {
    unsigned open = 0;
    return lists($).compare_exchange_strong(open, 1, rl::mo_acquire, rl::mo_relaxed);
  }
  void unlock(rl::memory_order order = rl::mo_release) { lists($).store(0, order); }
  void write_line() { line($) = line($) + 1; }

  void free_remote(unsigned block) {
    memory[block]($) = 10 + block;
    unsigned word = remote($).load(rl::mo_relaxed);
    while (!remote($).compare_exchange_weak(
        word, (word & ~armed) + 1, order_unless(Fault::free_does_not_release, rl::mo_acq_rel, rl::mo_relaxed),
        rl::mo_relaxed)) {
    }
    if ((word & armed) != 0) tell_owner();
    if (remote($).load(rl::mo_acquire) == capacity) say_returned();
  }
  void tell_owner() {
    constexpr rl::memory_order order = fault == Fault::notice_does_not_release   ? rl::mo_acquire
                                       : fault == Fault::notice_does_not_acquire ? rl::mo_release
                                                                                 : rl::mo_acq_rel;
    second_next($) = 0;
    unsigned first = notified($).load(rl::mo_relaxed);
    while (!notified($).compare_exchange_weak(first, 1, order, rl::mo_relaxed)) {
    }
  }
  void say_returned() {
    const unsigned said = fault == Fault::said_by_a_load ? has_returned($).load(rl::mo_relaxed)
                                                         : has_returned($).fetch_add(0, rl::mo_acq_rel);
    unsigned none = 0;
    if (said == 0) {
      has_returned($).compare_exchange_strong(none, 1, rl::mo_acq_rel, rl::mo_relaxed);
    }
  }

  bool take_notice() {
    if (notified($).exchange(0, rl::mo_acq_rel) != 0) return true;
    const bool is_there = has_passed($) != 0;
    if (is_there) has_passed($) = 0;
    return is_there;
  }

  // The owner asks to be told when all is back. False: it is.
  bool watch_rest() {
    unsigned word = remote($).load(rl::mo_acquire);
    do {
      if (word == capacity) return false;
    } while (!remote($).compare_exchange_weak(word, word | armed, rl::mo_acq_rel, rl::mo_acquire));
    return true;
  }

  // The owner: looks at the notice, and makes the slab the first or closes it. Later it
  // allocates from the first slab, without the lock.
  void come_by() {
    constexpr bool locks = fault != Fault::owner_does_not_lock;
    if (locks && !try_lock()) return;
    bool uses = false;
    if (take_notice()) {
      second_next($) = 0;
      write_line();
      if (watch_rest()) {
        is_first($) = 1;
        uses = true;
      } else {
        close();
      }
    }
    if (locks) {
      unlock(order_unless(Fault::unlock_does_not_release, rl::mo_release, rl::mo_relaxed));
    }
    if (uses) write_line();
  }

  void close() {
    RL_ASSERT(is_closed($) == 0);
    is_closed($) = 1;
    for (unsigned i = 0; i < capacity; ++i) RL_ASSERT(memory[i]($) == 10 + i);
    for (unsigned i = 0; i < capacity; ++i) memory[i]($) = 20;
  }

  bool next_to_look_at() {
    if (notified($).exchange(0, rl::mo_acq_rel) != 0) return true;
    const unsigned returned = fault == Fault::forgotten_after_the_look
                                  ? has_returned($).load(rl::mo_acquire)
                                  : has_returned($).exchange(0, rl::mo_acq_rel);
    if (returned != 0) return take_notice();
    return fault == Fault::taken_without_the_notice && is_closed($) == 0;
  }
  bool may_take() {
    if (is_first($) != 0 && fault != Fault::first_slab_is_taken) return false;
    return remote($).load(rl::mo_acquire) == capacity || fault == Fault::taken_before_all_is_back;
  }
  void take_over() {
    if (has_returned($).load(rl::mo_acquire) == 0 || !try_lock()) return;
    bool is_taken = false;
    for (int look = 0; look < 3 && !is_taken && next_to_look_at(); ++look) {
      second_next($) = 0;
      is_taken = may_take();
      if (!is_taken) has_passed($) = 1;
    }
    if (is_taken) write_line();
    if (fault == Fault::forgotten_after_the_look) has_returned($).store(0, rl::mo_release);
    unlock();
    if (!is_taken) return;
    write_line();
    close();
  }

  void thread(unsigned index) {
    if (index == 0) come_by();
    if (index == 1 || index == 2) free_remote(index - 1);
    if (index == 3) {
      take_over();
      take_over();
    }
  }

  // Unless the owner has it, whoever looks now finds it.
  void after() {
    if (is_first($) == 0 && is_closed($) == 0) take_over();
    RL_ASSERT(is_closed($) != 0 || is_first($) != 0);
    RL_ASSERT(is_closed($) == 0 || notified($).load(rl::mo_relaxed) == 0);
  }
};

template <Fault fault>
bool is_found(rl::scheduler_type_e scheduler = rl::sched_random) {
  return ::is_found<TakeOver<fault>>(500'000, scheduler);
}

}  // namespace

int main() {
  bool is_good = report("as it is", !is_found<Fault::none>(rl::sched_bound) && !is_found<Fault::none>());
  is_good &= report("a free does not release", is_found<Fault::free_does_not_release>());
  is_good &= report("a notice does not release", is_found<Fault::notice_does_not_release>());
  is_good &= report("a notice does not acquire", is_found<Fault::notice_does_not_acquire>());
  is_good &= report("the owner does not lock", is_found<Fault::owner_does_not_lock>());
  is_good &= report("its unlock does not release", is_found<Fault::unlock_does_not_release>());
  is_good &= report("the first slab is taken", is_found<Fault::first_slab_is_taken>());
  is_good &= report("taken before all is back", is_found<Fault::taken_before_all_is_back>());
  is_good &= report("forgotten after the look", is_found<Fault::forgotten_after_the_look>());
  is_good &= report("said by a load", is_found<Fault::said_by_a_load>());
  is_good &= report("taken without the notice", is_found<Fault::taken_without_the_notice>());
  return is_good ? 0 : 1;
}
