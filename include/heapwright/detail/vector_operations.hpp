// SPDX-License-Identifier: MIT
// length: the whole of std::vector's interface, over any storage
//
// A vector's interface for the fast layout, the compact one and the reference that
// erases N. Storage locates the elements (vector_growth.hpp).
#ifndef HEAPWRIGHT_DETAIL_VECTOR_OPERATIONS_HPP
#define HEAPWRIGHT_DETAIL_VECTOR_OPERATIONS_HPP

#include <algorithm>
#include <compare>
#include <concepts>
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
#include "heapwright/detail/vector_growth.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

template <class Storage>
class vector_operations : public vector_growth<Storage> {
  using storage = Storage;
  using growth = vector_growth<Storage>;

 protected:
  using typename growth::guard_type;
  using typename growth::temporary;
  using typename growth::traits;

 public:
  using typename growth::allocator_type;
  using typename growth::pointer;
  using typename growth::size_type;
  using typename growth::value_type;
  using difference_type = std::ptrdiff_t;
  using reference = value_type&;
  using const_reference = const value_type&;
  using const_pointer = const value_type*;
  using iterator = value_type*;
  using const_iterator = const value_type*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  using growth::capacity;
  using growth::data;
  using growth::growth;
  using growth::is_on_heap;
  using growth::size;

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
  constexpr size_type max_size() const noexcept { return growth::max_vector_size(); }
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

  // Capacity. clear() keeps the buffer, as std::vector's does; every idiom for
  // freeing it does free it (docs/parts/small_vector.md).

  constexpr void reserve(size_type wanted) {
    if (wanted > capacity()) growth::reallocate(growth::checked_capacity(wanted));
  }

  // Exact; moves the elements inline if they fit. No effect when an allocation or a
  // move throws; the exception is passed on.
  constexpr void shrink_to_fit() {
    if (!is_on_heap() || size() == capacity()) return;
    size() <= storage::inline_capacity() ? growth::move_inline() : growth::reallocate(size());
  }

  // Shrinks with hysteresis; true if memory was freed.
  constexpr bool shrink_if_wasteful(shrink_policy policy = {}) {
    if (!is_on_heap() || size() * 100 >= capacity() * policy.used_percent) return false;
    const size_type wanted = size() + size() * policy.headroom_percent / 100 + 1;
    const bool fits_inline = size() <= storage::inline_capacity();
    const size_type left = fits_inline ? 0 : wanted;
    if (left >= capacity() || (capacity() - left) * sizeof(value_type) < policy.slack_bytes) return false;
    fits_inline ? growth::move_inline() : growth::reallocate(wanted);
    return true;
  }

  constexpr void clear() noexcept { growth::destroy_from(data()); }

  // Destroys all elements and frees the heap buffer.
  constexpr void release() noexcept {
    clear();
    growth::drop_buffer();
  }

  // Growth at the end. Strong guarantee.

  template <class... Args>
  requires emplaceable<allocator_type, value_type, Args...>
  constexpr reference emplace_back(Args&&... args) {
    if constexpr (passes_in_registers<allocator_type, value_type>) {
      return growth::append_copy(value_type(std::forward<Args>(args)...));
    } else {
      const size_type count = size();
      pointer where = storage::data_with_room_(count);
      if (where == nullptr) [[unlikely]] {
        return *growth::grow_emplace(count, std::forward<Args>(args)...);
      }
      where += count;
      traits::construct(storage::allocator_(), where, std::forward<Args>(args)...);
      storage::set_size_(count + 1);
      return *where;
    }
  }
  constexpr void push_back(const value_type& value) { emplace_back(value); }
  constexpr void push_back(value_type&& value) { emplace_back(std::move(value)); }

  constexpr void pop_back() noexcept {
    HEAPWRIGHT_CHECK(size() != 0, "small_vector", "pop_back() needs an element");
    growth::destroy_from(data() + size() - 1);
  }

  constexpr void resize(size_type count) { growth::resize_with(count, default_source{}); }
  constexpr void resize(size_type count, const value_type& value) {
    growth::resize_with(count, copies_source<value_type>{value});
  }

  // New elements are default-initialized: numbers are indeterminate.
  void resize_for_overwrite(size_type count) requires std::is_trivially_default_constructible_v<value_type> &&
      std::is_trivially_copyable_v<value_type> {
    if (count > capacity()) growth::reallocate(growth::grown_capacity(count - size()));
    storage::set_size_(count);
  }

  template <vector_range<value_type> Range>
  constexpr void append_range(Range&& range) {
    if constexpr (std::ranges::forward_range<Range> || std::ranges::sized_range<Range>) {
      const auto count = static_cast<size_type>(std::ranges::distance(range));
      growth::append_counted(count, iterator_source{std::ranges::begin(range)});
    } else {
      added_at_end added(*this);
      for (auto&& element : range) emplace_back(std::forward<decltype(element)>(element));
      added.keep();
    }
  }

  // Insertion

  template <class... Args>
  requires emplaceable<allocator_type, value_type, Args...>
  constexpr iterator emplace(const_iterator position, Args&&... args) {
    const size_type at = index_of(position);
    if constexpr (passes_in_registers<allocator_type, value_type>) {
      return growth::insert_copy(at, value_type(std::forward<Args>(args)...));
    } else {
      if (at == size()) return std::addressof(emplace_back(std::forward<Args>(args)...));
      if (size() == capacity()) return growth::grow_emplace(at, std::forward<Args>(args)...);
      temporary value(storage::allocator_(), std::forward<Args>(args)...);
      return growth::insert_counted(at, 1, moved_source<value_type>{value.get()});
    }
  }
  constexpr iterator insert(const_iterator position, const value_type& value) {
    return emplace(position, value);
  }
  constexpr iterator insert(const_iterator position, value_type&& value) {
    const size_type at = index_of(position);
    if (passes_in_registers<allocator_type, value_type> || at == size() || size() == capacity() ||
        may_be_element(value)) {
      return emplace(position, std::move(value));
    }
    return growth::insert_counted(at, 1, moved_source<value_type>{value});
  }
  constexpr iterator insert(const_iterator position, size_type count, const value_type& value) {
    const size_type at = index_of(position);
    if (count == 0) return data() + at;
    if (count <= capacity() - size()) {  // an element of this vector may move under `value`
      temporary copy(storage::allocator_(), value);
      return growth::insert_counted(at, count, copies_source<value_type>{copy.get()});
    }
    return growth::insert_counted(at, count, copies_source<value_type>{value});
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
      const auto count = static_cast<size_type>(std::ranges::distance(range));
      return growth::insert_counted(at, count, iterator_source{std::ranges::begin(range)});
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
    const pointer from = data() + index_of(first);
    const pointer to = data() + index_of(last);
    HEAPWRIGHT_CHECK(from <= to, "small_vector", "erase() needs first before last");
    if (from == to) return from;
    if constexpr (growth::relocates_safely()) {
      auto& alloc = storage::allocator_();
      const pointer stop = end();
      storage::set_size_(size() - static_cast<size_type>(to - from));
      destroy_range(alloc, from, to);
      relocate_down(alloc, to, stop, from);
    } else {
      growth::destroy_from(std::move(to, end(), from));
    }
    return from;
  }

  // Replacement. Elements are assigned to, so that the memory they own is reused.

  constexpr void assign(size_type count, const value_type& value) {
    if (count > capacity()) return growth::replace_counted(count, copies_source<value_type>{value});
    temporary copy(storage::allocator_(), value);
    if constexpr (std::is_trivially_copyable_v<value_type> && guard_type::is_plain) {
      copies_source<value_type> copies{copy.get()};
      growth::construct_behind(0, count, copies);
    } else {
      std::fill_n(data(), std::min(count, size()), copy.get());
      count < size() ? growth::destroy_from(data() + count) : resize(count, copy.get());
    }
  }
  template <vector_input It>
  constexpr void assign(It first, It last) {
    assign_range(iterator_pair<It>{std::move(first), std::move(last)});
  }
  constexpr void assign(std::initializer_list<value_type> values) {
    assign_counted(values.size(), values.begin());
  }

  template <vector_range<value_type> Range>
  constexpr void assign_range(Range&& range) {
    if constexpr (std::ranges::forward_range<Range> || std::ranges::sized_range<Range>) {
      const auto count = static_cast<size_type>(std::ranges::distance(range));
      assign_counted(count, std::ranges::begin(range));
    } else {
      auto from = std::ranges::begin(range);
      const auto last = std::ranges::end(range);
      pointer to = data();
      const pointer stop = end();
      for (; to != stop && from != last; ++from, void(), ++to) *to = *from;
      if (to != stop) return growth::destroy_from(to);
      for (; from != last; ++from) emplace_back(*from);
    }
  }

 protected:
  template <class It>
  constexpr void assign_counted(size_type count, It from) {
    if (count > capacity()) return growth::replace_counted(count, iterator_source<It>{std::move(from)});
    if constexpr (growth::template copies_bytes_from<It>()) {
      if (!std::is_constant_evaluated()) {
        copy_bytes<value_type>(data(), std::to_address(from), count);
        return storage::set_size_(count);
      }
    }
    if constexpr (std::is_assignable_v<reference, std::iter_reference_t<It>>) {
      const size_type common = std::min(count, size());
      for (pointer to = data(); to != data() + common; ++from, void(), ++to) *to = *from;
      growth::destroy_from(data() + common);
      growth::append_counted(count - common, iterator_source<It>{std::move(from)});
    } else {
      clear();
      growth::append_counted(count, iterator_source<It>{std::move(from)});
    }
  }

 private:
  // Destroys the elements after the first `count`, unless they are kept.
  struct added_at_end {
    vector_operations& vector;
    size_type count;
    constexpr explicit added_at_end(vector_operations& v) noexcept : vector(v), count(v.size()) {}
    added_at_end(const added_at_end&) = delete;
    added_at_end& operator=(const added_at_end&) = delete;
    constexpr ~added_at_end() { vector.destroy_from(vector.data() + count); }
    constexpr void keep() noexcept { count = vector.size(); }
  };

  constexpr bool may_be_element(const value_type& value) const noexcept {
    if (std::is_constant_evaluated()) return true;  // unrelated addresses do not compare there
    return std::addressof(value) >= data() && std::addressof(value) < data() + size();
  }
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
};

// The requirements of std::vector's comparison on its elements.
template <class T>
concept ordered = std::three_way_comparable<T> || requires(const T& a, const T& b) {
  { a < b } -> std::convertible_to<bool>;
};

struct compare_elements {
  template <class T>
  constexpr auto operator()(const T& a, const T& b) const {
    if constexpr (std::three_way_comparable<T>) {
      return a <=> b;
    } else {
      return a < b   ? std::weak_ordering::less
             : b < a ? std::weak_ordering::greater
                     : std::weak_ordering::equivalent;
    }
  }
};

// Vectors of one element type compare regardless of N and layout.
template <class A, class B>
requires std::same_as<typename A::value_type, typename B::value_type>
constexpr bool operator==(const vector_operations<A>& a, const vector_operations<B>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}
template <class A, class B>
requires std::same_as<typename A::value_type, typename B::value_type> && ordered<typename A::value_type>
constexpr auto operator<=>(const vector_operations<A>& a, const vector_operations<B>& b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(), compare_elements{});
}

template <class Storage, class Predicate>
constexpr std::size_t erase_matching(vector_operations<Storage>& vector, Predicate matches) {
  const auto first = std::remove_if(vector.begin(), vector.end(), std::move(matches));
  const auto count = static_cast<std::size_t>(vector.end() - first);
  vector.erase(first, vector.end());
  return count;
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
