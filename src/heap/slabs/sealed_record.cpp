// SPDX-License-Identifier: MIT
#include "heap/slabs/sealed_record.hpp"

#include "heap/base/random.hpp"

namespace heapwright::heap {

constinit std::uint64_t seal_key = 0;

void draw_seal_key() noexcept { seal_key = random_word() | 1; }

}  // namespace heapwright::heap
