// SPDX-License-Identifier: MIT
// The least time of every operation over several runs of the same program.
#pragma once

#include <cstdint>
#include <string_view>

#include "figures/mapped_array.hpp"

namespace heapwright::lab {

// Sets each of `times` to the minimum of itself and its value in the file, then writes the result to the
// file. A missing file is created; one with another length is refused. One process at a time.
void fold_minima(std::string_view path, figures::MappedArray<std::uint32_t>& times);

}  // namespace heapwright::lab
