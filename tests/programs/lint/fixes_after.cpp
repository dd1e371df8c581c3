// SPDX-License-Identifier: MIT
// clang-format off
// What has to come out of fixes.cpp, written by hand.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Base {
  virtual ~Base() = default;
};
struct Point : Base {
  int x = 0;
  int y = 0;
  const char* name = "";
  static const int kSide = 3;
  Point() = default;
  Point(int given_x, int given_y) : x(given_x), y(given_y) {}
  explicit Point(const char* given) : name(given) {}
};
struct List {
  explicit List(std::vector<int> all) : x(all[0]) {}
  int x;
};
struct Pair {
  int first;
  int second;
};
using PointPtr = std::shared_ptr<Point>;

struct Holder {
  Holder() : kept_(std::make_shared<Point>(1, 2)), other_{std::make_shared<Point>()} {}
  PointPtr kept_;
  std::shared_ptr<Base> other_;
  std::shared_ptr<const Point> fixed_ = std::shared_ptr<const Point>(std::make_shared<Point>(3, 4));
};

static int shared(bool wanted) {
  auto as_base = std::shared_ptr<Base>(std::make_shared<Point>(5, 6));
  PointPtr p(std::make_shared<Point>(7, 8));
  p = std::make_shared<Point>(9,
                    10);
  if (wanted) p = std::make_shared<Point>();
  PointPtr braces(new Point{11, 12});
  PointPtr empty(std::make_shared<Point>());
  PointPtr zero(new Point(0, 1));
  PointPtr null(std::make_shared<Point>(nullptr));
  std::shared_ptr<List> list(new List({13, 14}));
  PointPtr side(new Point(Point::kSide, 1));
  std::shared_ptr<Pair> aggregate(new Pair{15, 16});
  PointPtr* pointer = &p;
  pointer->reset(new Point(17, 18));
  std::vector<PointPtr> all;
  all.push_back(PointPtr(std::make_shared<Point>(19, 20)));
  PointPtr ünlike(new Point(21, 22));
  return p->x + braces->x + empty->x + zero->y + side->x + aggregate->first + list->x + all[0]->x + ünlike->x +
         static_cast<int>(null->name == nullptr) + static_cast<int>(as_base != nullptr);
}

class Buffers {
 public:
  void release_memory(bool wanted) {
    bytes_.clear();
    bytes_.shrink_to_fit();
    text_.clear();
    text_.shrink_to_fit();
    if (wanted) rest_.clear();
  }
  void shrink() { this->bytes_.shrink_to_fit(); }
  std::size_t size() const { return bytes_.size() + text_.size() + rest_.size(); }

 private:
  std::vector<char> bytes_{'a'};
  std::vector<char> rest_;
  std::string text_ = "text";
};

struct Rows {
  const std::vector<int>& rows() const { return rows_; }
  std::vector<int> made() const { return rows_; }
  std::vector<int> rows_{1, 2, 3};
};

static std::size_t loops(const Rows& table, int count, unsigned many, const std::map<int, int>& lookup) {
  std::vector<int> a;
  a.reserve(table.rows().size());
  for (int one : table.rows()) {
    a.push_back(one);
  }
  std::vector<int> b;
  for (int one : table.made()) {
    b.push_back(one);
  }
  std::vector<int> c;
  c.reserve(count > 0 ? count : 0);
  for (int i = 0; i < count; ++i) c.push_back(i);
  std::vector<unsigned> d;
  d.reserve(2 * (many));
  for (unsigned i = 0; i < many; i++) {
    d.push_back(i);
    d.push_back(i);
  }
  std::vector<int> e;
  e.reserve(lookup.size());
  for (const auto& [key,
                    value] : lookup) {
    e.push_back(key + value);
  }
  std::vector<int> f; f.reserve(10); for (int i = 0; i != 10; ++i) { f.emplace_back(i); }
  return a.size() + b.size() + c.size() + d.size() + e.size() + f.size();
}

int main() {
  Holder holder;
  Buffers buffers;
  buffers.shrink();
  std::printf("%zu ", buffers.size());
  buffers.release_memory(true);
  std::printf("%zu %d %zu %zu %d\n", buffers.size(), shared(false), loops(Rows(), 7, 3, {{1, 2}}),
              loops(Rows(), -7, 3, {}), holder.kept_->x + holder.fixed_->y);
}
