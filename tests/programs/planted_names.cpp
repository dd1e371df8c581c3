// SPDX-License-Identifier: MIT
// Names of every kind that a trace may hold, all with the word "planted": functions, types, threads,
// phases, pools, regions, a mapped file. One argument: the file to map.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "heapwright/annotate.h"

#define KEPT [[gnu::noinline]]

namespace planted_space {

struct PlantedType {
  int numbers[20];
};

KEPT void planted_function(std::vector<PlantedType>& values) {
  for (int i = 0; i < 3000; ++i) values.push_back({});
}

KEPT void* planted_malloc(std::size_t bytes) { return std::malloc(bytes); }

KEPT void* planted_pool_grow(std::size_t bytes) { return std::malloc(bytes); }

KEPT void planted_map(std::map<int, std::string>& texts) {
  for (int i = 0; i < 2000; ++i) texts[i] = std::string(100, 'a');
}

KEPT void planted_pointers(std::vector<std::shared_ptr<PlantedType>>& all) {
  for (int i = 0; i < 500; ++i) all.emplace_back(new PlantedType);
}

// What has no symbol of its own kind: a lambda, a template, an operator.
template <typename Of>
struct PlantedTemplate {
  std::vector<Of> kept;
  KEPT PlantedTemplate& operator+=(const Of& one) {
    kept.push_back(one);
    return *this;
  }
};

}  // namespace planted_space

namespace {

void map_file(const char* path) {
  const int file = open(path, O_RDWR);
  if (file < 0) return;
  void* bytes = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (bytes != MAP_FAILED) static_cast<char*>(bytes)[0] = 1;
  close(file);
}

}  // namespace

int main(int, char** arguments) {
  using namespace planted_space;
  pthread_setname_np(pthread_self(), "planted_main");
  if (arguments[1] != nullptr) map_file(arguments[1]);
  std::vector<PlantedType> values;
  {
    const heapwright::annotated_phase phase("planted phase with a long name");
    planted_function(values);
  }
  static char room[100];
  heapwright_pool_created(room, "planted pool");
  heapwright_region_named(room, sizeof room, "planted region");
  std::map<int, std::string> texts;
  planted_map(texts);
  std::vector<void*> blocks;
  for (int i = 0; i < 50; ++i) {
    blocks.push_back(planted_pool_grow(1000));
    blocks.push_back(planted_malloc(3000));
  }
  std::vector<std::shared_ptr<PlantedType>> pointers;
  planted_pointers(pointers);
  PlantedTemplate<PlantedType> all;
  const auto planted_lambda = [&] { all += PlantedType{}; };
  for (int i = 0; i < 100; ++i) planted_lambda();
  std::thread thread([&] {
    pthread_setname_np(pthread_self(), "planted_thread");
    planted_map(texts);
  });
  thread.join();
  heapwright_pool_destroyed(room);
  return 0;
}
