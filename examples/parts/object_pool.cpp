// SPDX-License-Identifier: MIT
// Pooled requests whose vectors were once large, and are not for ever.
#include "heapwright/object_pool.hpp"

#include <cstdio>
#include <string>
#include <vector>

struct request {
  std::string path;
  std::vector<int> fields;
  static constexpr auto pool_members = heapwright::members(&request::path, &request::fields);
};

int main() {
  heapwright::object_pool<request> pool({.max_idle = 100});
  for (int i = 0; i < 5000; ++i) {
    const auto r = pool.acquire();  // comes back by itself
    r->path = "/index";
    r->fields.resize(i % 1000 == 0 ? 100000 : 20);
  }
  std::printf("%s\n", pool.report().c_str());
  const auto check = pool.retains_at_most(10000);
  if (!check) std::printf("%s\n", check.message.c_str());
  return check ? 0 : 1;
}
