// SPDX-License-Identifier: MIT
// What the checks without a recording find, and beside it what looks like it and is right. Parsed, never run.
//   finds KIND   on the line; a line without it has nothing
#include <array>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct Plain {
  int value = 0;
  Plain() = default;
  explicit Plain(int given) : value(given) {}
};

class Hidden {
 public:
  static std::shared_ptr<Hidden> open() {
    return std::shared_ptr<Hidden>(new Hidden);  // finds shared-from-new
  }

 private:
  Hidden() = default;
};

struct Pooled {
  static void* operator new(std::size_t size) { return std::malloc(size); }
  static void operator delete(void* pointer) { std::free(pointer); }
};

struct FromPool : Pooled {
  int value = 0;
};

template <typename Object>
struct PoolOf {
  static void* operator new(std::size_t size) { return std::malloc(size); }
  static void operator delete(void* pointer) { std::free(pointer); }
};

template <typename Object>
struct Cell : PoolOf<Cell<Object>> {
  Object value{};
};

template <typename Object>
struct Node {
  Object value{};
};

struct Freed {
  static void operator delete(Freed* one, std::destroying_delete_t);
};

template <typename Root>
struct OnRoot : Root {};

template <int Depth>
struct Nested : Nested<Depth - 1> {};
template <>
struct Nested<0> {};

using Four = int[4];

class Factory {
 public:
  explicit Factory(int value) : value_(value) {}

 protected:
  Factory() = default;
  int value_ = 0;
};

class Special : public Factory {
 public:
  std::shared_ptr<Special> copy() const {
    return std::shared_ptr<Special>(new Special(*this));  // finds shared-from-new
  }
};

#define MAKE_PLAIN(name) std::shared_ptr<Plain> name(new Plain)

void shared() {
  std::shared_ptr<Plain> first(new Plain);             // finds shared-from-new
  auto second = std::shared_ptr<Plain>(new Plain(2));  // finds shared-from-new
  first.reset(new Plain(3));                           // finds shared-from-new
  std::shared_ptr<Plain> deleted(new Plain, [](Plain* one) { delete one; });
  auto made = std::make_shared<Plain>();
  std::unique_ptr<Plain> unique(new Plain);
  unique.reset(new Plain);
  std::shared_ptr<int[]> array(new int[10]);
  std::shared_ptr<Pooled> pooled(new Pooled);
  std::shared_ptr<FromPool> inherited(new FromPool);
  std::shared_ptr<Cell<int>> cell(new Cell<int>);
  std::shared_ptr<Node<int>> node(new Node<int>);  // finds shared-from-new
  std::shared_ptr<Freed> freed(new Freed);
  std::shared_ptr<OnRoot<Pooled>> on_root(new OnRoot<Pooled>);
  std::shared_ptr<Nested<3>> nested(new Nested<3>);  // finds shared-from-new
  std::shared_ptr<int[]> four(new Four);
  MAKE_PLAIN(hidden);
  std::shared_ptr<Plain> moved(std::move(unique));
  Plain* raw = new Plain;
  std::shared_ptr<Plain> taken(raw);
}

class Buffers {
 public:
  void release_memory() {
    bytes_.clear();  // finds not-released
    text_ = "";      // finds not-released
    rest_ = {};      // finds not-released
  }
  void free_buffers() {
    bytes_.clear();
    bytes_.shrink_to_fit();
    std::vector<char>().swap(rest_);
    rest_.clear();
    text_.clear();
    text_.shrink_to_fit();
  }
  void next_request() {
    bytes_.clear();
    text_ = "";
    rest_ = {};
  }
  void shrink() {
    bytes_.clear();
    bytes_.reserve(0);  // finds not-released
    rest_ = std::vector<char>();
  }
  void trim_caches() {
    text_ = std::string();  // finds not-released
    std::string local = "x";
    local = "";
    lookup_.clear();
  }
  void release() { name_ = ""; }
  void next_round() {
    name_ = "";
    bytes_.reserve(0);  // finds not-released
  }

 private:
  std::vector<char> bytes_;
  std::vector<char> rest_;
  std::string text_;
  std::string name_;
  std::map<int, int> lookup_;
};

std::vector<int> doubled(const std::vector<int>& values) {
  std::vector<int> found;
  for (int value : values) {  // finds no-reserve
    found.push_back(2 * value);
  }
  return found;
}

std::vector<int> counted(int count) {
  std::vector<int> found;
  for (int i = 0; i < count; ++i) {  // finds no-reserve
    found.push_back(i);
    found.back() += 1;
  }
  return found;
}

class Table {
 public:
  explicit Table(const std::map<int, int>& rows) {
    for (const auto& row : rows) {  // finds no-reserve
      keys_.push_back(row.first);
    }
  }
  void add(const std::vector<int>& more) {
    for (int key : more) {
      keys_.push_back(key);
    }
  }

 private:
  std::vector<int> keys_;
};

class Numbers {
 public:
  explicit Numbers(const std::vector<int>& values) {
    for (int value : values) {
      begun_.push_back(value);
    }
  }

 private:
  std::vector<int> begun_{1, 2, 3};
};

int below(int index);

std::vector<int> bounds(const std::array<int, 3>& three, const std::array<int, 30>& thirty) {
  std::vector<int> few;
  for (int value : three) {
    few.push_back(value);
  }
  std::vector<int> many;
  for (int value : thirty) {  // finds no-reserve
    many.push_back(value);
  }
  std::vector<int> moving;
  for (int i = 0; i < below(i); ++i) {
    moving.push_back(i);
  }
  std::vector<int> other;
  for (int i = 0; i < below(7); ++i) {  // finds no-reserve
    other.push_back(i);
  }
  return few;
}

struct Rows {
  std::vector<int> cells;
};

std::vector<int> right_loops(const std::vector<int>& values, std::vector<int>& out, int count) {
  std::vector<int> reserved;
  reserved.reserve(values.size());
  for (int value : values) {
    reserved.push_back(value);
  }
  std::vector<int> some;
  for (int value : values) {
    if (value > 0) {
      some.push_back(value);
    }
  }
  std::vector<int> until;
  for (int value : values) {
    if (value < 0) {
      break;
    }
    until.push_back(value);
  }
  for (int value : values) {
    out.push_back(value);
  }
  std::vector<int> again;
  for (int round = 0; round < 3; ++round) {
    for (int value : values) {
      again.push_back(value);
    }
  }
  std::vector<int> copied(values);
  for (int i = 0; i < count; ++i) {
    copied.push_back(i);
  }
  std::vector<int> one_each;
  for (int value : values) {
    one_each.push_back(value);
    below(one_each.back());
    one_each.clear();
  }
  std::vector<std::vector<int>> kept;
  kept.reserve(values.size());
  std::vector<int> given;
  for (int value : values) {
    given.push_back(value);
    kept.push_back(std::move(given));
  }
  Rows rows;
  auto& cells = rows.cells;
  for (int value : values) {
    cells.push_back(value);
  }
  std::vector<int> few;
  for (int i = 0; i < 3; ++i) {
    few.push_back(i);
  }
  std::vector<int> halves;
  for (int i = 0; i < count; i += 2) {
    halves.push_back(i);
  }
  return some;
}
