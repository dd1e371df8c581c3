// SPDX-License-Identifier: MIT
// Code without tables is not followed on aarch64: its stacks end there, with the mark that says so.
#include <elf.h>

#include <cstring>

#include "unwind/return_address.hpp"

extern "C" unsigned long getauxval(unsigned long type) noexcept;

namespace heapwright::unwind {

using Confined = const std::atomic<std::uint32_t>*;

void allow_copies_of_code(const session::ProcessBlock& /*block*/) noexcept {}

bool has_frame_pointer(std::uint64_t /*pc*/, Confined /*is_confined*/) noexcept { return false; }

std::uint32_t bytes_to_return_address(std::uint64_t /*pc*/, Confined /*is_confined*/) noexcept { return 0; }

// The executable's says so in its table.
bool is_entry_code(std::uint64_t pc) noexcept {
  constexpr std::uint64_t most_loader_bytes = 128;
  const std::uint64_t loader = getauxval(AT_BASE);
  if (loader == 0) return false;
  Elf64_Ehdr header;
  std::memcpy(&header, reinterpret_cast<const void*>(loader), sizeof header);
  return pc - (loader + header.e_entry) < most_loader_bytes;
}

bool ends_with_result(std::uint64_t /*pc*/, Confined /*is_confined*/) noexcept { return false; }

bool is_start_of_musl(std::uint64_t /*pc*/, Confined /*is_confined*/) noexcept { return false; }

GoroutineSwitch goroutine_switch(std::uint64_t /*pc*/, Confined /*is_confined*/) noexcept { return {}; }

bool is_callback_from_c(std::uint64_t /*pc*/, Confined /*is_confined*/) noexcept { return false; }

RestoredRegisters restored_registers(std::uint64_t /*pc*/, Confined /*is_confined*/) noexcept { return {}; }

bool is_goroutine_end(std::uint64_t /*pc*/, Confined /*is_confined*/) noexcept { return false; }

bool may_be_return_address(std::uint64_t /*pc*/, std::uint64_t /*running*/,
                           Confined /*is_confined*/) noexcept {
  return false;
}

bool may_return_from(std::uint64_t /*called*/, std::uint64_t /*pc*/, Confined /*is_confined*/,
                     bool /*may_jump*/) noexcept {
  return false;
}

}  // namespace heapwright::unwind
