// SPDX-License-Identifier: MIT
#include "heap/pages/region.hpp"

namespace heapwright::heap {

constinit Region region{};

}  // namespace heapwright::heap
