// SPDX-License-Identifier: MIT
// The order in which the owner of a slab leaves it and it is watched. A separate file, so
// that tests/heap/pool_model.cpp explores this very code.
#pragma once

namespace heapwright::heap {

// Under the pool's lock. False: the slab's last block was freed meanwhile, and its owner is restored.
template <typename Slab>
bool leave_watched(Slab& slab) noexcept {
  // Removes the owner before watching: a thread that then has to send a notice finds the pool, and waits for
  // the lock.
  const auto before = slab.take_owner();
  if (slab.watch()) return true;
  slab.return_owner(before);
  return false;
}

}  // namespace heapwright::heap
