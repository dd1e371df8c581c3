// SPDX-License-Identifier: MIT
#include "symbolize/x86_instruction.hpp"

#include <Zydis/Zydis.h>

#include <array>

namespace heapwright::symbolize {
namespace {

constexpr int pointer_bits = 64;

// Another register than a general one has none.
int number_of(ZydisRegister of) noexcept {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, of);
  if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64) return no_register;
  return ZydisRegisterGetId(whole);
}

bool is_written(const ZydisDecodedOperand& of) noexcept {
  return (of.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

class Decoded {
 public:
  explicit Decoded(std::span<const std::uint8_t> code) noexcept {
    ZydisDecoder decoder;
    is_known_ = ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
                ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &instruction_,
                                                    operands_.data()));
  }

  Instruction result() noexcept {
    if (!is_known_) return {};
    out_.length = instruction_.length;
    out_.flow = flow();
    out_.branch = instruction_.raw.imm[0].is_relative == ZYAN_TRUE ? instruction_.raw.imm[0].value.s : 0;
    for (std::size_t i = 0; i < instruction_.operand_count; ++i) take(operands_[i]);
    take_move();
    take_sum();
    return out_;
  }

 private:
  Flow flow() const noexcept {
    const bool is_relative = instruction_.raw.imm[0].is_relative == ZYAN_TRUE;
    switch (instruction_.meta.category) {
      case ZYDIS_CATEGORY_CALL:
        return is_relative ? Flow::call : Flow::call_elsewhere;
      case ZYDIS_CATEGORY_UNCOND_BR:
        return is_relative ? Flow::jump : Flow::leaves;
      case ZYDIS_CATEGORY_COND_BR:
        if (instruction_.mnemonic == ZYDIS_MNEMONIC_JZ) return Flow::jump_if_zero;
        return instruction_.mnemonic == ZYDIS_MNEMONIC_JNZ ? Flow::jump_if_not_zero : Flow::leaves;
      case ZYDIS_CATEGORY_RET:
        return Flow::returns;
      case ZYDIS_CATEGORY_INTERRUPT:
      case ZYDIS_CATEGORY_SYSCALL:
      case ZYDIS_CATEGORY_SYSRET:
        return Flow::leaves;
      default:
        return instruction_.mnemonic == ZYDIS_MNEMONIC_UD2 ? Flow::leaves : Flow::next;
    }
  }

  void take(const ZydisDecodedOperand& of) noexcept {
    if (of.type == ZYDIS_OPERAND_TYPE_REGISTER && is_written(of)) {
      const int number = number_of(of.reg.value);
      if (number != no_register) out_.written |= 1U << static_cast<unsigned>(number);
    }
    if (of.type != ZYDIS_OPERAND_TYPE_MEMORY || of.mem.type != ZYDIS_MEMOP_TYPE_MEM) return;
    const bool is_named = of.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    if (!is_named) {
      out_.stores_elsewhere |= is_written(of) && of.mem.base != ZYDIS_REGISTER_RSP;
      return;
    }
    const bool is_usual = of.mem.segment == ZYDIS_REGISTER_DS || of.mem.segment == ZYDIS_REGISTER_SS;
    if (is_usual && of.mem.index == ZYDIS_REGISTER_NONE) out_.base = number_of(of.mem.base);
    out_.displacement = of.mem.disp.value;
    if (is_written(of)) out_.stored_bytes = of.size / 8;
  }

  void take_move() noexcept {
    const ZydisDecodedOperand& to = operands_[0];
    const ZydisDecodedOperand& from = operands_[1];
    const bool has_two = instruction_.operand_count_visible == 2 && to.size == pointer_bits;
    if (!has_two || from.size != pointer_bits) return;
    const int to_number = register_of(to);
    const int from_number = register_of(from);
    const bool has_register = to_number != no_register || from_number != no_register;
    if (instruction_.mnemonic == ZYDIS_MNEMONIC_MOV && has_register && is_place(to) && is_place(from)) {
      out_.is_move = true;
      out_.from = from_number;
      out_.to = to_number;
    }
    if (instruction_.mnemonic == ZYDIS_MNEMONIC_TEST && to_number == from_number) out_.tested = to_number;
  }

  void take_sum() noexcept {
    const ZydisDecodedOperand& to = operands_[0];
    const ZydisDecodedOperand& from = operands_[1];
    const bool has_constant =
        instruction_.operand_count_visible == 2 && from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    out_.result = register_of(to);
    if (has_constant) out_.constant = from.imm.value.s;
    switch (instruction_.mnemonic) {
      case ZYDIS_MNEMONIC_MOV:
        if (!has_constant) return;
        // A register's upper half becomes 0.
        if (out_.result != no_register && to.size >= pointer_bits / 2) out_.sum = Sum::load;
        if (to.type == ZYDIS_OPERAND_TYPE_MEMORY && to.size == pointer_bits) out_.sum = Sum::store;
        return;
      case ZYDIS_MNEMONIC_ADD:
        out_.summand = out_.result;
        if (has_constant && to.size == pointer_bits && out_.result != no_register) out_.sum = Sum::add;
        return;
      case ZYDIS_MNEMONIC_LEA:
        if (to.size != pointer_bits || from.mem.index != ZYDIS_REGISTER_NONE) return;
        out_.summand = number_of(from.mem.base);
        out_.constant = from.mem.disp.value;
        out_.sum = Sum::add;
        return;
      case ZYDIS_MNEMONIC_SHR:
        if (has_constant && to.size == pointer_bits) out_.sum = Sum::shift_right;
        return;
      case ZYDIS_MNEMONIC_MUL:
        out_.summand = out_.result;
        if (to.size == pointer_bits) out_.sum = Sum::multiply;
        return;
      default:
        return;
    }
  }

  static int register_of(const ZydisDecodedOperand& of) noexcept {
    return of.type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(of.reg.value) : no_register;
  }

  static bool is_place(const ZydisDecodedOperand& of) noexcept {
    return of.type == ZYDIS_OPERAND_TYPE_MEMORY || register_of(of) != no_register;
  }

  bool is_known_ = false;
  ZydisDecodedInstruction instruction_{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands_{};
  Instruction out_;
};

}  // namespace

Instruction decode_x86(std::span<const std::uint8_t> code) noexcept { return Decoded(code).result(); }

}  // namespace heapwright::symbolize
