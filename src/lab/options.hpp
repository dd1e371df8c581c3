// SPDX-License-Identifier: MIT
// The parameters of an experiment: declared with their defaults, set by `--name value`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "figures/refusal.hpp"

namespace heapwright::lab {

struct Parameter {
  std::string_view name;
  std::string_view default_value;
  bool is_scaled = false;  // multiplied by --scale, whether given or default
};

// Every experiment also takes --seed, --scale and --pin-cpu.
class Options {
 public:
  static constexpr std::size_t max_parameters = 16;

  // Refuses unknown names and missing values. Keeps views of both arguments.
  Options(std::span<const Parameter> parameters, std::span<char* const> arguments) noexcept;

  // A whole number; a scaled one is at least 1. Refuses anything else.
  std::uint64_t count(std::string_view name) const noexcept;
  std::string_view text(std::string_view name) const noexcept;
  // The index of the value in `names`; refuses others.
  std::size_t choice(std::string_view name, std::initializer_list<std::string_view> names) const noexcept;

  std::uint64_t seed() const noexcept { return count("seed"); }
  // -1 when not pinned.
  int pin_cpu() const noexcept;

 private:
  struct Value {
    Parameter parameter;
    std::string_view text;
  };

  const Value& find(std::string_view name) const noexcept;
  void add(const Parameter& parameter) noexcept;
  void give(std::string_view name, std::string_view text) noexcept;

  std::array<Value, max_parameters> values_{};
  std::size_t value_count_ = 0;
  double scale_ = 1;
};

}  // namespace heapwright::lab
