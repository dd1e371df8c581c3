// SPDX-License-Identifier: MIT
#include "heap/pages/region.hpp"

namespace heapwright::heap {

constinit Region region{.start_factors = make_start_factors()};

}  // namespace heapwright::heap
