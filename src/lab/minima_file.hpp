// SPDX-License-Identifier: MIT
// The least time of every operation over several runs of the same program.
#pragma once

#include <cstdint>
#include <string_view>

#include "figures/mapped_array.hpp"

namespace heapwright::lab {

// Sets each of `times` to the smaller of itself and what the file holds for
// it, then the file to the result. A file that does not exist is made; one of
// another length is refused. One process at a time.
void fold_minima(std::string_view path, figures::MappedArray<std::uint32_t>& times);

}  // namespace heapwright::lab
