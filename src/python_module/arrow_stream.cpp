// SPDX-License-Identifier: MIT
#include "python_module/arrow_stream.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <utility>

namespace heapwright::python_module {
namespace {

constexpr std::int64_t flag_nullable = 2;  // ARROW_FLAG_NULLABLE

// Everything that a released schema node owns. Children are released through their own callbacks, as the
// specification requires: a consumer may have moved them out.
struct SchemaNode {
  std::string name;
  std::string format;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

void release_schema(ArrowSchema* schema) {
  const std::unique_ptr<SchemaNode> node(static_cast<SchemaNode*>(schema->private_data));
  for (ArrowSchema& child : node->children) {
    if (child.release != nullptr) child.release(&child);
  }
  if (node->dictionary && node->dictionary->release != nullptr) {
    node->dictionary->release(node->dictionary.get());
  }
  schema->release = nullptr;
}

void fill_schema(ArrowSchema& schema, std::unique_ptr<SchemaNode> node, std::int64_t flags) {
  for (ArrowSchema& child : node->children) node->child_pointers.push_back(&child);
  schema = {};
  schema.format = node->format.c_str();
  schema.name = node->name.c_str();
  schema.flags = flags;
  schema.n_children = static_cast<std::int64_t>(node->children.size());
  schema.children = node->child_pointers.data();
  schema.dictionary = node->dictionary.get();
  schema.release = release_schema;
  schema.private_data = node.release();
}

void fill_column_schema(ArrowSchema& schema, const ColumnType& type) {
  auto node = std::make_unique<SchemaNode>();
  node->name = type.name;
  node->format = type.format;
  if (type.dictionary) {
    auto words = std::make_unique<SchemaNode>();
    words->format = "u";
    node->dictionary = std::make_unique<ArrowSchema>();
    fill_schema(*node->dictionary, std::move(words), 0);
  }
  fill_schema(schema, std::move(node), type.is_nullable ? flag_nullable : 0);
}

struct ArrayNode {
  std::shared_ptr<const void> owner;
  std::array<const void*, 3> buffers{};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

void release_array(ArrowArray* array) {
  const std::unique_ptr<ArrayNode> node(static_cast<ArrayNode*>(array->private_data));
  for (ArrowArray& child : node->children) {
    if (child.release != nullptr) child.release(&child);
  }
  if (node->dictionary && node->dictionary->release != nullptr) {
    node->dictionary->release(node->dictionary.get());
  }
  array->release = nullptr;
}

void fill_array(ArrowArray& array, std::unique_ptr<ArrayNode> node, std::int64_t rows, std::int64_t buffers) {
  for (ArrowArray& child : node->children) node->child_pointers.push_back(&child);
  array = {};
  array.length = rows;
  array.n_buffers = buffers;
  array.buffers = node->buffers.data();
  array.n_children = static_cast<std::int64_t>(node->children.size());
  array.children = node->child_pointers.data();
  array.dictionary = node->dictionary.get();
  array.release = release_array;
  array.private_data = node.release();
}

void fill_column(ArrowArray& array, const ColumnType& type, const ColumnData& data, std::int64_t rows) {
  auto node = std::make_unique<ArrayNode>();
  const bool is_text = data.offsets != nullptr;
  node->owner = data.owner;
  node->buffers = {data.validity, is_text ? data.offsets : data.values, is_text ? data.values : nullptr};
  if (type.dictionary) {
    const ColumnType plain{"", "u", nullptr, false};
    node->dictionary = std::make_unique<ArrowArray>();
    fill_column(*node->dictionary, plain, text_column(*type.dictionary),
                static_cast<std::int64_t>(type.dictionary->size()));
  }
  fill_array(array, std::move(node), rows, is_text ? 3 : 2);
  array.null_count = data.null_count;
}

struct StreamState {
  std::unique_ptr<BatchSource> source;
  std::string error;
};

StreamState& state_of(ArrowArrayStream* stream) { return *static_cast<StreamState*>(stream->private_data); }

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  auto node = std::make_unique<SchemaNode>();
  node->format = "+s";
  const auto& types = state_of(stream).source->schema();
  node->children.resize(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) fill_column_schema(node->children[i], types[i]);
  fill_schema(*out, std::move(node), 0);
  return 0;
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  StreamState& state = state_of(stream);
  *out = {};
  try {
    Batch batch;
    if (!state.source->next(batch)) return 0;
    const auto& types = state.source->schema();
    auto node = std::make_unique<ArrayNode>();
    node->children.resize(types.size());
    for (std::size_t i = 0; i < types.size(); ++i) {
      fill_column(node->children[i], types[i], batch.columns[i], batch.rows);
    }
    fill_array(*out, std::move(node), batch.rows, 1);
    return 0;
  } catch (const std::exception& error) {
    state.error = error.what();
    return EIO;
  }
}

const char* get_last_error(ArrowArrayStream* stream) { return state_of(stream).error.c_str(); }

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamState*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

ColumnData text_column(const Words& words) {
  struct Text {
    std::vector<std::int32_t> offsets;
    std::string bytes;
  };
  auto text = std::make_shared<Text>();
  text->offsets.reserve(words.size() + 1);
  text->offsets.push_back(0);
  for (const std::string& word : words) {
    if (text->bytes.size() + word.size() > INT32_MAX) {
      throw std::length_error("a text column is larger than 2 GiB");
    }
    text->bytes += word;
    text->offsets.push_back(static_cast<std::int32_t>(text->bytes.size()));
  }
  ColumnData column;
  column.values = text->bytes.data();
  column.offsets = text->offsets.data();
  column.owner = std::move(text);
  return column;
}

void export_stream(std::unique_ptr<BatchSource> source, ArrowArrayStream& stream) {
  stream.get_schema = get_schema;
  stream.get_next = get_next;
  stream.get_last_error = get_last_error;
  stream.release = release_stream;
  stream.private_data = new StreamState{std::move(source), {}};
}

}  // namespace heapwright::python_module
