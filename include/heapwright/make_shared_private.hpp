// SPDX-License-Identifier: MIT
// One-allocation shared_ptr for types that std::make_shared cannot construct.
// Documentation: docs/parts/make_shared_private.md
#ifndef HEAPWRIGHT_MAKE_SHARED_PRIVATE_HPP
#define HEAPWRIGHT_MAKE_SHARED_PRIVATE_HPP

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/pool_annotation.hpp"
#include "heapwright/detail/thread_owned.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// A key that only T can create: a public constructor that takes one is
// effectively private, yet std::make_shared can call it.
template <class T>
class passkey {
  friend T;
  constexpr passkey() noexcept {}

 public:
  constexpr passkey(const passkey&) noexcept = default;
};

// A class that declares it a friend lets make_shared_private call its private
// constructors and destructor.
class private_access {
 public:
  template <class T, class... Args>
  static T* construct(void* where, Args&&... args) {
    return ::new (where) T(std::forward<Args>(args)...);
  }
  template <class T>
  static void destroy(T* object) noexcept {
    object->~T();
  }
};

namespace detail {

template <class T>
struct private_allocator {
  using value_type = T;
  private_allocator() noexcept = default;
  template <class U>
  private_allocator(const private_allocator<U>&) noexcept {}  // NOLINT: converts
  T* allocate(std::size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* first, std::size_t count) noexcept { std::allocator<T>().deallocate(first, count); }
  template <class U, class... Args>
  void construct(U* where, Args&&... args) {
    private_access::construct<U>(where, std::forward<Args>(args)...);
  }
  template <class U>
  void destroy(U* object) noexcept {
    private_access::destroy(object);
  }
  template <class U>
  bool operator==(const private_allocator<U>&) const noexcept {
    return true;
  }
};

// A per-thread free list of blocks of one size, at most `bound` long. A block
// joins the list of the thread that frees it.
template <std::size_t Bytes, std::size_t Alignment>
class control_block_list {
  struct free_block {
    free_block* next;
  };
  static constexpr std::size_t bound = 256;

 public:
  static void* allocate() {
    state* own = of_thread();
    if (own == nullptr || own->first == nullptr) return ::operator new (Bytes, std::align_val_t{Alignment});
    free_block* block = std::exchange(own->first, own->first->next);
    unpoison(block, Bytes);
    --own->count;
    return block;
  }
  static void deallocate(void* memory) noexcept {
    state* own = of_thread();
    if (own == nullptr || own->count == bound) return ::operator delete (memory, std::align_val_t{Alignment});
    own->first = ::new (memory) free_block{own->first};
    ++own->count;
    poison(static_cast<char*>(memory) + sizeof(free_block), Bytes - sizeof(free_block));
  }
  static std::size_t kept() noexcept {
    const state* own = of_thread();
    return own == nullptr ? 0 : own->count;
  }

 private:
  struct state {
    free_block* first = nullptr;
    std::size_t count = 0;
    ~state() {
      while (first != nullptr) {
        free_block* block = std::exchange(first, first->next);
        unpoison(block, Bytes);
        ::operator delete (block, std::align_val_t{Alignment});
      }
    }
  };
  static state* of_thread() noexcept { return thread_owned<state>::get(); }
};

// Allocates an Object together with its control block: the two are one T.
template <class Object, class T = Object>
struct pooling_allocator {
  using value_type = T;
  using list = control_block_list<sizeof(T), alignof(T)>;
  template <class U>
  struct rebind {
    using other = pooling_allocator<Object, U>;
  };
  pooling_allocator() noexcept = default;
  template <class U>
  pooling_allocator(const pooling_allocator<Object, U>&) noexcept {}  // NOLINT: converts
  T* allocate(std::size_t count) {
    if (count != 1) return std::allocator<T>().allocate(count);
    void* memory = list::allocate();
    annotation().took(memory, sizeof(T));
    return static_cast<T*>(memory);
  }
  void deallocate(T* first, std::size_t count) noexcept {
    if (count != 1) return std::allocator<T>().deallocate(first, count);
    annotation().gave(first);
    list::deallocate(first);
  }
  template <class U>
  bool operator==(const pooling_allocator<Object, U>&) const noexcept {
    return true;
  }

 private:
  static decltype(auto) annotation() noexcept { return lasting_annotation<Object>(&address); }
  static inline char address = 0;  // stands for the pool
};

}  // namespace detail

// As std::make_shared for a single object, in one allocation, for a T that declares
//   friend class heapwright::private_access;
// Any code can then create a T; to prevent that, use passkey.
template <class T, class... Args>
std::shared_ptr<T> make_shared_private(Args&&... args) {
  using object = std::remove_cv_t<T>;
  return std::allocate_shared<object>(detail::private_allocator<object>(), std::forward<Args>(args)...);
}

// As std::make_shared, with object and control block in one block from a
// per-thread free list for that type: for objects created and released at a
// high rate. A thread keeps at most 256 free blocks of each type.
template <class T, class... Args>
std::shared_ptr<T> make_shared_pooled(Args&&... args) {
  using object = std::remove_cv_t<T>;
  return std::allocate_shared<object>(detail::pooling_allocator<object>(), std::forward<Args>(args)...);
}

// For objects with weak_ptrs: a single block stays allocated, as a whole, until
// the last weak_ptr is gone. Above this size two blocks are better.
inline constexpr std::size_t weakly_held_single_block_bytes = 4096;

template <class T>
inline constexpr bool prefers_two_blocks_when_weakly_held = sizeof(T) > weakly_held_single_block_bytes;

// One block up to the limit, two above it.
template <class T, class... Args>
std::shared_ptr<T> make_shared_weakly_held(Args&&... args) {
  if constexpr (prefers_two_blocks_when_weakly_held<T>) {
    return std::shared_ptr<T>(new T(std::forward<Args>(args)...));
  } else {
    return std::make_shared<T>(std::forward<Args>(args)...);
  }
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
