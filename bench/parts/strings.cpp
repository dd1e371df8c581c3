// SPDX-License-Identifier: MIT
// Would strings with more inline room than std::string's 15 bytes gain on real
// text? small_vector<char, 24> is as large as std::string and holds 24, without
// a terminating zero: better than any small_string of that size could be.
//
// The texts are real: the package database of the Debian this runs on, and the
// JSON, C++ and paths of this project (PROJECT). With the word "lengths" as its
// argument the program prints how long their strings are.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <heapwright/small_vector.hpp>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

using Words = std::vector<std::string>;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> files_below(const char* folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(PROJECT) / folder)) {
    if (entry.is_regular_file()) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Each line is "Name: value, value (more)"; all names and values.
Words package_database() {
  Words words;
  std::string word;
  for (const char c : text_of("/var/lib/dpkg/status")) {
    if (c != '\n' && c != ',' && c != ':' && c != '(' && c != ')' && (c != ' ' || !word.empty())) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}
Words json_strings() {
  Words words;
  for (const auto& path : files_below("bench/results")) {
    const std::string text = text_of(path);
    std::size_t begin = text.find('"');
    while (begin != std::string::npos) {
      std::size_t end = ++begin;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      words.push_back(text.substr(begin, end - begin));
      begin = end < text.size() ? text.find('"', end + 1) : std::string::npos;
    }
  }
  return words;
}
Words identifiers() {
  Words words;
  for (const auto& path : files_below("src")) {
    std::string word;
    for (const char c : text_of(path)) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
        word += c;
      } else if (!word.empty()) {
        words.push_back(std::exchange(word, {}));
      }
    }
  }
  return words;
}
Words paths() {
  Words words;
  for (const char* folder : {"src", "python", "tests", "bench", "docs", "include", "tools"}) {
    for (const auto& path : files_below(folder)) {
      words.push_back(std::filesystem::relative(path, PROJECT).string());
    }
  }
  return words;
}

struct Text {
  const char* name;
  Words (*words)();
};
constexpr Text texts[] = {{"package_database", package_database},
                          {"json_strings", json_strings},
                          {"identifiers", identifiers},
                          {"paths", paths}};

struct std_ {
  using String = std::string;
};
struct inline_24_ {
  using String = heapwright::small_vector<char, 24>;
};
struct inline_56_ {
  using String = heapwright::small_vector<char, 56>;
};
static_assert(sizeof(inline_24_::String) == sizeof(std::string) && sizeof(inline_56_::String) == 64);

struct Hash {
  template <class String>
  std::size_t operator()(const String& s) const {
    return std::hash<std::string_view>()({s.data(), s.size()});
  }
};

// A vector of them is made and ended.
template <class Library>
void make(benchmark::State& state, Words (*words_of)()) {
  const Words words = words_of();
  for (auto _ : state) {
    std::vector<typename Library::String> strings;
    strings.reserve(words.size());
    for (const std::string& word : words) strings.emplace_back(word.begin(), word.end());
    benchmark::DoNotOptimize(strings.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(words.size()));
}

// Each is counted in a table.
template <class Library>
void table(benchmark::State& state, Words (*words_of)()) {
  const Words words = words_of();
  for (auto _ : state) {
    std::unordered_map<typename Library::String, int, Hash> counts;
    for (const std::string& word : words) ++counts[typename Library::String(word.begin(), word.end())];
    benchmark::DoNotOptimize(counts.size());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(words.size()));
}

// They are sorted: compared and moved.
template <class Library>
void sort(benchmark::State& state, Words (*words_of)()) {
  std::vector<typename Library::String> strings;
  for (const std::string& word : words_of()) strings.emplace_back(word.begin(), word.end());
  const auto is_less = [](const auto& a, const auto& b) {
    return std::string_view(a.data(), a.size()) < std::string_view(b.data(), b.size());
  };
  for (auto _ : state) {
    auto copy = strings;
    std::sort(copy.begin(), copy.end(), is_less);
    benchmark::DoNotOptimize(copy.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(strings.size()));
}

template <class Library>
void add_all(const std::string& library) {
  for (const Text& text : texts) {
    const auto add = [&](const char* what, void (*run)(benchmark::State&, Words(*)())) {
      const std::string name = std::string(what) + "_" + text.name + "/" + library;
      benchmark::RegisterBenchmark(name.c_str(),
                                   [run, &text](benchmark::State& state) { run(state, text.words); });
    };
    add("make", &make<Library>);
    add("table", &table<Library>);
    add("sort", &sort<Library>);
  }
}

void print_lengths() {
  std::printf("{");
  const char* before = "";
  for (const Text& text : texts) {
    const Words words = text.words();
    const auto up_to = [&](std::size_t most) {
      return std::count_if(words.begin(), words.end(),
                           [most](const auto& word) { return word.size() <= most; });
    };
    std::printf("%s\"%s\": {\"strings\": %zu, \"up_to_15\": %td, \"up_to_23\": %td, \"up_to_55\": %td}",
                before, text.name, words.size(), up_to(15), up_to(23), up_to(55));
    before = ", ";
  }
  std::printf("}\n");
}

}  // namespace

int main(int words, char** arguments) {
  if (words == 2 && std::string_view(arguments[1]) == "lengths") {
    print_lengths();
    return 0;
  }
  add_all<std_>("std");
  add_all<inline_24_>("inline_24");
  add_all<inline_56_>("inline_56");
  benchmark::Initialize(&words, arguments);
  benchmark::RunSpecifiedBenchmarks();
}
