// SPDX-License-Identifier: MIT
// Bytes as objects given to a deferred_free and drains of it. Each object must
// be destroyed exactly once, also those that its objects hold, defer or throw at.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

#include "heapwright/deferred_free.hpp"

namespace {

using heapwright::deferred_free;

struct World {
  std::vector<unsigned char> destroyed;  // by number
  deferred_free* queue = nullptr;
};

struct Object {
  World& world;
  std::size_t number;
  unsigned kind;
  std::unique_ptr<deferred_free> inner;  // with objects of its own
};

void destroy(void* first) {
  const std::unique_ptr<Object> object(static_cast<Object*>(first));
  World& world = object->world;
  if (++world.destroyed[object->number] != 1) std::abort();
  if (object->kind % 5 == 1) {  // defers another, within a drain
    world.destroyed.push_back(0);
    world.queue->defer(new Object{world, world.destroyed.size() - 1, 0, nullptr}, &destroy);
  }
  if (object->kind % 5 == 2) world.queue->drain();
  if (object->kind % 5 == 3) throw std::runtime_error("destroy");
}

void defer(World& world, deferred_free& queue, unsigned kind) {
  world.destroyed.push_back(0);
  auto object = std::make_unique<Object>(Object{world, world.destroyed.size() - 1, kind, nullptr});
  if (kind % 5 == 4) {
    object->inner = std::make_unique<deferred_free>(heapwright::deferred_options{.entries = 4});
    for (unsigned i = 0; i < kind % 7; ++i) {
      world.destroyed.push_back(0);
      object->inner->defer(new Object{world, world.destroyed.size() - 1, 0, nullptr}, &destroy);
    }
  }
  try {
    queue.defer(object.release(), &destroy, kind % 3 == 0 ? 1 : 1000);
  } catch (const std::runtime_error&) {
  }
}

template <class Drain>
void drain_all(const Drain& drain) {
  for (bool again = true; again;) {
    again = false;
    try {
      drain();
    } catch (const std::runtime_error&) {
      again = true;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World world;
  {
    const std::size_t entries = size == 0 ? 1 : data[0] % 9 + 1U;
    deferred_free queue({.entries = entries});
    world.queue = &queue;
    for (std::size_t i = 1; i < std::min<std::size_t>(size, 1000); ++i) {
      if (data[i] < 220) {
        defer(world, queue, data[i]);
      } else {
        drain_all([&] {
          queue.drain(data[i] < 240 ? std::chrono::nanoseconds(0) : std::chrono::nanoseconds::max());
        });
      }
    }
    drain_all([&] { queue.drain(); });
    if (queue.statistics().pending != 0) std::abort();
  }
  if (!std::all_of(world.destroyed.begin(), world.destroyed.end(), [](auto n) { return n == 1; })) {
    std::abort();
  }
  return 0;
}
