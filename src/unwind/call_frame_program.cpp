// SPDX-License-Identifier: MIT
#include "unwind/call_frame_program.hpp"

namespace heapwright::unwind {
namespace {

constexpr std::uint32_t max_remembered_rows = 8;
constexpr std::uint32_t max_instructions = 100'000;

class Machine {
 public:
  Machine(const FrameDescription& description, std::uint64_t target_pc, FrameRow& row)
      : description_(description), target_pc_(target_pc), pc_(description.first_pc), row_(row) {}

  bool run() {
    if (!run_part(description_.initial_program)) return false;
    initial_ = row_;
    return run_part(description_.program);
  }

 private:
  using Kind = SavedRegister::Kind;

  bool run_part(ByteCursor program) {
    for (std::uint32_t count = 0; !program.is_at_end(); ++count) {
      if (count == max_instructions) return false;
      const auto opcode = program.read<std::uint8_t>();
      const bool is_known = opcode >= 0x40 ? run_packed(opcode, program) : run_extended(opcode, program);
      if (!is_known || program.has_failed()) return false;
      if (pc_ > target_pc_) return true;
    }
    return true;
  }

  // The three instructions that carry an operand in their low six bits.
  bool run_packed(std::uint8_t opcode, ByteCursor& program) {
    const std::uint8_t operand = opcode & 0x3f;
    switch (opcode & 0xc0) {
      case 0x40:
        advance(operand);
        return true;
      case 0x80:
        save_at(operand, unsigned_factored(program));
        return true;
      default:
        restore(operand);
        return true;
    }
  }

  bool run_extended(std::uint8_t opcode, ByteCursor& program) {
    switch (opcode) {
      case 0x00:
        return true;  // nop
      case 0x01:
        pc_ = program.read_encoded(description_.pointer_encoding, 0);
        return true;
      case 0x02:
        advance(program.read<std::uint8_t>());
        return true;
      case 0x03:
        advance(program.read<std::uint16_t>());
        return true;
      case 0x04:
        advance(program.read<std::uint32_t>());
        return true;
      case 0x0a:
        return remember_row();
      case 0x0b:
        return recall_row();
      case 0x0c:
      case 0x0d:
      case 0x0e:
      case 0x0f:
      case 0x12:
      case 0x13:
        return define_cfa(opcode, program);
#if defined(__aarch64__)
      case 0x2d:
        return true;  // AARCH64_negate_ra_state: the return address is signed, see code_address()
#endif
      case 0x2e:
        program.read_uleb();
        return true;  // GNU_args_size
      default:
        return run_register(opcode, program);
    }
  }

  bool define_cfa(std::uint8_t opcode, ByteCursor& program) {
    if (opcode == 0x0f) {
      row_.has_cfa_expression = true;
      row_.cfa_expression = read_expression(program);
      return true;
    }
    if (opcode != 0x0e && opcode != 0x13) {
      row_.cfa_register = program.read_uleb();
      row_.has_cfa_expression = false;
    }
    if (opcode == 0x0c || opcode == 0x0e) row_.cfa_offset = static_cast<std::int64_t>(program.read_uleb());
    if (opcode == 0x12 || opcode == 0x13) row_.cfa_offset = program.read_sleb() * description_.data_alignment;
    return true;
  }

  bool run_register(std::uint8_t opcode, ByteCursor& program) {
    const std::uint64_t number = program.read_uleb();
    switch (opcode) {
      case 0x05:
        save_at(number, unsigned_factored(program));
        return true;
      case 0x06:
        restore(number);
        return true;
      case 0x07:
        set(number, {Kind::undefined, 0, {}});
        return true;
      case 0x08:
        set(number, {Kind::unchanged, 0, {}});
        return true;
      case 0x09:
      case 0x14:
        program.read_uleb();
        set(number, {Kind::elsewhere, 0, {}});
        return true;
      case 0x15:
        program.read_sleb();
        set(number, {Kind::elsewhere, 0, {}});
        return true;
      case 0x10:
        set(number, {Kind::at_expression, 0, read_expression(program)});
        return true;
      case 0x16:
        read_expression(program);
        set(number, {Kind::elsewhere, 0, {}});
        return true;
      case 0x11:
        save_at(number, program.read_sleb() * description_.data_alignment);
        return true;
      case 0x2f:
        save_at(number, -unsigned_factored(program));
        return true;
      default:
        return false;
    }
  }

  bool remember_row() {
    if (remembered_count_ == max_remembered_rows) return false;
    remembered_[remembered_count_++] = row_;
    return true;
  }

  bool recall_row() {
    if (remembered_count_ == 0) return false;
    row_ = remembered_[--remembered_count_];
    return true;
  }

  void advance(std::uint64_t delta) { pc_ += delta * description_.code_alignment; }

  void save_at(std::uint64_t number, std::int64_t offset) { set(number, {Kind::at_cfa_offset, offset, {}}); }

  void set(std::uint64_t number, const SavedRegister& saved) {
    if (number == register_rbp) row_.rbp = saved;
    if (number == register_return_address) row_.return_address = saved;
  }

  void restore(std::uint64_t number) {
    if (number == register_rbp) row_.rbp = initial_.rbp;
    if (number == register_return_address) row_.return_address = initial_.return_address;
  }

  std::int64_t unsigned_factored(ByteCursor& program) const {
    return static_cast<std::int64_t>(program.read_uleb()) * description_.data_alignment;
  }

  static Expression read_expression(ByteCursor& program) {
    Expression expression;
    expression.size_bytes = program.read_uleb();
    expression.bytes = program.position();
    program.skip(expression.size_bytes);
    return expression;
  }

  const FrameDescription& description_;
  std::uint64_t target_pc_;
  std::uint64_t pc_;
  FrameRow& row_;
  FrameRow initial_;
  FrameRow remembered_[max_remembered_rows];
  std::uint32_t remembered_count_ = 0;
};

}  // namespace

bool run_call_frame_program(const FrameDescription& description, std::uint64_t target_pc,
                            FrameRow& row) noexcept {
  return Machine(description, target_pc, row).run();
}

}  // namespace heapwright::unwind
