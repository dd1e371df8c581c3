// SPDX-License-Identifier: MIT
// expected: heapwright::object_pool: retained_percentile is from 0 to 100
#include <limits>
#include <string>

#include "heapwright/shared_object_pool.hpp"

int main() {
  heapwright::shared_object_pool<std::string> pool(
      {.max_idle = 4, .retained_percentile = std::numeric_limits<double>::quiet_NaN()});
  return 0;
}
