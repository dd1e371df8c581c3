// SPDX-License-Identifier: MIT
// A template in a header of its own: its lines are of whoever includes it, its types of its uses.
#pragma once

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

}  // namespace shapes
