// SPDX-License-Identifier: MIT
// A template in a header of its own: its lines are of whoever includes it, its types of its uses.
#pragma once

#include <memory>
#include <vector>

namespace shapes {

template <typename Value>
class Ring {
 public:
  void put(const Value& value) {
    values_.push_back(value);  // finds vector-growth member Ring::values_
  }

 private:
  std::vector<Value> values_;
};

// Its constructor is a template, and initializes a member.
class Handle {
 public:
  template <typename Value>
  explicit Handle(const Value& value)
      : shared_(std::make_shared<long>(5)),  // finds make-shared member Handle::shared_
        is_set_(value != 0) {}
  [[nodiscard]] const void* get() const { return is_set_ ? shared_.get() : nullptr; }

 private:
  std::shared_ptr<long> shared_;
  bool is_set_;
};

}  // namespace shapes
