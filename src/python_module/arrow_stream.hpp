// SPDX-License-Identifier: MIT
// Exports tables to other programs: the Arrow C stream interface, batch by batch, without Arrow
// (https://arrow.apache.org/docs/format/CStreamInterface.html).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// The three structs are fixed by the Arrow specification, names included.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema*);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray*);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}

namespace heapwright::python_module {

using Words = std::vector<std::string>;

// A column's type. `format` is Arrow's: "C" uint8, "I" uint32, "L" uint64, "i" int32, "g" double, "b" bool
// (bits), "u" text. With a dictionary the column's values are indexes of that (integer) format into its
// words.
struct ColumnType {
  std::string name;
  std::string format;
  std::shared_ptr<const Words> dictionary;
  bool is_nullable = false;
};

// Values of one column for one batch. Memory belongs to `owner`.
struct ColumnData {
  std::shared_ptr<const void> owner;
  const void* values = nullptr;           // text: the bytes
  const std::int32_t* offsets = nullptr;  // text only: rows + 1
  const void* validity = nullptr;         // bits, 1 = present; nullptr = all
  std::int64_t null_count = 0;
};

struct Batch {
  std::int64_t rows = 0;
  std::vector<ColumnData> columns;
};

// Returns a table's batches in order; used by one thread at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual const std::vector<ColumnType>& schema() const = 0;
  // False at the end. May throw; the message reaches the consumer.
  virtual bool next(Batch& batch) = 0;
};

// Fills `stream`; its release callback frees everything.
void export_stream(std::unique_ptr<BatchSource> source, ArrowArrayStream& stream);

// Moves a vector into a column.
template <typename T>
ColumnData column_of(std::vector<T>&& values) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  ColumnData column;
  column.values = owner->data();
  column.owner = std::move(owner);
  return column;
}

ColumnData text_column(const Words& words);

}  // namespace heapwright::python_module
