// SPDX-License-Identifier: MIT
// Blocks of the C library's allocator, in a process that another heap serves:
// from a library loaded with RTLD_DEEPBIND, whose malloc is the C library's,
// and from __libc_malloc. They are freed, resized and measured here; a block
// of this heap never changes by it.
#include <dlfcn.h>
#include <malloc.h>

#include <string>
#include <vector>

#include "public_names.hpp"

extern "C" {
void* __libc_malloc(std::size_t bytes);
}

namespace {

void grow_and_free(void* block, std::size_t bytes, bool by_plain_free) {
  std::memset(block, 0x77, bytes);
  REQUIRE(malloc_usable_size(block) >= bytes);
  auto* moved = static_cast<unsigned char*>(std::realloc(block, bytes * 2));
  REQUIRE(moved != nullptr && malloc_usable_size(moved) >= bytes * 2);
  for (std::size_t i = 0; i < bytes; ++i) REQUIRE(moved[i] == 0x77);
  if (by_plain_free) {
    std::free(moved);
  } else {
    free_sized_or_free(moved, bytes * 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc == 1 && argv[0] != nullptr);
  const std::string program(argv[0]);
  const std::string path = program.substr(0, program.rfind('/') + 1) + "foreign_plugin.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  REQUIRE(library != nullptr);
  auto* make = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "make_block"));
  auto* duplicate = reinterpret_cast<char* (*)(const char*)>(dlsym(library, "duplicate_text"));
  auto* keep_to_itself = reinterpret_cast<int (*)()>(dlsym(library, "use_own_blocks"));
  auto* release = reinterpret_cast<void (*)(void*)>(dlsym(library, "release_block"));
  REQUIRE(release != nullptr && make != nullptr && duplicate != nullptr && keep_to_itself != nullptr);
  std::vector<unsigned char*> own(1000);
  for (int round = 0; round < 50; ++round) {
    for (auto& block : own) {
      block = static_cast<unsigned char*>(std::malloc(200));
      std::memset(block, round, 200);
    }
    for (std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{5000}, std::size_t{500000}}) {
      grow_and_free(make(bytes), bytes, round % 2 == 0);
      grow_and_free(__libc_malloc(bytes), bytes, round % 2 == 0);
    }
    char* text = duplicate("a text");
    REQUIRE(std::strcmp(text, "a text") == 0);
    std::free(text);
    REQUIRE(keep_to_itself() == 0);
    // A library opened so may free what the program or the C library made.
    for (std::size_t bytes = 1; bytes < 200000; bytes *= 3) release(keep(std::malloc(bytes)));
    release(keep(strdup("another text")));
    for (auto* block : own) {
      for (int i = 0; i < 200; ++i) REQUIRE(block[i] == static_cast<unsigned char>(round));
      std::free(block);
    }
  }
  REQUIRE(dlclose(library) == 0);
  require_valid();
  say("done\n");
  return 0;
}
