// SPDX-License-Identifier: MIT
// One run's raw figures as one line of JSON on standard output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "figures/mapped_array.hpp"

namespace heapwright::figures {

// The minimum time of a load's operation: choosing a random slot, a call, a write. Measured with a heap that
// does nothing: 22 ns.
constexpr double least_ns_per_operation = 2;

// The rate, checked as Report::rate() does.
double possible_rate(std::string_view name, double operations, std::uint64_t elapsed_ns, std::size_t threads);

// Writes into mapped memory; nothing reaches the heap under test.
class Report {
 public:
  Report();

  // Ends the process, with the figure's name, if the value is not a number or is a difference of two sizes
  // that wrapped around.
  void figure(std::string_view name, double value);
  // Operations per second of `threads` threads together. Ends the process if no allocator can be that fast:
  // then the clock was read in the wrong place.
  void rate(std::string_view name, double operations, std::uint64_t elapsed_ns, std::size_t threads);
  void text(std::string_view name, std::string_view value);
  void series(std::string_view name, std::span<const double> values);
  // Closes the document; view() is then the whole line.
  void finish();
  std::string_view view() const noexcept { return {&text_[0], length_}; }
  // Does not throw; false if standard output accepts no more.
  bool print() const noexcept;

 private:
  void put(std::string_view text) noexcept;
  void put_number(double value) noexcept;
  void key(std::string_view name) noexcept;

  MappedArray<char> text_;
  std::size_t length_ = 0;
};

}  // namespace heapwright::figures
