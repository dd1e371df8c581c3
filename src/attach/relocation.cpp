// SPDX-License-Identifier: MIT
#include "attach/relocation.hpp"

#include <Zydis/Zydis.h>

#include <cstring>
#include <limits>

namespace heapwright::attach {
namespace {

using Instruction = ZydisDecodedInstruction;

constexpr std::uint8_t jump_opcode = 0xe9;
constexpr std::uint8_t breakpoint_opcode = 0xcc;

class Decoder {
 public:
  Decoder() { ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }

  // False: these bytes are not an instruction.
  bool decode(std::span<const std::uint8_t> code, Instruction& instruction) const {
    return ZYAN_SUCCESS(
        ZydisDecoderDecodeInstruction(&decoder_, nullptr, code.data(), code.size(), &instruction));
  }

 private:
  ZydisDecoder decoder_;
};

bool is_branch(const Instruction& instruction) { return instruction.raw.imm[0].is_relative == ZYAN_TRUE; }

bool is_conditional(const Instruction& instruction) {
  const bool is_short =
      instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (instruction.opcode & 0xf0) == 0x70;
  const bool is_near = instruction.opcode_map == ZYDIS_OPCODE_MAP_0F && (instruction.opcode & 0xf0) == 0x80;
  return is_short || is_near;
}

bool is_plain_jump(const Instruction& instruction) {
  return instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
         (instruction.opcode == 0xeb || instruction.opcode == jump_opcode);
}

// Whether this instruction never continues to the next one.
bool ends_flow(const Instruction& instruction) {
  const auto category = instruction.meta.category;
  return category == ZYDIS_CATEGORY_RET || category == ZYDIS_CATEGORY_UNCOND_BR;
}

std::uint64_t target_of(const Instruction& instruction, std::uint64_t at) {
  return at + instruction.length + static_cast<std::uint64_t>(instruction.raw.imm[0].value.s);
}

class Mover {
 public:
  Mover(std::span<const std::uint8_t> code, std::uint64_t from, std::uint64_t to)
      : code_(code), from_(from), to_(to) {}

  MovedEntry run() {
    if (!move_first()) return moved_;
    if (has_jump_back()) return refuse("jumps back into its first instructions");
    if (!has_ended_) add_jump(from_ + taken_);
    return moved_;
  }

 private:
  MovedEntry refuse(const std::string& why) {
    moved_ = {};
    moved_.refusal = why;
    return moved_;
  }

  bool move_first() {
    while (taken_ < jump_bytes) {
      Instruction instruction;
      if (has_ended_ || !decoder_.decode(code_.subspan(taken_), instruction)) {
        refuse(has_ended_ ? "is too short" : "begins with bytes that are not an instruction");
        return false;
      }
      moved_.instructions.push_back({taken_, moved_.code.size()});
      if (const char* why = move(instruction)) {
        refuse(why);
        return false;
      }
      taken_ += instruction.length;
      has_ended_ = ends_flow(instruction);
    }
    return true;
  }

  // Returns why it cannot be moved; nullptr: it was moved.
  const char* move(const Instruction& instruction) {
    if (code_[taken_] == breakpoint_opcode) return "begins with a debugger's breakpoint";
    if (is_branch(instruction)) return move_branch(instruction);
    if (instruction.meta.category == ZYDIS_CATEGORY_CALL) return "begins with a call";
    const std::size_t at = moved_.code.size();
    const auto bytes = code_.subspan(taken_, instruction.length);
    moved_.code.insert(moved_.code.end(), bytes.begin(), bytes.end());
    if ((instruction.attributes & ZYDIS_ATTRIB_IS_RELATIVE) == 0) return nullptr;
    return move_reference(instruction, at);
  }

  // Memory addressed relative to the instruction.
  const char* move_reference(const Instruction& instruction, std::size_t at) {
    const auto& displacement = instruction.raw.disp;
    if (displacement.size != 32) return "refers to its own address in an unknown way";
    const std::uint64_t target =
        from_ + taken_ + instruction.length + static_cast<std::uint64_t>(displacement.value);
    const auto distance = static_cast<std::int64_t>(target - (to_ + at + instruction.length));
    return put_distance(at + displacement.offset, distance);
  }

  const char* move_branch(const Instruction& instruction) {
    const std::uint64_t target = target_of(instruction, from_ + taken_);
    if (target > from_ && target < from_ + jump_bytes) return "jumps within its first instructions";
    if (is_conditional(instruction)) {
      moved_.code.push_back(0x0f);
      moved_.code.push_back(static_cast<std::uint8_t>(0x80 | (instruction.opcode & 0x0f)));
      return add_distance(target);
    }
    if (!is_plain_jump(instruction)) {
      return instruction.meta.category == ZYDIS_CATEGORY_CALL ? "begins with a call"
                                                              : "begins with an unsupported branch";
    }
    moved_.code.push_back(jump_opcode);
    return add_distance(target);
  }

  const char* add_distance(std::uint64_t target) {
    const std::size_t at = moved_.code.size();
    moved_.code.resize(at + sizeof(std::int32_t));
    return put_distance(at, static_cast<std::int64_t>(target - (to_ + moved_.code.size())));
  }

  const char* put_distance(std::size_t at, std::int64_t distance) {
    if (distance < std::numeric_limits<std::int32_t>::min() ||
        distance > std::numeric_limits<std::int32_t>::max()) {
      return "refers to something too far away";
    }
    const auto narrow = static_cast<std::int32_t>(distance);
    std::memcpy(moved_.code.data() + at, &narrow, sizeof narrow);
    return nullptr;
  }

  void add_jump(std::uint64_t target) {
    moved_.code.push_back(jump_opcode);
    if (const char* why = add_distance(target)) refuse(why);
  }

  // Searches the whole function. Bytes that are not an instruction are data: continue at the next byte.
  bool has_jump_back() const {
    for (std::size_t at = taken_; at < code_.size();) {
      Instruction instruction;
      if (!decoder_.decode(code_.subspan(at), instruction)) {
        ++at;
        continue;
      }
      const std::uint64_t target = is_branch(instruction) ? target_of(instruction, from_ + at) : 0;
      if (target > from_ && target < from_ + taken_) return true;
      at += instruction.length;
    }
    return false;
  }

  Decoder decoder_;
  std::span<const std::uint8_t> code_;
  std::uint64_t from_;
  std::uint64_t to_;
  std::size_t taken_ = 0;
  bool has_ended_ = false;
  MovedEntry moved_;
};

}  // namespace

MovedEntry move_entry(std::span<const std::uint8_t> code, std::uint64_t from, std::uint64_t to) {
  return Mover(code, from, to).run();
}

std::vector<std::uint8_t> make_jump(std::uint64_t from, std::uint64_t to) {
  const auto distance = static_cast<std::int32_t>(static_cast<std::int64_t>(to - (from + jump_bytes)));
  std::vector<std::uint8_t> jump(jump_bytes, jump_opcode);
  std::memcpy(jump.data() + 1, &distance, sizeof distance);
  return jump;
}

std::uint64_t jump_target(std::span<const std::uint8_t> code, std::uint64_t at) {
  if (code.size() < jump_bytes || code[0] != jump_opcode) return 0;
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + 1, sizeof distance);
  return at + jump_bytes + static_cast<std::uint64_t>(std::int64_t{distance});
}

}  // namespace heapwright::attach
