// SPDX-License-Identifier: MIT
// What is special to a processor in its rules: one file each.
#pragma once

#include <cstdint>

#include "unwind/call_frame_program.hpp"
#include "unwind/rule.hpp"

namespace heapwright::unwind {

// The rule of a row, for the program counter `pc`; unfollowable if no rule can say it.
Rule compact(const FrameRow& row, bool is_signal_frame, std::uint64_t pc) noexcept;

// Whether at `pc`, in memory that may be read up to `end`, is where a signal handler returns to: some libcs
// and kernels give that no unwind entry.
bool is_signal_return(std::uint64_t pc, std::uint64_t end) noexcept;

// The rule of code that no table describes, interrupted at `pc`, as far as its instructions tell; otherwise
// without_tables().
Rule rule_without_table(std::uint64_t pc, std::uint64_t end, bool is_exact) noexcept;

}  // namespace heapwright::unwind
