// SPDX-License-Identifier: MIT
#include "unwind/python_names.hpp"

#include <cstring>

namespace heapwright::unwind {
namespace {

using session::PythonFunction;
using session::PythonPosition;
using session::PythonTables;

constexpr std::uint32_t max_positions = session::python_position_slots / 8 * 7;
constexpr std::uint32_t max_probes = 64;
constexpr std::uint64_t most_text = 4096;  // characters looked at

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0xd6e8feb86659fd93ULL;
  return value ^ value >> 29;
}

// Sums of products, so that the processor does them at once.
std::uint64_t identity_of(const Interpreter& in, std::uint64_t code) {
  const auto at = [code](std::uint64_t offset) { return load_word(code + offset); };
  return code * 0x9e3779b97f4a7c15ULL + at(python::object_size) * 0xbf58476d1ce4e5b9ULL +
         at(in.layout.code_consts) * 0x94d049bb133111ebULL +
         at(in.layout.code_names) * 0xff51afd7ed558ccdULL +
         at(in.layout.code_first_line) * 0xc4ceb9fe1a85ec53ULL +
         at(in.layout.code_file) * 0x9fb21c651e98df25ULL + at(in.layout.code_name) * 0xa0761d6478bd642fULL +
         at(in.layout.code_line_table) * 0xe7037ed1a0b428dbULL;
}

// 0 is a free slot.
std::uint64_t key_of(std::uint64_t identity, std::uint64_t part) {
  return mixed(identity + part * 0x8ebc6af09c88c6e3ULL) | 1;
}
constexpr std::uint64_t whole_function = ~0ULL;
// The function of code without a name, which the interpreter pushes itself.
constexpr std::uint64_t unnamed = ~0U;

std::uint32_t home_slot(std::uint64_t key) {
  static_assert(session::python_position_slots == 1U << 16);
  return static_cast<std::uint32_t>(key >> 48);
}

// The slot of `key`, which may be new.
std::uint32_t slot_of(PythonTables& tables, std::uint64_t key) {
  for (std::uint32_t probe = 0; probe < max_probes; ++probe) {
    const std::uint32_t slot = (home_slot(key) + probe) & (session::python_position_slots - 1);
    std::uint64_t found = tables.positions[slot].key.load(std::memory_order_relaxed);
    if (found == key) return slot;
    if (found != 0) continue;
    if (tables.position_count.load(std::memory_order_relaxed) >= max_positions) break;
    if (tables.positions[slot].key.compare_exchange_strong(found, key, std::memory_order_relaxed)) {
      tables.position_count.fetch_add(1, std::memory_order_relaxed);
      return slot;
    }
    if (found == key) return slot;
  }
  return no_python_position;
}

bool is_of_type(std::uint64_t object, std::uint64_t type) {
  // In its deallocation an object has no references, and what it consists of may be gone.
  const bool may_be = (object & 7) == 0 && object - 4096 < (1ULL << 47) - 4096;
  return may_be && load_word(object + python::object_type) == type &&
         static_cast<std::uint32_t>(load_word(object + python::object_references)) != 0;
}

// Index + 1 in the table of functions, or `unnamed`; 0: no room. Two threads may add the same one.
std::uint64_t function_of(const Interpreter& in, PythonTables& tables, std::uint64_t code,
                          std::uint64_t identity) {
  const std::uint32_t slot = slot_of(tables, key_of(identity, whole_function));
  if (slot == no_python_position) return 0;
  std::atomic<std::uint64_t>& place = tables.positions[slot].place;
  const std::uint64_t known = place.load(std::memory_order_acquire) >> 32;
  if (known != 0) return known;
  if (tables.function_count.load(std::memory_order_relaxed) >= session::max_python_functions) return 0;
  const std::uint32_t index = tables.function_count.fetch_add(1, std::memory_order_relaxed);
  if (index >= session::max_python_functions) return 0;
  PythonFunction& function = tables.functions[index];
  const bool is_named =
      copy_python_text(in, load_word(code + in.layout.code_name), function.name, sizeof function.name,
                       false) &&
      copy_python_text(in, load_word(code + in.layout.code_file), function.file, sizeof function.file, true);
  const std::uint64_t number = is_named ? index + 1 : unnamed;
  place.store(number << 32, std::memory_order_release);
  return number;
}

std::uint32_t line_at(const Interpreter& in, std::uint64_t code, std::uint64_t instruction) {
  const std::uint64_t table = load_word(code + in.layout.code_line_table);
  if (!is_of_type(table, in.bytes_type)) return 0;
  const auto first_line = static_cast<std::uint32_t>(load_word(code + in.layout.code_first_line));
  const auto* const entries = reinterpret_cast<const std::uint8_t*>(table + python::bytes_content);
  const std::uint64_t bytes = load_word(table + python::object_size);
  const auto offset = static_cast<std::int64_t>(instruction - (code + in.layout.code_instructions));
  switch (in.layout.lines) {
    case python::Lines::steps:
      return line_by_steps(entries, bytes, first_line, offset);
    case python::Lines::ranges:  // the frame counts instructions, the table bytes
      return line_by_ranges(entries, bytes, first_line, offset * 2);
    case python::Lines::locations:
      break;
  }
  return line_of_unit(entries, bytes, first_line, offset / 2);
}

[[gnu::noinline, gnu::cold]] std::uint32_t add_position(const Interpreter& in, PythonTables& tables,
                                                        std::uint64_t code, std::uint64_t instruction,
                                                        std::uint64_t identity, std::uint64_t key) {
  const std::uint64_t function = function_of(in, tables, code, identity);
  const std::uint32_t slot = function == 0 ? no_python_position : slot_of(tables, key);
  if (slot == no_python_position) return no_python_position;
  tables.positions[slot].place.store(function << 32 | line_at(in, code, instruction),
                                     std::memory_order_release);
  return function == unnamed ? no_python_position : session::first_python_frame + slot;
}

// A table's varints have 6 bits a byte.
struct LineTable {
  const std::uint8_t* at;
  const std::uint8_t* end;
  bool is_cut = false;

  bool is_at_end() const { return at >= end; }
  std::uint8_t byte() {
    is_cut |= is_at_end();
    return is_cut ? 0 : *at++;
  }
  std::uint32_t varint() {
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 32; shift += 6) {
      const std::uint8_t part = byte();
      value |= (part & 63U) << shift;
      if ((part & 64U) == 0) break;
    }
    return value;
  }
  std::int64_t signed_varint() {
    const std::uint32_t value = varint();
    const std::int64_t half = value >> 1;
    return (value & 1) != 0 ? -half : half;
  }
};

std::uint32_t code_point(const std::uint8_t* from, std::uint64_t index, std::uint32_t kind) {
  if (kind == 1) return from[index];
  if (kind == 2) return from[2 * index] | static_cast<std::uint32_t>(from[2 * index + 1]) << 8;
  std::uint32_t point = 0;
  std::memcpy(&point, from + 4 * index, sizeof point);
  return point;
}

std::uint32_t utf8_bytes(std::uint32_t point) {
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x10000 ? 3 : 4;
}

char* put_utf8(char* to, std::uint32_t point) {
  const std::uint32_t bytes = utf8_bytes(point);
  if (bytes == 1) {
    *to = static_cast<char>(point);
    return to + 1;
  }
  constexpr std::uint32_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  std::uint32_t shift = 6 * (bytes - 1);
  *to++ = static_cast<char>(lead[bytes] | (point >> shift & 0x7f));
  while (shift != 0) {
    shift -= 6;
    *to++ = static_cast<char>(0x80 | (point >> shift & 0x3f));
  }
  return to;
}

}  // namespace

std::uint32_t find_python_position(const Interpreter& interpreter, std::uint64_t code,
                                   std::uint64_t instruction) noexcept {
  PythonTables* const tables = interpreter.own_tables();
  if (tables == nullptr || !is_of_type(code, interpreter.code_type)) return no_python_position;
  const std::uint64_t identity = identity_of(interpreter, code);
  const std::uint64_t key = key_of(identity, instruction - code);
  const std::uint32_t home = home_slot(key);
  for (std::uint32_t probe = 0; probe < max_probes; ++probe) {
    const std::uint32_t slot = (home + probe) & (session::python_position_slots - 1);
    const std::uint64_t found = tables->positions[slot].key.load(std::memory_order_relaxed);
    if (found == 0) break;
    if (found != key) continue;
    const std::uint64_t function = tables->positions[slot].place.load(std::memory_order_relaxed) >> 32;
    if (function == 0) break;
    return function == unnamed ? no_python_position : session::first_python_frame + slot;
  }
  return add_position(interpreter, *tables, code, instruction, identity, key);
}

std::uint32_t line_of_unit(const std::uint8_t* table, std::uint64_t bytes, std::uint32_t first_line,
                           std::int64_t unit) noexcept {
  if (unit < 0) return first_line;
  LineTable lines{table, table + bytes};
  std::int64_t line = first_line;
  std::int64_t end = 0;
  while (!lines.is_at_end()) {
    const std::uint8_t entry = lines.byte();
    const unsigned form = entry >> 3 & 15;
    bool has_line = true;
    if (form < 10) {  // columns in one byte, the same line
      lines.byte();
    } else if (form < 13) {
      line += form - 10;
      lines.byte();
      lines.byte();
    } else {
      has_line = form != 15;
      if (has_line) line += lines.signed_varint();
      for (int skipped = 0; form == 14 && skipped < 3; ++skipped) lines.varint();
    }
    end += (entry & 7) + 1;
    if (unit < end) return has_line && line > 0 && !lines.is_cut ? static_cast<std::uint32_t>(line) : 0;
  }
  return 0;
}

std::uint32_t line_by_ranges(const std::uint8_t* table, std::uint64_t bytes, std::uint32_t first_line,
                             std::int64_t offset) noexcept {
  constexpr std::int8_t no_line = -128;
  if (offset < 0) return first_line;
  std::int64_t line = first_line;
  std::int64_t end = 0;
  for (std::uint64_t at = 0; at + 1 < bytes; at += 2) {
    const auto change = static_cast<std::int8_t>(table[at + 1]);
    end += table[at];
    if (change != no_line) line += change;
    if (offset < end) return change == no_line || line < 0 ? 0 : static_cast<std::uint32_t>(line);
  }
  return 0;
}

std::uint32_t line_by_steps(const std::uint8_t* table, std::uint64_t bytes, std::uint32_t first_line,
                            std::int64_t offset) noexcept {
  std::int64_t line = first_line;
  std::int64_t begin = 0;
  for (std::uint64_t at = 0; at + 1 < bytes; at += 2) {
    begin += table[at];
    if (begin > offset) break;
    line += static_cast<std::int8_t>(table[at + 1]);
  }
  return line < 0 ? 0 : static_cast<std::uint32_t>(line);
}

bool copy_python_text(const Interpreter& in, std::uint64_t text, char* to, std::uint32_t room,
                      bool keeps_end) noexcept {
  to[0] = '\0';
  if (!is_of_type(text, in.text_type)) return false;
  const auto state = static_cast<std::uint32_t>(load_word(text + python::text_state));
  const std::uint32_t kind = state >> 2 & 7;
  const bool is_ascii = (state >> 6 & 1) != 0;
  const bool is_whole = (state & in.layout.text_flags) == in.layout.text_flags;
  const std::uint64_t length = load_word(text + python::text_length);
  if (!is_whole || (kind != 1 && kind != 2 && kind != 4) || length >> 40 != 0) return false;
  const auto* from = reinterpret_cast<const std::uint8_t*>(
      text + (is_ascii ? in.layout.ascii_bytes : in.layout.compact_bytes));
  const bool starts_late = keeps_end && length > most_text;
  std::uint64_t begin = starts_late ? length - most_text : 0;
  const std::uint64_t end = length - begin > most_text ? begin + most_text : length;
  std::uint64_t all = 0;
  for (std::uint64_t i = begin; i < end; ++i) all += utf8_bytes(code_point(from, i, kind));
  for (; keeps_end && all >= room; ++begin) all -= utf8_bytes(code_point(from, begin, kind));
  const char* const last = to + room - 1;
  for (std::uint64_t i = begin; i < end; ++i) {
    const std::uint32_t point = code_point(from, i, kind);
    if (to + utf8_bytes(point) > last) break;
    to = put_utf8(to, point);
  }
  *to = '\0';
  return true;
}

}  // namespace heapwright::unwind
