// SPDX-License-Identifier: MIT
// A model of partial_pool.hpp: the owner of a slab gives it to the pool while another thread frees its last
// block and a third claims it. Explored by relacy, with C++'s memory orders: nothing is found in the
// model as it is, and each of its faults is.
//
// What is modelled, by the names they have there: RemoteWord, owner, notified, insert(), remove(),
// claim_slab(), claim_this_slab(), tell_owner(). leave_watched() is not modelled, but the heap's own.
#include "../explore_model.hpp"
#include "heap/slabs/leave_watched.hpp"

namespace {

// What may be wrong, one at a time.
enum class Fault : int {
  none,
  watched_before_it_is_ownerless,
  not_watched,
  free_does_not_release,    // a push to the remote list
  told_without_the_lock,    // claim_this_slab()
  claimed_though_owned,     // the same
  owner_is_not_asked_again  // once it has been claimed by somebody else
};

constexpr unsigned nobody = 0;
constexpr unsigned old_owner = 1;
constexpr unsigned claimer = 2;
constexpr unsigned armed = 16;  // in the remote word, beside the count

template <Fault fault>
struct Pool : rl::test_suite<Pool<fault>, 3> {
  rl::atomic<unsigned> remote;
  rl::atomic<unsigned> owner;
  rl::atomic<unsigned> notified[3];
  rl::mutex lock;
  rl::var<unsigned> is_pooled;  // under the lock
  rl::var<unsigned> line;       // the rest of the slab's record
  rl::var<unsigned> memory;     // the block that is freed
  rl::var<unsigned> is_closed;

  void before() {
    remote($) = 0;
    owner($) = old_owner;
    for (rl::atomic<unsigned>& one : notified) one($) = 0;
    is_pooled($) = 0;
    line($) = 0;
    memory($) = 1;
    is_closed($) = 0;
  }

  void write_line() { line($) = line($) + 1; }
  void close() {
    RL_ASSERT(is_closed($) == 0);
    is_closed($) = 1;
    RL_ASSERT(memory($) == 2);
    memory($) = 3;
    write_line();
  }

  // False: the last block is back.
  bool arm() {
    unsigned word = remote($).load(rl::mo_acquire);
    do {
      if (word == 1) return false;
    } while (!remote($).compare_exchange_weak(word, word | armed, rl::mo_acq_rel, rl::mo_acquire));
    return true;
  }

  // For leave_watched(), which is the heap's own.
  unsigned take_owner() { return owner($).exchange(nobody, rl::mo_acq_rel); }
  void return_owner(unsigned by) { owner($).store(by, rl::mo_release); }
  bool watch() { return fault == Fault::not_watched || arm(); }

  bool is_left() {
    if constexpr (fault == Fault::watched_before_it_is_ownerless) {
      if (!watch()) return false;
      take_owner();
      return true;
    }
    return heapwright::heap::leave_watched(*this);
  }
  bool insert() {
    if (!is_left()) return false;
    is_pooled($) = 1;
    write_line();
    return true;
  }
  void pool_slab() {
    lock.lock($);
    const bool is_in = insert();
    lock.unlock($);
    if (!is_in) close();
  }

  void remove(unsigned by) {
    is_pooled($) = 0;
    write_line();
    owner($).store(by, rl::mo_release);
  }
  bool claim_this_slab() {
    constexpr bool locks = fault != Fault::told_without_the_lock;
    if (locks) lock.lock($);
    const bool is_free = owner($).load(rl::mo_relaxed) == nobody || fault == Fault::claimed_though_owned;
    if (is_free) remove(nobody);
    if (locks) lock.unlock($);
    return is_free;
  }
  void tell_owner() {
    unsigned told = owner($).load(rl::mo_acquire);
    if (told == nobody) {
      if (claim_this_slab()) return close();
      if (fault != Fault::owner_is_not_asked_again) told = owner($).load(rl::mo_acquire);
    }
    notified[told]($).exchange(1, rl::mo_acq_rel);
  }
  void free_remote() {
    memory($) = 2;
    unsigned word = remote($).load(rl::mo_relaxed);
    constexpr bool releases = fault != Fault::free_does_not_release;
    while (!remote($).compare_exchange_weak(word, 1, releases ? rl::mo_acq_rel : rl::mo_relaxed,
                                            rl::mo_relaxed)) {
    }
    if ((word & armed) != 0) tell_owner();
  }

  // It uses the slab, and later looks at its notices.
  void claim_slab() {
    lock.lock($);
    const bool is_there = is_pooled($) != 0;
    if (is_there) remove(claimer);
    lock.unlock($);
    if (!is_there) return;
    write_line();
    look_at_notices();
  }
  void look_at_notices() {
    if (notified[claimer]($).exchange(0, rl::mo_acq_rel) != 0) close();
  }

  void thread(unsigned index) {
    if (index == 0) pool_slab();
    if (index == 1) free_remote();
    if (index == 2) claim_slab();
  }

  // The last block is back: who has the slab was told, and nobody else was.
  void after() {
    look_at_notices();
    RL_ASSERT(is_closed($) == 1);
    for (rl::atomic<unsigned>& one : notified) RL_ASSERT(one($).load(rl::mo_relaxed) == 0);
  }
};

template <Fault fault>
bool is_found(rl::scheduler_type_e scheduler = rl::sched_random) {
  return ::is_found<Pool<fault>>(200'000, scheduler);
}

}  // namespace

int main() {
  bool is_good = report("as it is", !is_found<Fault::none>(rl::sched_bound) && !is_found<Fault::none>());
  is_good &= report("watched before it is ownerless", is_found<Fault::watched_before_it_is_ownerless>());
  is_good &= report("not watched", is_found<Fault::not_watched>());
  is_good &= report("a free does not release", is_found<Fault::free_does_not_release>());
  is_good &= report("told without the lock", is_found<Fault::told_without_the_lock>());
  is_good &= report("claimed though owned", is_found<Fault::claimed_though_owned>());
  is_good &= report("the owner is not asked again", is_found<Fault::owner_is_not_asked_again>());
  return is_good ? 0 : 1;
}
