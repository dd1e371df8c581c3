// SPDX-License-Identifier: MIT
// x86-64 code that restores registers from the stack and returns.
#pragma once

#include <cstdint>
#include <cstring>

namespace heapwright::unwind {

// How code goes straight from behind a call to its own return, restoring each register that C code expects to
// be kept, as Go's crosscall2 does. In bytes.
struct RestoredRegisters {
  std::uint32_t frame_bytes = 0;  // from the stack pointer to above the return address
  std::uint32_t rbp_bytes = 0;    // from the stack pointer to where the caller's RBP is
};

// Instructions that restore registers from the stack, one after another.
class Restoring {
 public:
  // False: it is another instruction. At least 8 bytes may be read.
  bool pass(const std::uint8_t* code) {
    constexpr std::uint8_t add[] = {0x48, 0x83, 0xc4};
    if (std::memcmp(code, add, sizeof add) == 0 && code[3] < 0x80) {
      moved_ += code[3];
      bytes_ = 4;
    } else if ((code[0] == 0x48 || code[0] == 0x4c) && code[1] == 0x8b && code[3] == 0x24) {
      const unsigned number = (code[2] >> 3U & 7U) + (code[0] == 0x4c ? 8 : 0);
      return load(number, code[2] & 0xc7U, code[4]);
    } else {
      const unsigned prefix = code[0] == 0x41 ? 1 : 0;
      const bool is_pop = (code[prefix] & 0xf8) == 0x58;
      if (!is_pop || (code[prefix] & 7U) + 8 * prefix == rsp) return false;
      restore((code[prefix] & 7U) + 8 * prefix, moved_);
      moved_ += 8;
      bytes_ = prefix + 1;
    }
    return true;
  }

  unsigned bytes() const { return bytes_; }  // of the last instruction

  // What the caller gets if the next instruction returns.
  RestoredRegisters found() const {
    constexpr unsigned kept_by_functions = 1U << 3 | 1U << rbp | 0xfU << 12;  // rbx, rbp, r12 to r15
    if ((restored_ & kept_by_functions) != kept_by_functions) return {};
    return {.frame_bytes = moved_ + 8, .rbp_bytes = rbp_at_};
  }

 private:
  static constexpr unsigned rsp = 4;
  static constexpr unsigned rbp = 5;

  // mov N(%rsp), REGISTER; `form`: how N is given.
  bool load(unsigned number, unsigned form, std::uint8_t offset) {
    constexpr unsigned without_offset = 0x04;
    constexpr unsigned with_byte = 0x44;
    if ((form != without_offset && form != with_byte) || number == rsp || offset >= 0x80) return false;
    bytes_ = form == with_byte ? 5 : 4;
    restore(number, moved_ + (form == with_byte ? offset : 0));
    return true;
  }

  void restore(unsigned number, std::uint32_t at) {
    restored_ |= 1U << number;
    if (number == rbp) rbp_at_ = at;
  }

  std::uint32_t moved_ = 0;
  std::uint32_t rbp_at_ = 0;
  unsigned restored_ = 0;
  unsigned bytes_ = 0;
};

}  // namespace heapwright::unwind
