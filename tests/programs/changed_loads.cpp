// SPDX-License-Identifier: MIT
// length: loads that share nothing, each in its ways
// One load in several ways, for what a change in a replay predicts and what the changed program then takes:
//   trees heap|arena|node_pool [TREES]     parse trees, each given back node by node, or in one step
//   buffers realloc|reserve [BUFFERS]      buffers that grow by a realloc for each doubling, or have their
//   size
//   vectors grown|reserve [ROUNDS]         std::vector and std::string, grown or reserved
//   small vector|small_vector [ROUNDS]     many short vectors, with their elements on the heap or inside
//   sessions heap|segregate [ROUNDS]       a few that stay among many that go, and then larger blocks
//   queue heap|buffer_cache [ROUNDS]       buffers of varying size, a few at once
//   tables heap|deferred_free [ROUNDS]     a table goes, the next one is built, and then there is time
//   leftovers heap|exit_policy [ROUNDS]    a table that lives as long as the process
//   requests heap|arena [ROUNDS]           phases full of short-lived blocks
// What lives beside the trees stays on the heap. Prints a sum, which is the same for all ways.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "heapwright/annotate.h"
#include "heapwright/arena.hpp"
#include "heapwright/buffer_cache.hpp"
#include "heapwright/deferred_free.hpp"
#include "heapwright/heap.h"
#include "heapwright/node_pool.hpp"
#include "heapwright/small_vector.hpp"

namespace {

constexpr unsigned nodes_of_a_tree = 60'000;
constexpr unsigned doublings = 12;

struct Node {
  Node* left;
  Node* right;
  char* text;  // of every fourth node
  std::size_t length;
  unsigned long value;
};

enum class Way { heap, arena, node_pool };

Way way = Way::heap;
heapwright::arena arena;
heapwright::node_pool pool;

unsigned long next_value() {
  static unsigned long state = 88172645463325252UL;
  state ^= state << 13U;
  state ^= state >> 7U;
  state ^= state << 17U;
  return state;
}

[[gnu::noinline]] void* make_node() {
  if (way == Way::arena) return arena.allocate(sizeof(Node), alignof(Node));
  if (way == Way::node_pool) return pool.allocate(sizeof(Node), alignof(Node));
  return std::malloc(sizeof(Node));
}

[[gnu::noinline]] char* make_text(std::size_t length) {
  if (way == Way::arena) return static_cast<char*>(arena.allocate(length, 8));
  if (way == Way::node_pool) return static_cast<char*>(pool.allocate(length, 8));
  return static_cast<char*>(std::malloc(length));
}

Node* build(unsigned nodes) {
  if (nodes == 0) return nullptr;
  auto* node = static_cast<Node*>(make_node());
  node->value = next_value();
  node->length = nodes % 4 == 0 ? 8 + 8 * (node->value % 8) : 0;
  node->text = node->length != 0 ? make_text(node->length) : nullptr;
  if (node->text != nullptr) std::memset(node->text, 1, node->length);
  node->left = build((nodes - 1) / 2);
  node->right = build(nodes - 1 - (nodes - 1) / 2);
  return node;
}

unsigned long sum_of(const Node* node) {
  return node == nullptr ? 0 : node->value + node->length + sum_of(node->left) + sum_of(node->right);
}

void give_back(Node* node) {
  if (node == nullptr) return;
  give_back(node->left);
  give_back(node->right);
  if (way == Way::node_pool) {
    if (node->text != nullptr) pool.deallocate(node->text, node->length, 8);
    pool.deallocate(node, sizeof(Node), alignof(Node));
  } else {
    std::free(node->text);
    std::free(node);
  }
}

unsigned long work_on_trees(unsigned trees) {
  std::vector<unsigned long*> kept;
  unsigned long sum = 0;
  for (unsigned tree = 0; tree < trees; ++tree) {
    Node* root = build(nodes_of_a_tree);
    kept.push_back(static_cast<unsigned long*>(std::malloc(200)));
    *kept.back() = sum_of(root);
    if (way == Way::arena) {
      arena.reset();
    } else {
      give_back(root);
    }
  }
  for (auto* result : kept) {
    sum += *result;
    std::free(result);
  }
  return sum;
}

[[gnu::noinline]] char* grow(char* buffer, std::size_t bytes) {
  return static_cast<char*>(std::realloc(buffer, bytes));
}

unsigned long work_on_buffers(unsigned buffers, bool is_reserved) {
  constexpr std::size_t first = 64;
  constexpr std::size_t last = first << doublings;
  std::array<char*, 8> live{};
  unsigned long sum = 0;
  for (unsigned number = 0; number < buffers; ++number) {
    char*& buffer = live[number % live.size()];
    std::free(buffer);
    buffer = is_reserved ? grow(nullptr, last) : nullptr;
    std::size_t filled = 0;
    for (std::size_t bytes = first; bytes <= last; bytes *= 2) {
      if (!is_reserved) buffer = grow(buffer, bytes);
      std::memset(buffer + filled, static_cast<int>(number % 100), bytes - filled);
      filled = bytes;
      sum += next_value() % 2;
    }
    sum += static_cast<unsigned long>(buffer[last / 2]);
  }
  for (char* buffer : live) std::free(buffer);
  return sum;
}

[[gnu::noinline]] void append(std::vector<std::uint32_t>& numbers, std::uint32_t number) {
  numbers.push_back(number);
}
[[gnu::noinline]] void append(std::string& text, char letter) { text.push_back(letter); }

// Each element has a block of its own, and is copied when the vector grows: its moves may throw.
struct Name {
  explicit Name(unsigned long number) : text(40 + number % 8, 'n') {}
  Name(const Name&) = default;
  Name(Name&& other) noexcept(false) : text(other.text) {}
  Name& operator=(const Name&) = default;
  ~Name() = default;
  std::string text;
};
[[gnu::noinline]] void append(std::vector<Name>& names, unsigned long number) { names.emplace_back(number); }

// Powers of two, which is what a vector's capacity is then; a string's is one less.
constexpr std::size_t numbers_of_a_round = std::size_t{1} << 20U;
constexpr std::size_t letters_of_a_round = 15 * (std::size_t{1} << 17U);
constexpr std::size_t names_of_a_round = 4096;

unsigned long work_on_vectors(unsigned rounds, bool is_reserved) {
  unsigned long sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    std::vector<std::uint32_t> numbers;
    std::string text;
    std::vector<Name> names;
    if (is_reserved) {
      numbers.reserve(numbers_of_a_round);
      text.reserve(letters_of_a_round);
      names.reserve(names_of_a_round);
    }
    for (std::size_t at = 0; at < numbers_of_a_round; ++at) append(numbers, static_cast<std::uint32_t>(at));
    for (std::size_t at = 0; at < letters_of_a_round; ++at) append(text, static_cast<char>(at % 100));
    for (std::size_t at = 0; at < names_of_a_round; ++at) append(names, at);
    sum += numbers[numbers_of_a_round / 2] + static_cast<unsigned char>(text[99]) + names.back().text.size();
  }
  return sum;
}

using SmallVector = heapwright::small_vector<std::uint32_t, 16>;

[[gnu::noinline]] void append_to(std::vector<std::uint32_t>& vector, std::uint32_t value) {
  vector.push_back(value);
}
[[gnu::noinline]] void append_to(SmallVector& vector, std::uint32_t value) { vector.push_back(value); }

// On the stack: what is inside takes no memory of the heap.
template <class Vector>
unsigned long work_on_small(unsigned rounds) {
  unsigned long sum = 0;
  for (unsigned round = 0; round < rounds * 10'000; ++round) {
    Vector vector;
    const auto count = 1 + next_value() % (round % 50 == 0 ? 200 : 8);
    for (unsigned long value = 0; value < count; ++value)
      append_to(vector, static_cast<std::uint32_t>(value));
    sum += vector.back();
  }
  return sum;
}

constexpr std::size_t buffers_at_once = 64;

std::size_t next_buffer_size() { return std::size_t{1024} << next_value() % 8; }

[[gnu::noinline]] char* make_buffer(std::size_t size) { return static_cast<char*>(std::malloc(size)); }

unsigned long work_on_queue(unsigned rounds) {
  std::array<char*, buffers_at_once> open{};
  unsigned long sum = 0;
  for (unsigned round = 0; round < rounds * 10'000; ++round) {
    char*& buffer = open[next_value() % open.size()];
    std::free(buffer);
    const std::size_t size = next_buffer_size();
    buffer = make_buffer(size);
    for (std::size_t at = 0; at < size; at += 4096) buffer[at] = 1;
    sum += size;
  }
  for (char* buffer : open) std::free(buffer);
  return sum;
}

unsigned long work_on_cached_queue(unsigned rounds) {
  heapwright::buffer_cache<> cache({1024 * 1024, 256});
  std::array<decltype(cache.acquire(1)), buffers_at_once> open;
  unsigned long sum = 0;
  for (unsigned round = 0; round < rounds * 10'000; ++round) {
    auto& buffer = open[next_value() % open.size()];
    buffer = {};
    const std::size_t size = next_buffer_size();
    buffer = cache.acquire(size);
    for (std::size_t at = 0; at < size; at += 4096) buffer.data()[at] = std::byte{1};
    sum += size;
  }
  return sum;
}

heapwright::private_heap& own_heap() {
  static heapwright::private_heap heap("sessions");
  return heap;
}

constexpr std::size_t session_bytes = 600;

[[gnu::noinline]] char* make_session(bool is_apart) {
  auto* session =
      static_cast<char*>(is_apart ? own_heap().allocate(session_bytes) : std::malloc(session_bytes));
  std::memset(session, 1, session_bytes);
  return session;
}

// What went leaves pages that only the sessions keep; the larger blocks do not fit between these.
unsigned long work_on_sessions(unsigned rounds, bool is_apart) {
  std::vector<char*> kept;
  std::vector<char*> going;
  for (unsigned number = 0; number < 50 * rounds; ++number) {
    kept.push_back(make_session(is_apart));
    for (int other = 0; other < 20; ++other) {
      going.push_back(static_cast<char*>(std::memset(std::malloc(500), 1, 500)));
    }
  }
  for (char* block : going) std::free(block);
  going.clear();
  for (unsigned number = 0; number < 2 * rounds; ++number) {
    going.push_back(static_cast<char*>(std::memset(std::malloc(100'000), 1, 100'000)));
  }
  for (char* block : going) std::free(block);
  unsigned long sum = 0;
  for (char* session : kept) {
    sum += static_cast<unsigned long>(session[7]);
    if (is_apart) {
      own_heap().deallocate(session);
    } else {
      std::free(session);
    }
  }
  return sum;
}

[[gnu::noinline]] char* make_row() {
  constexpr std::size_t row_bytes = 200;
  return static_cast<char*>(std::memset(std::malloc(row_bytes), 1, row_bytes));
}

struct Table {
  explicit Table(std::size_t count) {
    rows.reserve(count);
    for (std::size_t row = 0; row < count; ++row) rows.push_back(make_row());
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() {
    for (char* row : rows) std::free(row);
  }
  std::vector<char*> rows;
};

// Between two readings of the memory, and longer than a background thread sleeps.
void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

constexpr std::size_t rows_of_a_table = 20'000;

unsigned long work_on_tables(unsigned rounds, bool is_deferred) {
  heapwright::deferred_free queue({.has_background_thread = is_deferred});
  std::unique_ptr<Table> table;
  unsigned long sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    if (is_deferred && table != nullptr) queue.defer(std::move(table));
    table.reset();
    table = std::make_unique<Table>(rows_of_a_table);
    sum += static_cast<unsigned long>(table->rows[round][7]);
    wait();
  }
  return sum;
}

unsigned long work_on_leftovers(unsigned rounds, bool is_left) {
  using heapwright::exit_policy;
  const auto policy = is_left ? exit_policy::bury : exit_policy::destroy;
  static const heapwright::lives_until_exit<Table> table(policy, rounds * rows_of_a_table / 10);
  return static_cast<unsigned long>(table->rows[rounds][7]);
}

// Whoever frees each of them has one at a time; an arena has all of a phase.
unsigned long work_on_requests(unsigned rounds, bool is_arena) {
  heapwright::arena own;
  unsigned long sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    {
      const heapwright::annotated_phase phase("request");
      for (std::size_t row = 0; row < rows_of_a_table; ++row) {
        char* block = is_arena ? static_cast<char*>(own.allocate(200, 8)) : make_row();
        sum += static_cast<unsigned long>(*static_cast<char*>(std::memset(block, 1, 200)));
        if (!is_arena) std::free(block);
      }
      wait();
    }
    own.reset();
  }
  return sum;
}

unsigned long work(std::string_view load, std::string_view how, unsigned times) {
  if (load == "trees") return work_on_trees(times);
  if (load == "buffers") return work_on_buffers(times, how == "reserve");
  if (load == "vectors") return work_on_vectors(times, how == "reserve");
  if (load == "sessions") return work_on_sessions(times, how == "segregate");
  if (load == "tables") return work_on_tables(times, how == "deferred_free");
  if (load == "leftovers") return work_on_leftovers(times, how == "exit_policy");
  if (load == "requests") return work_on_requests(times, how == "arena");
  if (load == "queue") return how == "heap" ? work_on_queue(times) : work_on_cached_queue(times);
  if (how == "vector") return work_on_small<std::vector<std::uint32_t>>(times);
  return work_on_small<SmallVector>(times);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 3) return 2;
  const std::string_view load = arguments[1];
  const std::string_view how = arguments[2];
  const unsigned times = argument_count > 3 ? static_cast<unsigned>(std::atoi(arguments[3])) : 40;
  if (how == "arena") way = Way::arena;
  if (how == "node_pool") way = Way::node_pool;
  std::printf("%lu\n", work(load, how, times));
  return 0;
}
