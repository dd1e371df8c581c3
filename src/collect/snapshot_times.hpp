// SPDX-License-Identifier: MIT
// When snapshots of who holds which block are taken.
#pragma once

#include <cstdint>

#include "collect/options.hpp"

namespace heapwright::collect {

class SnapshotTimes {
 public:
  // `begin_ns`: when the process started.
  SnapshotTimes(const SnapshotWishes& wishes, std::uint64_t begin_ns)
      : wishes_(wishes), next_ns_(begin_ns + wishes.every_ns) {}

  // `resident_bytes` of the process now; 0: not known.
  bool is_due(std::uint64_t now_ns, std::uint64_t resident_bytes) noexcept;
  // One was taken, or failed, for which the process stood still this long.
  void note(std::uint64_t now_ns, std::uint64_t resident_bytes, std::uint64_t stopped_ns) noexcept;

 private:
  bool is_above_again(std::uint64_t resident_bytes) noexcept;

  SnapshotWishes wishes_;
  std::uint64_t next_ns_;              // of every_ns
  bool was_above_ = false;             // of above_bytes
  std::uint64_t most_bytes_ = 0;       // resident at a snapshot
  std::uint64_t may_again_at_ns_ = 0;  // so that snapshots of peaks cost little
};

}  // namespace heapwright::collect
