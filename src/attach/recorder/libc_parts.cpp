// SPDX-License-Identifier: MIT
// The few functions of libc and the loader that the agent's code needs. libc selects its own versions when
// the process starts, and the agent is not linked to it.
#include <elf.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

#include "attach/recorder/threads.hpp"
#include "unwind/loaded_objects.hpp"
#include "unwind/program_headers.hpp"

using heapwright::attach::recorder::heapwright_agent;

extern "C" {

void* memcpy(void* to, const void* from, std::size_t bytes) {
  void* place = to;
  asm volatile("rep movsb" : "+D"(place), "+S"(from), "+c"(bytes) : : "memory");
  return to;
}

void* memset(void* to, int value, std::size_t bytes) {
  void* place = to;
  asm volatile("rep stosb" : "+D"(place), "+c"(bytes) : "a"(value) : "memory");
  return to;
}

int memcmp(const void* first, const void* second, std::size_t bytes) {
  const auto* a = static_cast<const std::uint8_t*>(first);
  const auto* b = static_cast<const std::uint8_t*>(second);
  for (std::size_t at = 0; at < bytes; ++at) {
    if (a[at] != b[at]) return a[at] < b[at] ? -1 : 1;
  }
  return 0;
}

// clang's name for a memcmp whose result is only compared to zero.
int bcmp(const void* first, const void* second, std::size_t bytes) { return memcmp(first, second, bytes); }

// The empty statement keeps the compiler from making a call of this function of its loop.
std::size_t strlen(const char* text) {
  const char* end = text;
  for (; *end != '\0'; ++end) asm volatile("");
  return static_cast<std::size_t>(end - text);
}

int strncmp(const char* first, const char* second, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; ++at) {
    const auto a = static_cast<unsigned char>(first[at]);
    const auto b = static_cast<unsigned char>(second[at]);
    if (a != b || a == 0) return int{a} - int{b};
  }
  return 0;
}

// glibc 2.35 and later; takes no lock.
int _dl_find_object(void* address, void* result) {
  return heapwright_agent.find_object != nullptr ? heapwright_agent.find_object(address, result)
                                                 : heapwright::unwind::no_find_object;
}

unsigned long getauxval(unsigned long type) noexcept {
  if (type == AT_PHDR) return heapwright_agent.headers;
  if (type == heapwright::unwind::auxiliary_frame_table) return heapwright_agent.frame_table;
  if (type == heapwright::unwind::auxiliary_frame_table_bytes) return heapwright_agent.frame_table_bytes;
  if (type == AT_ENTRY) return heapwright_agent.entry;
  if (type == AT_BASE) return heapwright_agent.loader;
  return type == AT_PHNUM ? heapwright_agent.header_count : 0;
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  return heapwright::attach::agent::read_clock(heapwright_agent.common, clock, now);
}

}  // extern "C"
