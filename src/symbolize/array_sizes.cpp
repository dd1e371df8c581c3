// SPDX-License-Identifier: MIT
#include "symbolize/array_sizes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "symbolize/x86_instruction.hpp"

namespace heapwright::symbolize {
namespace {

constexpr std::size_t instructions_before_call = 40;
constexpr std::size_t counted_registers = 16;
constexpr std::uint64_t most_array_bytes = INT64_MAX;

bool is_among(const std::vector<std::uint64_t>& values, std::uint64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<Instruction> last_instructions(std::span<const std::uint8_t> code) {
  std::vector<Instruction> all;
  while (!code.empty()) {
    const Instruction here = decode_x86(code);
    if (here.length == 0 || here.length > code.size()) return {};
    all.push_back(here);
    code = code.subspan(here.length);
  }
  const std::size_t kept = std::min(all.size(), instructions_before_call);
  all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kept));
  return all;
}

}  // namespace

ArraySizes::ArraySizes(std::span<const std::uint8_t> code) {
  std::array<std::uint64_t, counted_registers> loaded{};
  for (const Instruction& here : last_instructions(code)) {
    if (here.sum == Sum::multiply && here.summand != no_register) {
      factors_.push_back(loaded[static_cast<std::size_t>(here.summand)]);
    }
    if (here.sum == Sum::shift_right) shifts_.push_back(static_cast<std::uint64_t>(here.constant));
    for (std::size_t number = 0; number < counted_registers; ++number) {
      if ((here.written >> number & 1U) != 0) loaded[number] = 0;
    }
    if (here.sum != Sum::load) continue;
    const auto value = static_cast<std::uint64_t>(here.constant);
    loaded[static_cast<std::size_t>(here.result)] = value;
    limits_.push_back(value);
  }
}

bool ArraySizes::has(std::uint64_t element_bytes) const noexcept {
  if (element_bytes < 2) return false;
  const std::uint64_t most = most_array_bytes / element_bytes;
  const std::uint64_t most_with_cookie = (most_array_bytes - array_cookie_bytes) / element_bytes;
  const std::uint64_t shift = 63 - static_cast<std::uint64_t>(std::countr_zero(element_bytes));
  return is_among(factors_, element_bytes) || is_among(limits_, most) ||
         is_among(limits_, most_with_cookie) ||
         (std::has_single_bit(element_bytes) && is_among(shifts_, shift));
}

}  // namespace heapwright::symbolize
