// SPDX-License-Identifier: MIT
// What programs ask of a malloc beyond blocks: malloc_info's elements, mallopt's answers, threads that are
// cancelled, and threads that cannot be made because the address space is limited.
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "public_names.hpp"

namespace {

// An element of malloc_info: its name, its attributes in order, and how deep it lies.
struct Element {
  std::string name;
  std::string type;
  std::uintmax_t size;
  int depth;
};

std::string attribute_of(const std::string& tag, const char* name) {
  const std::size_t at = tag.find(std::string(" ") + name + "=\"");
  if (at == std::string::npos) return "";
  const std::size_t begin = tag.find('"', at) + 1;
  return tag.substr(begin, tag.find('"', begin) - begin);
}

// Well-formed, but for text between the tags.
std::vector<Element> parse(const std::string& text) {
  std::vector<Element> found;
  std::vector<std::string> open;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    const std::size_t end = text.find('>', at);
    REQUIRE(end != std::string::npos);
    const std::string tag = text.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    at = end;
    if (tag[0] == '/') {
      REQUIRE(!open.empty() && open.back() == tag.substr(1));
      open.pop_back();
      continue;
    }
    const std::string size = attribute_of(tag, "size");
    for (const char digit : size) REQUIRE(digit >= '0' && digit <= '9');
    found.push_back({name, attribute_of(tag, "type"), size.empty() ? 0 : std::stoull(size),
                     static_cast<int>(open.size())});
    if (tag.back() != '/') open.push_back(name);
  }
  REQUIRE(open.empty());
  return found;
}

std::string ask_info() {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* stream = open_memstream(&text, &bytes);
  REQUIRE(stream != nullptr && malloc_info(0, stream) == 0);
  std::fclose(stream);
  std::string said(text, bytes);
  std::free(text);
  return said;
}

std::uintmax_t size_of(const std::vector<Element>& info, const char* name, const char* type) {
  int found = 0;
  std::uintmax_t size = 0;
  for (const Element& element : info) {
    if (element.depth != 1 || element.name != name || element.type != type) continue;
    size = element.size;
    ++found;
  }
  REQUIRE(found == 1);
  return size;
}

void check_info_elements() {
  const std::string text = ask_info();
  const char begin[] = "<malloc version=\"1\">\n<heap nr=\"0\">\n";
  REQUIRE(text.compare(0, sizeof begin - 1, begin) == 0);
  const char end[] = "</malloc>\n";
  REQUIRE(text.size() > sizeof end && text.compare(text.size() - (sizeof end - 1), sizeof end, end) == 0);
  const std::vector<Element> info = parse(text);
  for (const char* type : {"fast", "rest", "mmap"}) size_of(info, "total", type);
  for (const char* type : {"total", "mprotect"}) size_of(info, "aspace", type);
  REQUIRE(size_of(info, "system", "max") >= size_of(info, "system", "current"));
  int of_heap = 0;
  for (const Element& element : info) of_heap += element.depth == 2 && !element.type.empty() ? 1 : 0;
  REQUIRE(of_heap >= 6);  // total twice, system twice, aspace twice; some arenas have more
}

void check_info_follows() {
  constexpr std::size_t bytes = 1000;
  constexpr std::uintmax_t all = 50'000 * bytes;
  std::vector<void*> blocks(all / bytes);
  for (void*& block : blocks) REQUIRE((block = std::malloc(bytes)) != nullptr);
  const std::vector<Element> full = parse(ask_info());
  REQUIRE(size_of(full, "system", "current") >= all);
  for (void* block : blocks) std::free(block);
  const auto used = [](const std::vector<Element>& info) {
    return size_of(info, "system", "current") - size_of(info, "total", "rest");
  };
  const std::vector<Element> empty = parse(ask_info());
  REQUIRE(used(full) >= all && used(empty) <= all / 2);
  // What was given back is neither used nor free.
  malloc_trim(0);
  const std::vector<Element> trimmed = parse(ask_info());
  REQUIRE(used(trimmed) <= all / 2);
  REQUIRE(!is_preloaded() || size_of(trimmed, "system", "current") <= all / 2);
  REQUIRE(size_of(empty, "system", "max") >= size_of(full, "system", "current"));
}

void check_info_options() {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* stream = open_memstream(&text, &bytes);
  for (const int option : {1, -1, 1 << 30}) REQUIRE(malloc_info(option, stream) == EINVAL);
  std::fclose(stream);
  REQUIRE(bytes == 0);
  std::free(text);
}

// What can be set where is family.cpp's; here, that none of it changes anything.
void check_settings() {
  if (!is_preloaded()) return;
  errno = 5;
  for (const int setting :
       {M_MXFAST, M_NLBLKS, M_GRAIN, M_KEEP, M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX,
        M_CHECK_ACTION, M_PERTURB, M_ARENA_TEST, M_ARENA_MAX, 9999}) {
    for (const int value : {0, 1, -1, 1 << 30}) mallopt(setting, value);
  }
  REQUIRE(errno == 5);
  for (const int unknown : {M_NLBLKS, M_GRAIN, M_KEEP, 9999}) REQUIRE(mallopt(unknown, 1) == 0);
  const struct mallinfo2 before = mallinfo2();
  void* block = std::calloc(1, 300'000);  // what M_PERTURB, M_MMAP_MAX and M_MMAP_THRESHOLD would change
  REQUIRE(mallinfo2().hblkhd >= before.hblkhd + 300'000);
  std::free(block);
}

bool has_come_by = false;

// Calls that POSIX has be no places where a thread is cancelled: all of them, with the heap's system calls.
void* use_family(void*) {
  pthread_cancel(pthread_self());
  static void* blocks[300];
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < 300; ++i) {
      const std::size_t bytes = i % 60 == 0 ? i * 20'000 : i * 37;
      blocks[i] = i % 3 == 0 ? std::calloc(1, bytes) : i % 3 == 1 ? std::malloc(bytes) : memalign(256, bytes);
      REQUIRE(blocks[i] != nullptr);
      blocks[i] = std::realloc(blocks[i], bytes + 100);
    }
    void* huge = std::malloc(40'000'000);
    std::free(huge);
    for (void* block : blocks) std::free(block);
    malloc_trim(0);
    REQUIRE(malloc_usable_size(nullptr) == 0 && mallinfo2().arena > 0);
  }
  has_come_by = true;
  pthread_testcancel();
  return nullptr;
}

ssize_t cancel_in_write(void*, const char*, std::size_t bytes) {
  pthread_cancel(pthread_self());
  pthread_testcancel();
  return static_cast<ssize_t>(bytes);
}

// A thread that ends within them holds nothing that others wait for.
void* ask_info_to_the_end(void*) {
  std::FILE* stream = fopencookie(nullptr, "w", {nullptr, cancel_in_write, nullptr, nullptr});
  REQUIRE(stream != nullptr);
  std::setvbuf(stream, nullptr, _IONBF, 0);
  malloc_info(0, stream);
  return nullptr;
}
void* ask_stats_to_the_end(void*) {
  pthread_cancel(pthread_self());
  malloc_stats();
  return nullptr;
}

void* result_of_thread(void* (*act)(void*)) {
  pthread_t thread{};
  REQUIRE(pthread_create(&thread, nullptr, act, nullptr) == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0);
  return result;
}

void check_cancellation() {
  REQUIRE(std::freopen("/dev/null", "w", stderr) != nullptr);
  REQUIRE(result_of_thread(use_family) == PTHREAD_CANCELED && has_come_by);
  for (int round = 0; round < 10; ++round) {
    REQUIRE(result_of_thread(ask_info_to_the_end) == PTHREAD_CANCELED);
    result_of_thread(ask_stats_to_the_end);
    check_info_elements();
    malloc_stats();
    std::free(keep(std::malloc(1000)));
  }
}

std::size_t mapped_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  unsigned long pages = 0;
  REQUIRE(std::fscanf(file, "%lu", &pages) == 1);
  std::fclose(file);
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// A block, or null and ENOMEM.
void* allocate_or_not(void*) {
  static thread_local void* blocks[1000];
  for (std::size_t i = 0; i < 1000; ++i) {
    errno = 0;
    blocks[i] = std::malloc(1 + i * 7 % 900);
    REQUIRE(blocks[i] != nullptr || errno == ENOMEM);
  }
  for (void* block : blocks) std::free(block);
  return nullptr;
}

// Until they are joined their stacks are there.
std::vector<pthread_t> make_threads_until_refused() {
  std::vector<pthread_t> threads;
  for (;;) {
    pthread_t thread{};
    const int error = pthread_create(&thread, nullptr, allocate_or_not, nullptr);
    if (error != 0) {
      REQUIRE(error == EAGAIN || error == ENOMEM);
      return threads;
    }
    threads.push_back(thread);
    REQUIRE(threads.size() < 1000);
  }
}

void run_out_of_addresses() {
  std::vector<void*> blocks;
  blocks.reserve(100'000);
  std::free(keep(std::malloc(1000)));
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = mapped_bytes() + (std::size_t{200} << 20);
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  // A thread that is made and one that is not leave the heap as usable as before.
  for (int round = 0; round < 3; ++round) {
    const std::vector<pthread_t> first = make_threads_until_refused();
    allocate_or_not(nullptr);
    for (;;) {
      errno = 0;
      void* block = std::malloc(100'000);
      if (block == nullptr) break;
      blocks.push_back(block);
    }
    REQUIRE(errno == ENOMEM);
    allocate_or_not(nullptr);
    for (void* block : blocks) std::free(block);
    blocks.clear();
    for (const pthread_t thread : first) REQUIRE(pthread_join(thread, nullptr) == 0);
  }
  REQUIRE(result_of_thread(allocate_or_not) == nullptr);
  require_valid();
}

void check_thread_failure() {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    run_out_of_addresses();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

}  // namespace

int main() {
  check_settings();
  check_info_elements();
  check_info_follows();
  check_info_options();
  check_thread_failure();
  check_cancellation();
  require_valid();
  say("done\n");
  return 0;
}
