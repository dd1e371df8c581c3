// SPDX-License-Identifier: MIT
#include "lab/options.hpp"

#include <algorithm>
#include <charconv>

namespace heapwright::lab {
namespace {

constexpr std::uint64_t max_count = 1'000'000'000'000ULL;

template <typename Number>
bool read_number(std::string_view text, Number& number) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

int width(std::string_view text) noexcept { return static_cast<int>(text.size()); }

}  // namespace

Options::Options(std::span<const Parameter> parameters, std::span<char* const> arguments) noexcept {
  add({"seed", "1"});
  add({"scale", "1"});
  add({"pin-cpu", "-1"});
  for (const Parameter& parameter : parameters) add(parameter);
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string_view name = arguments[i];
    if (!name.starts_with("--")) {
      figures::refuse("'%s' is not an option; options look like --seed 1", arguments[i]);
    }
    if (i + 1 == arguments.size()) figures::refuse("%s needs a value", arguments[i]);
    give(name.substr(2), arguments[i + 1]);
  }
  const std::string_view scale = text("scale");
  if (!read_number(scale, scale_) || !(scale_ > 0 && scale_ <= 1000)) {
    figures::refuse("--scale %.*s is not a number above 0 and up to 1000", width(scale), scale.data());
  }
}

std::uint64_t Options::count(std::string_view name) const noexcept {
  const Value& value = find(name);
  std::uint64_t number = 0;
  if (!read_number(value.text, number) || number > max_count) {
    figures::refuse("--%.*s %.*s is not a whole number up to 10^12", width(name), name.data(),
                    width(value.text), value.text.data());
  }
  if (!value.parameter.is_scaled) return number;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(number) * scale_));
}

std::string_view Options::text(std::string_view name) const noexcept { return find(name).text; }

std::size_t Options::choice(std::string_view name,
                            std::initializer_list<std::string_view> names) const noexcept {
  const std::string_view wanted = text(name);
  const auto* found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end()) {
    figures::refuse("--%.*s %.*s is unknown; the first known value is %.*s", width(name), name.data(),
                    width(wanted), wanted.data(), width(*names.begin()), names.begin()->data());
  }
  return static_cast<std::size_t>(found - names.begin());
}

int Options::pin_cpu() const noexcept {
  int cpu = -1;
  if (!read_number(text("pin-cpu"), cpu)) figures::refuse("--pin-cpu needs the number of a CPU");
  return cpu;
}

const Options::Value& Options::find(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < value_count_; ++i) {
    if (values_[i].parameter.name == name) return values_[i];
  }
  figures::refuse("no parameter --%.*s", width(name), name.data());
}

void Options::add(const Parameter& parameter) noexcept {
  if (value_count_ == max_parameters) figures::refuse("more than %zu parameters", max_parameters);
  values_[value_count_++] = {parameter, parameter.default_value};
}

void Options::give(std::string_view name, std::string_view text) noexcept {
  for (std::size_t i = 0; i < value_count_; ++i) {
    if (values_[i].parameter.name != name) continue;
    values_[i].text = text;
    return;
  }
  char known[256];
  std::size_t length = 0;
  for (std::size_t i = 0; i < value_count_; ++i) {
    const std::string_view other = values_[i].parameter.name;
    if (length + other.size() + 2 > sizeof(known)) break;
    length = static_cast<std::size_t>(std::copy(other.begin(), other.end(), known + length) - known);
    known[length++] = ' ';
  }
  figures::refuse("no parameter --%.*s; this experiment has: %.*s", width(name), name.data(),
                  static_cast<int>(length) - 1, known);
}

}  // namespace heapwright::lab
