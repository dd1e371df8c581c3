// SPDX-License-Identifier: MIT
// The order in which a slab is left by its owner and watched. It stands alone so that
// tests/heap/pool_model.cpp explores this very text.
#pragma once

namespace heapwright::heap {

// Under the pool's lock. False: the slab's last block came back meanwhile, and it has its owner again.
template <typename Slab>
bool leave_watched(Slab& slab) noexcept {
  // Without an owner before it is watched: whoever then has to tell comes to the pool, and waits for the
  // lock.
  const auto before = slab.take_owner();
  if (slab.watch()) return true;
  slab.return_owner(before);
  return false;
}

}  // namespace heapwright::heap
