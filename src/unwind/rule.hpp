// SPDX-License-Identifier: MIT
// How to get from one program counter to its caller, packed into 64 bits so that a walk needs one load per
// frame.
//
//   bits 0-2 type   3-4 source of the caller's RBP   5-8 traits that follow
//   from these two   9-31 offset of RBP's slot   32-63 offset of the CFA
//
// On x86-64 the return address is always at CFA - 8; code that keeps it elsewhere is `unfollowable`. On
// aarch64, RBP stands for x29 and RSP for sp, and the upper half has two numbers of words:
//
//   bits 32-47 offset of the CFA   48-63 offset of the return address from the CFA
#pragma once

#include <cstdint>

namespace heapwright::unwind {

enum class RuleType : std::uint8_t {
  not_evaluated = 0,
  rsp_offset,  // CFA = RSP + offset
  rbp_offset,  // CFA = RBP + offset
#if defined(__aarch64__)
  link_register,  // CFA = RSP + offset, and x30 has the return address: interrupted before it was saved
#else
  rbp_load,  // CFA = *(RBP + offset): a frame that realigned its stack
#endif
  signal_frame,  // the kernel's saved registers are at RSP
  end,           // has no caller
  unfollowable,  // tables missing (has_no_tables()), or not expressible by these rules
  no_object,     // in no loaded object when last looked up
};

enum class RbpSource : std::uint8_t {
  unchanged = 0,
  cfa_slot,  // at CFA + offset
  rbp_slot,  // at RBP + offset
  lost,
};

class Rule {
 public:
  // Traits.
  static constexpr std::uint32_t needs_rbp = 1U << 5;   // the CFA depends on RBP
  static constexpr std::uint32_t passes_rbp = 1U << 6;  // the caller's RBP depends on this one
  // The caller depends on words other than the return address and RBP's CFA slot.
  static constexpr std::uint32_t is_barrier = 1U << 7;
  // Without tables, but its function begins with a frame pointer: the caller is found by that, if it
  // verifies.
  static constexpr std::uint32_t by_frame_pointer = 1U << 8;

  constexpr Rule() = default;
  constexpr explicit Rule(std::uint64_t bits) : bits_(bits) {}
  constexpr explicit Rule(RuleType type) : Rule(type, 0, RbpSource::lost, 0) {}
  constexpr Rule(RuleType type, std::int32_t cfa_offset, RbpSource source, std::int32_t rbp_offset)
      : bits_(static_cast<std::uint64_t>(type) | static_cast<std::uint64_t>(source) << 3 |
              traits_of(type, source) |
              static_cast<std::uint64_t>(static_cast<std::uint32_t>(rbp_offset) << 9) |
              upper_half(cfa_offset)) {}

#if defined(__aarch64__)
  constexpr Rule with_return_address_at(std::int64_t offset) const {
    constexpr std::uint64_t others = (1ULL << 48) - 1;
    return Rule{(bits_ & others) | static_cast<std::uint64_t>(offset / 8) << 48};
  }
  constexpr std::int64_t return_address_offset() const {
    return (static_cast<std::int64_t>(bits_) >> 48) * 8;
  }
  constexpr std::int64_t cfa_offset() const { return (static_cast<std::int64_t>(bits_ << 16) >> 48) * 8; }
  static constexpr bool word_offset_fits(std::int64_t offset) {
    return offset % 8 == 0 && offset / 8 == static_cast<std::int16_t>(offset / 8);
  }
#else
  constexpr std::int64_t return_address_offset() const { return -8; }
  constexpr std::int64_t cfa_offset() const { return static_cast<std::int64_t>(bits_) >> 32; }
#endif

  // Of code without tables; `type` is unfollowable or no_object.
  static constexpr Rule without_tables(RuleType type, bool has_frame_pointer) {
    const RbpSource source = has_frame_pointer ? RbpSource::cfa_slot : RbpSource::lost;
    return {type, frame_record_bytes, source, -frame_record_bytes};
  }

  // Of code in no object that only adds `bytes` to RSP before it returns.
  static constexpr Rule before_return(std::uint32_t bytes) {
    return {RuleType::no_object, static_cast<std::int32_t>(bytes) + 8, RbpSource::unchanged, 0};
  }

  // Of Go's code that called C on another stack (GoroutineSwitch in return_address.hpp).
  static constexpr Rule goroutine_switch(std::uint8_t goroutine_offset, std::uint8_t depth_offset,
                                         std::uint8_t return_bytes) {
    return {RuleType::unfollowable, return_bytes, RbpSource::rbp_slot, goroutine_offset << 8 | depth_offset};
  }

  // Of Go's code that C has called, from another stack (is_callback_from_c() in return_address.hpp).
  static constexpr Rule callback_from_c() { return {RuleType::unfollowable, 0, RbpSource::unchanged, 0}; }

  constexpr std::uint64_t bits() const { return bits_; }
  constexpr bool is_goroutine_switch() const {
    return type() == RuleType::unfollowable && rbp_source() == RbpSource::rbp_slot;
  }
  constexpr bool is_callback_from_c() const {
    return type() == RuleType::unfollowable && rbp_source() == RbpSource::unchanged;
  }
  constexpr std::uint64_t goroutine_offset() const { return static_cast<std::uint64_t>(rbp_offset()) >> 8; }
  constexpr std::uint64_t depth_offset() const { return static_cast<std::uint64_t>(rbp_offset()) & 0xff; }
  constexpr bool has_no_tables() const { return cfa_offset() == frame_record_bytes; }  // if unfollowable
  constexpr RuleType type() const { return static_cast<RuleType>(bits_ & 7); }
  constexpr RbpSource rbp_source() const { return static_cast<RbpSource>(bits_ >> 3 & 3); }
  constexpr std::uint32_t traits() const { return static_cast<std::uint32_t>(bits_) & trait_mask; }
  constexpr std::int64_t rbp_offset() const { return static_cast<std::int32_t>(bits_) >> 9; }

  static constexpr bool rbp_offset_fits(std::int64_t offset) {
    return offset >= -(1 << 22) && offset < (1 << 22);
  }

 private:
  static constexpr std::uint32_t trait_mask = needs_rbp | passes_rbp | is_barrier | by_frame_pointer;
  static constexpr std::int32_t frame_record_bytes = 16;  // the caller's RBP and the return address

#if defined(__aarch64__)
  static constexpr std::uint64_t upper_half(std::int32_t cfa_offset) {
    return (static_cast<std::uint64_t>(cfa_offset / 8) & 0xffff) << 32;
  }
  static constexpr bool is_by_load(RuleType /*type*/) { return false; }
  static constexpr bool is_by_link(RuleType type) { return type == RuleType::link_register; }
#else
  static constexpr std::uint64_t upper_half(std::int32_t cfa_offset) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(cfa_offset)) << 32;
  }
  static constexpr bool is_by_load(RuleType type) { return type == RuleType::rbp_load; }
  static constexpr bool is_by_link(RuleType /*type*/) { return false; }
#endif

  static constexpr std::uint32_t traits_of(RuleType type, RbpSource source) {
    std::uint32_t traits = 0;
    if (type == RuleType::rbp_offset || is_by_load(type)) traits |= needs_rbp;
    const bool has_no_rule = type == RuleType::unfollowable || type == RuleType::no_object;
    if (has_no_rule && source == RbpSource::cfa_slot) traits |= needs_rbp | by_frame_pointer;
    if (source == RbpSource::unchanged || source == RbpSource::rbp_slot) traits |= passes_rbp;
    if (is_by_load(type) || is_by_link(type) || type == RuleType::signal_frame ||
        source == RbpSource::rbp_slot || (type == RuleType::unfollowable && source == RbpSource::unchanged)) {
      traits |= is_barrier;
    }
    return traits;
  }

  std::uint64_t bits_ = 0;
};

}  // namespace heapwright::unwind
