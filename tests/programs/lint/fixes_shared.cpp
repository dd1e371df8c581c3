// SPDX-License-Identifier: MIT
// clang-format off
// shared_ptr from new where the type of the expression, or what make_shared forwards, makes a difference.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#define NONE 0
#define SIZES {7, 8}
#define WITHOUT_THROW (std::nothrow) Point

struct Point {
  Point(int given_x = 0, const char* given = nullptr) : x(given_x), name(given) {}
  int x;
  const char* name;
};
struct Text {
  Text(const std::string& given) : size(given.size()) {}
  std::size_t size;
};
struct Sizes {
  Sizes(std::vector<int> given) : size(given.size()) {}
  std::size_t size;
};
struct Bits {
  unsigned small : 3;
  unsigned large : 5;
};
struct __attribute__((packed)) Packed {
  char first;
  int x;
};
struct Inner {
  int x;
};
struct __attribute__((packed)) Outer {
  char first;
  Inner inner;
};
struct Constants {
  static const int kSide = 4;
  enum { kTop = 5 };
};
static void call(int) {}
[[maybe_unused]] static void call(double) {}
struct Callback {
  Callback(void (*given)(int)) : function(given) {}
  void (*function)(int);
};
struct Plain {
  int x;
  int y;
};
struct List {
  List(std::initializer_list<int> given) : size(given.size()) {}
  std::size_t size;
};
struct Unmoved {
  Unmoved() = default;
  Unmoved(const Unmoved&) = delete;
  int x = 6;
};
struct Mutex {
  std::mutex mutex;
};
struct Keeps {
  Keeps(Unmoved given) : x(given.x) {}
  Keeps(Mutex) : x(1) {}
  Keeps(std::unique_ptr<Point> given) : x(given->x) {}
  int x;
};
struct alignas(64) Aligned {
  int x = 7;
};
template <typename Object>
struct Pooled {
  static void* operator new(std::size_t size) { return std::malloc(size); }
  static void operator delete(void* pointer) { std::free(pointer); }
};
struct FromPool : Pooled<FromPool> {
  int x = 8;
};
template <typename Object>
struct Cell : Pooled<Cell<Object>> {
  int x = 9;
};
class Key {
  explicit Key(int) {}
  Key(const char*) {}
  friend struct Opens;
};
struct Door {
  Door(Key) {}
  int x = 11;
};
struct Opens {
  static std::shared_ptr<Door> door() { return std::shared_ptr<Door>(new Door("key")); }
};
struct Listener {
  int x = 12;
};
struct Heard {
  Heard(Listener* given) : x(given->x) {}
  int x;
};
struct Quiet : private Listener {
  std::shared_ptr<Heard> heard() { return std::shared_ptr<Heard>(new Heard(this)); }
};
struct Loud : Listener {
  std::shared_ptr<Heard> heard() { return std::shared_ptr<Heard>(new Heard(this)); }
};
class Made {
 public:
  static std::shared_ptr<Made> copy() { return std::shared_ptr<Made>(new Made(made())); }
  int x = 13;

 private:
  static Made made() { return Made(); }
};
using PointPtr = std::shared_ptr<Point>;
static PointPtr global;
static int calls = 0;
static PointPtr& get() { ++calls; return global; }
static int counted() { return calls++; }
static void nothing() {}
static Unmoved unmoved() { return {}; }
static Mutex mutex() { return {}; }

static void returned(PointPtr& p) { return p.reset(new Point(1)); }
static int discarded(PointPtr& p, std::vector<PointPtr>& all, bool wanted) {
  int sum = 0;
  wanted ? p.reset(new Point(2)) : nothing();
  sum += p->x;
  (void)p.reset(new Point(3));
  sum += p->x;
  for (int i = 0; i < 2; p.reset(new Point(4)), ++i) {}
  if (wanted) p.reset(new Point(5)); else p.reset(new Point(6));
  do p.reset(new Point(p->x + 1)); while (false);
  switch (sum) { case 5: p.reset(new Point(p->x + 1)); break; default: (p.reset(new Point(8))); }
  ({ p.reset(new Point(p->x + 1)); });
  auto later = [&p] { return p.reset(new Point(p->x + 1)); };
  later();
  auto now = [&p] { p.reset(new Point(p->x + 1)); };
  now();
  get().reset(new Point(calls));
  all[counted()].reset(new Point(calls));
  std::shared_ptr<void> any;
  any.reset(new Point(p->x));
  wanted && (p.reset(new Point(10)), true);
  return sum + p->x + global->x + all[1]->x + static_cast<Point*>(any.get())->x;
}

static int arguments(Bits& bits, Packed& packed, Outer& outer, bool wanted) {
  const int constant = 14;
  PointPtr from_bits(new Point(bits.small));
  PointPtr from_either(new Point(wanted ? bits.small : bits.large));
  PointPtr from_packed(new Point(packed.x));
  PointPtr from_inner(new Point(outer.inner.x));
  PointPtr from_side(new Point(wanted ? Constants::kSide : constant));
  PointPtr from_top(new Point(Constants::kTop));
  PointPtr from_zero(new Point(1, 0L));
  PointPtr from_macro(new Point(1, NONE));
  PointPtr from_text(new Point(1, "text"));
  PointPtr from_cast(static_cast<Point*>(new Point(15)));
  PointPtr from_parentheses((new Point(16)));
  PointPtr without_throw(new WITHOUT_THROW(17));
  auto captured = [] { return PointPtr(new Point(constant)); };
  std::shared_ptr<Sizes> list(new Sizes(/* a list */ {3, 4, 5}));
  std::shared_ptr<Sizes> sizes(new Sizes(SIZES));
  std::shared_ptr<Text> text(new Text("text"));
  std::shared_ptr<Callback> callback(new Callback(&call));
  std::shared_ptr<Callback> lambda(new Callback([](int) {}));
  return from_bits->x + from_either->x + from_packed->x + from_inner->x + from_side->x + from_top->x + from_zero->x +
         from_macro->x + from_text->x + from_cast->x + from_parentheses->x + without_throw->x + captured()->x +
         static_cast<int>(list->size + sizes->size + text->size) + (callback->function != lambda->function);
}

static int types() {
  std::shared_ptr<Plain> undefined(new Plain);
  undefined->x = 18;
  std::shared_ptr<Plain> zero(new Plain());
  std::shared_ptr<Plain> braces(new Plain{});
  std::shared_ptr<int> number(new int(19));
  std::shared_ptr<int> unset(new int);
  std::shared_ptr<List> list(new List{});
  std::shared_ptr<Keeps> elided(new Keeps(unmoved()));
  std::shared_ptr<Keeps> locked(new Keeps(mutex()));
  std::shared_ptr<Keeps> moved(new Keeps(std::make_unique<Point>(20)));
  std::shared_ptr<Aligned> aligned(new Aligned);
  std::shared_ptr<FromPool> pooled(new FromPool);
  std::shared_ptr<Cell<int>> cell(new Cell<int>);
  std::shared_ptr<const Point> fixed(new const Point(21));
  Point* raw = nullptr;
  std::shared_ptr<Point> chosen(raw != nullptr ? raw : new Point(22));
  return undefined->x + zero->y + braces->x + *number + (unset != nullptr) + static_cast<int>(list->size) + elided->x +
         locked->x + moved->x + aligned->x + pooled->x + cell->x + fixed->x + chosen->x +
         static_cast<int>(reinterpret_cast<std::size_t>(aligned.get()) % 64);
}

int main() {
  PointPtr p;
  returned(p);
  std::vector<PointPtr> all(2);
  Bits bits{1, 2};
  Packed packed{'a', 3};
  Outer outer{'b', {4}};
  Quiet quiet;
  Loud loud;
  std::printf("%d %d ", p->x, discarded(p, all, true));
  std::printf("%d %d %d\n", arguments(bits, packed, outer, true), types(), calls);
  std::printf("%d %d %d %d\n", Opens::door()->x, quiet.heard()->x, loud.heard()->x, Made::copy()->x);
}
