// SPDX-License-Identifier: MIT
// length: one class; buffers, gaps and the moves between them
//
// The base of vector_operations: constructs, destroys and moves a vector's elements
// inline and in heap buffers.
//
// Storage provides data(), size(), capacity(), is_on_heap(), inline_capacity(), and,
// ending in `_`: set_size_(n), allocator_(), allocate_(n), deallocate_(p, n),
// use_heap_(p, n) and use_inline_(), which only change the representation, and
// data_with_room_(n), null when n elements fill it. A storage that can be moved also
// has moves_whole_(), take_bytes_(other), swap_bytes_(other), and buffer_layout_, a
// type shared by storages whose heap buffers are interchangeable.
#ifndef HEAPWRIGHT_DETAIL_VECTOR_GROWTH_HPP
#define HEAPWRIGHT_DETAIL_VECTOR_GROWTH_HPP

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/elements.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

template <class Storage>
class vector_growth : public Storage {
  using storage = Storage;

 public:
  using value_type = typename Storage::value_type;
  using allocator_type = typename Storage::allocator_type;
  using size_type = std::size_t;
  using pointer = value_type*;

  using Storage::capacity;
  using Storage::data;
  using Storage::is_on_heap;
  using Storage::size;
  using Storage::Storage;

 protected:
  using traits = std::allocator_traits<allocator_type>;
  using guard_type = construction_guard<allocator_type, value_type>;

  // A function, because the element type may be incomplete in the class.
  static constexpr bool relocates_safely() noexcept {
    return is_nothrow_relocatable<allocator_type, value_type>;
  }
  template <class It>
  static constexpr bool copies_bytes_from() noexcept {
    return guard_type::is_plain && reads_bytes<It, value_type>;
  }

  constexpr value_type& append_copy(value_type value) {
    const size_type count = size();
    pointer first = storage::data_with_room_(count);
    if (first == nullptr) [[unlikely]] {
      first = grow_by_one();
    }
    std::construct_at(first + count, std::move(value));
    storage::set_size_(count + 1);
    return first[count];
  }
  constexpr pointer insert_copy(size_type at, value_type value) {
    const size_type count = size();
    const pointer first = count == capacity() ? grow_by_one() : data();
    relocate_up(storage::allocator_(), first + at, first + count, 1);
    storage::set_size_(count + 1);
    return std::construct_at(first + at, std::move(value));
  }
  [[gnu::noinline]] constexpr pointer grow_by_one() {
    reallocate(grown_capacity(1));
    return data();
  }

  // A value constructed through the allocator, for arguments that may refer into
  // this vector.
  class temporary {
   public:
    template <class... Args>
    constexpr explicit temporary(allocator_type& alloc, Args&&... args) : alloc_(alloc) {
      traits::construct(alloc_, std::addressof(value_), std::forward<Args>(args)...);
    }
    temporary(const temporary&) = delete;
    temporary& operator=(const temporary&) = delete;
    constexpr ~temporary() { traits::destroy(alloc_, std::addressof(value_)); }
    constexpr value_type& get() noexcept { return value_; }

   private:
    allocator_type& alloc_;
    union {
      value_type value_;
    };
  };

  // A buffer not yet part of the vector; freed unless taken.
  struct fresh_buffer {
    vector_growth& vector;
    pointer first;
    size_type count;
    constexpr fresh_buffer(vector_growth& v, size_type n) : vector(v), first(v.allocate_(n)), count(n) {}
    fresh_buffer(const fresh_buffer&) = delete;
    fresh_buffer& operator=(const fresh_buffer&) = delete;
    constexpr ~fresh_buffer() {
      if (first != nullptr) vector.deallocate_(first, count);
    }
  };

  // Room for `count` new elements at `at`: moves up the elements behind it. Unless
  // filled, it closes again and restores the vector. Requires sufficient capacity and
  // elements that relocate safely.
  struct gap {
    vector_growth& vector;
    size_type at;
    size_type count;
    size_type size_before;
    guard_type guard;
    constexpr gap(vector_growth& v, size_type position, size_type n) noexcept
        : vector(v),
          at(position),
          count(n),
          size_before(v.size()),
          guard(v.allocator_(), v.data() + position) {
      relocate_up(v.allocator_(), v.data() + at, v.data() + size_before, count);
      v.set_size_(at);
    }
    gap(const gap&) = delete;
    gap& operator=(const gap&) = delete;
    constexpr ~gap() {
      if (count == 0) return;  // filled
      destroy_range(guard.alloc, guard.first, guard.last);
      guard.dismiss();
      const pointer tail = vector.data() + at + count;
      relocate_down(guard.alloc, tail, tail + (size_before - at), vector.data() + at);
      vector.set_size_(size_before);
    }
    constexpr void filled() noexcept {
      guard.dismiss();
      vector.set_size_(size_before + count);
      count = 0;
    }
  };

  constexpr size_type max_vector_size() const noexcept {
    return std::min<size_type>(storage::max_size_(), traits::max_size(storage::allocator_()));
  }

  constexpr size_type checked_capacity(size_type wanted) const {
    if (wanted > max_vector_size()) throw_length_error("heapwright::small_vector: longer than max_size()");
    return wanted;
  }

  // The capacity to grow to for `added` more elements: doubled, and at least 16 bytes,
  // the smallest block of most allocators.
  constexpr size_type grown_capacity(size_type added) const {
    const size_type most = max_vector_size();
    if (size() > most || added > most - size()) {
      throw_length_error("heapwright::small_vector: longer than max_size()");
    }
    constexpr size_type least = 16 / sizeof(value_type);
    const size_type doubled = capacity() > most / 2 ? most : capacity() * 2;
    return std::max({size() + added, std::min(doubled, most), std::min(least, most)});
  }

  constexpr void destroy_from(pointer first) noexcept {
    const auto kept = static_cast<size_type>(first - data());
    destroy_range(storage::allocator_(), first, data() + size());
    storage::set_size_(kept);
  }

  // Frees the heap buffer. Requires an empty vector.
  constexpr void drop_buffer() noexcept {
    if (!is_on_heap()) return;
    const pointer buffer = data();
    const size_type count = capacity();
    storage::use_inline_();
    storage::deallocate_(buffer, count);
  }

  // Makes `buffer`, which holds `count` elements, the vector's own.
  constexpr void take(fresh_buffer& buffer, size_type count) noexcept {
    if (is_on_heap()) storage::deallocate_(data(), capacity());
    storage::use_heap_(buffer.first, buffer.count);
    storage::set_size_(count);
    buffer.first = nullptr;
  }

  constexpr void reallocate(size_type wanted) {
    fresh_buffer buffer(*this, wanted);
    relocate(storage::allocator_(), data(), data() + size(), buffer.first);
    take(buffer, size());
  }

  // Keeps the heap pointer, which shares its bytes with the inline elements, while
  // these are moved in, and restores it if a move throws.
  struct detached_buffer {
    vector_growth& vector;
    pointer first;
    size_type capacity;
    size_type count;
    constexpr explicit detached_buffer(vector_growth& v) noexcept
        : vector(v), first(v.data()), capacity(v.capacity()), count(v.size()) {
      vector.use_inline_();
    }
    detached_buffer(const detached_buffer&) = delete;
    detached_buffer& operator=(const detached_buffer&) = delete;
    constexpr ~detached_buffer() {
      if (first != nullptr) give_to(vector);
    }
    constexpr void give_to(vector_growth& to) noexcept {
      to.use_heap_(first, capacity);
      to.set_size_(count);
      first = nullptr;
    }
  };

  constexpr void move_inline() {
    detached_buffer buffer(*this);
    relocate(storage::allocator_(), buffer.first, buffer.first + buffer.count, data());
    storage::set_size_(buffer.count);
    storage::deallocate_(buffer.first, buffer.capacity);
    buffer.first = nullptr;
  }

  template <class... Args>
  [[gnu::noinline]] constexpr pointer grow_emplace(size_type at, Args&&... args) {
    fresh_buffer buffer(*this, grown_capacity(1));
    guard_type guard(storage::allocator_(), buffer.first + at);
    guard.construct(std::forward<Args>(args)...);
    adopt_around(buffer, guard, at);
    return data() + at;
  }

  // Moves the elements around the new ones at [at, at + guard's count).
  constexpr void adopt_around(fresh_buffer& buffer, guard_type& guard, size_type at) {
    auto& alloc = storage::allocator_();
    const auto added = static_cast<size_type>(guard.last - guard.first);
    const size_type count = size();
    if constexpr (relocates_safely()) {
      relocate(alloc, data(), data() + at, buffer.first);
      relocate(alloc, data() + at, data() + count, guard.last);
    } else {  // the source is destroyed only after all of it was copied
      guard_type before(alloc, buffer.first);
      for (size_type i = 0; i < at; ++i) before.construct(std::move_if_noexcept(data()[i]));
      guard_type after(alloc, guard.last);
      for (size_type i = at; i < count; ++i) after.construct(std::move_if_noexcept(data()[i]));
      before.dismiss();
      after.dismiss();
      destroy_range(alloc, data(), data() + count);
    }
    guard.dismiss();
    take(buffer, count + added);
  }

  // Requires an empty vector without a heap buffer. Unlike insert_counted it never
  // moves an element.
  template <class Source>
  constexpr void construct_first(size_type count, Source source) {
    if (count > capacity()) return replace_counted(count, source);
    guard_type guard(storage::allocator_(), data());
    source.construct(guard, count);
    guard.dismiss();
    storage::set_size_(count);
  }

  // Inserts the next `count` elements of the source.
  template <class Source>
  constexpr pointer insert_counted(size_type at, size_type count, Source source) {
    if (count == 0) return data() + at;
    if (count > capacity() - size()) [[unlikely]] {
      return grow_insert(at, count, std::move(source));
    }
    if (at == size()) {  // nothing has to move
      append_within(count, source);
    } else if constexpr (relocates_safely()) {
      gap places(*this, at, count);
      source.construct(places.guard, count);
      places.filled();
    } else {
      append_within(count, source);
      std::rotate(data() + at, data() + (size() - count), data() + size());
    }
    return data() + at;
  }
  template <class Source>
  constexpr void append_counted(size_type count, Source source) {
    if (count > capacity() - size()) [[unlikely]] {
      grow_insert(size(), count, std::move(source));
    } else {
      append_within(count, source);
    }
  }
  template <class Source>
  constexpr void append_within(size_type count, Source& source) {
    construct_behind(size(), count, source);
  }
  // After the first `before` elements. Elements behind them need no destruction.
  template <class Source>
  constexpr void construct_behind(size_type before, size_type count, Source& source) {
    guard_type guard(storage::allocator_(), data() + before);
    if constexpr (Source::template writes_bytes<guard_type>) {
      storage::set_size_(before + count);  // first: no value has to survive the memcpy or memset call
      source.construct(guard, count);
      return guard.dismiss();
    }
    source.construct(guard, count);
    guard.dismiss();
    storage::set_size_(before + count);
  }
  // Takes the source by value: a reference would force it into memory even when the
  // vector does not grow.
  template <class Source>
  [[gnu::noinline]] constexpr pointer grow_insert(size_type at, size_type count, Source source) {
    fresh_buffer buffer(*this, grown_capacity(count));
    guard_type guard(storage::allocator_(), buffer.first + at);
    source.construct(guard, count);
    adopt_around(buffer, guard, at);
    return data() + at;
  }

  template <class Source>
  constexpr void resize_with(size_type count, Source source) {
    const size_type before = size();
    if (count < before) return destroy_from(data() + count);
    if (count > capacity()) [[unlikely]] {
      grow_insert(before, count - before, std::move(source));
    } else {
      append_within(count - before, source);
    }
  }

  // Builds all elements in a new buffer; the old ones need not move.
  template <class Source>
  [[gnu::noinline]] constexpr void replace_counted(size_type count, Source source) {
    fresh_buffer buffer(*this, checked_capacity(count));
    guard_type guard(storage::allocator_(), buffer.first);
    source.construct(guard, count);
    guard.dismiss();
    destroy_from(data());
    take(buffer, count);
  }
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
