// SPDX-License-Identifier: MIT
#include "unwind/call_frame_rules.hpp"

#include <cstring>

#include "unwind/byte_cursor.hpp"
#include "unwind/call_frame_program.hpp"
#include "unwind/compact_rule.hpp"

namespace heapwright::unwind {
namespace {

const void* pointer(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

ByteCursor cursor_in(const ObjectTables& object, std::uint64_t from) {
  return {pointer(from), pointer(segment_end(object, from))};
}

// Address of the FDE whose range may hold `pc`; 0 = none. The table is sorted
// by first pc; entries are {first pc, FDE}, both 32 bits from the header.
std::uint64_t find_frame_description(const ObjectTables& object, std::uint64_t pc) {
  constexpr std::uint8_t sorted_table_encoding = 0x3b;
  constexpr std::uint64_t entry_bytes = 8;
  ByteCursor header = object.frame_header_end == 0
                          ? cursor_in(object, object.frame_header)
                          : ByteCursor(pointer(object.frame_header), pointer(object.frame_header_end));
  const auto version = header.read<std::uint8_t>();
  const auto frame_encoding = header.read<std::uint8_t>();
  const auto count_encoding = header.read<std::uint8_t>();
  const auto table_encoding = header.read<std::uint8_t>();
  if (version != 1 || table_encoding != sorted_table_encoding || count_encoding == encoding_omitted) return 0;
  if (frame_encoding != encoding_omitted) header.read_encoded(frame_encoding, object.frame_header);
  const std::uint64_t count = header.read_encoded(count_encoding, object.frame_header);
  if (header.has_failed() || count == 0 || count > header.remaining_bytes() / entry_bytes) return 0;

  const std::uint8_t* table = header.position();
  const auto field_at = [&](std::uint64_t index, std::uint64_t offset) {
    std::int32_t value;
    std::memcpy(&value, table + index * entry_bytes + offset, sizeof value);
    return object.frame_header + static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  };
  std::uint64_t low = 0;
  std::uint64_t high = count;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (field_at(middle, 0) <= pc) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return field_at(low, 0) <= pc ? field_at(low, 4) : 0;
}

// The body of a CIE or FDE after its length field; empty if it extends beyond the object.
ByteCursor entry_body(const ObjectTables& object, std::uint64_t address) {
  ByteCursor entry = cursor_in(object, address);
  std::uint64_t size_bytes = entry.read<std::uint32_t>();
  if (size_bytes == 0xffffffff) size_bytes = entry.read<std::uint64_t>();
  if (entry.has_failed() || size_bytes > entry.remaining_bytes()) size_bytes = 0;
  return {entry.position(), entry.position() + size_bytes};
}

// Reads one letter of the augmentation string after 'z'. False = unknown.
bool read_augmentation(char letter, ByteCursor& body, FrameDescription& description) {
  switch (letter) {
    case 'R':
      description.pointer_encoding = body.read<std::uint8_t>();
      return true;
    case 'S':
      description.is_signal_frame = true;
      return true;
    case 'L':
      body.read<std::uint8_t>();
      return true;
    case 'P': {
      const auto encoding = body.read<std::uint8_t>();
      body.read_encoded(encoding, 0);
      return true;
    }
    default:
      return false;
  }
}

bool read_common_information(const ObjectTables& object, std::uint64_t address,
                             FrameDescription& description) {
  ByteCursor body = entry_body(object, address);
  if (body.read<std::uint32_t>() != 0) return false;
  const auto version = body.read<std::uint8_t>();
  if (version != 1 && version != 3) return false;
  const auto* augmentation = reinterpret_cast<const char*>(body.position());
  while (body.read<std::uint8_t>() != 0) {
    if (body.has_failed()) return false;
  }
  description.code_alignment = body.read_uleb();
  description.data_alignment = body.read_sleb();
  const std::uint64_t return_register = version == 1 ? body.read<std::uint8_t>() : body.read_uleb();
  if (return_register != register_return_address || body.has_failed()) return false;
  if (*augmentation == 'z') {
    const std::uint64_t size_bytes = body.read_uleb();
    ByteCursor data = body;
    body.skip(size_bytes);
    while (*++augmentation != '\0') {
      if (!read_augmentation(*augmentation, data, description) || data.has_failed()) return false;
    }
  } else if (*augmentation != '\0') {
    return false;
  }
  description.initial_program = body;
  return !body.has_failed();
}

bool read_frame_description(const ObjectTables& object, std::uint64_t address,
                            FrameDescription& description) {
  ByteCursor body = entry_body(object, address);
  const auto here = reinterpret_cast<std::uint64_t>(body.position());
  const auto distance = body.read<std::uint32_t>();
  if (distance == 0 || body.has_failed()) return false;
  if (!read_common_information(object, here - distance, description)) return false;
  description.first_pc = body.read_encoded(description.pointer_encoding, 0);
  description.pc_bytes = body.read_encoded(description.pointer_encoding & encoding_format_mask, 0);
  body.skip(body.read_uleb());
  description.program = body;
  return !body.has_failed();
}

bool find_covering_description(const ObjectTables& object, std::uint64_t target,
                               FrameDescription& description) {
  if (object.frame_header == 0) return false;
  const std::uint64_t address = find_frame_description(object, target);
  return address != 0 && read_frame_description(object, address, description) &&
         target - description.first_pc < description.pc_bytes;
}

// No call precedes a function's first byte: a return address there is in the first frame of a hand-made stack
// (makecontext).
bool is_made_by_hand(const ObjectTables& object, std::uint64_t pc) {
  FrameDescription description;
  return find_covering_description(object, pc, description) && description.first_pc == pc;
}

}  // namespace

std::uint64_t segment_end(const ObjectTables& object, std::uint64_t address) noexcept {
  if (address < object.start || address >= object.end) return address;
  if (object.headers == nullptr) return object.end;
  for (std::uint32_t i = 0; i < object.header_count; ++i) {
    const Elf64_Phdr& segment = object.headers[i];
    const std::uint64_t begin = object.bias + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address - begin < segment.p_memsz) return begin + segment.p_memsz;
  }
  return address;
}

bool is_described(const ObjectTables& object, std::uint64_t pc) noexcept {
  FrameDescription description;
  return find_covering_description(object, pc, description);
}

Rule evaluate_rule(const ObjectTables& object, std::uint64_t pc, bool is_exact) noexcept {
  const std::uint64_t target = is_exact ? pc : pc - 1;
  FrameDescription description;
  if (find_covering_description(object, target, description)) {
    FrameRow row;
    const bool is_known = run_call_frame_program(description, target, row);
    return is_known ? compact(row, description.is_signal_frame, pc) : Rule{RuleType::unfollowable};
  }
  if (is_signal_return(pc, segment_end(object, pc))) return Rule{RuleType::signal_frame};
  if (!is_exact && is_made_by_hand(object, pc)) return Rule{RuleType::end};
  return rule_without_table(pc, segment_end(object, pc), is_exact);
}

}  // namespace heapwright::unwind
