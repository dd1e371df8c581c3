// SPDX-License-Identifier: MIT
// Bytes as operations on small_vector, compact_vector and std::vector, which
// must agree after each.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "heapwright/small_vector.hpp"

namespace {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool is_empty() const { return size_ == 0; }
  unsigned next() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

template <class V>
void apply(V& v, unsigned kind, unsigned a, unsigned b) {
  const auto at = v.begin() + static_cast<std::ptrdiff_t>(a % (v.size() + 1));
  const std::string value(b % 40, static_cast<char>('a' + a % 26));
  switch (kind % 14) {
    case 0:
      v.push_back(value);
      break;
    case 1:
      v.insert(at, value);
      break;
    case 2:
      v.insert(at, b % 7, v.empty() ? value : v.back());
      break;
    case 3:
      if (at != v.end()) v.erase(at);
      break;
    case 4:
      v.erase(at, v.end());
      break;
    case 5:
      v.resize(a % 50, value);
      break;
    case 6:
      v.shrink_to_fit();
      break;
    case 7:
      v.reserve(a % 60);
      break;
    case 8:
      v = {value, "second"};
      break;
    case 9: {
      V other(v);
      other.push_back(value);
      v = std::move(other);
      break;
    }
    case 10: {
      V other(b % 5, value);
      v.swap(other);
      break;
    }
    case 11:
      v.assign(b % 9, value);
      break;
    case 12:
      if (!v.empty()) v.push_back(v[a % v.size()]);
      break;
    default:
      if (!v.empty()) v.pop_back();
      break;
  }
}

template <class V>
void check(const V& ours, const std::vector<std::string>& model) {
  if (!std::equal(ours.begin(), ours.end(), model.begin(), model.end())) std::abort();
  if (ours.is_on_heap() != (ours.capacity() > ours.inline_capacity())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, std::min<std::size_t>(size, 3000));
  heapwright::small_vector<std::string, 3> fast;
  heapwright::compact_vector<std::string, 2> compact;
  std::vector<std::string> model;
  while (!input.is_empty()) {
    const unsigned kind = input.next();
    const unsigned a = input.next();
    const unsigned b = input.next();
    apply(fast, kind, a, b);
    apply(compact, kind, a, b);
    apply(model, kind, a, b);
    check(fast, model);
    check(compact, model);
    if (model.size() > 2000) model.clear(), fast.clear(), compact.clear();
  }
  return 0;
}
