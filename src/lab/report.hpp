// SPDX-License-Identifier: MIT
// One run's raw figures as one line of JSON on standard output.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "lab/mapped_array.hpp"

namespace heapwright::lab {

// Writes into mapped memory; nothing reaches the heap under test.
class Report {
 public:
  Report();

  void figure(std::string_view name, double value);
  void text(std::string_view name, std::string_view value);
  void series(std::string_view name, std::span<const double> values);
  // Closes the document; view() is then the whole line.
  void finish();
  std::string_view view() const noexcept { return {&text_[0], length_}; }
  // Throws nothing; false when standard output takes no more.
  bool print() const noexcept;

 private:
  void put(std::string_view text) noexcept;
  void put_number(double value) noexcept;
  void key(std::string_view name) noexcept;

  MappedArray<char> text_;
  std::size_t length_ = 0;
};

}  // namespace heapwright::lab
