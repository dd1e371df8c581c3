// SPDX-License-Identifier: MIT
// length: one class; a value's constructors, assignments and swap
//
// Adds constructors, assignment and swap to a storage with its operations, by the
// allocator's propagation rules.
#ifndef HEAPWRIGHT_DETAIL_VECTOR_INTERFACE_HPP
#define HEAPWRIGHT_DETAIL_VECTOR_INTERFACE_HPP

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/vector_operations.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

template <class Storage>
class vector_interface;

template <class A, class B>
concept holds_the_same =
    !std::is_same_v<A, B> && std::is_same_v<typename A::value_type, typename B::value_type> &&
    std::is_same_v<typename A::allocator_type, typename B::allocator_type>;

// A vector of the same element type with another storage.
template <class Storage, class Other>
requires holds_the_same<Storage, Other>
void takes_across(const vector_interface<Other>&);
template <class Vector, class Storage>
concept other_vector = requires(const Vector& vector) {
  takes_across<Storage>(vector);
};

template <class Storage>
class vector_interface : public vector_operations<Storage> {
  using operations = vector_operations<Storage>;
  using typename operations::traits;
  template <class>
  friend class vector_interface;

 public:
  using typename operations::allocator_type;
  using typename operations::size_type;
  using typename operations::value_type;

  // Constructors delegate to the one for an empty vector, so that the destructor
  // cleans up when an element's constructor throws.
  constexpr vector_interface() noexcept(std::is_nothrow_default_constructible_v<allocator_type>)
      : operations(allocator_type()) {}
  constexpr explicit vector_interface(const allocator_type& alloc) noexcept : operations(alloc) {}
  constexpr explicit vector_interface(size_type count, const allocator_type& alloc = allocator_type())
      : vector_interface(alloc) {
    this->construct_first(count, default_source{});
  }
  constexpr vector_interface(size_type count, const value_type& value,
                             const allocator_type& alloc = allocator_type())
      : vector_interface(alloc) {
    this->construct_first(count, copies_source<value_type>{value});
  }
  template <vector_input It>
  constexpr vector_interface(It first, It last, const allocator_type& alloc = allocator_type())
      : vector_interface(alloc) {
    if constexpr (std::forward_iterator<It>) {
      this->construct_first(static_cast<size_type>(std::distance(first, last)), iterator_source<It>{first});
    } else {
      for (; first != last; ++first) this->emplace_back(*first);
    }
  }
  constexpr vector_interface(std::initializer_list<value_type> values,
                             const allocator_type& alloc = allocator_type())
      : vector_interface(values.begin(), values.end(), alloc) {}
  template <vector_range<value_type> Range>
  constexpr vector_interface(from_range_t, Range&& range, const allocator_type& alloc = allocator_type())
      : vector_interface(alloc) {
    this->append_range(std::forward<Range>(range));
  }
  // From a vector of another N or layout.
  template <class Other>
  requires holds_the_same<Storage, Other>
  constexpr vector_interface(const vector_interface<Other>& other)  // NOLINT: converts, as between equal N
      : vector_interface(other.begin(), other.end(),
                         traits::select_on_container_copy_construction(other.get_allocator())) {}
  template <class Other>
  requires holds_the_same<Storage, Other>
  constexpr vector_interface(vector_interface<Other>&& other)  // NOLINT: converts
      : vector_interface(other.get_allocator()) {
    take_across(other);
  }

  constexpr vector_interface(const vector_interface& other)
      : vector_interface(other, traits::select_on_container_copy_construction(other.allocator_())) {}
  constexpr vector_interface(const vector_interface& other, const std::type_identity_t<allocator_type>& alloc)
      : vector_interface(other.begin(), other.end(), alloc) {}
  constexpr vector_interface(vector_interface&& other) noexcept(moves_without_throwing())
      : vector_interface(std::as_const(other).allocator_()) {
    move_contents_from(other);
  }
  constexpr vector_interface(vector_interface&& other, const std::type_identity_t<allocator_type>& alloc)
      : vector_interface(alloc) {
    move_elements(other);
  }

  constexpr ~vector_interface() {  // release(), but leaves the members as they are
    destroy_range(this->allocator_(), this->data(), this->data() + this->size());
    if (this->is_on_heap()) this->deallocate_(this->data(), this->capacity());
  }

  // Reuses the buffer and the elements' memory, as std::vector does.
  constexpr vector_interface& operator=(const vector_interface& other) {
    if (this != std::addressof(other)) copy_from(other);
    return *this;
  }

  // Always frees this vector's buffer. The source is empty and has no buffer
  // afterwards.
  constexpr vector_interface& operator=(vector_interface&& other) noexcept(
      (traits::propagate_on_container_move_assignment::value || traits::is_always_equal::value) &&
      moves_without_throwing()) {
    if (this != std::addressof(other)) move_from(other);
    return *this;
  }

  // Frees the buffer if the values fit inline: so `v = {}` frees it.
  constexpr vector_interface& operator=(std::initializer_list<value_type> values) {
    if (values.size() <= this->inline_capacity()) this->release();
    this->assign(values);
    return *this;
  }

  template <class Other>
  requires holds_the_same<Storage, Other>
  constexpr vector_interface& operator=(const vector_interface<Other>& other) {
    copy_from(other);
    return *this;
  }
  template <class Other>
  requires holds_the_same<Storage, Other>
  constexpr vector_interface& operator=(vector_interface<Other>&& other) {
    move_from(other);
    return *this;
  }

  // Requires equal allocators unless they propagate. Never allocates: buffers are
  // exchanged, inline elements are moved.
  constexpr void swap(vector_interface& other) noexcept(moves_without_throwing()) {
    if (this == std::addressof(other)) return;
    if constexpr (traits::propagate_on_container_swap::value) {
      swapped_allocators allocators(*this, other);
      swap_contents(other);
      allocators.keep();
    } else {
      HEAPWRIGHT_CHECK(this->allocator_() == other.allocator_(), "small_vector",
                       "swap() needs equal allocators");
      swap_contents(other);
    }
  }

 protected:
  using operations::operations;

 private:
  // Functions, because T may be incomplete in the class. Without inline elements the
  // bytes are a handle, whatever T is.
  static constexpr bool moves_without_throwing() noexcept {
    if constexpr (Storage::inline_capacity_or_zero == 0) {
      return true;
    } else {
      return is_nothrow_relocatable<allocator_type, value_type>;
    }
  }
  static constexpr bool moves_as_bytes() noexcept {
    if constexpr (Storage::inline_capacity_or_zero == 0) {
      return true;
    } else {
      return relocates_bytes<allocator_type, value_type> && Storage::moves_whole_();
    }
  }

  template <class Other>
  constexpr void copy_from(const vector_interface<Other>& other) {
    if constexpr (traits::propagate_on_container_copy_assignment::value) {
      if (this->allocator_() != other.allocator_()) this->release();
      this->allocator_() = other.allocator_();
    }
    this->assign_counted(other.size(), other.begin());
  }

  // The elements of this vector may own the source, as a tree's nodes do: take it
  // before destroying them.
  template <class Other>
  constexpr void move_from(vector_interface<Other>& other) {
    if constexpr (!std::is_trivially_destructible_v<value_type>) {
      if (!this->empty()) {
        vector_interface taken(allocator_for(other));
        taken.take(other);
        return become(taken);
      }
    }
    become(other);
  }
  template <class Other>
  constexpr void become(vector_interface<Other>& other) {
    this->release();
    if constexpr (traits::propagate_on_container_move_assignment::value) {
      this->allocator_() = allocator_for(other);
    }
    take(other);
  }
  // This vector's allocator after a move from `other`.
  template <class Other>
  constexpr allocator_type allocator_for(const vector_interface<Other>& other) const noexcept {
    return traits::propagate_on_container_move_assignment::value ? other.allocator_() : this->allocator_();
  }
  // Requires an empty vector without a buffer.
  template <class Other>
  constexpr void take(vector_interface<Other>& other) {
    if constexpr (std::is_same_v<Storage, Other>) {
      move_elements(other);
    } else {
      take_across(other);
    }
  }

  // Requires an empty vector without a buffer.
  constexpr void move_contents_from(vector_interface& other) {
    take_elements(other);
    if constexpr (requires { this->take_peak_(other); }) this->take_peak_(other);
  }
  constexpr void take_elements(vector_interface& other) {
    if constexpr (moves_as_bytes()) {
      if (!std::is_constant_evaluated()) return this->take_bytes_(other);
    }
    if (other.is_on_heap()) {
      typename operations::detached_buffer buffer(other);
      other.set_size_(0);
      buffer.give_to(*this);
    } else {
      const size_type count = other.size();
      relocate<true>(this->allocator_(), other.data(), other.data() + count, this->data());
      this->set_size_(count);
      other.set_size_(0);
    }
  }

  // As move_contents_from, but element by element if the allocators differ.
  constexpr void move_elements(vector_interface& other) {
    if constexpr (!traits::is_always_equal::value) {
      if (this->allocator_() != std::as_const(other).allocator_()) {
        append_moved(other);
        return;
      }
    }
    move_contents_from(other);
  }

  template <class Other>
  constexpr void append_moved(vector_interface<Other>& other) {
    this->append_counted(other.size(), iterator_source{std::make_move_iterator(other.begin())});
    other.release();
  }
  // Requires an empty vector without a buffer. Takes over a heap buffer if the layout
  // is the same and its capacity exceeds this vector's inline capacity.
  template <class Other>
  constexpr void take_across(vector_interface<Other>& other) {
    if constexpr (std::is_same_v<typename Storage::buffer_layout_, typename Other::buffer_layout_>) {
      if (other.is_on_heap() && other.capacity() > this->inline_capacity() &&
          this->allocator_() == std::as_const(other).allocator_()) {
        const auto buffer = other.data();
        const size_type capacity = other.capacity();
        const size_type count = other.size();
        other.use_inline_();
        this->use_heap_(buffer, capacity);
        this->set_size_(count);
        return;
      }
    }
    append_moved(other);
  }

  // Swaps back unless kept: if buffers are not exchanged, each keeps the allocator
  // that made it.
  struct swapped_allocators {
    vector_interface& a;
    vector_interface& b;
    bool is_kept = false;
    constexpr swapped_allocators(vector_interface& x, vector_interface& y) noexcept : a(x), b(y) { swap(); }
    swapped_allocators(const swapped_allocators&) = delete;
    swapped_allocators& operator=(const swapped_allocators&) = delete;
    constexpr ~swapped_allocators() {
      if (!is_kept) swap();
    }
    constexpr void swap() noexcept { std::ranges::swap(a.allocator_(), b.allocator_()); }
    constexpr void keep() noexcept { is_kept = true; }
  };
  constexpr void swap_contents(vector_interface& other) {
    if constexpr (moves_as_bytes()) {
      if (!std::is_constant_evaluated()) return this->swap_bytes_(other);
    }
    if (!this->is_on_heap() && !other.is_on_heap()) return swap_inline(other);
    if (!this->is_on_heap()) return other.swap_buffer(*this);
    swap_buffer(other);
  }
  // Requires this vector on the heap; `other` may be inline.
  constexpr void swap_buffer(vector_interface& other) {
    typename operations::detached_buffer mine(*this);
    this->set_size_(0);
    if (other.is_on_heap()) {
      typename operations::detached_buffer theirs(other);
      theirs.give_to(*this);
    } else {
      relocate<true>(this->allocator_(), other.data(), other.data() + other.size(), this->data());
      this->set_size_(other.size());
    }
    mine.give_to(other);
  }

  constexpr void swap_inline(vector_interface& other) {
    if constexpr (!std::is_swappable_v<value_type>) {  // as std::vector's swap, which asks elements for
                                                       // nothing
      vector_interface spare(std::move(other));
      other.move_contents_from(*this);
      return move_contents_from(spare);
    } else {
      swap_elements(other);
    }
  }
  constexpr void swap_elements(vector_interface& other) {
    vector_interface& few = this->size() < other.size() ? *this : other;
    vector_interface& many = this->size() < other.size() ? other : *this;
    const size_type common = few.size();
    const size_type rest = many.size() - common;
    std::swap_ranges(few.data(), few.data() + common, many.data());
    relocate<true>(this->allocator_(), many.data() + common, many.data() + common + rest,
                   few.data() + common);
    few.set_size_(common + rest);
    many.set_size_(common);
  }
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif
