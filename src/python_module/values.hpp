// SPDX-License-Identifier: MIT
// Converts plain C++ values to Python and back. A struct needs fields(), which fields.py writes for facts;
// the Python side is python/heapwright/model/values.py.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "python_module/background_reading.hpp"
#include "trace/reader.hpp"

namespace heapwright::python_module {

namespace nb = nanobind;

using ReaderHandle = std::shared_ptr<const trace::Reader>;

// Paths and names of a traced program are bytes, not always UTF-8.
inline nb::object text(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

// File names are passed as their raw bytes.
inline std::string string_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

inline nb::list texts(const std::vector<std::string>& values) {
  nb::list list;
  for (const std::string& value : values) list.append(text(value));
  return list;
}

template <typename T>
nb::bytes packed(const std::vector<T>& values) {
  return nb::bytes(values.data(), values.size() * sizeof(T));
}

template <typename T>
std::vector<T> unpacked(const nb::bytes& bytes) {
  const auto* first = reinterpret_cast<const T*>(bytes.data());
  const std::size_t count = bytes.size() / sizeof(T);
  return {first, first + count};
}

// A table: one list per field, numbers packed to 64 bits each, integers as such, doubles unchanged; a field's
// own fields are prefixed ("latency.p50_ns").
class Columns {
 public:
  // An empty table still has its columns: they come from a default row.
  template <typename Row>
  explicit Columns(const std::vector<Row>& rows) {
    add(Row{}, "");
    for (Column& column : columns_) {
      column.values.clear();
      column.values.reserve(rows.size());
      column.texts.clear();
    }
    for (const Row& row : rows) {
      next_ = 0;
      add(row, "");
    }
  }
  nb::dict as_dict() const {
    nb::dict table;
    for (const Column& column : columns_) {
      table[column.name.c_str()] = column.is_text ? nb::object(texts(column.texts)) : packed(column.values);
    }
    return table;
  }

 private:
  struct Column {
    std::string name;
    bool is_text = false;
    std::vector<std::uint64_t> values;
    std::vector<std::string> texts;
  };

  template <typename Row>
  void add(const Row& row, const std::string& prefix) {
    fields(row, [&](const char* name, const auto& value) {
      using Value = std::remove_cvref_t<decltype(value)>;
      constexpr bool is_text = std::is_same_v<Value, std::string>;
      if constexpr (std::is_class_v<Value> && !is_text) {
        add(value, prefix + name + ".");
        return;
      }
      if (next_ == columns_.size()) columns_.push_back({prefix + name, is_text, {}, {}});
      Column& column = columns_[next_++];
      if constexpr (is_text) {
        column.texts.push_back(value);
      } else if constexpr (std::is_floating_point_v<Value>) {
        column.values.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
      } else if constexpr (!std::is_class_v<Value>) {
        column.values.push_back(static_cast<std::uint64_t>(value));
      }
    });
  }

  std::vector<Column> columns_;
  std::size_t next_ = 0;
};

template <typename>
inline constexpr bool is_optional = false;
template <typename Value>
inline constexpr bool is_optional<std::optional<Value>> = true;

template <typename Value>
nb::object value_of(const Value& of);

inline nb::object value_of(const std::string& of) { return text(of); }
inline nb::object value_of(const std::vector<std::string>& of) { return texts(of); }

// A list of numbers is packed, a list of structs is a table.
template <typename Value>
nb::object value_of(const std::vector<Value>& of) {
  if constexpr (std::is_class_v<Value>) {
    return Columns(of).as_dict();
  } else {
    return packed(of);
  }
}

template <typename Value>
nb::object value_of(const Value& of) {
  if constexpr (is_optional<Value>) {
    return of ? value_of(*of) : nb::none();
  } else if constexpr (std::is_class_v<Value>) {
    nb::dict values;
    fields(of, [&values](const char* name, const auto& value) { values[name] = value_of(value); });
    return values;
  } else if constexpr (std::is_enum_v<Value>) {
    return nb::int_(static_cast<std::uint64_t>(of));
  } else {
    return nb::cast(of);
  }
}

// Calls the Python progress function, or only checks for Ctrl-C if there is none.
class Progress {
 public:
  explicit Progress(nb::object function) : function_(std::move(function)) {}
  void operator()(std::uint64_t done, std::uint64_t all) const {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!function_.is_none()) function_(done, all);
  }

 private:
  nb::object function_;
};

// Waits for the reading; meanwhile Ctrl-C is noticed and progress reported.
template <class Result>
Result wait_for(BackgroundReading<Result>& reading, nb::object function) {
  const Progress progress(std::move(function));
  const nb::gil_scoped_release no_gil;
  while (!reading.is_done(std::chrono::milliseconds(50))) progress(reading.done(), reading.all());
  Result result = reading.take();
  progress(reading.done(), reading.all());
  return result;
}

}  // namespace heapwright::python_module
