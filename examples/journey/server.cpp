// SPDX-License-Identifier: MIT
// A server with four heap problems, and what mends each (docs/journey.md).
//   g++ -DMENDED=N …   N of the four are mended: 1 replies, 2 requests, 3 sessions, 4 tokens
//   g++ -DLATER …      a later change, which no one looked at
#include <malloc.h>

#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "heapwright/buffer_cache.hpp"
#include "heapwright/node_pool.hpp"
#include "heapwright/object_pool.hpp"

#ifndef MENDED
#define MENDED 0
#endif

namespace {

constexpr unsigned requests_to_answer = 300'000;
constexpr unsigned requests_at_once = 200;
constexpr unsigned sessions_at_start = 4'000;

std::mt19937 random_number(1);

// Requests come from a pool. clear() keeps the capacity of the largest use.
struct Request {
  std::string path;
  std::vector<int> fields;
  static constexpr auto pool_members = heapwright::members(&Request::path, &Request::fields);
};

#if MENDED >= 2
using RequestPool = heapwright::object_pool<Request>;
#else
class RequestPool {
 public:
  explicit RequestPool(heapwright::pool_options) {}
  Request* take() {
    if (idle_.empty()) return new Request;
    Request* const request = idle_.back();
    idle_.pop_back();
    return request;
  }
  void release(Request* request) {
    request->path.clear();
    request->fields.clear();
    idle_.push_back(request);
  }

 private:
  std::vector<Request*> idle_;
};
#endif

// Sessions live long, and were made while much else lived.
struct Session {
  explicit Session(unsigned user) : name("user number " + std::to_string(user)) {}
#if MENDED >= 3
  static heapwright::node_pool& pool() {
    static auto* const own = new heapwright::node_pool;  // sessions live to the end
    return *own;
  }
  static void* operator new(std::size_t size) { return pool().allocate(size, alignof(Session)); }
  static void operator delete(void* block) { pool().deallocate(block, sizeof(Session), alignof(Session)); }
#endif
  std::string name;
  std::array<char, 400> state{};
};

std::unique_ptr<Session> read_session(const std::vector<std::string>& words) {
  return std::make_unique<Session>(static_cast<unsigned>(words.size()));
}

std::vector<std::unique_ptr<Session>> restore_sessions() {
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<std::string>> dump;
  for (unsigned user = 0; user < sessions_at_start; ++user) {
    std::vector<std::string>& words = dump.emplace_back();
    words.reserve(20);
    for (unsigned word = 0; word < 20; ++word) words.emplace_back(500, 'w');
    sessions.push_back(read_session(words));
  }
  return sessions;
}

// Reply buffers are reused. Whoever comes next gets the largest.
#if MENDED >= 1
using Replies = heapwright::buffer_cache<>;
#else
class Replies {
 public:
  explicit Replies(heapwright::cache_limits) {}
  struct Buffer {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t capacity = 0;
    Replies* home = nullptr;
    Buffer() = default;
    Buffer(Buffer&& other) noexcept = default;
    Buffer& operator=(Buffer&& other) noexcept {
      if (home != nullptr) home->put_back(*this);
      bytes = std::move(other.bytes);
      capacity = other.capacity;
      home = std::exchange(other.home, nullptr);
      return *this;
    }
    std::byte* data() { return bytes.get(); }
  };

  Buffer acquire(std::size_t size) {
    for (Buffer& kept : kept_) {
      if (kept.capacity >= size) {
        Buffer found;
        found.bytes = std::move(kept.bytes);
        found.capacity = std::exchange(kept.capacity, 0);
        found.home = this;
        return found;
      }
    }
    Buffer made;
    made.bytes = std::make_unique_for_overwrite<std::byte[]>(size);
    made.capacity = size;
    made.home = this;
    return made;
  }

 private:
  // Keeps the larger ones, since these serve more requests.
  void put_back(Buffer& buffer) {
    Buffer* least = &kept_.front();
    for (Buffer& kept : kept_) {
      if (kept.capacity < least->capacity) least = &kept;
    }
    if (least->capacity >= buffer.capacity) return;
    least->bytes = std::move(buffer.bytes);
    least->capacity = buffer.capacity;
  }

  std::array<Buffer, 4> kept_;
};
#endif

// Each request asks twice who may do what.
struct Token {
  unsigned user = 0;
  std::array<unsigned, 4> rights{};
};

std::shared_ptr<Token> token_of(unsigned user) {
#if MENDED >= 4
  auto token = std::make_shared<Token>();
#else
  auto token = std::shared_ptr<Token>(new Token);
#endif
  token->user = user;
  token->rights[user % 4] = 1;
  return token;
}

#ifdef LATER
std::string title_of(const Request& request) { return "answer to " + request.path + ", as asked for"; }
#endif

struct InFlight {
  Request* request = nullptr;
  decltype(std::declval<Replies>().acquire(1)) reply;
};

std::size_t reply_bytes() {
  std::size_t bytes = 200;
  while (bytes < 1024 * 1024 && random_number() % 2 == 0) bytes *= 2;
  return bytes;
}

void fill(Request& request, unsigned number) {
  request.path = "/catalogue/page/" + std::to_string(number % 400);
  request.fields.resize(number % 500 == 0 ? 30'000 : 8 + random_number() % 24);
}

std::size_t answer(InFlight& place, unsigned number, RequestPool& pool, Replies& replies) {
  if (place.request != nullptr) pool.release(place.request);
  place.reply = {};
  place.request = pool.take();
  fill(*place.request, number);
  const std::size_t bytes = reply_bytes();
  place.reply = replies.acquire(bytes);
  for (std::size_t at = 0; at < bytes; at += 512) place.reply.data()[at] = std::byte{1};
  std::size_t sum = token_of(number)->rights[0] + token_of(number + 1)->rights[1];
#ifdef LATER
  sum += title_of(*place.request).size();
#endif
  return sum + place.request->fields.size();
}

}  // namespace

int main() {
  const auto sessions = restore_sessions();
#if MENDED >= 3
  malloc_trim(0);  // what was read to restore them lies below the pool's newest pages
#endif
  RequestPool pool({.max_idle = requests_at_once});
  Replies replies({.total_bytes = 1024 * 1024, .buffers = 64});
  std::vector<InFlight> places(requests_at_once);
  std::size_t sum = 0;
  for (unsigned number = 0; number < requests_to_answer; ++number) {
    sum += answer(places[random_number() % places.size()], number, pool, replies);
  }
  for (InFlight& place : places) {
    place.reply = {};
    if (place.request != nullptr) pool.release(place.request);
  }
  std::printf("%u requests answered for %zu sessions: %zu\n", requests_to_answer, sessions.size(), sum);
}
