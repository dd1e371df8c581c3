// SPDX-License-Identifier: MIT
// clang-format off
// length: every way that a loop's count, its counter or its vector can change, in one program.
// What has to come out of fixes_reserve.cpp, written by hand.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#define COUNT_DOWN count--
#define OUT out
#define TAKE(from) out.swap(from)
#define STATIC_INTS static Ints
#define IVDEP _Pragma("GCC ivdep")

using Ints = std::vector<int>;
static int total = 4;
static int changed() { return --total > 0 ? total : (total = 4); }
static void shorten(int& count) { --count; }
static void look(const int& count) { if (count > 100) std::printf("many "); }
static void take(Ints& values) { if (values.size() > 2) values.pop_back(); }
static int twice(int value) { return 2 * value; }

// The body changes the count, the counter or the vector.
static Ints count_changes(int count, int& given) {
  Ints out;
  for (int i = 0; i < count; ++i) { out.push_back(i); count--; }
  Ints two;
  for (int i = 0; i < count; ++i) { two.push_back(i); shorten(count); }
  Ints three;
  for (int i = 0; i < count; ++i) { three.push_back(i); int& same = count; same -= 2; }
  Ints four;
  for (int i = 0; i < count; ++i) { four.push_back(i); COUNT_DOWN; }
  Ints five;
  for (int i = 0; i < given; ++i) { five.push_back(i); if (i < count) given = count; }
  Ints six;
  for (int i = 0; i < given; ++i) { six.push_back(changed()); }
  Ints seven;
  for (int i = 0; i < total; ++i) { seven.push_back(changed()); }
  Ints eight;
  eight.reserve(total > 0 ? total : 0);
  for (int i = 0; i < total; ++i) eight.push_back(i);  // finds no-reserve
  Ints nine;
  nine.reserve(given > 0 ? given : 0);
  for (int i = 0; i < given; ++i) nine.push_back(i);  // finds no-reserve
  out.insert(out.end(), {(int)two.size(), (int)three.size(), (int)four.size(), (int)(five.size() + six.size() + seven.size())});
  out.push_back(static_cast<int>(eight.size() + nine.size()));
  return out;
}

static Ints count_has_alias(int count) {
  int* pointer = &count;
  Ints out;
  for (int i = 0; i < count; ++i) { out.push_back(i); --*pointer; }
  int other = 9;
  auto shrink = [&other] { --other; };
  Ints two;
  for (int i = 0; i < other; ++i) { two.push_back(i); shrink(); }
  int third = 9;
  auto show = [&third] { return third; };
  Ints three;
  three.reserve(third > 0 ? third : 0);
  for (int i = 0; i < third; ++i) { three.push_back(show()); }  // finds no-reserve
  int fourth = 0;
  shorten(fourth);
  fourth += 20;
  while (fourth-- > 18) {
    Ints each;
    each.reserve(fourth > 0 ? fourth : 0);
    for (int i = 0; i < fourth; ++i) { each.push_back(twice(i)); }  // finds no-reserve
    out.push_back(static_cast<int>(each.size()));
  }
  out.insert(out.end(), {(int)two.size(), (int)three.size()});
  return out;
}

static Ints counter_changes(int count, double real) {
  Ints out;
  for (int i = 0; i < count; ++i) { out.push_back(i); i += 3; }
  Ints two;
  for (int i = 0; i < count; ++i) { two.push_back(i); int& same = i; same++; }
  Ints three;
  for (int i = 0; i < real; ++i) { three.push_back(i); }
  Ints four;
  for (uint8_t i = 0; i < count; ++i) { four.push_back(i); }
  Ints five;
  five.reserve(count > 0 ? count : 0);
  for (int i = 0; i < count; ++i) { five.emplace_back(i); look(i); }  // finds no-reserve
  constexpr int kFew = 2;
  for (int i = 0; i < kFew; ++i) { out.push_back(i); }
  Ints six;
  for (int i = 0; i < kFew; ++i) { six.push_back(i); }
  out.insert(out.end(), {(int)two.size(), (int)three.size(), (int)four.size(), (int)five.size(), (int)six.size()});
  return out;
}

static Ints vector_changes(const Ints& in) {
  Ints out;
  for (int one : in) { Ints& same = out; same.clear(); out.push_back(one); }
  Ints two;
  for (int one : in) { Ints kept; kept.swap(two); two.push_back(one); }
  Ints three;
  for (int one : in) { three.push_back(one); take(three); }
  Ints four;
  for (int one : in) { four.push_back(one); Ints* same = &four; same->pop_back(); }
  Ints five;
  for (int one : in) { five.push_back(one); if (one > 2) five.push_back(one); }
  Ints six, &same = six;
  for (int one : in) { six.push_back(one); same.pop_back(); }
  Ints seven;
  auto clear = [&seven] { seven.clear(); };
  for (int one : in) { seven.push_back(one); clear(); }
  Ints eight;
  for (int one : in) { eight.push_back(one); Ints moved = std::move(eight); eight = {}; }
  Ints nine;
  nine.reserve(in.size());
  for (int one : in) { nine.push_back(one); nine.back() += static_cast<int>(nine.size()); }  // finds no-reserve
  out.insert(out.end(), {(int)two.size(), (int)three.size(), (int)four.size(), (int)five.size(), (int)six.size()});
  out.insert(out.end(), {(int)seven.size(), (int)eight.size(), (int)nine.size(), nine.back()});
  return out;
}

static Ints macros(int count, Ints in) {
  Ints out;
  for (int i = 0; i < count; ++i) { OUT.push_back(i); }
  Ints spare;
  TAKE(spare);
  for (int one : in) { out.push_back(one); }
  Ints hidden;
  for (int i = 0; i < COUNT_DOWN; ++i) { hidden.push_back(i); }
  Ints rows;
  IVDEP
  for (int i = 0; i < 8; ++i) rows.push_back(i);  // finds no-reserve
  out.insert(out.end(), {(int)hidden.size(), (int)rows.size(), (int)spare.size()});
  return out;
}

// The vector does not begin empty.
static std::size_t kept(const Ints& in) {
  static Ints always;
  for (int one : in) always.push_back(one);
  thread_local Ints thread;
  for (int one : in) thread.push_back(one);
  STATIC_INTS macro;
  for (int one : in) macro.push_back(one);
  Ints full(3), list{1, 2}, copied = in;
  Ints braces{};
  for (int one : in) full.push_back(one);
  for (int one : in) list.push_back(one);
  for (int one : in) copied.push_back(one);
  braces.reserve(in.size());
  for (int one : in) braces.push_back(one);  // finds no-reserve
  int round = 0;
  Ints again;
more:
  for (int one : in) again.push_back(one);
  if (++round < 3) goto more;
  Ints between;
before:
  ++round;
  for (int one : in) between.push_back(one);
  if (round < 6) goto before;
  return always.size() + thread.size() + macro.size() + full.size() + list.size() + copied.size() + braces.size() +
         again.size() + between.size();
}

struct Base {
  explicit Base(int count) {
    filled.reserve(count > 0 ? count : 0);
    for (int i = 0; i < count; ++i) filled.push_back(i);  // finds no-reserve
  }
  Ints filled;
};
struct Derived : Base {
  explicit Derived(int count) : Base(count) {
    for (int i = 0; i < count; ++i) filled.push_back(i);
  }
};
struct Delegating {
  explicit Delegating(const Ints& in) {
    values.reserve(in.size());
    for (int one : in) values.push_back(one);  // finds no-reserve
  }
  Delegating() : Delegating(Ints{1, 2, 3}) {
    for (int i = 0; i < 9; ++i) values.push_back(i);
  }
  Ints values;
};
static void fill(struct Filled& filled);
struct Filled {
  explicit Filled(int count) {
    more();
    for (int i = 0; i < count; ++i) values.push_back(i);
  }
  Filled(int count, int) {
    fill(*this);
    for (int i = 0; i < count; ++i) values.push_back(i);
  }
  Filled(int count, char) : first(more()) {
    for (int i = 0; i < count; ++i) values.push_back(i);
  }
  Filled(int count, long) {
    for (int i = 0; i < count; ++i) { values.push_back(i); more(); }
  }
  Filled(int count, bool) : first(count) {
    std::string text = std::to_string(size());
    values.reserve(this->first > 0 ? this->first : 0);
    for (int i = 0; i < this->first; ++i) { values.push_back(i); }  // finds no-reserve
  }
  Filled(const Ints& in, short) : values(in) {
    for (int one : in) values.push_back(one);
  }
  int more() { values.push_back(1); return 1; }
  std::size_t size() const { return values.size(); }
  Ints values;
  int first = 0;
};
static void fill(Filled& filled) { filled.values.push_back(3); }
struct ByDefault {
  explicit ByDefault(int count) {
    for (int i = 0; i < count; ++i) values.push_back(i);
  }
  int more() { values.push_back(1); return 1; }
  Ints values;
  int first = more();
};

// What is gone over, or counted, changes.
struct Work {
  Ints done() {
    Ints out;
    for (std::size_t i = 0; i < todo.size(); ++i) { out.push_back(todo[i]); more(todo[i]); }
    Ints two;
    two.reserve(todo.size());
    for (std::size_t i = 0; i < todo.size(); ++i) { two.push_back(todo[i]); }  // finds no-reserve
    Ints& same = todo;
    Ints three;
    for (std::size_t i = 0; i < todo.size(); ++i) { three.push_back(1); same.pop_back(); }
    out.insert(out.end(), {(int)two.size(), (int)three.size()});
    return out;
  }
  void more(int one) { if (todo.size() < 9) todo.push_back(one); }
  Ints todo{1, 2};
};

static Ints ranges(Ints in, std::list<int> list, const std::map<int, Ints>& lookup) {
  Ints out;
  for (std::size_t i = 0; i < in.size(); ++i) { out.push_back(in[i]); in.pop_back(); }
  Ints two;
  for (int one : list) { two.push_back(one); if (one == 1) list.push_back(9); }
  Ints three;
  three.reserve(list.size());
  for (int one : list) { three.push_back(one); }  // finds no-reserve
  Ints four;
  for (auto copy = in; int one : copy) { four.push_back(one); }
  Ints five;
  std::vector<Ints> rows{in, in};
  std::size_t at = 2;
  for (int one : rows[--at]) { five.push_back(one); }
  Ints six;
  six.reserve(lookup.size());
  for (const auto& [key, values] : lookup) {  // finds no-reserve
    six.push_back(key);
    Ints seven;
    seven.reserve(values.size());
    for (int one : values) { seven.push_back(one + key); }  // finds no-reserve
    out.push_back(static_cast<int>(seven.size()));
  }
  Ints eight;
  for (int one : eight) { eight.push_back(one); }
  const Ints& alias = rows[0];
  Ints aliased;
  for (std::size_t i = 0; i < alias.size(); ++i) { aliased.push_back(1); rows[0].pop_back(); }
  Work work;
  auto close = [&work] { work.todo.clear(); };
  Ints closed;
  for (std::size_t i = 0; i < work.todo.size(); ++i) { closed.push_back(1); close(); }
  out.insert(out.end(), {(int)aliased.size(), (int)closed.size()});
  std::atomic<int> shared{3};
  Ints nine;
  for (int i = 0; i < shared; ++i) { nine.push_back(i); }
  for (int i = 0; i < shared.load(); ++i) { out.push_back(i); }
  Ints loaded;
  for (int i = 0; i < shared.load(); ++i) { loaded.push_back(i); }
  volatile int waits = 3;
  Ints ten;
  for (int i = 0; i < waits; ++i) { ten.push_back(i); }
  Ints eleven;
  for (int i = 0; i < static_cast<int>(in.size()); ++i) { eleven.push_back(in.at(i)); eleven.push_back(in.front()); }
  Ints twelve;
  const int size = static_cast<int>(in.size());
  for (int i = 0; i < size; ++i) { twelve.push_back(in.at(i)); twelve.push_back(in.front()); }  // finds no-reserve
  out.insert(out.end(), {(int)two.size(), (int)three.size(), (int)four.size(), (int)five.size(), (int)six.size()});
  out.insert(out.end(), {(int)(nine.size() + loaded.size()), (int)ten.size(), (int)eleven.size(), (int)twelve.size()});
  return out;
}

// There is a way out, or the preprocessor has a say.
static Ints leaves(const Ints& in, int count) {
  Ints out;
  try {
    for (int one : in) { if (one > 3) throw 1; out.push_back(one); }
  } catch (int) {
    out.push_back(0);
  }
  Ints two;
#ifdef ONLY_SOME
  if (count > 3)
#endif
  for (int one : in) two.push_back(one);  // finds no-reserve
  Ints three;
#pragma GCC ivdep
  for (int one : in) three.push_back(one);  // finds no-reserve
  Ints four;
  // A comment stays where it is.
  four.reserve(in.size());
  for (int one : in) four.push_back(one);  // finds no-reserve
  Ints other; other.reserve(in.size()); for (int one : in) other.push_back(one);  // finds no-reserve
  Ints five;
  auto size_of = [](const auto& any) { return static_cast<int>(any.size()); };
  out.push_back(size_of(in));
  auto inner = [&] { Ints own; own.reserve(count > 0 ? count : 0); for (int i = 0; i < count; ++i) own.push_back(i); return own; };  // finds no-reserve
  five.reserve(count > 0 ? count : 0);
  for (int i = 0; i < count; ++i) { five.push_back([&] { if (i > 2) return 1; return 2; }()); }  // finds no-reserve
  out.insert(out.end(), {(int)two.size(), (int)three.size(), (int)four.size(), (int)five.size(), (int)inner().size()});
  return out;
}

static void print(const Ints& values) {
  for (int value : values) std::printf("%d ", value);
  std::printf("%zu\n", values.size());
}

int main() {
  const Ints in{1, 2, 3, 4, 5};
  for (int count : {-2, 0, 7}) {
    int given = 5;
    print(count_changes(count, given));
    print(count_has_alias(count));
    print(counter_changes(count, 2.5));
    print(macros(count, in));
    print(leaves(in, count));
    print({(int)Derived(count).filled.size(), (int)Filled(count).size(), (int)Filled(count, 1).size()});
    print({(int)Filled(count, 'a').size(), (int)Filled(count, true).size(), (int)ByDefault(count).values.size()});
  }
  print(vector_changes(in));
  print(Work().done());
  print(ranges(in, {1, 2, 3}, {{1, in}, {2, in}}));
  print({(int)kept(in), (int)kept(in), (int)Delegating().values.size(), (int)Filled(in, short{1}).size()});
}
