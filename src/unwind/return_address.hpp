// SPDX-License-Identifier: MIT
// What the code itself tells where no unwind tables do: whether a function keeps a frame pointer, and whether
// a word is the return address of a call to it. "No" where it is not certain.
#pragma once

#include <atomic>
#include <cstdint>

#include "session/layout.hpp"
#include "unwind/restoring_code.hpp"

namespace heapwright::unwind {

// Code in no object and on another page than the one that runs is copied by the kernel, unless the process
// began under a seccomp filter: that may kill it for this call.
void allow_copies_of_code(const session::ProcessBlock& block) noexcept;

// `pc`: a return address. Whether its function began with `push %rbp; mov %rsp, %rbp`.
bool has_frame_pointer(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept;

// `pc`: a return address. How far above the stack pointer its function's own return address is, if all it has
// left to do is `add $N, %rsp; ret`; 0: it has not.
std::uint32_t bytes_to_return_address(std::uint64_t pc,
                                      const std::atomic<std::uint32_t>* is_confined) noexcept;

// `pc`: a return address. Whether it is that of the entry code of the executable or the loader, which nobody
// called.
bool is_entry_code(std::uint64_t pc) noexcept;

// `pc`: a return address. Whether its function does nothing more than to end the process or the thread with
// what it got: it called by a pointer, and gives the result to a function. So begin musl's main() and
// threads.
bool ends_with_result(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept;

// The same in the file that begins the process: the loader, which in musl is the C library, or a static
// program. Elsewhere, code like this may go on. Only for code without tables, as all of musl is.
bool is_start_of_musl(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept;

// How Go's runtime.asmcgocall, which calls C on the thread's own stack, gets back to the goroutine's. All in
// bytes; return_bytes 0: it is other code.
struct GoroutineSwitch {
  std::uint8_t goroutine_offset = 0;  // from the stack pointer: the goroutine
  std::uint8_t depth_offset = 0;      // and how far below its end the goroutine's stack was left
  std::uint8_t return_bytes = 0;      // from there to the caller's stack: 8, or 16 with RBP saved first
  std::uint8_t restore_bytes = 0;
};
// `pc`: a return address.
GoroutineSwitch goroutine_switch(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept;

// `pc`: a return address. Whether it is in Go's runtime.cgocallback, which C's calls of Go go through: its
// frame is on the goroutine's stack, and RBP has its frame record on the thread's own stack, where C called.
bool is_callback_from_c(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept;

// `pc`: a return address. frame_bytes 0: it is other code.
RestoredRegisters restored_registers(std::uint64_t pc,
                                     const std::atomic<std::uint32_t>* is_confined) noexcept;

// `pc`: a word in place of a return address. Whether it is where a goroutine's first function returns to
// (runtime.goexit), which nobody called.
bool is_goroutine_end(std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined) noexcept;

// Whether a word that was found on the stack of the function in which `running` is follows a call
// instruction, in an object or in the region of that function.
bool may_be_return_address(std::uint64_t pc, std::uint64_t running,
                           const std::atomic<std::uint32_t>* is_confined) noexcept;

// Whether `pc` follows a call instruction, in executable memory, that may have called the function in which
// `called` is. may_jump: it may have called other code without tables, which jumped on to the function.
// Memory of no loaded object is taken for executable if it is readable.
bool may_return_from(std::uint64_t called, std::uint64_t pc, const std::atomic<std::uint32_t>* is_confined,
                     bool may_jump) noexcept;

}  // namespace heapwright::unwind
