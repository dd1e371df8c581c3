// SPDX-License-Identifier: MIT
// Whether a memory or thread sanitizer is compiled in. These do not see the effects of assembly.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAPWRIGHT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HEAPWRIGHT_SANITIZED 1
#endif
#endif
#if !defined(HEAPWRIGHT_SANITIZED)
#define HEAPWRIGHT_SANITIZED 0
#endif
