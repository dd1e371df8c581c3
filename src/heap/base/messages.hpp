// SPDX-License-Identifier: MIT
// Lines on stderr, written without allocating.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

// One line, up to 240 characters; longer ones are cut.
class Line {
 public:
  Line& text(const char* words) noexcept;
  Line& text(const char* words, std::size_t length) noexcept;
  Line& number(std::uint64_t value) noexcept;
  Line& address(const void* pointer) noexcept;
  // "heapwright: ..." and a line end, in one write.
  void write() noexcept;

 private:
  void put(char letter) noexcept;
  char letters_[256];
  std::size_t length_ = 0;
};

// Writes the line and ends the process by SIGABRT. On any thread.
[[noreturn]] void stop(Line& line) noexcept;

[[noreturn]] void stop_for_double_free(const void* block, std::size_t bytes) noexcept;
// free(), realloc() or the like of a block that was freed.
[[noreturn]] void stop_for_freed(const char* function, const void* block, std::size_t bytes) noexcept;
[[noreturn]] void stop_for_pointer_inside(const char* function, const void* pointer, const void* block,
                                          std::size_t bytes) noexcept;

// free(), realloc() or the like of a pointer that is no block of this heap
// though it lies among its memory.
[[noreturn]] void stop_for_invalid_pointer(const char* function, const void* pointer) noexcept;

}  // namespace heapwright::heap
