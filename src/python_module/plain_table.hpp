// SPDX-License-Identifier: MIT
// A small table in memory, built column by column.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "python_module/arrow_stream.hpp"

namespace heapwright::python_module {

class PlainTable {
 public:
  // Throws std::invalid_argument if a column's length differs from that of the first, or an index is outside
  // its words.
  void add_numbers(const std::string& name, std::vector<std::uint64_t> values);
  void add_text(const std::string& name, const Words& values);
  // Repeating text: `indexes` into `words`.
  void add_words(const std::string& name, std::vector<std::uint32_t> indexes, Words words);

  std::unique_ptr<BatchSource> source() const;

 private:
  void add(ColumnType type, ColumnData data, std::size_t rows);

  std::vector<ColumnType> types_;
  Batch batch_;
};

}  // namespace heapwright::python_module
