// SPDX-License-Identifier: MIT
// Reuses objects that own containers, without keeping the capacity of the
// largest use forever. Documentation: docs/parts/object_pool.md
//
// When an object is released, the pool records how much of each container was
// used, clears it, and trims it when it retains much more than a percentile of
// recent uses. Each release also checks one idle object, so that idle objects
// shrink after a spike, too.
#ifndef HEAPWRIGHT_OBJECT_POOL_HPP
#define HEAPWRIGHT_OBJECT_POOL_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/pool_annotation.hpp"
#include "heapwright/detail/pool_learner.hpp"
#include "heapwright/detail/type_name.hpp"

namespace heapwright::inline HEAPWRIGHT_ABI {

// Not thread-safe; shared_object_pool is. New objects come from Factory, a
// callable that returns T: `object_pool<T, decltype(f)> p(options, f)`.
template <class T, class Factory = detail::default_factory<T>>
class object_pool {
  using node = detail::pool_node<T>;
  using learner = detail::pool_learner<T>;

 public:
  struct returner {
    object_pool* pool;
    void operator()(T* object) const noexcept { pool->release(object); }
  };
  using handle = std::unique_ptr<T, returner>;

  explicit object_pool(const pool_options& options, Factory factory = Factory())
      : options_(options),
        factory_(std::move(factory)),
        learner_(options),
        annotation_(this, options.name != nullptr ? options.name : detail::type_name<T>::value) {
    detail::check_options(options);
    idle_.reserve(options.max_idle);
  }
  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;
  // Requires that every object has been released.
  ~object_pool() {
    HEAPWRIGHT_CHECK(outstanding_ == 0, "object_pool", "destroyed before all its objects came back");
    shrink_to(0);
  }

  // An idle or new object with empty containers; the handle releases it. Throws
  // what Factory and new throw.
  handle acquire() { return handle(take(), returner{this}); }

  // As acquire(), for callers that call release() themselves.
  T* take() {
    node* taken = nullptr;
    if (idle_.empty()) {
      taken = new node(this, factory_);
      ++created_;
    } else {
      taken = idle_.back();
      idle_.pop_back();
      taken->is_idle = false;
    }
    ++acquired_;
    ++outstanding_;
    annotation_.took(std::addressof(taken->object), sizeof(T));
    return std::addressof(taken->object);
  }

  // O(1). Never throws: an object that cannot be trimmed is destroyed.
  void release(T* object) noexcept {
    node* back = node::of(object);
    HEAPWRIGHT_CHECK(back->pool == this, "object_pool", "release() of an object of another pool");
    HEAPWRIGHT_CHECK(!back->is_idle, "object_pool", "release() of an object that is already back");
    learner_.record_and_clear(back->object);  // may release others
    annotation_.gave(object);
    --outstanding_;
    if (idle_.size() == options_.max_idle) {
      ++dropped_;
      delete back;
      return;
    }
    back->is_idle = true;
    idle_.push_back(back);
    trim_idle(idle_.size() - 1);
    if (!idle_.empty()) trim_idle(next_swept_++ % idle_.size());
  }

  // Trims every idle object now.
  void trim() noexcept {
    learner_.learn_limits();
    for (std::size_t i = idle_.size(); i-- > 0;) {
      if (i < idle_.size()) trim_idle(i);
    }
  }

  // Destroys idle objects until at most `count` are left.
  void shrink_to(std::size_t count) noexcept {
    while (idle_.size() > count) {
      node* last = idle_.back();
      idle_.pop_back();
      delete last;
    }
  }

  // Linear in the idle objects.
  pool_statistics statistics() const noexcept {
    pool_statistics result{};
    result.idle_objects = idle_.size();
    result.outstanding_objects = outstanding_;
    for (const node* idle : idle_) {
      result.live_bytes += learner::used(idle->object);
      result.retained_bytes += learner::retained(idle->object);
    }
    result.limit_bytes = learner_.limit_bytes();
    result.acquired = acquired_;
    result.created = created_;
    result.dropped = dropped_;
    result.trims = learner_.trims();
    result.trimmed_bytes = learner_.trimmed_bytes();
    return result;
  }

  // "object_pool: 1000 objects, 0 live bytes, 412000000 bytes retained, ..."
  std::string report() const { return detail::pool_report(statistics()); }
  // For tests: idle objects retain no more than `bytes`.
  pool_check retains_at_most(std::size_t bytes) const { return detail::check_retained(statistics(), bytes); }
  // For tests: all objects have been released.
  pool_check has_all_back() const { return detail::check_all_back(statistics()); }

 private:
  void trim_idle(std::size_t position) noexcept {
    node* idle = idle_[position];
    if (learner_.trim(idle->object)) return;
    idle_[position] = idle_.back();
    idle_.pop_back();
    ++dropped_;
    delete idle;
  }

  pool_options options_;
  [[no_unique_address]] Factory factory_;
  std::vector<node*> idle_;
  learner learner_;
  std::size_t outstanding_ = 0;
  std::size_t next_swept_ = 0;
  std::uint64_t acquired_ = 0;
  std::uint64_t created_ = 0;
  std::uint64_t dropped_ = 0;
  [[no_unique_address]] detail::pool_annotation annotation_;
};

}  // namespace heapwright::inline HEAPWRIGHT_ABI
#endif
