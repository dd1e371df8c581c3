// SPDX-License-Identifier: MIT
// Messages on stderr, written without allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

// One line of up to 240 characters; longer ones are truncated.
class Line {
 public:
  Line& text(const char* words) noexcept;
  Line& text(const char* words, std::size_t length) noexcept;
  Line& number(std::uint64_t value) noexcept;
  Line& address(const void* pointer) noexcept;
  // Writes "heapwright: ..." and a newline in one write.
  void write() noexcept;

 private:
  void put(char letter) noexcept;
  char letters_[256];
  std::size_t length_ = 0;
};

// Writes the line and ends the process by SIGABRT. Works on any thread.
[[noreturn]] void stop(Line& line) noexcept;

[[noreturn]] void stop_for_double_free(const void* block, std::size_t bytes) noexcept;
// For free(), realloc() and the like of a freed block.
[[noreturn]] void stop_for_freed(const char* function, const void* block, std::size_t bytes) noexcept;
[[noreturn]] void stop_for_pointer_inside(const char* function, const void* pointer, const void* block,
                                          std::size_t bytes) noexcept;

// For free(), realloc() and the like of a pointer into this heap's memory that is
// not a block.
[[noreturn]] void stop_for_invalid_pointer(const char* function, const void* pointer) noexcept;

}  // namespace heapwright::heap
