// SPDX-License-Identifier: MIT
// Line numbers matter: test_recording.py checks them.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

void* xmalloc(std::size_t size) { return std::malloc(size); }

void leak() {
  std::memset(xmalloc(5000), 1, 5000);  // line 11
}

std::size_t grow() {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back(std::string(100, 'x'));  // line 17
  }
  return names.size();
}

char* copied() {
  return strdup("a text that libc copies");  // line 23
}

int main(int count, char**) {
  leak();
  std::free(copied());
  return grow() == 100 ? 3 + (count > 1 ? 1 : 0) : 1;
}
