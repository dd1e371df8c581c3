// SPDX-License-Identifier: MIT
// Tests of refused memory need a heap that has none left, whatever ran before.
#pragma once

#include <vector>

#include "heap/base/system_pages.hpp"
#include "heap/pages/page_source.hpp"

namespace heapwright::heap {

// Holds every run that is free when it is made. No request is refused afterwards.
class HeldMemory {
 public:
  HeldMemory() {
    refuse_every = 1;
    for (std::uint32_t units = 1U << 20; units != 0; units /= 2) {
      for (Run run = allocate_run(units); run.unit != 0; run = allocate_run(units)) {
        held_.push_back({run.unit, units});
      }
    }
    refuse_every = 0;
  }
  ~HeldMemory() {
    for (const Held& run : held_) free_run(run.unit, run.units, true);
  }
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

 private:
  struct Held {
    std::uint32_t unit;
    std::uint32_t units;
  };
  std::vector<Held> held_;
};

}  // namespace heapwright::heap
