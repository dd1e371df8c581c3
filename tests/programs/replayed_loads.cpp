// SPDX-License-Identifier: MIT
// replayed_loads staggered|quarter|chains|nothing|server: heaps that a replay gets wrong when it leaves
// something out. The last state stays for a while, so that its memory is read.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr std::size_t mebi = std::size_t{1} << 20U;

void stay() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

void* filled(std::size_t bytes) {
  void* block = std::malloc(bytes);
  std::memset(block, 1, bytes);
  return block;
}

// Each thread holds 8 MiB while the others hold little.
void hold_in_turn() {
  for (int turn = 0; turn < 4; ++turn) {
    std::thread([] {
      std::vector<void*> blocks;
      for (std::size_t bytes = 0; bytes < 8 * mebi; bytes += 1000) blocks.push_back(filled(1000));
      stay();
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i % 8 != 0) std::free(blocks[i]);
      }
      stay();
    }).join();
  }
}

// 40 blocks of 1 MiB, of which a quarter is written.
void touch_a_quarter() {
  for (int i = 0; i < 40; ++i) std::memset(std::malloc(mebi), 1, mebi / 4);
}

// Blocks of no bytes, which nobody may read.
void ask_for_nothing() {
  for (int i = 0; i < 1000; ++i) std::free(std::malloc(0));
}

void grow_by_realloc() {
  for (int chain = 0; chain < 50; ++chain) {
    char* block = nullptr;
    for (std::size_t bytes = 1000; bytes < mebi / 2; bytes += bytes / 2) {
      block = static_cast<char*>(std::realloc(block, bytes));
      std::memset(block, 1, bytes);
      std::free(filled(700));
    }
  }
}

// Requests that any of 16 threads takes; what a request leaves another one replaces or drops later.
class Server {
 public:
  void run() {
    std::vector<std::thread> workers;
    for (int number = 0; number < 16; ++number) workers.emplace_back([this] { work(); });
    for (std::uint32_t request = 0; request < 150'000; ++request) take(request);
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    has_news_.notify_all();
    for (auto& worker : workers) worker.join();
  }

 private:
  // Every eighth request is larger; the client waits where the workers do not keep up.
  void take(std::uint32_t request) {
    const std::uint32_t random = request * 2654435761U >> 8U;
    const auto bytes = request % 8 == 0 ? 500 + random % 6000 : 20 + random % 300;
    std::string text = std::to_string(random % 20'000) + std::string(bytes, 'r');
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return waiting_.size() < 1000; });
    waiting_.push_back(std::move(text));
    lock.unlock();
    has_news_.notify_one();
  }

  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      has_news_.wait(lock, [this] { return is_done_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::string request = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      has_room_.notify_one();
      answer(request);
    }
  }

  void answer(const std::string& request) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < request.size(); at += 40) words.push_back(request.substr(at, 40));
    std::string kept;
    for (const auto& word : words) kept += word;
    const auto session = std::strtoul(request.c_str(), nullptr, 10);
    const std::lock_guard lock(sessions_mutex_);
    if (session % 5 == 0) {
      sessions_.erase(session + 1);
    } else {
      sessions_[session] = std::move(kept);
    }
  }

  std::mutex mutex_;
  std::condition_variable has_news_;
  std::condition_variable has_room_;
  std::deque<std::string> waiting_;
  bool is_done_ = false;
  std::mutex sessions_mutex_;
  std::unordered_map<std::uint64_t, std::string> sessions_;
};

}  // namespace

int main(int count, char** arguments) {
  const std::string_view load = count > 1 ? arguments[1] : "";
  stay();
  if (load == "staggered") hold_in_turn();
  if (load == "quarter") touch_a_quarter();
  if (load == "chains") grow_by_realloc();
  if (load == "nothing") ask_for_nothing();
  if (load == "server") Server().run();
  stay();
}
