// SPDX-License-Identifier: MIT
// How a measuring program ends if it cannot continue. Uses no heap.
#pragma once

namespace heapwright::figures {

// Prints one line on standard error and exits with this code.
[[noreturn, gnu::format(printf, 2, 3)]] void end(int exit_code, const char* format, ...) noexcept;
// The same with exit code 2: bad input.
[[noreturn, gnu::format(printf, 1, 2)]] void refuse(const char* format, ...) noexcept;
// The same with exit code 1: the allocator failed, the input was good.
[[noreturn, gnu::format(printf, 1, 2)]] void give_up(const char* format, ...) noexcept;

}  // namespace heapwright::figures
