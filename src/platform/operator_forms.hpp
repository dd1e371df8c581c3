// SPDX-License-Identifier: MIT
// All replaceable forms of operator new and delete, once, for libraries that stand before the C++ runtime.
#pragma once

#include <cstddef>
#include <new>

namespace heapwright::platform::operators {

using Size = std::size_t;
using Alignment = std::align_val_t;
using Tag = const std::nothrow_t&;

// A reference is passed like a pointer.
inline const void* passed(Tag tag) noexcept { return &tag; }

}  // namespace heapwright::platform::operators

// NEW, NEW_ALIGNED, DELETE (mangled name, declaration, arguments to pass on).
#define HEAPWRIGHT_OPERATOR_FORMS(NEW, NEW_ALIGNED, DELETE)                                                  \
  NEW(_Znwm, operator new(Size size), size)                                                                  \
  NEW(_Znam, operator new[](Size size), size)                                                                \
  NEW(_ZnwmRKSt9nothrow_t, operator new(Size size, Tag tag) noexcept, size, passed(tag))                     \
  NEW(_ZnamRKSt9nothrow_t, operator new[](Size size, Tag tag) noexcept, size, passed(tag))                   \
  NEW_ALIGNED(_ZnwmSt11align_val_t, operator new(Size size, Alignment at), size, at)                         \
  NEW_ALIGNED(_ZnamSt11align_val_t, operator new[](Size size, Alignment at), size, at)                       \
  NEW_ALIGNED(_ZnwmSt11align_val_tRKSt9nothrow_t, operator new(Size size, Alignment at, Tag tag) noexcept,   \
              size, at, passed(tag))                                                                         \
  NEW_ALIGNED(_ZnamSt11align_val_tRKSt9nothrow_t, operator new[](Size size, Alignment at, Tag tag) noexcept, \
              size, at, passed(tag))                                                                         \
  DELETE(_ZdlPv, operator delete(void* block) noexcept, block)                                               \
  DELETE(_ZdaPv, operator delete[](void* block) noexcept, block)                                             \
  DELETE(_ZdlPvm, operator delete(void* block, Size size) noexcept, block, size)                             \
  DELETE(_ZdaPvm, operator delete[](void* block, Size size) noexcept, block, size)                           \
  DELETE(_ZdlPvRKSt9nothrow_t, operator delete(void* block, Tag tag) noexcept, block, passed(tag))           \
  DELETE(_ZdaPvRKSt9nothrow_t, operator delete[](void* block, Tag tag) noexcept, block, passed(tag))         \
  DELETE(_ZdlPvSt11align_val_t, operator delete(void* block, Alignment at) noexcept, block, at)              \
  DELETE(_ZdaPvSt11align_val_t, operator delete[](void* block, Alignment at) noexcept, block, at)            \
  DELETE(_ZdlPvmSt11align_val_t, operator delete(void* block, Size size, Alignment at) noexcept, block,      \
         size, at)                                                                                           \
  DELETE(_ZdaPvmSt11align_val_t, operator delete[](void* block, Size size, Alignment at) noexcept, block,    \
         size, at)                                                                                           \
  DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, operator delete(void* block, Alignment at, Tag tag) noexcept,  \
         block, at, passed(tag))                                                                             \
  DELETE(                                                                                                    \
      _ZdaPvSt11align_val_tRKSt9nothrow_t, operator delete[](void* block, Alignment at, Tag tag) noexcept,   \
      block, at, passed(tag))
