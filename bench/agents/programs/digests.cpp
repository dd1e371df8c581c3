// SPDX-License-Identifier: MIT
// Planted: small digests, made between the pages of a large import, keep these pages when it is gone.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

[[gnu::noinline]] char* read_record(std::size_t bytes) {
  auto* record = static_cast<char*>(std::malloc(bytes));
  std::memset(record, 1, bytes);
  return record;
}

[[gnu::noinline]] char* make_digest(const char* record) {
  auto* digest = static_cast<char*>(std::malloc(64));
  std::memcpy(digest, record, 64);
  return digest;
}

int main() {
  std::vector<char*> digests;
  std::vector<char*> records;
  for (int record = 0; record < 30'000; ++record) {
    records.push_back(read_record(1500 + static_cast<std::size_t>(record) % 900));
    digests.push_back(make_digest(records.back()));
  }
  for (char* record : records) {
    std::free(record);
  }
  const timespec rest{1, 500'000'000};
  nanosleep(&rest, nullptr);
  std::printf("%zu\n", digests.size());
  for (char* digest : digests) {
    std::free(digest);
  }
}
