// SPDX-License-Identifier: MIT
// length: one grammar, one function per production
#include "symbolize/demangle_rust.hpp"

#include <array>
#include <cstdint>
#include <utility>

namespace heapwright::symbolize {
namespace {

constexpr int max_depth = 128;

constexpr std::array<std::pair<char, std::string_view>, 25> basic_types = {
    {{'a', "i8"},    {'b', "bool"},  {'c', "char"}, {'d', "f64"}, {'e', "str"},  {'f', "f32"},  {'h', "u8"},
     {'i', "isize"}, {'j', "usize"}, {'l', "i32"},  {'m', "u32"}, {'n', "i128"}, {'o', "u128"}, {'p', "_"},
     {'s', "i16"},   {'t', "u16"},   {'u', "()"},   {'v', "..."}, {'x', "i64"},  {'y', "u64"},  {'z', "!"}}};

constexpr bool is_digit(char character) { return character >= '0' && character <= '9'; }
constexpr bool is_lower(char character) { return character >= 'a' && character <= 'z'; }
constexpr bool is_upper(char character) { return character >= 'A' && character <= 'Z'; }

struct Identifier {
  std::string_view text;
  bool is_punycode = false;
  std::uint64_t disambiguator = 0;
};

// Reads and writes at once. After the first error nothing more is read or
// written, so that no production needs to look at the outcome of another.
class Demangler {
 public:
  // `text`: the symbol without its prefix, which is what back references count from.
  Demangler(std::string_view text, std::size_t max_bytes) : text_(text), max_bytes_(max_bytes) {}

  std::optional<std::string> run() {
    print_path(true);
    // The crate that instantiated a generic function; not part of its name.
    if (!has_failed_ && position_ < text_.size() && is_upper(text_[position_])) skip_path();
    if (has_failed_ || position_ != text_.size()) return std::nullopt;
    return std::move(out_);
  }

 private:
  // ---- reading

  char peek() const { return has_failed_ || position_ >= text_.size() ? '\0' : text_[position_]; }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++position_;
    return true;
  }
  char next() {
    const char character = peek();
    if (character == '\0') return fail();
    ++position_;
    return character;
  }
  char fail() {
    has_failed_ = true;
    return '\0';
  }

  std::uint64_t read_decimal() {
    if (!is_digit(peek())) return static_cast<std::uint64_t>(fail());
    if (take('0')) return 0;
    std::uint64_t value = 0;
    while (is_digit(peek()) && value <= text_.size())
      value = value * 10 + static_cast<std::uint64_t>(next() - '0');
    return value;
  }

  // "_" is 0, "0_" is 1.
  std::uint64_t read_base_62() {
    if (take('_')) return 0;
    std::uint64_t value = 0;
    while (!take('_')) {
      const char digit = next();
      std::uint64_t number = 0;
      if (is_digit(digit)) {
        number = static_cast<std::uint64_t>(digit - '0');
      } else if (is_lower(digit)) {
        number = static_cast<std::uint64_t>(digit - 'a') + 10;
      } else if (is_upper(digit)) {
        number = static_cast<std::uint64_t>(digit - 'A') + 36;
      } else {
        return static_cast<std::uint64_t>(fail());
      }
      if (value > (UINT64_MAX - 62) / 62) return static_cast<std::uint64_t>(fail());
      value = value * 62 + number;
    }
    return value + 1;
  }

  std::uint64_t read_optional_base_62(char tag) { return take(tag) ? read_base_62() + 1 : 0; }

  Identifier read_plain_identifier() {
    Identifier identifier;
    identifier.is_punycode = take('u');
    const std::uint64_t bytes = read_decimal();
    take('_');
    if (has_failed_ || bytes > text_.size() - position_) return fail(), Identifier{};
    identifier.text = text_.substr(position_, bytes);
    position_ += bytes;
    return identifier;
  }

  Identifier read_identifier() {
    const std::uint64_t disambiguator = read_optional_base_62('s');
    Identifier identifier = read_plain_identifier();
    identifier.disambiguator = disambiguator;
    return identifier;
  }

  // ---- writing

  void print(std::string_view text) {
    if (has_failed_ || is_silent_) return;
    if (out_.size() + text.size() > max_bytes_) {
      fail();
      return;
    }
    out_ += text;
  }
  void print(std::uint64_t number) { print(std::to_string(number)); }
  void print(const Identifier& identifier) {
    if (identifier.is_punycode) print("punycode{");
    print(identifier.text);
    if (identifier.is_punycode) print("}");
  }

  // A list up to its "E"; how many there were.
  template <typename Print>
  int print_list(std::string_view separator, Print print_one) {
    int count = 0;
    while (!has_failed_ && !take('E')) {
      if (count++ > 0) print(separator);
      print_one();
    }
    return count;
  }

  // ---- productions

  class Depth {
   public:
    explicit Depth(Demangler& of) : of_(of) {
      if (++of_.depth_ > max_depth) of_.fail();
    }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    ~Depth() { --of_.depth_; }

   private:
    Demangler& of_;
  };

  // What stands earlier in the symbol, again.
  template <typename Print>
  void print_back_reference(Print print_one) {
    const std::size_t here = position_ - 1;
    const std::uint64_t target = read_base_62();
    if (has_failed_) return;
    if (target >= here) {
      fail();
      return;
    }
    // In silence its length is unknown and of no interest.
    if (is_silent_) return;
    const std::size_t after = position_;
    position_ = target;
    print_one();
    position_ = after;
  }

  void skip_path() {
    const bool was_silent = std::exchange(is_silent_, true);
    print_path(false);
    is_silent_ = was_silent;
  }

  void skip_impl_path() {
    read_optional_base_62('s');
    skip_path();
  }

  // In values generic arguments follow "::".
  void print_path(bool is_value) {
    const Depth depth(*this);
    switch (next()) {
      case 'C':
        return print(read_identifier());
      case 'M':
        skip_impl_path();
        print("<");
        print_type();
        return print(">");
      case 'X':
        skip_impl_path();
        return print_qualified();
      case 'Y':
        return print_qualified();
      case 'N':
        return print_nested(is_value);
      case 'I':
        print_path(is_value);
        print(is_value ? "::<" : "<");
        print_list(", ", [this] { print_generic_argument(); });
        return print(">");
      case 'B':
        return print_back_reference([this, is_value] { print_path(is_value); });
      default:
        fail();
    }
  }

  void print_qualified() {
    print("<");
    print_type();
    print(" as ");
    print_path(false);
    print(">");
  }

  void print_nested(bool is_value) {
    const char name_space = next();
    print_path(is_value);
    const Identifier identifier = read_identifier();
    if (is_lower(name_space)) {
      if (identifier.text.empty()) return;
      print("::");
      return print(identifier);
    }
    if (!is_upper(name_space)) {
      fail();
      return;
    }
    print("::{");
    print(name_space == 'C'   ? std::string_view("closure")
          : name_space == 'S' ? std::string_view("shim")
                              : std::string_view(&name_space, 1));
    if (!identifier.text.empty()) {
      print(":");
      print(identifier);
    }
    print("#");
    print(identifier.disambiguator);
    print("}");
  }

  void print_generic_argument() {
    if (take('L')) return print_lifetime(read_base_62());
    if (take('K')) return print_constant();
    print_type();
  }

  // 0 is erased; others count outwards from the innermost binder.
  void print_lifetime(std::uint64_t index) {
    if (index == 0) return print("'_");
    if (index > bound_lifetimes_) {
      fail();
      return;
    }
    const std::uint64_t number = bound_lifetimes_ - index;
    if (number < 26) {
      const std::array<char, 2> name = {'\'', static_cast<char>('a' + number)};
      return print(std::string_view(name.data(), name.size()));
    }
    print("'_");
    print(number);
  }

  // "for<'a, 'b> "; how many lifetimes to unbind again.
  std::uint64_t print_binder() {
    const std::uint64_t count = read_optional_base_62('G');
    if (has_failed_ || count == 0 || count > text_.size())
      return count == 0 ? 0 : static_cast<std::uint64_t>(fail());
    print("for<");
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0) print(", ");
      ++bound_lifetimes_;
      print_lifetime(1);
    }
    print("> ");
    return count;
  }

  void print_type() {
    const Depth depth(*this);
    const char tag = next();
    for (const auto& [letter, name] : basic_types) {
      if (letter == tag && letter != '\0') return print(name);
    }
    switch (tag) {
      case 'R':
      case 'Q':
        print("&");
        if (take('L')) print_reference_lifetime(read_base_62());
        if (tag == 'Q') print("mut ");
        return print_type();
      case 'P':
        print("*const ");
        return print_type();
      case 'O':
        print("*mut ");
        return print_type();
      case 'A':
        print("[");
        print_type();
        print("; ");
        print_constant();
        return print("]");
      case 'S':
        print("[");
        print_type();
        return print("]");
      case 'T':
        print("(");
        if (print_list(", ", [this] { print_type(); }) == 1) print(",");
        return print(")");
      case 'F':
        return print_function();
      case 'D':
        return print_dynamic();
      case 'B':
        return print_back_reference([this] { print_type(); });
      case '\0':
        return;
      default:
        --position_;
        print_path(false);
    }
  }

  void print_reference_lifetime(std::uint64_t index) {
    if (index == 0) return;
    print_lifetime(index);
    print(" ");
  }

  void print_function() {
    const std::uint64_t bound = print_binder();
    if (take('U')) print("unsafe ");
    if (take('K')) print_abi();
    print("fn(");
    print_list(", ", [this] { print_type(); });
    print(")");
    if (!take('u')) {
      print(" -> ");
      print_type();
    }
    bound_lifetimes_ -= bound;
  }

  void print_abi() {
    std::string abi = "C";
    if (!take('C')) {
      abi = read_plain_identifier().text;
      for (char& character : abi) {
        if (character == '_') character = '-';
      }
    }
    print("extern \"" + abi + "\" ");
  }

  void print_dynamic() {
    print("dyn ");
    const std::uint64_t bound = print_binder();
    print_list(" + ", [this] { print_dynamic_trait(); });
    bound_lifetimes_ -= bound;
    if (!take('L')) {
      fail();
      return;
    }
    const std::uint64_t lifetime = read_base_62();
    if (lifetime == 0) return;
    print(" + ");
    print_lifetime(lifetime);
  }

  // The trait's generic arguments and its associated types share one "<>".
  void print_dynamic_trait() {
    bool is_open = print_path_open();
    while (take('p')) {
      print(is_open ? ", " : "<");
      is_open = true;
      print(read_plain_identifier());
      print(" = ");
      print_type();
    }
    if (is_open) print(">");
  }

  bool print_path_open() {
    const Depth depth(*this);
    if (take('B')) {
      bool is_open = false;
      print_back_reference([this, &is_open] { is_open = print_path_open(); });
      return is_open;
    }
    if (!take('I')) {
      print_path(false);
      return false;
    }
    print_path(false);
    print("<");
    print_list(", ", [this] { print_generic_argument(); });
    return true;
  }

  void print_constant() {
    const Depth depth(*this);
    if (take('B')) return print_back_reference([this] { print_constant(); });
    const char type = next();
    if (type == 'p') return print("_");
    const bool is_negative = take('n');
    const std::size_t begin = position_;
    while (is_digit(peek()) || (peek() >= 'a' && peek() <= 'f')) ++position_;
    const std::string_view digits = text_.substr(begin, position_ - begin);
    if (!take('_')) {
      fail();
      return;
    }
    print_number(type, is_negative, digits);
  }

  void print_number(char type, bool is_negative, std::string_view digits) {
    std::uint64_t value = 0;
    for (const char digit : digits)
      value = value * 16 + static_cast<std::uint64_t>(is_digit(digit) ? digit - '0' : digit - 'a' + 10);
    if (type == 'b') return print(value == 0 ? "false" : "true");
    if (type == 'c') {
      const bool is_plain = value >= ' ' && value < 0x7f && value != '\'' && value != '\\';
      if (!is_plain) return print("'\\u{" + std::string(digits) + "}'");
      const std::array<char, 3> quoted = {'\'', static_cast<char>(value), '\''};
      return print(std::string_view(quoted.data(), quoted.size()));
    }
    constexpr std::string_view integers = "ahijlmnostxy";
    if (integers.find(type) == std::string_view::npos) {
      fail();
      return;
    }
    if (is_negative) print("-");
    if (digits.size() > 16) return print("0x" + std::string(digits));
    print(value);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t max_bytes_;
  std::string out_;
  std::uint64_t bound_lifetimes_ = 0;
  int depth_ = 0;
  bool has_failed_ = false;
  bool is_silent_ = false;
};

}  // namespace

std::optional<std::string> demangle_rust(std::string_view symbol, std::size_t max_bytes) {
  if (!symbol.starts_with("_R")) return std::nullopt;
  symbol.remove_prefix(2);
  // A digit would be the version of a later encoding.
  if (symbol.empty() || !is_upper(symbol.front())) return std::nullopt;
  return Demangler(symbol, max_bytes).run();
}

}  // namespace heapwright::symbolize
