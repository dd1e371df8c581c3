// SPDX-License-Identifier: MIT
// Objects that are used again. One member is cleared and keeps the room of its largest use, which two lines
// make; of another the room is given back; a third is of one object, and is data that only grows.
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr unsigned requests = 400'000;
constexpr unsigned objects = 200;
constexpr std::size_t largest = 20'000;

std::mt19937 random_number(3);

struct Request {
  std::vector<int> fields;
  std::vector<int> trimmed;
};

std::size_t draw_count(unsigned number) { return number % 500 == 499 ? largest : 8 + random_number() % 24; }

void read_lines(Request& request, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    request.fields.push_back(static_cast<int>(at));  // finds kept-capacity member Request::fields
  }
}

void read_block(Request& request, std::size_t count) {
  request.fields.resize(count);  // finds kept-capacity member Request::fields
}

void read_trimmed(Request& request, std::size_t count) {
  request.trimmed.resize(count);  // finds vector-growth member Request::trimmed
}

struct Journal {
  std::vector<unsigned> entries;
  void add(unsigned number) { entries.push_back(number); }  // finds vector-growth member Journal::entries
};

}  // namespace

int main() {
  // It stays to the end of the process, so that all it holds is there at the end.
  auto& pool = *new std::vector<Request>(objects);
  Journal journal;
  std::size_t sum = 0;
  for (unsigned number = 0; number < requests; ++number) {
    Request& request = pool[random_number() % objects];
    request.fields.clear();
    if (request.trimmed.capacity() > 64) {
      std::vector<int>().swap(request.trimmed);
    }
    request.trimmed.clear();
    const std::size_t count = draw_count(number);
    if (number % 1000 < 500) {
      read_lines(request, count);
    } else {
      read_block(request, count);
    }
    read_trimmed(request, draw_count(number + 7));
    journal.add(number);
    // Some calls between, so that the course is drawn in time.
    const std::string text(100 + number % 50, 't');
    sum += text.size() + request.fields.size();
  }
  std::printf("%zu\n", sum + journal.entries.size());
}
