// SPDX-License-Identifier: MIT
#include "attach/frame_table.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "unwind/byte_cursor.hpp"

namespace heapwright::attach {
namespace {

using unwind::ByteCursor;

struct Row {
  std::int32_t first_pc;  // both from the table's begin
  std::int32_t description;
};

class Frames {
 public:
  Frames(std::span<const std::uint8_t> frames, std::uint64_t frames_at, std::uint64_t table_at)
      : frames_(frames), frames_at_(frames_at), table_at_(table_at) {}

  // False: something is not understood.
  bool read() {
    std::uint64_t at = 0;
    while (at < frames_.size()) {
      ByteCursor entry = cursor(at, frames_.size());
      std::uint64_t bytes = entry.read<std::uint32_t>();
      if (bytes == 0xffffffff) bytes = entry.read<std::uint64_t>();
      if (entry.has_failed() || bytes > entry.remaining_bytes()) return false;
      const std::uint64_t begin = offset_of(entry);
      if (bytes != 0 && !read_entry(at, begin, begin + bytes)) return false;
      at = begin + bytes;
    }
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.first_pc < b.first_pc; });
    return true;
  }

  std::vector<Row> rows;

 private:
  ByteCursor cursor(std::uint64_t from, std::uint64_t to) const {
    return {frames_.data() + from, frames_.data() + to};
  }
  std::uint64_t offset_of(const ByteCursor& cursor) const {
    return static_cast<std::uint64_t>(cursor.position() - frames_.data());
  }

  bool read_entry(std::uint64_t at, std::uint64_t begin, std::uint64_t end) {
    ByteCursor body = cursor(begin, end);
    const auto distance = body.read<std::uint32_t>();
    if (body.has_failed()) return false;
    if (distance == 0) return true;  // common information, read with those who refer to it
    if (distance > begin) return false;
    std::uint8_t encoding = 0;
    if (!find_encoding(begin - distance, encoding)) return false;
    const bool is_relative = (encoding & unwind::encoding_base_mask) == unwind::encoding_pc_relative;
    std::uint64_t first_pc = body.read_encoded(encoding, 0);
    if (is_relative) first_pc += frames_at_ - reinterpret_cast<std::uint64_t>(frames_.data());
    const std::uint64_t pc_bytes = body.read_encoded(encoding & unwind::encoding_format_mask, 0);
    if (body.has_failed()) return false;
    if (pc_bytes == 0) return true;
    Row row{};
    if (!is_near(first_pc, row.first_pc) || !is_near(frames_at_ + at, row.description)) return false;
    rows.push_back(row);
    return true;
  }

  bool is_near(std::uint64_t address, std::int32_t& distance) const {
    const auto far = static_cast<std::int64_t>(address - table_at_);
    distance = static_cast<std::int32_t>(far);
    return distance == far;
  }

  // How the addresses are written that refer to the common information there.
  bool find_encoding(std::uint64_t at, std::uint8_t& encoding) {
    const auto known = encodings_.find(at);
    if (known != encodings_.end()) {
      encoding = known->second;
      return true;
    }
    ByteCursor body = cursor(at, frames_.size());
    if (body.read<std::uint32_t>() == 0xffffffff) body.skip(8);
    if (body.read<std::uint32_t>() != 0) return false;
    const auto version = body.read<std::uint8_t>();
    const auto* letter = reinterpret_cast<const char*>(body.position());
    while (body.read<std::uint8_t>() != 0) {
    }
    body.read_uleb();
    body.read_sleb();
    if (version == 1) {
      body.skip(1);
    } else {
      body.read_uleb();
    }
    if (body.has_failed() || !take_encoding(letter, body, encoding)) return false;
    encodings_[at] = encoding;
    return true;
  }

  static bool take_encoding(const char* letter, ByteCursor body, std::uint8_t& encoding) {
    encoding = 0;
    if (*letter == '\0') return true;
    if (*letter != 'z') return false;
    body.read_uleb();
    while (*++letter != '\0') {
      switch (*letter) {
        case 'R':
          encoding = body.read<std::uint8_t>();
          return !body.has_failed();
        case 'L':
          body.skip(1);
          break;
        case 'P':
          body.read_encoded(body.read<std::uint8_t>(), 0);
          break;
        case 'S':
          break;
        default:
          return false;
      }
    }
    return true;
  }

  std::span<const std::uint8_t> frames_;
  std::uint64_t frames_at_;
  std::uint64_t table_at_;
  std::map<std::uint64_t, std::uint8_t> encodings_;
};

}  // namespace

std::vector<std::uint8_t> make_frame_table(std::span<const std::uint8_t> frames, std::uint64_t frames_at,
                                           std::uint64_t table_at) {
  Frames read(frames, frames_at, table_at);
  if (!read.read() || read.rows.empty()) return {};
  constexpr std::uint8_t version = 1;
  constexpr std::uint8_t four_bytes = 0x03;
  constexpr std::uint8_t signed_from_here = 0x3b;
  const std::uint8_t head[] = {version, unwind::encoding_omitted, four_bytes, signed_from_here};
  const auto count = static_cast<std::uint32_t>(read.rows.size());
  std::vector<std::uint8_t> table(sizeof head + sizeof count + count * sizeof(Row));
  std::memcpy(table.data(), head, sizeof head);
  std::memcpy(table.data() + sizeof head, &count, sizeof count);
  std::memcpy(table.data() + sizeof head + sizeof count, read.rows.data(), count * sizeof(Row));
  return table;
}

}  // namespace heapwright::attach
