// SPDX-License-Identifier: MIT
// The processor that this collector is built for: it records programs of that one.
#pragma once

#include <elf.h>

#include <string_view>

namespace heapwright::collect {

#if defined(__aarch64__)
inline constexpr unsigned own_machine = EM_AARCH64;
inline constexpr std::string_view own_processor = "aarch64";
inline constexpr bool can_attach = false;  // src/attach changes code of x86-64
#else
inline constexpr unsigned own_machine = EM_X86_64;
inline constexpr std::string_view own_processor = "x86-64";
inline constexpr bool can_attach = true;
#endif

}  // namespace heapwright::collect
