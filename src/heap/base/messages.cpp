// SPDX-License-Identifier: MIT
#include "heap/base/messages.hpp"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <cstring>

#include "heap/base/own_thread.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

namespace {
constexpr char prefix[] = "heapwright: ";
constexpr std::size_t most_letters = 240;
}  // namespace

void Line::put(char letter) noexcept {
  if (length_ < most_letters) letters_[length_++] = letter;
}

Line& Line::text(const char* words) noexcept {
  while (*words != '\0') put(*words++);
  return *this;
}

Line& Line::text(const char* words, std::size_t length) noexcept {
  for (std::size_t i = 0; i < length; ++i) put(words[i]);
  return *this;
}

Line& Line::number(std::uint64_t value) noexcept {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (count > 0) put(digits[--count]);
  return *this;
}

Line& Line::address(const void* pointer) noexcept {
  text("0x");
  const auto value = reinterpret_cast<std::uintptr_t>(pointer);
  int shift = 60;
  while (shift > 0 && (value >> shift & 15) == 0) shift -= 4;
  for (; shift >= 0; shift -= 4) put("0123456789abcdef"[value >> shift & 15]);
  return *this;
}

void Line::write() noexcept {
  char whole[sizeof(prefix) + most_letters];
  std::size_t length = 0;
  for (const char* letter = prefix; *letter != '\0'; ++letter) whole[length++] = *letter;
  for (std::size_t i = 0; i < length_; ++i) whole[length++] = letters_[i];
  whole[length++] = '\n';
  platform::raw_syscall(SYS_write, 2, platform::raw_argument(whole), static_cast<long>(length));
}

void stop(Line& line) noexcept {
  line.write();
  if (!is_maintenance_thread()) abort();
  // The maintenance thread cannot use libc; the signal ends the process on any thread.
  const long process = platform::raw_syscall(SYS_getpid);
  platform::raw_syscall(SYS_kill, process, SIGABRT);
  timespec second{1, 0};
  platform::raw_syscall(SYS_nanosleep, platform::raw_argument(&second), 0);
  for (;;) platform::raw_syscall(SYS_exit_group, 128 + SIGABRT);
}

void stop_for_double_free(const void* block, std::size_t bytes) noexcept {
  Line line;
  line.text("double free of ").address(block);
  stop(line.text(", a block of ").number(bytes).text(" bytes"));
}

void stop_for_freed(const char* function, const void* block, std::size_t bytes) noexcept {
  if (std::strcmp(function, "free") == 0) stop_for_double_free(block, bytes);
  Line line;
  line.text(function).text(" of a freed block, ").address(block);
  stop(line.text(" of ").number(bytes).text(" bytes"));
}

void stop_for_pointer_inside(const char* function, const void* pointer, const void* block,
                             std::size_t bytes) noexcept {
  const auto distance =
      static_cast<std::size_t>(static_cast<const char*>(pointer) - static_cast<const char*>(block));
  Line line;
  line.text(function).text(" of ").address(pointer).text(", ").number(distance);
  line.text(" bytes inside the block ").address(block);
  stop(line.text(" of ").number(bytes).text(" bytes"));
}

void stop_for_invalid_pointer(const char* function, const void* pointer) noexcept {
  stop(Line().text(function).text(" of ").address(pointer).text(", which is no block of this heap"));
}

}  // namespace heapwright::heap
