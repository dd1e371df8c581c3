// SPDX-License-Identifier: MIT
#include "replay/slot.hpp"

#include "figures/refusal.hpp"

namespace heapwright::replay {

void refuse_damaged() noexcept { figures::refuse("the plan is damaged; make it again"); }

}  // namespace heapwright::replay
