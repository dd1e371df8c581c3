// SPDX-License-Identifier: MIT
// length: the whole of std::vector's interface, over any storage
//
// Storage says where the elements lie (inline or on the heap) and holds size,
// capacity and allocator; everything else about a vector is here, once for the
// fast layout, the compact one and the reference that erases N.
//
// What Storage provides: data(), size(), capacity(), is_on_heap(),
// inline_capacity(), and, ending in `_`: set_size_(n), allocator_(),
// allocate_(n), deallocate_(p, n), use_heap_(p, n) and use_inline_(), which
// only change the representation, and raise_capacity_(), true when inline room
// was unclaimed (vectors initialized at compile time). A storage that can be
// moved also has moves_whole_(), take_bytes_(other) and swap_bytes_(other).
#ifndef HEAPWRIGHT_DETAIL_VECTOR_OPERATIONS_HPP
#define HEAPWRIGHT_DETAIL_VECTOR_OPERATIONS_HPP

#include <algorithm>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/elements.hpp"
#include "heapwright/detail/vector_arguments.hpp"

namespace heapwright::detail {

template <class Storage>
class vector_operations : public Storage {
  using storage = Storage;

 public:
  using value_type = typename Storage::value_type;
  using allocator_type = typename Storage::allocator_type;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = value_type&;
  using const_reference = const value_type&;
  using pointer = value_type*;
  using const_pointer = const value_type*;
  using iterator = value_type*;
  using const_iterator = const value_type*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  using Storage::capacity;
  using Storage::data;
  using Storage::is_on_heap;
  using Storage::size;
  using Storage::Storage;

  // Access

  constexpr iterator begin() noexcept { return data(); }
  constexpr const_iterator begin() const noexcept { return data(); }
  constexpr iterator end() noexcept { return data() + size(); }
  constexpr const_iterator end() const noexcept { return data() + size(); }
  constexpr const_iterator cbegin() const noexcept { return begin(); }
  constexpr const_iterator cend() const noexcept { return end(); }
  constexpr reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  constexpr const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  constexpr reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  constexpr const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
  constexpr const_reverse_iterator crbegin() const noexcept { return rbegin(); }
  constexpr const_reverse_iterator crend() const noexcept { return rend(); }

  [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }
  constexpr size_type max_size() const noexcept { return storage::max_size_(); }
  constexpr allocator_type get_allocator() const noexcept { return storage::allocator_(); }
  constexpr bool is_inline() const noexcept { return !is_on_heap(); }

  constexpr reference operator[](size_type index) noexcept {
    HEAPWRIGHT_CHECK(index < size(), "small_vector", "operator[] needs an index below size()");
    return data()[index];
  }
  constexpr const_reference operator[](size_type index) const noexcept {
    HEAPWRIGHT_CHECK(index < size(), "small_vector", "operator[] needs an index below size()");
    return data()[index];
  }
  constexpr reference at(size_type index) {
    if (index >= size()) throw_out_of_range("heapwright::small_vector::at");
    return data()[index];
  }
  constexpr const_reference at(size_type index) const {
    if (index >= size()) throw_out_of_range("heapwright::small_vector::at");
    return data()[index];
  }
  constexpr reference front() noexcept { return *checked_first(); }
  constexpr const_reference front() const noexcept { return *checked_first(); }
  constexpr reference back() noexcept { return checked_first()[size() - 1]; }
  constexpr const_reference back() const noexcept { return checked_first()[size() - 1]; }

  // Capacity. clear() keeps the buffer, as std::vector's does; every spelling
  // that means "give it back" gives it back (docs/parts/small_vector.md).

  constexpr void reserve(size_type wanted) {
    if (wanted > capacity()) reallocate(checked_capacity(wanted));
  }

  // Exact, and back to the inline elements when they suffice. No effect when
  // an allocation or a move throws.
  constexpr void shrink_to_fit() {
    if (!is_on_heap() || size() == capacity()) return;
    size() <= storage::inline_capacity() ? move_inline() : reallocate(size());
  }

  // Shrinks with hysteresis; true when memory was given back.
  constexpr bool shrink_if_wasteful(shrink_policy policy = {}) {
    if (!is_on_heap() || size() * 100 >= capacity() * policy.used_percent) return false;
    const size_type wanted = size() + size() * policy.headroom_percent / 100 + 1;
    const bool fits_inline = size() <= storage::inline_capacity();
    const size_type left = fits_inline ? 0 : wanted;
    if (left >= capacity() || (capacity() - left) * sizeof(value_type) < policy.slack_bytes) return false;
    fits_inline ? move_inline() : reallocate(wanted);
    return true;
  }

  constexpr void clear() noexcept { destroy_from(data()); }

  // Destroys all elements and gives the heap buffer back.
  constexpr void release() noexcept {
    clear();
    drop_buffer();
  }

  // Growth at the end. Strong guarantee.

  template <class... Args>
  constexpr reference emplace_back(Args&&... args) {
    if constexpr (passes_in_registers()) {
      return append_copy(value_type(std::forward<Args>(args)...));
    } else {
      const size_type count = size();
      if (count == capacity() && !storage::raise_capacity_()) [[unlikely]] {
        return *grow_emplace(count, std::forward<Args>(args)...);
      }
      pointer where = data() + count;
      traits::construct(storage::allocator_(), where, std::forward<Args>(args)...);
      storage::set_size_(count + 1);
      return *where;
    }
  }
  constexpr void push_back(const value_type& value) { emplace_back(value); }
  constexpr void push_back(value_type&& value) { emplace_back(std::move(value)); }

  constexpr void pop_back() noexcept {
    HEAPWRIGHT_CHECK(size() != 0, "small_vector", "pop_back() needs an element");
    destroy_from(data() + size() - 1);
  }

  constexpr void resize(size_type count) {
    resize_with(count, [](auto& guard) { guard.construct(); });
  }
  constexpr void resize(size_type count, const value_type& value) {
    resize_with(count, [&](auto& guard) { guard.construct(value); });
  }

  // New elements are default-initialized: numbers keep what memory held.
  void resize_for_overwrite(size_type count) requires std::is_trivially_default_constructible_v<value_type> &&
      std::is_trivially_copyable_v<value_type> {
    reserve(count);
    storage::set_size_(count);
  }

  template <vector_range<value_type> Range>
  constexpr void append_range(Range&& range) {
    if constexpr (std::ranges::forward_range<Range> || std::ranges::sized_range<Range>) {
      const auto count = static_cast<size_type>(std::ranges::distance(range));
      append_counted(count, std::ranges::begin(range));
    } else {
      for (auto&& element : range) emplace_back(std::forward<decltype(element)>(element));
    }
  }

  // Insertion

  template <class... Args>
  constexpr iterator emplace(const_iterator position, Args&&... args) {
    const size_type at = index_of(position);
    if constexpr (passes_in_registers()) {
      return insert_copy(at, value_type(std::forward<Args>(args)...));
    } else {
      if (at == size()) return std::addressof(emplace_back(std::forward<Args>(args)...));
      if (size() == capacity()) return grow_emplace(at, std::forward<Args>(args)...);
      temporary value(storage::allocator_(), std::forward<Args>(args)...);
      open_one(at, std::move(value.get()));
      return data() + at;
    }
  }
  constexpr iterator insert(const_iterator position, const value_type& value) {
    return emplace(position, value);
  }
  constexpr iterator insert(const_iterator position, value_type&& value) {
    const size_type at = index_of(position);
    if (passes_in_registers() || at == size() || size() == capacity() || may_be_element(value)) {
      return emplace(position, std::move(value));
    }
    open_one(at, std::move(value));
    return data() + at;
  }
  constexpr iterator insert(const_iterator position, size_type count, const value_type& value) {
    const size_type at = index_of(position);
    if (count == 0) return data() + at;
    if (count <= capacity() - size()) {  // an element of this vector may move under `value`
      temporary copy(storage::allocator_(), value);
      return insert_counted(at, count, [&](auto& guard) { guard.construct(copy.get()); });
    }
    return insert_counted(at, count, [&](auto& guard) { guard.construct(value); });
  }
  template <vector_input It>
  constexpr iterator insert(const_iterator position, It first, It last) {
    return insert_range(position, iterator_pair<It>{std::move(first), std::move(last)});
  }
  constexpr iterator insert(const_iterator position, std::initializer_list<value_type> values) {
    return insert(position, values.begin(), values.end());
  }
  template <vector_range<value_type> Range>
  constexpr iterator insert_range(const_iterator position, Range&& range) {
    const size_type at = index_of(position);
    if constexpr (std::ranges::forward_range<Range> || std::ranges::sized_range<Range>) {
      auto from = std::ranges::begin(range);
      const auto count = static_cast<size_type>(std::ranges::distance(range));
      return insert_counted(at, count, [&](auto& guard) {
        guard.construct(*from);
        ++from;
      });
    } else {
      const size_type before = size();
      append_range(std::forward<Range>(range));
      std::rotate(data() + at, data() + before, end());
      return data() + at;
    }
  }

  constexpr iterator erase(const_iterator position) {
    HEAPWRIGHT_CHECK(index_of(position) < size(), "small_vector", "erase() needs an element");
    return erase(position, position + 1);
  }
  constexpr iterator erase(const_iterator first, const_iterator last) {
    pointer from = data() + index_of(first);
    pointer to = data() + index_of(last);
    if (from == to) return from;
    if constexpr (is_trivially_relocatable_v<value_type>) {
      if (!std::is_constant_evaluated()) {
        const auto tail = static_cast<size_type>(end() - to);
        destroy_range(storage::allocator_(), from, to);
        copy_bytes(from, to, tail);
        storage::set_size_(size() - static_cast<size_type>(to - from));
        return from;
      }
    }
    destroy_from(std::move(to, end(), from));
    return from;
  }

  // Replacement. Elements are assigned over, so that what they own is reused.

  constexpr void assign(size_type count, const value_type& value) {
    if (count > capacity()) {
      replace_counted(count, [&](auto& guard) { guard.construct(value); });
      return;
    }
    temporary copy(storage::allocator_(), value);
    std::fill_n(data(), std::min(count, size()), copy.get());
    count < size() ? destroy_from(data() + count) : resize(count, copy.get());
  }
  template <vector_input It>
  constexpr void assign(It first, It last) {
    assign_range(iterator_pair<It>{std::move(first), std::move(last)});
  }
  constexpr void assign(std::initializer_list<value_type> values) { assign_range(values); }

  template <vector_range<value_type> Range>
  constexpr void assign_range(Range&& range) {
    auto from = std::ranges::begin(range);
    const auto last = std::ranges::end(range);
    if constexpr (std::ranges::forward_range<Range> || std::ranges::sized_range<Range>) {
      const auto count = static_cast<size_type>(std::ranges::distance(range));
      if (count > capacity()) {
        replace_counted(count, [&](auto& guard) {
          guard.construct(*from);
          ++from;
        });
        return;
      }
    }
    pointer to = data();
    const pointer stop = end();
    for (; to != stop && from != last; ++from, ++to) *to = *from;
    if (to != stop) return destroy_from(to);
    for (; from != last; ++from) emplace_back(*from);
  }

  friend constexpr bool operator==(const vector_operations& a, const vector_operations& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
  }
  friend constexpr auto operator<=>(const vector_operations& a, const vector_operations& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(), compare_elements{});
  }

 protected:
  using traits = std::allocator_traits<allocator_type>;
  using guard_type = construction_guard<allocator_type, value_type>;

  struct compare_elements {
    constexpr auto operator()(const value_type& a, const value_type& b) const {
      if constexpr (std::three_way_comparable<value_type>) {
        return a <=> b;
      } else {
        return a < b   ? std::weak_ordering::less
               : b < a ? std::weak_ordering::greater
                       : std::weak_ordering::equivalent;
      }
    }
  };

  // Values so small that a copy costs less than their address: no argument has
  // to be kept in memory for the case of growth.
  static constexpr bool passes_in_registers() noexcept {
    return std::is_trivially_copyable_v<value_type> && sizeof(value_type) <= 2 * sizeof(void*) &&
           !requires(allocator_type & alloc, value_type * p) {
      alloc.construct(p);
    };
  }
  constexpr reference append_copy(value_type value) {
    if (size() == capacity()) [[unlikely]]
      grow_by_one();
    const size_type count = size();
    pointer where = std::construct_at(data() + count, value);
    storage::set_size_(count + 1);
    return *where;
  }
  constexpr iterator insert_copy(size_type at, value_type value) {
    if (size() == capacity()) [[unlikely]]
      grow_by_one();
    const size_type count = size();
    const pointer first = data();
    storage::set_size_(count + 1);
    if (!std::is_constant_evaluated()) {
      copy_bytes(first + at + 1, first + at, count - at);
    } else if (at != count) {
      std::construct_at(first + count, first[count - 1]);
      std::move_backward(first + at, first + count - 1, first + count);
      std::destroy_at(first + at);
    }
    return std::construct_at(first + at, value);
  }
  [[gnu::noinline]] constexpr void grow_by_one() {
    if (!storage::raise_capacity_()) reallocate(grown_capacity(1));
  }

  constexpr bool may_be_element(const value_type& value) const noexcept {
    if (std::is_constant_evaluated()) return true;  // unrelated addresses do not compare there
    return std::addressof(value) >= data() && std::addressof(value) < data() + size();
  }

  // A value constructed through the allocator, for arguments that may lie in
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
    vector_operations& vector;
    pointer first;
    size_type count;
    constexpr fresh_buffer(vector_operations& v, size_type n) : vector(v), first(v.allocate_(n)), count(n) {}
    fresh_buffer(const fresh_buffer&) = delete;
    fresh_buffer& operator=(const fresh_buffer&) = delete;
    constexpr ~fresh_buffer() {
      if (first != nullptr) vector.deallocate_(first, count);
    }
  };

  constexpr const_pointer checked_first() const noexcept {
    HEAPWRIGHT_CHECK(size() != 0, "small_vector", "front() and back() need an element");
    return data();
  }
  constexpr pointer checked_first() noexcept {
    HEAPWRIGHT_CHECK(size() != 0, "small_vector", "front() and back() need an element");
    return data();
  }

  constexpr size_type index_of(const_iterator position) const noexcept {
    const auto index = static_cast<size_type>(position - data());
    HEAPWRIGHT_CHECK(index <= size(), "small_vector", "the position belongs to another vector");
    return index;
  }

  constexpr size_type checked_capacity(size_type wanted) const {
    if (wanted > max_size()) throw_length_error("heapwright::small_vector: longer than max_size()");
    return wanted;
  }

  // The capacity to grow to for `added` more elements: twice, at least 16
  // bytes, because no allocator gives less.
  constexpr size_type grown_capacity(size_type added) const {
    if (added > max_size() - size()) throw_length_error("heapwright::small_vector: longer than max_size()");
    constexpr size_type least = 16 / sizeof(value_type);
    const size_type doubled = capacity() > max_size() / 2 ? max_size() : capacity() * 2;
    return std::max({size() + added, std::min(doubled, max_size()), std::min(least, max_size())});
  }

  constexpr void destroy_from(pointer first) noexcept {
    const auto kept = static_cast<size_type>(first - data());
    destroy_range(storage::allocator_(), first, end());
    storage::set_size_(kept);
  }

  // Gives the heap buffer back; the vector has no elements.
  constexpr void drop_buffer() noexcept {
    if (!is_on_heap()) return;
    const pointer buffer = data();
    const size_type count = capacity();
    storage::use_inline_();
    storage::deallocate_(buffer, count);
  }

  // Makes `buffer`, whose elements are alive, the vector's own.
  constexpr void take(fresh_buffer& buffer, size_type count) noexcept {
    if (is_on_heap()) storage::deallocate_(data(), capacity());
    storage::use_heap_(buffer.first, buffer.count);
    storage::set_size_(count);
    buffer.first = nullptr;
  }

  constexpr void reallocate(size_type wanted) {
    if (storage::raise_capacity_() && wanted <= capacity()) return;
    fresh_buffer buffer(*this, wanted);
    relocate(storage::allocator_(), data(), end(), buffer.first);
    take(buffer, size());
  }

  // The heap pointer shares its place with the inline elements: while they are
  // moved in, the pointer lives here, and goes back if a move throws.
  struct detached_buffer {
    vector_operations& vector;
    pointer first;
    size_type capacity;
    size_type count;
    constexpr explicit detached_buffer(vector_operations& v) noexcept
        : vector(v), first(v.data()), capacity(v.capacity()), count(v.size()) {
      vector.use_inline_();
    }
    detached_buffer(const detached_buffer&) = delete;
    detached_buffer& operator=(const detached_buffer&) = delete;
    constexpr ~detached_buffer() {
      if (first != nullptr) give_to(vector);
    }
    constexpr void give_to(vector_operations& to) noexcept {
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
    if constexpr (is_nothrow_relocatable<value_type>) {
      relocate(alloc, data(), data() + at, buffer.first);
      relocate(alloc, data() + at, data() + count, guard.last);
    } else {  // nothing of the source is destroyed before all of it is copied
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

  // Room for one at `at` < size(), capacity suffices.
  constexpr void open_one(size_type at, value_type&& value) {
    const pointer last = end() - 1;
    traits::construct(storage::allocator_(), last + 1, std::move(*last));
    storage::set_size_(size() + 1);
    std::move_backward(data() + at, last, last + 1);
    data()[at] = std::move(value);
  }

  // Inserts `count` elements, each made by construct(guard).
  template <class Construct>
  constexpr iterator insert_counted(size_type at, size_type count, Construct construct) {
    if (count > capacity() - size()) {
      fresh_buffer buffer(*this, grown_capacity(count));
      guard_type guard(storage::allocator_(), buffer.first + at);
      for (size_type i = 0; i < count; ++i) construct(guard);
      adopt_around(buffer, guard, at);
      return data() + at;
    }
    const size_type before = size();
    guard_type guard(storage::allocator_(), data() + before);
    for (size_type i = 0; i < count; ++i) construct(guard);
    guard.dismiss();
    storage::set_size_(before + count);
    if (at != before) std::rotate(data() + at, data() + before, end());
    return data() + at;
  }

  template <class It>
  constexpr void append_counted(size_type count, It from) {
    insert_counted(size(), count, [&](auto& guard) {
      guard.construct(*from);
      ++from;
    });
  }

  template <class Construct>
  constexpr void resize_with(size_type count, Construct construct) {
    if (count < size()) return destroy_from(data() + count);
    insert_counted(size(), count - size(), construct);
  }

  // All new elements in a new buffer: nothing of the old has to move.
  template <class Construct>
  constexpr void replace_counted(size_type count, Construct construct) {
    fresh_buffer buffer(*this, checked_capacity(count));
    guard_type guard(storage::allocator_(), buffer.first);
    for (size_type i = 0; i < count; ++i) construct(guard);
    guard.dismiss();
    clear();
    take(buffer, count);
  }
};

template <class Storage, class Predicate>
constexpr std::size_t erase_matching(vector_operations<Storage>& vector, Predicate matches) {
  const auto first = std::remove_if(vector.begin(), vector.end(), std::move(matches));
  const auto count = static_cast<std::size_t>(vector.end() - first);
  vector.erase(first, vector.end());
  return count;
}

}  // namespace heapwright::detail
#endif
