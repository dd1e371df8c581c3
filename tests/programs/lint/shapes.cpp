// SPDX-License-Identifier: MIT
// A line for each thing that heapwright lint tells apart. A comment says what it has to find there:
//   finds KIND OWNER [NAME]
#include "shapes.hpp"

#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

constexpr int rounds = 200;
volatile int sink = 0;

void use(const void* pointer) { sink = sink + (pointer != nullptr); }

struct Point {
  int x = 0;
  int y = 0;
  long weights[8] = {};
};

std::unique_ptr<Point> make_point() {
  return std::unique_ptr<Point>(new Point);  // finds new-object returned
}

struct Session {
  std::string name;
  std::vector<int> fields;
  std::map<int, std::string> headers;
  explicit Session(const char* text) : name(text) {}  // finds string-made member Session::name
  void add(int key) {
    fields.push_back(key);                                 // finds vector-growth member Session::fields
    headers[key] = "a value that is longer than sixteen";  // finds node-insert member Session::headers
  }
};

std::string join(const std::string& key, int value) {
  return key + ": the value of this one is " + std::to_string(value);  // finds string-concatenation returned
}

int call(const std::function<int(int)>& callback) { return callback(1); }

int count_long(std::vector<std::string> words) {
  int found = 0;
  for (const std::string& word : words) {
    found += word.size() > 8;
  }
  return found;
}

void objects() {
  for (int i = 0; i < rounds; ++i) {
    Point* point = new Point;  // finds new-object local point
    use(point);
    delete point;
    int* numbers = new int[static_cast<std::size_t>(50 + i)];  // finds new-array local numbers
    use(numbers);
    delete[] numbers;
    use(make_point().get());
    std::shared_ptr<Point> shared(new Point);  // finds new-object local; finds control-block local
    use(shared.get());
    auto both = std::make_shared<Point>();  // finds make-shared local both
    use(both.get());
    auto one = std::make_unique<Point>();  // finds make-unique local one
    use(one.get());
    void* raw = std::malloc(100);  // finds c-allocation local raw
    use(raw);
    std::free(raw);
  }
}

void containers() {
  std::unordered_map<int, long> table;
  std::list<int> order;
  std::vector<std::string> words = {"one that is longer than sixteen", "two that is longer than sixteen"};
  for (int i = 0; i < rounds; ++i) {
    std::vector<int> found;
    for (int j = 0; j < 20; ++j) {
      found.push_back(j);  // finds vector-growth local found
    }
    use(found.data());
    std::vector<int> copy = found;  // finds vector-copy local copy
    use(copy.data());
    std::vector<long> sized(static_cast<std::size_t>(i + 10));  // finds vector-made local sized
    use(sized.data());
    table.emplace(i, i);      // finds node-insert local table
    order.push_back(i);       // finds node-insert local order
    std::deque<int> waiting;  // finds deque-chunk local waiting
    waiting.push_back(i);
    use(&waiting);
    sink = sink + count_long(words);  // finds container-copy|vector-copy argument|temporary
  }
}

void texts() {
  const std::string key = "a key that is longer than sixteen";
  for (int i = 0; i < rounds; ++i) {
    std::string line;
    for (int j = 0; j < 10; ++j) {
      line += key;  // finds string-growth local line
    }
    use(line.data());
    std::string copy = key;  // finds string-copy local copy
    use(copy.data());
    std::string part = line.substr(10, 100);  // finds string-made local part
    use(part.data());
    use(join(key, i).data());
    std::ostringstream out;
    out << key << i;  // finds stream
    use(out.str().data());
  }
}

void others() {
  long a = 1, b = 2, c = 3;
  for (int i = 0; i < rounds; ++i) {
    const auto add = [a, b, c](int x) { return static_cast<int>(a + b + c) + x; };
    sink = sink + call(add);  // finds function-object argument|temporary
    try {
      throw std::runtime_error(
          "an error whose text is longer than sixteen");  // finds exception thrown|temporary
    } catch (const std::runtime_error& error) {
      use(error.what());
    }
    Session session("a session whose name is longer than sixteen");
    session.add(i);
    Session other = session;  // finds implicit-copy|members|string-copy|call local|temporary other
    use(&other);
    shapes::Ring<int> ring;
    ring.put(i);
    use(&ring);
    const shapes::Handle handle(i);
    use(handle.get());
  }
}

}  // namespace

int main() {
  objects();
  containers();
  texts();
  others();
  return sink == 0;
}
