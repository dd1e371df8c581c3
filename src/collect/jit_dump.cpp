// SPDX-License-Identifier: MIT
#include "collect/jit_dump.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "collect/own_processor.hpp"

namespace heapwright::collect {
namespace {

// As tools/perf/Documentation/jitdump-specification.txt of Linux has them.
struct Header {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t bytes;
  std::uint32_t machine;
  std::uint32_t padding;
  std::uint32_t process_id;
  std::uint64_t time;
  std::uint64_t flags;
};
static_assert(sizeof(Header) == 40);

struct Record {
  std::uint32_t kind;
  std::uint32_t bytes;  // with all that belongs to it
  std::uint64_t time;
};

struct Load {  // a name, which ends with 0, and the code follow
  std::uint32_t process_id;
  std::uint32_t thread_id;
  std::uint64_t virtual_address;
  std::uint64_t begin;
  std::uint64_t bytes;
  std::uint64_t number;
};

struct Move {
  std::uint32_t process_id;
  std::uint32_t thread_id;
  std::uint64_t virtual_address;
  std::uint64_t old_begin;
  std::uint64_t begin;
  std::uint64_t bytes;
  std::uint64_t number;
};

constexpr std::uint32_t magic_number = 0x4a695444;
constexpr std::uint32_t load_kind = 0;
constexpr std::uint32_t move_kind = 1;

using Part = std::array<char, sizeof(Record) + sizeof(Load) + PerfMap::most_line_bytes>;

template <typename Fields>
bool take(std::string_view& text, Fields& fields) {
  if (text.size() < sizeof(fields)) return false;
  std::memcpy(&fields, text.data(), sizeof(fields));
  text.remove_prefix(sizeof(fields));
  return true;
}

// `text`: of the record, behind its beginning, as far as it was read.
void add_record(std::uint32_t kind, std::string_view text, PerfMap& map) {
  if (Load load{}; kind == load_kind && take(text, load)) {
    // One that is too long names nothing, but its code was there.
    const std::size_t end = text.find('\0');
    map.add_code(load.begin, load.bytes, end == std::string_view::npos ? "" : text.substr(0, end));
  } else if (Move move{}; kind == move_kind && take(text, move)) {
    map.add_code(move.begin, move.bytes, "");  // what was there before has it no more
  }
}

}  // namespace

bool read_jit_dump(int file, std::uint32_t process_id, PerfMap& map) {
  Header header{};
  struct stat status {};
  if (fstat(file, &status) != 0 || pread(file, &header, sizeof(header), 0) != sizeof(header)) return false;
  if (header.magic != magic_number || header.version != 1 || header.bytes < sizeof(header) ||
      header.machine != own_machine || header.process_id != process_id) {
    return false;
  }
  Part part;
  off_t at = header.bytes;
  for (std::size_t count = 0; count < most_dump_records; ++count) {
    const ssize_t got = pread(file, part.data(), part.size(), at);
    std::string_view text(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    Record record{};
    if (!take(text, record) || record.bytes < sizeof(record) || record.bytes > status.st_size - at) break;
    add_record(record.kind, text.substr(0, record.bytes - sizeof(record)), map);
    at += record.bytes;
  }
  return true;
}

}  // namespace heapwright::collect
