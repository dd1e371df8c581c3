// SPDX-License-Identifier: MIT
#include "symbolize/x86_instruction.hpp"

#include <cstddef>

namespace heapwright::symbolize {
namespace {

constexpr std::size_t longest_instruction = 15;

// What follows the opcode.
struct Shape {
  bool has_modrm = false;
  int immediate_bytes = 0;
  bool is_known = true;
};

struct Prefixes {
  bool has_66 = false;
  std::uint8_t rex = 0;

  bool is_wide() const noexcept { return (rex & 8) != 0; }
  int full_immediate() const noexcept { return has_66 && !is_wide() ? 2 : 4; }
};

Shape arithmetic(std::uint8_t opcode, int full) noexcept {
  const int form = opcode & 7;
  if (form < 4) return {.has_modrm = true};
  if (form == 4) return {.immediate_bytes = 1};
  if (form == 5) return {.immediate_bytes = full};
  return {.is_known = false};
}

// 0x80 to 0xbf.
Shape moves(std::uint8_t opcode, const Prefixes& prefixes) noexcept {
  const int full = prefixes.full_immediate();
  if (opcode == 0x81) return {.has_modrm = true, .immediate_bytes = full};
  if (opcode == 0x82 || opcode == 0x9a) return {.is_known = false};
  if (opcode <= 0x83) return {.has_modrm = true, .immediate_bytes = 1};
  if (opcode <= 0x8f) return {.has_modrm = true};
  if (opcode >= 0xa0 && opcode <= 0xa3) return {.immediate_bytes = 8};
  if (opcode == 0xa8 || (opcode & 0xf8) == 0xb0) return {.immediate_bytes = 1};
  if (opcode == 0xa9) return {.immediate_bytes = full};
  if (opcode >= 0xb8) return {.immediate_bytes = prefixes.is_wide() ? 8 : full};
  return {};
}

// 0xc0 to 0xff; of 0xf6 and 0xf7 the operands say whether there is an immediate.
Shape calls(std::uint8_t opcode, std::uint8_t modrm, int full) noexcept {
  const bool tests = (modrm & 0x38) < 0x10;
  switch (opcode) {
    case 0xc0:
    case 0xc1:
    case 0xc6:
      return {.has_modrm = true, .immediate_bytes = 1};
    case 0xc7:
      return {.has_modrm = true, .immediate_bytes = full};
    case 0xc2:
    case 0xca:
      return {.immediate_bytes = 2};
    case 0xc8:
      return {.immediate_bytes = 3};
    case 0xc4:
    case 0xc5:
    case 0xce:
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xea:
      return {.is_known = false};
    case 0xcd:
    case 0xeb:
      return {.immediate_bytes = 1};
    case 0xe8:
    case 0xe9:
      return {.immediate_bytes = 4};
    case 0xf6:
      return {.has_modrm = true, .immediate_bytes = tests ? 1 : 0};
    case 0xf7:
      return {.has_modrm = true, .immediate_bytes = tests ? full : 0};
    case 0xfe:
    case 0xff:
      return {.has_modrm = true};
    default:
      break;
  }
  if (opcode >= 0xe0 && opcode <= 0xe7) return {.immediate_bytes = 1};
  if ((opcode >= 0xd0 && opcode <= 0xd3) || (opcode >= 0xd8 && opcode <= 0xdf)) return {.has_modrm = true};
  return {};
}

Shape one_byte(std::uint8_t opcode, std::uint8_t modrm, const Prefixes& prefixes) noexcept {
  const int full = prefixes.full_immediate();
  if (opcode < 0x40) return arithmetic(opcode, full);
  if (opcode >= 0xc0) return calls(opcode, modrm, full);
  if (opcode >= 0x80) return moves(opcode, prefixes);
  if (opcode >= 0x70) return {.immediate_bytes = 1};
  switch (opcode) {
    case 0x63:
      return {.has_modrm = true};
    case 0x68:
      return {.immediate_bytes = full};
    case 0x69:
      return {.has_modrm = true, .immediate_bytes = full};
    case 0x6a:
      return {.immediate_bytes = 1};
    case 0x6b:
      return {.has_modrm = true, .immediate_bytes = 1};
    default:
      return {.is_known = opcode < 0x60 || opcode >= 0x6c};
  }
}

Shape two_byte(std::uint8_t opcode) noexcept {
  if (opcode >= 0x80 && opcode <= 0x8f) return {.immediate_bytes = 4};
  const bool has_none = (opcode >= 0x05 && opcode <= 0x0b && opcode != 0x0a) ||
                        (opcode >= 0x30 && opcode <= 0x37) || opcode == 0x77 ||
                        (opcode >= 0xa0 && opcode <= 0xa2) || (opcode >= 0xa8 && opcode <= 0xaa) ||
                        (opcode >= 0xc8 && opcode <= 0xcf);
  if (has_none) return {};
  const bool has_byte = (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xa4 || opcode == 0xac ||
                        opcode == 0xba || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
  return {.has_modrm = true, .immediate_bytes = has_byte ? 1 : 0};
}

class Decoder {
 public:
  explicit Decoder(std::span<const std::uint8_t> code) noexcept
      : code_(code.first(code.size() < longest_instruction ? code.size() : longest_instruction)) {}

  Instruction run() noexcept {
    read_prefixes();
    const Shape shape = read_opcode();
    if (!shape.is_known) return {};
    if (shape.has_modrm) read_operands();
    const bool is_branch = (out_.map == OpcodeMap::one_byte && (out_.opcode & 0xf0) == 0x70) ||
                           out_.opcode == 0xe8 || out_.opcode == 0xe9 || out_.opcode == 0xeb ||
                           (out_.map == OpcodeMap::two_byte && (out_.opcode & 0xf0) == 0x80);
    if (is_branch && !shape.has_modrm) {
      out_.displacement = signed_number(shape.immediate_bytes);
    } else {
      at_ += static_cast<std::size_t>(shape.immediate_bytes);
    }
    if (at_ > code_.size()) return {};
    out_.length = static_cast<std::uint8_t>(at_);
    return out_;
  }

 private:
  // 0 behind the end, which then makes the instruction unknown.
  std::uint8_t peek() const noexcept { return at_ < code_.size() ? code_[at_] : std::uint8_t{0}; }
  std::uint8_t take() noexcept {
    const std::uint8_t byte = peek();
    ++at_;
    return byte;
  }

  static bool is_prefix(std::uint8_t byte) noexcept {
    return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
  }

  void read_prefixes() noexcept {
    for (; is_prefix(peek()) && at_ < code_.size(); ++at_) prefixes_.has_66 |= peek() == 0x66;
    if ((peek() & 0xf0) == 0x40) prefixes_.rex = take();
    out_.is_wide = prefixes_.is_wide();
  }

  Shape read_opcode() noexcept {
    out_.opcode = take();
    if (out_.opcode == 0xc4 || out_.opcode == 0xc5 || out_.opcode == 0x62) return read_vector_opcode();
    if (out_.opcode != 0x0f) return one_byte(out_.opcode, peek(), prefixes_);
    out_.opcode = take();
    out_.map = OpcodeMap::two_byte;
    if (out_.opcode != 0x38 && out_.opcode != 0x3a) return two_byte(out_.opcode);
    out_.map = OpcodeMap::three_byte;
    const int immediate_bytes = out_.opcode == 0x3a ? 1 : 0;
    out_.opcode = take();
    return {.has_modrm = true, .immediate_bytes = immediate_bytes};
  }

  Shape read_vector_opcode() noexcept {
    const std::uint8_t escape = out_.opcode;
    const std::uint8_t first = take();
    prefixes_.rex = static_cast<std::uint8_t>(((first & 0x80) == 0 ? 4 : 0));
    int map = 1;
    if (escape != 0xc5) {
      map = first & (escape == 0x62 ? 7 : 0x1f);
      prefixes_.rex |= static_cast<std::uint8_t>((first & 0x20) == 0 ? 1 : 0);
      at_ += escape == 0x62 ? 2 : 1;
    }
    out_.map = OpcodeMap::vector;
    out_.opcode = take();
    if (map == 1) return two_byte(out_.opcode);
    return {.has_modrm = true, .immediate_bytes = map == 3 ? 1 : 0, .is_known = map == 2 || map == 3};
  }

  void read_operands() noexcept {
    const std::uint8_t modrm = take();
    const int mod = modrm >> 6;
    out_.has_operands = true;
    out_.reg = ((modrm >> 3) & 7) | ((prefixes_.rex & 4) != 0 ? 8 : 0);
    const int high = (prefixes_.rex & 1) != 0 ? 8 : 0;
    int low = modrm & 7;
    if (mod == 3) {
      out_.rm = low | high;
      return;
    }
    out_.is_memory = true;
    const bool has_index_byte = low == 4;
    bool has_index = false;
    if (has_index_byte) {
      const std::uint8_t sib = take();
      low = sib & 7;
      has_index = ((sib >> 3) & 7) != 4 || (prefixes_.rex & 2) != 0;
    }
    const bool has_no_base = mod == 0 && low == 5;
    if (!has_index && !has_no_base) out_.base = low | high;
    if (mod == 1) out_.displacement = signed_number(1);
    if (mod == 2 || has_no_base) out_.displacement = signed_number(4);
  }

  std::int64_t signed_number(int bytes) noexcept {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= std::uint64_t{take()} << (8 * i);
    const int unused = 64 - 8 * bytes;
    return static_cast<std::int64_t>(value << unused) >> unused;
  }

  std::span<const std::uint8_t> code_;
  std::size_t at_ = 0;
  Prefixes prefixes_;
  Instruction out_;
};

}  // namespace

Instruction decode_x86(std::span<const std::uint8_t> code) noexcept {
  if (code.empty()) return {};
  return Decoder(code).run();
}

}  // namespace heapwright::symbolize
