// SPDX-License-Identifier: MIT
#include "python_module/plain_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace heapwright::python_module {
namespace {

// The whole table as one batch; an empty table is a stream without batches.
class OneBatch : public BatchSource {
 public:
  OneBatch(std::vector<ColumnType> types, Batch batch) : types_(std::move(types)), batch_(std::move(batch)) {}
  const std::vector<ColumnType>& schema() const override { return types_; }
  bool next(Batch& batch) override {
    if (is_done_ || batch_.rows == 0) return false;
    is_done_ = true;
    batch = batch_;
    return true;
  }

 private:
  std::vector<ColumnType> types_;
  Batch batch_;
  bool is_done_ = false;
};

}  // namespace

void PlainTable::add(ColumnType type, ColumnData data, std::size_t rows) {
  if (!types_.empty() && rows != static_cast<std::size_t>(batch_.rows)) {
    throw std::invalid_argument("column " + type.name + " is not as long as the first column");
  }
  batch_.rows = static_cast<std::int64_t>(rows);
  batch_.columns.push_back(std::move(data));
  types_.push_back(std::move(type));
}

void PlainTable::add_numbers(const std::string& name, std::vector<std::uint64_t> values) {
  const std::size_t rows = values.size();
  add({name, "L", nullptr, false}, column_of(std::move(values)), rows);
}

void PlainTable::add_text(const std::string& name, const Words& values) {
  add({name, "u", nullptr, false}, text_column(values), values.size());
}

void PlainTable::add_words(const std::string& name, std::vector<std::uint32_t> indexes, Words words) {
  const auto outside = [&words](std::uint32_t index) { return index >= words.size(); };
  if (std::any_of(indexes.begin(), indexes.end(), outside)) {
    throw std::invalid_argument("column " + name + " has an index outside its words");
  }
  const std::size_t rows = indexes.size();
  auto dictionary = std::make_shared<const Words>(std::move(words));
  add({name, "I", std::move(dictionary), false}, column_of(std::move(indexes)), rows);
}

std::unique_ptr<BatchSource> PlainTable::source() const { return std::make_unique<OneBatch>(types_, batch_); }

}  // namespace heapwright::python_module
