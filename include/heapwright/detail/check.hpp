// SPDX-License-Identifier: MIT
// Preconditions of the parts. A checked build (HEAPWRIGHT_CHECKED 1, the
// default without NDEBUG) ends the program with one line that names the part
// and the rule; an unchecked build evaluates nothing.
//
// Everything is in an inline namespace named after the build kind. One program may
// contain files of several kinds, but no part may pass between them, because its
// layout differs. A function with a part in its signature is then an undefined
// reference; a class that holds a part only if it is in HEAPWRIGHT_ABI, too.
#ifndef HEAPWRIGHT_DETAIL_CHECK_HPP
#define HEAPWRIGHT_DETAIL_CHECK_HPP

#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

#ifndef HEAPWRIGHT_CHECKED
#ifdef NDEBUG
#define HEAPWRIGHT_CHECKED 0
#else
#define HEAPWRIGHT_CHECKED 1
#endif
#endif

#if HEAPWRIGHT_CHECKED
#define HEAPWRIGHT_CHECK(condition, part, rule) \
  ((condition) ? static_cast<void>(0) : ::heapwright::detail::contract_failed(part, rule))
#else
#define HEAPWRIGHT_CHECK(condition, part, rule) static_cast<void>(0)
#endif

// 1 under AddressSanitizer: parts poison their free memory.
#if defined(__SANITIZE_ADDRESS__)
#define HEAPWRIGHT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEAPWRIGHT_ASAN 1
#endif
#endif
#ifndef HEAPWRIGHT_ASAN
#define HEAPWRIGHT_ASAN 0
#endif

// 1: arenas and pools report their blocks to a recorder (annotate.h).
#ifndef HEAPWRIGHT_ANNOTATE
#define HEAPWRIGHT_ANNOTATE 0
#endif

#if HEAPWRIGHT_CHECKED
#define HEAPWRIGHT_ABI_CHECKED checked
#else
#define HEAPWRIGHT_ABI_CHECKED unchecked
#endif
#if HEAPWRIGHT_ASAN
#define HEAPWRIGHT_ABI_ASAN _with_asan
#else
#define HEAPWRIGHT_ABI_ASAN
#endif
#if HEAPWRIGHT_ANNOTATE
#define HEAPWRIGHT_ABI_ANNOTATED _annotated
#else
#define HEAPWRIGHT_ABI_ANNOTATED
#endif
#define HEAPWRIGHT_JOIN(a, b, c) a##b##c
#define HEAPWRIGHT_JOIN_VALUES(a, b, c) HEAPWRIGHT_JOIN(a, b, c)
#define HEAPWRIGHT_ABI \
  HEAPWRIGHT_JOIN_VALUES(HEAPWRIGHT_ABI_CHECKED, HEAPWRIGHT_ABI_ASAN, HEAPWRIGHT_ABI_ANNOTATED)

#if HEAPWRIGHT_ASAN
extern "C" {
void __asan_poison_memory_region(void const volatile* address, decltype(sizeof(0)) bytes);
void __asan_unpoison_memory_region(void const volatile* address, decltype(sizeof(0)) bytes);
}
#endif

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

[[noreturn, gnu::cold, gnu::noinline]] inline void contract_failed(const char* part,
                                                                   const char* rule) noexcept {
  std::fprintf(stderr, "heapwright::%s: %s\n", part, rule);
  std::fflush(stderr);
  std::abort();
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_length_error(const char* what) {
#if defined(__cpp_exceptions)
  throw std::length_error(what);
#else
  contract_failed(what, "longer than max_size()");
#endif
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_out_of_range(const char* what) {
#if defined(__cpp_exceptions)
  throw std::out_of_range(what);
#else
  contract_failed(what, "index out of range");
#endif
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_bad_alloc() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  contract_failed("allocation", "out of memory");
#endif
}

inline void poison([[maybe_unused]] const void* address,
                   [[maybe_unused]] decltype(sizeof(0)) bytes) noexcept {
#if HEAPWRIGHT_ASAN
  __asan_poison_memory_region(address, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* address,
                     [[maybe_unused]] decltype(sizeof(0)) bytes) noexcept {
#if HEAPWRIGHT_ASAN
  __asan_unpoison_memory_region(address, bytes);
#endif
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
