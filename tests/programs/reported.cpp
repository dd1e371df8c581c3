// SPDX-License-Identifier: MIT
// length: many small programs, of which each is run by its name
// What is often reported of heaps, each as it is and with what mended it (a second argument): one of
//
//   aligned     frames aligned to 64 bytes among small blocks: older C libraries do not use their holes again
//   steps       a buffer that realloc grows by a page each time, to 40 MiB
//   burst       threads of a pool that each served one burst, then wait
//   matrices    sums returned by value
//   strings     strings passed by value, twice
//   sessions    a deque for each session
//   cache       a cache without a bound
//   trims       malloc_trim after each batch
//   cleared     a hash table that keeps its buckets when it is cleared, and a malloc_trim after it
//   locks       a small object on the heap for each call
//   lookups     a string for each lookup in a map
//   throws      an exception for each key that is missing
//   sets        a set for each of many small tasks
//   copies      a process that forks: its next writes copy pages
//   tables      large tables by calloc, of which little is written
//   frames      frames of 40 MiB, which the C library maps one by one however often they are freed
//   posts       a std::function with captures for each request of a queue
//   snapshots   a table that is copied for each of its changes
//   handed      threads that end, and whose blocks another thread frees: their arenas keep their ends
//
// and prints how long the work took, and how much is resident while it rests.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "advice/modes.hpp"

namespace {

bool is_mended = false;

void rest(int milliseconds) { usleep(static_cast<useconds_t>(milliseconds) * 1000); }

void say_resident() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) std::exit(1);
  char line[256];
  unsigned long kibibytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "RssAnon: %lu", &kibibytes) == 1) break;
  }
  std::fclose(file);
  modes::say("resident", kibibytes * 1024);
}

[[gnu::noinline]] char* frame() {
  constexpr std::size_t bytes = 1'000'000;
  void* memory = nullptr;
  if (is_mended) {
    memory = std::malloc(bytes);
  } else if (posix_memalign(&memory, 64, bytes) != 0) {
    std::exit(1);
  }
  return static_cast<char*>(std::memset(memory, 1, bytes));
}

void aligned() {
  std::vector<void*> small;
  char* latest[2] = {};
  for (int number = 0; number < 300; ++number) {
    char* const now = frame();
    small.push_back(std::memset(std::malloc(200), 1, 200));
    std::free(std::exchange(latest[number % 2], now));
    rest(2);
  }
  say_resident();
  for (void* one : small) std::free(one);
  for (char* one : latest) std::free(one);
}

[[gnu::noinline]] void steps() {
  for (int round = 0; round < 4; ++round) {
    std::size_t room = 1 << 20;
    char* buffer = static_cast<char*>(std::malloc(room));
    for (std::size_t used = room; used < (std::size_t{40} << 20); used += 4096) {
      if (used + 4096 > room) {
        room = is_mended ? 2 * room : used + 4096;
        buffer = static_cast<char*>(std::realloc(buffer, room));
      }
      buffer[used] = 1;
    }
    modes::use(buffer + room - 4096);
    std::free(buffer);
  }
}

[[gnu::noinline]] void serve_a_burst() {
  modes::Random random;
  std::vector<std::unique_ptr<char[]>> blocks;
  std::vector<std::unique_ptr<char[]>> kept;
  for (int number = 0; number < 40'000; ++number) {
    blocks.emplace_back(new char[200 + random.below(200)]);
    blocks.back()[0] = 1;
    if (number % 400 == 0) kept.push_back(std::move(blocks.back()));
  }
  blocks.clear();
  if (is_mended) malloc_trim(0);
  static std::atomic<int> served{0};
  ++served;
  while (served < 6) rest(10);
  rest(1000);
  static std::atomic_flag has_said;
  if (!has_said.test_and_set()) say_resident();
  rest(300);
}

void burst() {
  std::vector<std::thread> threads;
  for (int number = 0; number < 6; ++number) threads.emplace_back(serve_a_burst);
  for (auto& thread : threads) thread.join();
}

using Matrix = std::vector<std::vector<double>>;
constexpr std::size_t rows = 100;

[[gnu::noinline]] Matrix sum_of(const Matrix& one, const Matrix& other) {
  Matrix sum(rows, std::vector<double>(rows));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t at = 0; at < rows; ++at) sum[row][at] = one[row][at] + other[row][at];
  }
  return sum;
}

[[gnu::noinline]] void add_to(Matrix& sum, const Matrix& other) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t at = 0; at < rows; ++at) sum[row][at] += other[row][at];
  }
}

void matrices() {
  Matrix sum(rows, std::vector<double>(rows, 1.0));
  const Matrix other(rows, std::vector<double>(rows, 2.0));
  for (int round = 0; round < 3000; ++round) {
    if (is_mended) {
      add_to(sum, other);
    } else {
      sum = sum_of(sum, other);
    }
  }
  modes::use(sum.front().data());
}

[[gnu::noinline]] std::size_t size_of(std::string text) { return text.size(); }         // NOLINT
[[gnu::noinline]] std::size_t one_more(std::string text) { return size_of(text) + 1; }  // NOLINT
[[gnu::noinline]] std::size_t size_seen(const std::string& text) { return text.size(); }
[[gnu::noinline]] std::size_t one_more_seen(const std::string& text) { return size_seen(text) + 1; }

void strings() {
  const std::string text(100, 'x');
  std::size_t sum = 0;
  for (int round = 0; round < 1'000'000; ++round) sum += is_mended ? one_more_seen(text) : one_more(text);
  modes::use(&sum);
}

template <class Queue>
[[gnu::noinline]] void open_sessions(std::vector<Queue>& all) {
  for (int number = 0; number < 100'000; ++number) {
    all.emplace_back();
    all.back().push_back(number);
  }
}

template <class Queue>
void keep_sessions() {
  std::vector<Queue> all;
  all.reserve(100'000);
  open_sessions(all);
  rest(300);
  say_resident();
}

void sessions() {
  if (is_mended) {
    keep_sessions<std::vector<int>>();
  } else {
    keep_sessions<std::deque<int>>();
  }
}

[[gnu::noinline]] std::string& look_up(std::unordered_map<std::string, std::string>& cache, std::string key) {
  if (is_mended && cache.size() >= 5000) cache.erase(cache.begin());
  return cache.try_emplace(std::move(key), 300, 'x').first->second;
}

void cache() {
  modes::Random random;
  std::unordered_map<std::string, std::string> known;
  for (int round = 0; round < 280; ++round) {
    for (int number = 0; number < 300; ++number) {
      modes::use(look_up(known, "https://example.org/" + std::to_string(random.below(1 << 30))).data());
    }
    rest(40);
  }
  say_resident();
}

using Blocks = std::vector<std::unique_ptr<char[]>>;

[[gnu::noinline]] void batch(Blocks& kept) {
  Blocks blocks;
  for (int number = 0; number < 30'000; ++number) {
    blocks.emplace_back(new char[300]);
    blocks.back()[0] = 1;
    if (number % 3000 == 0) kept.push_back(std::move(blocks.back()));
  }
}

void trims() {
  Blocks kept;
  for (int round = 0; round < 40; ++round) {
    batch(kept);
    if (!is_mended) malloc_trim(0);
    rest(5);
  }
}

using Table = std::unordered_map<std::uint64_t, std::uint32_t>;

[[gnu::noinline]] void fill(Table& table, std::uint64_t entries) {
  for (std::uint64_t at = 0; at < entries; ++at) table[at * 7919] = 1;
}

void cleared() {
  Table table;
  fill(table, 1'000'000);
  is_mended ? Table().swap(table) : table.clear();
  malloc_trim(0);
  for (int round = 0; round < 40; ++round) {
    fill(table, 100);
    table.clear();
    rest(25);
  }
  say_resident();
}

std::recursive_mutex all_of_it;
using Lock = std::unique_lock<std::recursive_mutex>;

[[gnu::noinline]] std::unique_ptr<Lock> locked() { return std::make_unique<Lock>(all_of_it); }

[[gnu::noinline]] long next(long number) {
  if (is_mended) {
    const Lock own(all_of_it);
    return number + 1;
  }
  const auto own = locked();
  return number + 1;
}

void locks() {
  long number = 0;
  while (number < 3'000'000) number = next(number);
}

template <class Key, class Map>
[[gnu::noinline]] long sum_of(const Map& known, const std::vector<std::string>& names) {
  long sum = 0;
  for (const auto& name : names) sum += known.find(Key(name.data(), name.size()))->second;
  return sum;
}

template <class Key, class Map>
void look_up_all() {
  Map known;
  std::vector<std::string> names;
  for (int number = 0; number < 40; ++number) {
    names.push_back("x-amz-server-side-encryption-" + std::to_string(number));
    known[names.back()] = number;
  }
  long sum = 0;
  for (int round = 0; round < 30'000; ++round) sum += sum_of<Key>(known, names);
  modes::use(&sum);
}

void lookups() {
  is_mended ? look_up_all<std::string_view, std::map<std::string, long, std::less<>>>()
            : look_up_all<std::string, std::map<std::string, long>>();
}

[[gnu::noinline]] int known_or_throw(const std::map<int, int>& known, int key) {
  const auto found = known.find(key);
  if (found == known.end()) throw std::runtime_error("no such key in this table: " + std::to_string(key));
  return found->second;
}

[[gnu::noinline]] int known_or(const std::map<int, int>& known, int key, int other) {
  const auto found = known.find(key);
  return found == known.end() ? other : found->second;
}

void throws() {
  const std::map<int, int> known{{-1, 1}};
  long sum = 0;
  for (int key = 0; key < 200'000; ++key) {
    if (is_mended) {
      sum += known_or(known, key, 2);
      continue;
    }
    try {
      sum += known_or_throw(known, key);
    } catch (const std::exception& failure) {
      sum += static_cast<long>(std::strlen(failure.what()));
    }
  }
  modes::use(&sum);
}

constexpr std::size_t task_length = 32;
using Task = int[task_length];

[[gnu::noinline]] std::size_t different_in(const Task& task) {
  if (!is_mended) return std::set<int>(std::begin(task), std::end(task)).size();
  Task sorted;
  std::copy(std::begin(task), std::end(task), sorted);
  std::sort(std::begin(sorted), std::end(sorted));
  return static_cast<std::size_t>(std::unique(std::begin(sorted), std::end(sorted)) - sorted);
}

void sets() {
  modes::Random random;
  std::size_t sum = 0;
  for (int round = 0; round < 200'000; ++round) {
    Task task;
    for (int& one : task) one = static_cast<int>(random.below(20));
    sum += different_in(task);
  }
  modes::use(&sum);
}

[[gnu::noinline]] void make_texts(std::vector<std::string>& texts) {
  for (int number = 0; number < 400'000; ++number) texts.emplace_back(100, 'x');
}

void copies() {
  std::vector<std::string> texts;
  make_texts(texts);
  for (int round = 0; round < 3; ++round) {
    const auto child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    for (auto& text : texts) text[0] = 'y';
  }
}

[[gnu::noinline]] void use_table(modes::Random& random) {
  constexpr std::size_t entries = 4 << 20;
  int* const table = static_cast<int*>(std::calloc(entries, sizeof(int)));
  for (int number = 0; number < 1000; ++number) ++table[random.below(entries)];
  modes::use(table);
  std::free(table);
}

void tables() {
  modes::Random random;
  for (int round = 0; round < 40; ++round) use_table(random);
}

[[gnu::noinline]] void take_frame() {
  static std::vector<char> kept;
  std::vector<char> own;
  std::vector<char>& frame = is_mended ? kept : own;
  frame.resize(std::size_t{40} << 20);
  frame.back() = 1;
  modes::use(frame.data());
}

void frames() {
  for (int number = 0; number < 15; ++number) take_frame();
}

struct Post {
  std::string name;
  long number, round;
};

template <class Queue>
[[gnu::noinline]] void post(Queue& all, long number, long round, long& sum) {
  all.push_back([what = Post{"request", number, round}, &sum] { sum += what.number * what.round; });
}

[[gnu::noinline]] void post(std::deque<Post>& all, long number, long round, long&) {
  all.push_back({"request", number, round});
}

void posts() {
  std::deque<std::function<void()>> tasks;
  std::deque<Post> mended;
  long sum = 0;
  for (long round = 0; round < 3000; ++round) {
    for (long number = 0; number < 200; ++number) {
      is_mended ? post(mended, number, round, sum) : post(tasks, number, round, sum);
    }
    for (; !tasks.empty(); tasks.pop_front()) tasks.front()();
    for (; !mended.empty(); mended.pop_front()) sum += mended.front().number * mended.front().round;
  }
  modes::use(&sum);
}

[[gnu::noinline]] std::shared_ptr<std::vector<int>> with_change(
    const std::shared_ptr<std::vector<int>>& table, std::size_t at) {
  auto next = is_mended ? table : std::make_shared<std::vector<int>>(*table);
  (*next)[at] = 1;
  return next;
}

void snapshots() {
  auto table = std::make_shared<std::vector<int>>(100'000);
  for (std::size_t at = 0; at < 4000; ++at) table = with_change(table, at);
  modes::use(table->data());
}

[[gnu::noinline]] void make_blocks(std::mutex& mutex, std::vector<Blocks>& all) {
  for (int round = 0; round < 10; ++round) {
    Blocks blocks;
    for (int at = 0; at < 5000; ++at) {
      blocks.emplace_back(new char[at % 100 == 0 ? 24 : 400]);
      blocks.back()[0] = 1;
    }
    const std::lock_guard own(mutex);
    all.push_back(std::move(blocks));
  }
}

void handed() {
  std::mutex mutex;
  std::vector<Blocks> all;
  std::vector<std::thread> threads(8);
  for (auto& thread : threads) thread = std::thread([&mutex, &all] { make_blocks(mutex, all); });
  for (auto& thread : threads) thread.join();
  std::thread([&all] { all.clear(); }).join();
  if (is_mended) malloc_trim(0);
  rest(1500);
  say_resident();
}

}  // namespace

int main(int count, char** words) {
  const std::string_view name = count > 1 ? words[1] : "";
  is_mended = count > 2;
  constexpr std::pair<std::string_view, void (*)()> all[] = {
      {"aligned", aligned}, {"steps", steps},         {"burst", burst},     {"matrices", matrices},
      {"strings", strings}, {"sessions", sessions},   {"cache", cache},     {"trims", trims},
      {"cleared", cleared}, {"locks", locks},         {"lookups", lookups}, {"throws", throws},
      {"sets", sets},       {"copies", copies},       {"tables", tables},   {"frames", frames},
      {"posts", posts},     {"snapshots", snapshots}, {"handed", handed},
  };
  for (const auto& [known, run] : all) {
    if (known != name) continue;
    run();
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    modes::say("work_ns", static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
                              static_cast<std::uint64_t>(used.tv_nsec));
    return 0;
  }
  return 2;
}
