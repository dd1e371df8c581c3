// SPDX-License-Identifier: MIT
// loads_libraries LIBRARY MODE COUNT: "again" opens, uses and closes one
// library COUNT times; "turns OTHER" opens that one and the other in turns, slowly; "many DIR" opens COUNT
// copies (DIR/0.so ...) and keeps them; "deepbind" and "namespace" open it apart from the hooks; "operators"
// opens one that allocates by the C++ operators, for itself alone.
#include <dlfcn.h>

#include <string_view>

#include "say.hpp"

namespace {

using Allocate = void* (*)();

void* allocate_in(void* library) {
  REQUIRE(library != nullptr);
  const auto allocate = reinterpret_cast<Allocate>(dlsym(library, "plugin_allocate"));
  REQUIRE(allocate != nullptr);
  return keep(allocate());
}

void open_again(const char* path, int count) {
  for (int i = 0; i < count; ++i) {
    void* library = dlopen(path, RTLD_NOW);
    std::free(allocate_in(library));
    dlclose(library);
  }
  say("allocated %d 3109 malloc\nreleased %d 3109 free\n", count, count);
}

void open_many(const char* folder, int count) {
  for (int i = 0; i < count; ++i) {
    char path[400];
    std::snprintf(path, sizeof path, "%s/%d.so", folder, i);
    std::free(allocate_in(dlopen(path, RTLD_NOW)));
  }
  say("allocated %d 3109 malloc\nreleased %d 3109 free\n", count, count);
}

void open_in_turns(const char* path, const char* other, int count) {
  constexpr useconds_t pause_us = 1000;
  for (int i = 0; i < 2 * count; ++i) {
    void* library = dlopen(i % 2 == 0 ? path : other, RTLD_NOW);
    for (int call = 0; call < 20; ++call) std::free(allocate_in(library));
    dlclose(library);
    usleep(pause_us);
  }
  for (const int bytes : {3109, 3111}) {
    say("allocated %d %d malloc\nreleased %d %d free\n", 20 * count, bytes, 20 * count, bytes);
  }
}

// The library's malloc may bypass the hooks, the program's free does not.
void open_deep(const char* path, int count) {
  void* library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
  for (int i = 0; i < count; ++i) std::free(allocate_in(library));
  say("note blocks %d\n", count);
}

void open_apart(const char* path, int count) {
  void* library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
  REQUIRE(library != nullptr);
  const auto release = reinterpret_cast<void (*)(void*)>(dlsym(library, "plugin_release"));
  for (int i = 0; i < count; ++i) release(allocate_in(library));
  say("note blocks %d\n", count);
}

void open_operators(const char* path, int count) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto release = reinterpret_cast<void (*)(void*)>(dlsym(library, "plugin_release"));
  for (int i = 0; i < count; ++i) release(allocate_in(library));
  REQUIRE(dlerror() == nullptr);
  // Takes what the loader freed meanwhile: its lists of libraries.
  for (std::size_t bytes = 24; bytes <= 256; bytes += 8) keep(std::malloc(bytes));
  say("allocated %d 3109 operator new(align)\nreleased %d 3109 operator delete(size, align)\n", count, count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string_view mode = argv[2];
  const int count = std::atoi(argv[3]);
  if (mode == "again") open_again(argv[1], count);
  if (mode == "turns") open_in_turns(argv[1], argv[4], count);
  if (mode == "many") open_many(argv[4], count);
  if (mode == "deepbind") open_deep(argv[1], count);
  if (mode == "namespace") open_apart(argv[1], count);
  if (mode == "operators") open_operators(argv[1], count);
  return 0;
}
