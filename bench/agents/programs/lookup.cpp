// SPDX-License-Identifier: MIT
// Planted: each lookup makes a key that is gone when the lookup is.
#include <cstdio>
#include <string>
#include <string_view>
#include <unordered_map>

using Table = std::unordered_map<std::string, int>;

[[gnu::noinline]] int find_user(const Table& table, std::string_view tenant, int user) {
  std::string key(tenant);
  key += "/users/by-number/";
  key += std::to_string(user);
  const auto found = table.find(key);
  return found == table.end() ? 0 : found->second;
}

int main() {
  Table table;
  for (int user = 0; user < 2000; ++user) {
    table["tenant-of-the-south/users/by-number/" + std::to_string(user)] = user;
  }
  long sum = 0;
  for (int request = 0; request < 1'500'000; ++request) {
    sum += find_user(table, "tenant-of-the-south", request % 3000);
  }
  std::printf("%ld\n", sum);
}
