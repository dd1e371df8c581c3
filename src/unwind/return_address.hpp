// SPDX-License-Identifier: MIT
// What the code itself tells where no unwind tables do: whether a function keeps a frame pointer, and whether
// a word is the return address of a call to it. "No" where it is not certain.
#pragma once

#include <atomic>
#include <cstdint>

namespace heapwright::unwind {

// `pc`: a return address. Whether its function began with `push %rbp; mov %rsp, %rbp`.
bool has_frame_pointer(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept;

// `pc`: a return address. How far above the stack pointer its function's own return address is, if all it has
// left to do is `add $N, %rsp; ret`; 0: it has not.
std::uint32_t bytes_to_return_address(std::uint64_t pc,
                                      const std::atomic<std::uint32_t>* is_confined) noexcept;

// `pc`: a return address. Whether it is that of the entry code of the executable or the loader, which nobody
// called.
bool is_entry_code(std::uint64_t pc) noexcept;

// Whether `pc` follows a call instruction, in executable memory, that may have called the function in which
// `called` is. Memory of no loaded object is taken for executable if it is readable.
bool may_return_from(std::uint64_t called, std::uint64_t pc,
                     const std::atomic<std::uint32_t>* is_confined) noexcept;

}  // namespace heapwright::unwind
