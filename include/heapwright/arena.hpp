// SPDX-License-Identifier: MIT
// length: one class; its pieces share the same state
//
// Objects that are freed together. Documentation: docs/parts/arena.md
//
//   blocks:  [caller's buffer] -> block -> current -> spare -> spare
//                                           ^ cursor_ ... limit_
//
// Blocks before the current one are full, blocks after it are retained from
// earlier use. A request above 16 KiB, a quarter of blocks of moderate size, gets a
// dedicated block, so that it does not waste the rest of a shared one. Not thread-safe.
#ifndef HEAPWRIGHT_ARENA_HPP
#define HEAPWRIGHT_ARENA_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "heapwright/detail/arena_blocks.hpp"
#include "heapwright/detail/arena_checks.hpp"
#include "heapwright/detail/arena_usage.hpp"
#include "heapwright/detail/check.hpp"
#include "heapwright/detail/decayed_histogram.hpp"
#include "heapwright/detail/pool_annotation.hpp"
#include "heapwright/detail/thread_owned.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

struct arena_options {
  std::size_t first_block_bytes = 4096;           // both below 4 GiB
  std::size_t largest_block_bytes = 16 << 20;     // glibc maps and unmaps blocks of 32 MiB each time
  std::pmr::memory_resource* upstream = nullptr;  // null: std::pmr::new_delete_resource()
  const char* name = "arena";                     // for a recorder (annotate.h); must stay valid
};

class arena : public std::pmr::memory_resource {
 public:
  // A position to rewind to. Valid until the arena is rewound below it or reset.
  class marker {
    friend class arena;
    detail::arena_block* block = nullptr;
    std::byte* cursor = nullptr;
    detail::destructor_note* notes = nullptr;
    void* notes_end = nullptr;  // of the newest note, which later objects may extend
    detail::arena_block* large = nullptr;
    std::size_t position = 0;
    std::size_t requested = 0;
    std::uint32_t generation = 0;
    [[no_unique_address]] detail::arena_annotation::position said{};
    [[no_unique_address]] detail::rewind_check::stamp stamp{};
  };

  arena() noexcept : arena(arena_options{}) {}
  explicit arena(const arena_options& options) noexcept
      : upstream_(options.upstream != nullptr ? options.upstream : std::pmr::new_delete_resource()),
        annotation_(this, options.name) {
    HEAPWRIGHT_CHECK(options.first_block_bytes != 0 && options.largest_block_bytes != 0, "arena",
                     "a block size must not be zero");
    first_block_bytes_ = block_size(std::max(options.first_block_bytes, least_block_bytes));
    largest_block_bytes_ = std::max(block_size(options.largest_block_bytes), first_block_bytes_);
  }
  // Uses `buffer` first; it must outlive the arena and is never freed.
  explicit arena(std::span<std::byte> buffer, const arena_options& options = {}) noexcept : arena(options) {
    buffer_ = buffer;
    begin_first();
    detail::poison(buffer.data(), buffer.size());
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() override {
    destroy_down_to(nullptr, nullptr);
    detail::unpoison(buffer_.data(), buffer_.size());
    if (large_ != nullptr) {
      while (large_->in_use != nullptr) retire_large();
      drop_large_state();
    }
    free_all(first_);
  }

  // Uninitialized memory, valid until reset() or a rewind below it. Constant time
  // except for upstream. Throws what upstream throws, and std::bad_alloc above 14 TiB.
  void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    const std::size_t front = detail::arena_annotation::front_bytes(alignment);
    void* memory = take(bytes > most_bytes ? bytes : bytes + front, alignment);
    requested_ -= front;
    return annotation_.took(memory, front, bytes);
  }

  // The object is destroyed by reset(), by a rewind below it or with the arena, in
  // reverse order of creation. Trivially destructible types need no note, and
  // objects of one type created in a row share one.
  template <class T, class... Args>
  T* create(Args&&... args) {
    return make<T>([&](void* at) { return detail::construct_in<T>(at, std::forward<Args>(args)...); });
  }
  // As `new T`: what T's constructors do not write stays uninitialized.
  template <class T>
  T* create_for_overwrite() {
    return make<T>([](void* at) { return ::new (at) T; });
  }
  // `count` value-initialized objects. Throws std::length_error if they exceed the address space.
  template <class T>
  std::span<T> create_array(std::size_t count) {
    return make_array<T>(count,
                         [](T* first, std::size_t n) { std::uninitialized_value_construct_n(first, n); });
  }
  // As `new T[count]`.
  template <class T>
  std::span<T> create_array_for_overwrite(std::size_t count) {
    return make_array<T>(count,
                         [](T* first, std::size_t n) { std::uninitialized_default_construct_n(first, n); });
  }

  marker mark() const noexcept {
    marker here;
    here.block = current_;
    here.cursor = cursor_;
    here.notes = notes_;
    here.notes_end = notes_ != nullptr ? notes_->end : nullptr;
    here.large = large_ != nullptr ? large_->in_use : nullptr;
    here.position = position();
    here.requested = requested_;
    here.generation = generation_;
    here.said = annotation_.now();
    here.stamp = rewind_check_.now();
    return here;
  }

  // Destroys the objects created since `to` and reclaims their memory.
  void rewind(const marker& to) noexcept {
    HEAPWRIGHT_CHECK(rewind_check_.is_own(to.stamp), "arena", "rewind() needs a marker of this arena");
    HEAPWRIGHT_CHECK(to.generation == generation_, "arena",
                     "rewind() needs a marker taken since the last reset()");
    HEAPWRIGHT_CHECK(to.position <= position() && to.requested <= requested_ &&
                         !rewind_check_.is_above(to.stamp, to.requested),
                     "arena", "rewind() needs a marker that was not rewound below");
    rewind_check_.rewound(to.requested);
    wanted_ = std::max(wanted_, used());
    destroy_down_to(to.notes, to.notes_end);
    annotation_.gave_since(to.said);
    while (large_ != nullptr && large_->in_use != to.large) retire_large();
    current_ = to.block;
    cursor_ = to.cursor;
    limit_ = current_ != nullptr ? current_->end() : buffer_.data() + buffer_.size();
    requested_ = to.requested;
    if (cursor_ == nullptr) begin_first();
    poison_free();
  }

  // Destroys all objects and reclaims all memory. Keeps what the largest recent
  // cycle needed; the memory of a spike is freed some resets later.
  void reset() noexcept {
    wanted_ = std::max(wanted_ - wanted_ / 16 * 3, used());
    destroy_down_to(nullptr, nullptr);
    annotation_.gave_since({});
    while (large_ != nullptr && large_->in_use != nullptr) retire_large();
    ++generation_;
    requested_ = 0;
    if (retained_ > 2 * wanted_ && retained_ > first_block_bytes_) [[unlikely]] {
      trim();
    }
    begin_first();
    poison_free();
  }

  // Frees all unused blocks except the current one.
  void shrink() noexcept {
    if (large_ != nullptr) drop_spare_large(0);
    free_all(current_ != nullptr ? current_->next : first_);
  }

  // Whether `address` lies in this arena's memory. Linear in the number of blocks.
  bool owns(const void* address) const noexcept {
    const auto* at = static_cast<const std::byte*>(address);
    if (!buffer_.empty() && at >= buffer_.data() && at < buffer_.data() + buffer_.size()) return true;
    return detail::lies_in(first_, at) || (large_ != nullptr && detail::lies_in(large_->in_use, at));
  }

  arena_usage usage() const noexcept {
    arena_usage result{};
    for (auto* note = notes_; note != nullptr; note = note->next) result.registry_bytes += sizeof(*note);
    result.requested_bytes = requested_ - result.registry_bytes;
    result.tail_bytes = current_ != nullptr ? current_->tail_before : 0;
    result.large_bytes = large_bytes();
    result.used_bytes = used();
    result.padding_bytes = result.used_bytes - requested_ - result.tail_bytes;
    result.retained_bytes = retained_;
    result.upstream_allocations = upstream_allocations_;
    return result;
  }
  // usage() as one line for logs.
  std::string report() const { return detail::arena_report(usage()); }

  // From now on a created object that allocates outside the arena in its
  // constructor, or frees such memory in its destructor, ends the program with its
  // type's name. Returns false in programs that do not implement heap_budget.hpp.
  bool forbid_foreign_memory() noexcept { return watch_.start(); }

  // Counts resets; see arena_pointer.
  std::uint32_t generation() const noexcept { return generation_; }

 private:
  template <class T>
  static constexpr bool leaves_note = !std::is_trivially_destructible_v<T>;
  static constexpr std::size_t least_block_bytes = 64;
  static constexpr std::size_t most_bytes = static_cast<std::size_t>(PTRDIFF_MAX) - 4096;
  static constexpr std::size_t red_zone_bytes = HEAPWRIGHT_ASAN ? 16 : 0;

  void* do_allocate(std::size_t bytes, std::size_t alignment) override { return allocate(bytes, alignment); }
  void do_deallocate(void* first, std::size_t bytes, std::size_t) noexcept override {
    detail::poison(first, bytes);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  void* take(std::size_t bytes, std::size_t alignment) {
    HEAPWRIGHT_CHECK((alignment & (alignment - 1)) == 0 && alignment != 0, "arena",
                     "the alignment must be a power of two");
    bytes += bytes == 0;
    const auto at = (reinterpret_cast<std::uintptr_t>(cursor_) + alignment - 1) & ~(alignment - 1);
    const auto limit = reinterpret_cast<std::uintptr_t>(limit_);
    if (at > limit || limit - at < bytes + red_zone_bytes || bytes > most_bytes) [[unlikely]] {
      return allocate_slow(bytes, alignment);
    }
    auto* found = cursor_ + (at - reinterpret_cast<std::uintptr_t>(cursor_));
    cursor_ = found + bytes + red_zone_bytes;
    requested_ += bytes;
    detail::unpoison(found, bytes);
    return found;
  }

  std::byte* current_begin() const noexcept {
    return current_ != nullptr ? current_->begin() : buffer_.data();
  }
  // The cursor's offset over all blocks except the large ones.
  std::size_t position() const noexcept {
    const std::size_t before = current_ != nullptr ? current_->spent_before : 0;
    return before + static_cast<std::size_t>(cursor_ - current_begin());
  }
  std::size_t large_bytes() const noexcept { return large_ != nullptr ? large_->in_use_bytes : 0; }
  std::size_t used() const noexcept { return position() + large_bytes(); }
  static std::uint32_t block_size(std::size_t bytes) noexcept {
    return static_cast<std::uint32_t>(std::min<std::size_t>(bytes, UINT32_MAX));
  }

  void begin_first() noexcept {
    current_ = buffer_.empty() ? first_ : nullptr;
    if (current_ != nullptr) current_->spent_before = current_->tail_before = 0;
    cursor_ = current_begin();
    limit_ = current_ != nullptr ? current_->end() : buffer_.data() + buffer_.size();
  }

  [[gnu::noinline]] void* allocate_slow(std::size_t bytes, std::size_t alignment) {
    constexpr std::size_t most =
        detail::large_blocks::most_bytes - sizeof(detail::arena_block) - red_zone_bytes;
    if (bytes > most || alignment > most - bytes) detail::throw_bad_alloc();
    const std::size_t wanted = bytes + alignment + red_zone_bytes;
    if (wanted > most_shared_bytes()) return allocate_large(bytes, alignment, wanted);
    do next_block(wanted);
    while (static_cast<std::size_t>(limit_ - cursor_) < wanted);
    return take(bytes, alignment);
  }

  // Larger requests get a dedicated block.
  std::size_t most_shared_bytes() const noexcept {
    return std::clamp<std::size_t>(detail::small_block_bytes, first_block_bytes_, largest_block_bytes_) / 4;
  }
  std::size_t new_block_bytes() const noexcept {
    const std::size_t grown =
        detail::grown_block_bytes(current_ != nullptr ? current_->bytes : 0, retained_, wanted_);
    return std::min<std::size_t>(std::max<std::size_t>(grown, first_block_bytes_), largest_block_bytes_);
  }

  // Advances to the next block, retained or new.
  void next_block(std::size_t wanted) {
    detail::arena_block* next = current_ != nullptr ? current_->next : first_;
    if (next == nullptr) {
      next = new_block(std::max(new_block_bytes(), wanted + sizeof(detail::arena_block)));
      (current_ != nullptr ? current_->next : first_) = next;
      detail::poison(next->begin(), next->bytes - sizeof(detail::arena_block));
    }
    next->spent_before = position() + static_cast<std::size_t>(limit_ - cursor_);
    next->tail_before =
        (current_ != nullptr ? current_->tail_before : 0) + static_cast<std::size_t>(limit_ - cursor_);
    current_ = next;
    cursor_ = next->begin();
    limit_ = next->end();
  }
  void* allocate_large(std::size_t bytes, std::size_t alignment, std::size_t wanted) {
    if (large_ == nullptr) make_large_state();
    const std::size_t size_class = detail::large_blocks::class_for(wanted + sizeof(detail::arena_block));
    detail::arena_block* block = large_->take_spare(size_class);
    if (block == nullptr) block = new_block(detail::size_class_lower(size_class));
    block->next = large_->in_use;
    large_->in_use = block;
    large_->in_use_bytes += block->bytes;
    requested_ += bytes;
    const auto begin = reinterpret_cast<std::uintptr_t>(block->begin());
    const std::size_t skipped = ((begin + alignment - 1) & ~(alignment - 1)) - begin;
    detail::poison(block->begin(), block->bytes - sizeof(detail::arena_block));
    detail::unpoison(block->begin() + skipped, bytes);
    return block->begin() + skipped;
  }
  void retire_large() noexcept {
    detail::arena_block* block = std::exchange(large_->in_use, large_->in_use->next);
    large_->in_use_bytes -= block->bytes;
    detail::poison(block->begin(), block->bytes - sizeof(detail::arena_block));
    large_->add_spare(block);
  }
  void make_large_state() {
    void* memory = ask_upstream(sizeof(detail::large_blocks), alignof(detail::large_blocks));
    large_ = ::new (memory) detail::large_blocks;
  }
  void drop_large_state() noexcept {
    drop_spare_large(0);
    retained_ -= sizeof(detail::large_blocks);
    upstream_->deallocate(std::exchange(large_, nullptr), sizeof(detail::large_blocks),
                          alignof(detail::large_blocks));
  }
  // Frees spare blocks, largest first, until freeing one more would retain less
  // than `kept_bytes` and that block is not far larger than `kept_bytes`.
  void drop_spare_large(std::size_t kept_bytes) noexcept {
    while (detail::arena_block* block = large_->take_largest_spare()) {
      const bool is_needed = retained_ - block->bytes < kept_bytes && block->bytes <= 4 * kept_bytes;
      if (is_needed) return large_->add_spare(block);
      free_block(block);
    }
  }

  detail::arena_block* new_block(std::size_t bytes) {
    return ::new (ask_upstream(bytes, alignof(std::max_align_t))) detail::arena_block{nullptr, bytes};
  }
  void* ask_upstream(std::size_t bytes, std::size_t alignment) {
    const std::uint64_t before = watch_.calls();
    void* memory = upstream_->allocate(bytes, alignment);
    watch_.were_own(before);
    ++upstream_allocations_;
    retained_ += bytes;
    return memory;
  }
  void free_block(detail::arena_block* block) noexcept {
    detail::unpoison(block->begin(), block->bytes - sizeof(detail::arena_block));
    retained_ -= block->bytes;
    upstream_->deallocate(block, block->bytes, alignof(std::max_align_t));
  }
  void free_all(detail::arena_block*& list) noexcept {
    while (list != nullptr) free_block(std::exchange(list, list->next));
  }

  // After a reset: frees large blocks, then blocks from the end, as long as the
  // wanted bytes stay.
  [[gnu::noinline]] void trim() noexcept {
    if (large_ != nullptr) drop_spare_large(std::max<std::size_t>(wanted_, first_block_bytes_));
    free_all(*detail::first_not_wanted(&first_, retained_, wanted_, first_block_bytes_));
  }
  void poison_free() noexcept {
    detail::poison(cursor_, static_cast<std::size_t>(limit_ - cursor_));
    for (auto* block = current_ != nullptr ? current_->next : first_; HEAPWRIGHT_ASAN && block != nullptr;
         block = block->next) {
      detail::poison(block->begin(), block->bytes - sizeof(detail::arena_block));
    }
  }

  template <class T, class Construct>
  T* make(const Construct& construct) {
    if constexpr (leaves_note<T>) {
      if (continues_run<T>()) return make_in_run<T>(construct);
    }
    detail::destructor_note* note = new_note<T>();
    T* object = watched<T>(construct, allocate(sizeof(T), alignof(T)));
    if constexpr (leaves_note<T>) register_note<T>(note, object, 1);
    return object;
  }
  template <class T, class Construct>
  std::span<T> make_array(std::size_t count, const Construct& construct) {
    if (count > most_bytes / sizeof(T)) detail::throw_length_error("heapwright::arena::create_array");
    detail::destructor_note* note = new_note<T>();
    T* first = static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
    const std::uint64_t before = watch_.calls();
    construct(first, count);
    watch_.check(before, detail::name_of_type<T>());
    if constexpr (leaves_note<T>) register_note<T>(note, first, count);
    return {first, count};
  }
  template <class T, class Construct>
  T* watched(const Construct& construct, void* at) {
    if (!watch_.is_on()) [[likely]] {
      return construct(at);
    }
    const std::uint64_t before = watch_.calls();
    T* object = construct(at);
    watch_.check(before, detail::name_of_type<T>());
    return object;
  }

  // Whether a T at the cursor follows the newest note's objects, of its type. Never with bytes in between.
  template <class T>
  bool continues_run() const noexcept {
    if constexpr (detail::arena_annotation::front_bytes(alignof(T)) + red_zone_bytes != 0) return false;
    return notes_ != nullptr && notes_->end == cursor_ && notes_->kind == &detail::destructor_kind_of<T> &&
           static_cast<std::size_t>(limit_ - cursor_) >= sizeof(T);
  }
  template <class T, class Construct>
  T* make_in_run(const Construct& construct) {
    detail::destructor_note* run = notes_;
    void* const at = cursor_;
    cursor_ += sizeof(T);
    requested_ += sizeof(T);
    T* object = watched<T>(construct, at);
    if (notes_ != run || run->end != at) [[unlikely]] {
      note_late(object);
    } else {
      run->end = object + 1;
    }
    return object;
  }
  // Its constructor has created objects here, which are destroyed after it.
  template <class T>
  [[gnu::noinline]] void note_late(T* object) {
    struct guard {
      T* object;
      ~guard() {
        if (object != nullptr) std::destroy_at(object);
      }
    } unless_noted{object};
    register_note<T>(new_note<T>(), object, 1);
    unless_noted.object = nullptr;
  }

  // Null for trivially destructible types.
  template <class T>
  detail::destructor_note* new_note() {
    if constexpr (!leaves_note<T>) return nullptr;
    void* memory = take(sizeof(detail::destructor_note), alignof(detail::destructor_note));
    return static_cast<detail::destructor_note*>(memory);
  }
  template <class T>
  void register_note(detail::destructor_note* note, T* first, std::size_t count) noexcept {
    notes_ =
        ::new (note) detail::destructor_note{notes_, &detail::destructor_kind_of<T>, first, first + count};
  }
  void destroy_down_to(detail::destructor_note* stop, void* end) noexcept {
    while (notes_ != stop) {
      const detail::destructor_note note = *std::exchange(notes_, notes_->next);
      destroy(note, note.first);
    }
    if (stop == nullptr || stop->end == end) return;
    const detail::destructor_note note = *stop;
    stop->end = end;
    destroy(note, end);
    destroy_down_to(stop, end);  // what destructors have created
  }
  void destroy(const detail::destructor_note& note, void* first) noexcept {
    const std::uint64_t before = watch_.calls();
    note.kind->destroy(first, note.end);
    watch_.check(before, note.kind->function_name);
  }

  std::byte* cursor_ = nullptr;
  std::byte* limit_ = nullptr;
  std::size_t requested_ = 0;  // with the notes for destructors
  detail::destructor_note* notes_ = nullptr;
  detail::arena_block* current_ = nullptr;
  detail::arena_block* first_ = nullptr;
  detail::large_blocks* large_ = nullptr;  // made at the first large request
  std::size_t retained_ = 0;
  std::size_t wanted_ = 0;  // maximum of recent cycles; decays by 3/16 per reset
  std::pmr::memory_resource* upstream_;
  std::span<std::byte> buffer_;
  std::uint32_t first_block_bytes_ = 0;
  std::uint32_t largest_block_bytes_ = 0;
  std::uint32_t generation_ = 0;
  std::uint32_t upstream_allocations_ = 0;
  detail::foreign_memory_watch watch_;
  [[no_unique_address]] detail::rewind_check rewind_check_;
  [[no_unique_address]] detail::arena_annotation annotation_;
};

// std::allocator's interface over an arena, without a virtual call.
template <class T>
class arena_allocator {
 public:
  using value_type = T;
  arena_allocator(arena& memory) noexcept : arena_(&memory) {}  // NOLINT: converts
  template <class U>
  arena_allocator(const arena_allocator<U>& other) noexcept : arena_(other.resource()) {}  // NOLINT
  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) detail::throw_bad_alloc();
    return static_cast<T*>(arena_->allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* first, std::size_t count) noexcept { detail::poison(first, count * sizeof(T)); }
  arena* resource() const noexcept { return arena_; }
  template <class U>
  bool operator==(const arena_allocator<U>& other) const noexcept {
    return arena_ == other.resource();
  }

 private:
  arena* arena_;
};

// A pointer to an object in an arena. In checked builds, use after a reset of the
// arena ends the program.
template <class T>
class arena_pointer {
 public:
  arena_pointer(const arena& memory, T* object) noexcept
      : object_(object), arena_(&memory), generation_(memory.generation()) {}
  T* get() const noexcept {
    HEAPWRIGHT_CHECK(arena_->generation() == generation_, "arena",
                     "an object is used after its arena was reset");
    return object_;
  }
  T& operator*() const noexcept { return *get(); }
  T* operator->() const noexcept { return get(); }

 private:
  T* object_;
  const arena* arena_;
  std::uint32_t generation_;
};

// One of the calling thread's two arenas, for a scope. Scopes nest; each reclaims
// what was allocated within it. A function that allocates its result in its
// caller's arena passes that arena: `scratch s(result)` uses the other one, so the
// end of the scope does not reclaim the result.
class scratch {
 public:
  scratch() noexcept : scratch(of_thread().arenas[0]) {}
  explicit scratch(const arena& conflict) noexcept
      : scratch(of_thread().arenas[&conflict == &of_thread().arenas[0].memory ? 1 : 0]) {}
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    HEAPWRIGHT_CHECK(own_.depth == depth_, "arena", "scratch scopes must end in reverse order");
    --own_.depth;
    depth_ == 1 ? own_.memory.reset() : own_.memory.rewind(start_);
  }
  arena* operator->() const noexcept { return &own_.memory; }
  arena& operator*() const noexcept { return own_.memory; }

 private:
  struct counted_arena {
    arena memory{arena_options{.name = "scratch"}};
    unsigned depth = 0;
  };
  struct thread_state {
    counted_arena arenas[2];
  };
  static thread_state& of_thread() noexcept { return detail::thread_owned<thread_state>::always(); }
  explicit scratch(counted_arena& own) noexcept : own_(own), start_(own.memory.mark()), depth_(++own.depth) {}

  counted_arena& own_;
  arena::marker start_;
  unsigned depth_;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
