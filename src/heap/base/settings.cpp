// SPDX-License-Identifier: MIT
#include "heap/base/settings.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

#include "heap/base/messages.hpp"
#include "heap/base/rights.hpp"
#include "platform/sanitized.hpp"

namespace heapwright::heap {

namespace {

// The maintenance thread has no thread-local storage, which sanitizers need for every
// access.
constexpr bool can_have_thread = HEAPWRIGHT_SANITIZED == 0;

}  // namespace

constinit Settings settings{can_have_thread, false, false, false, 1000, false, true, true, HugePages::never};

namespace {

constexpr char prefix[] = "HEAPWRIGHT_HEAP_";
constexpr std::uint32_t most_decay_ms = 600'000;

bool equal(const char* name, std::size_t length, const char* wanted) noexcept {
  return std::strlen(wanted) == length && std::memcmp(name, wanted, length) == 0;
}

bool read_switch(const char* value, bool* into) noexcept {
  if (std::strcmp(value, "0") != 0 && std::strcmp(value, "1") != 0) return false;
  *into = *value == '1';
  return true;
}

bool read_counters(const char* value) noexcept {
  settings.prints_counters = std::strcmp(value, "print") == 0;
  if (!settings.prints_counters) return read_switch(value, &settings.publishes_counters);
  settings.publishes_counters = true;
  return true;
}

bool read_huge_pages(const char* value) noexcept {
  bool is_always = false;
  const bool is_automatic = std::strcmp(value, "auto") == 0;
  if (!is_automatic && !read_switch(value, &is_always)) return false;
  settings.huge_pages = is_automatic ? HugePages::automatic
                        : is_always  ? HugePages::always
                                     : HugePages::never;
  return true;
}

// Whether the thread is enabled even where it cannot be confined.
bool is_thread_wanted = false;

bool read_maintenance(const char* value) noexcept {
  const auto is = [value](const char* word) { return std::strcmp(value, word) == 0; };
  if (!is("auto") && !is("thread") && !is("early") && !is("calls") && !is("manual")) return false;
  is_thread_wanted = is("thread") || is("early");
  settings.has_maintenance_thread = can_have_thread && !is("calls") && !is("manual");
  settings.starts_thread_early = can_have_thread && is("early");
  settings.gives_back_on_calls = !is("manual");
  return true;
}

bool read_decay(const char* value) noexcept {
  std::uint32_t number = 0;
  if (*value == '\0') return false;
  for (; *value != '\0'; ++value) {
    if (*value < '0' || *value > '9' || number > most_decay_ms) return false;
    number = number * 10 + static_cast<std::uint32_t>(*value - '0');
  }
  if (number > most_decay_ms) return false;
  settings.decay_ms = number;
  return true;
}

// The error in the setting, or null.
const char* apply(const char* name, std::size_t length, const char* value) noexcept {
  if (equal(name, length, "MAINTENANCE")) {
    return read_maintenance(value) ? nullptr : "auto, thread, early, calls or manual";
  }
  if (equal(name, length, "DECAY_MS")) return read_decay(value) ? nullptr : "0 to 600000";
  if (equal(name, length, "HARDENED")) return read_switch(value, &settings.is_hardened) ? nullptr : "0 or 1";
  if (equal(name, length, "HUGE_PAGES")) {
    return read_huge_pages(value) ? nullptr : "auto, 0 or 1";
  }
  if (equal(name, length, "COUNTERS")) {
    return read_counters(value) ? nullptr : "0, 1 or print";
  }
  return "";
}

}  // namespace

namespace {

void read_environment() noexcept {
  // A program with more rights than its caller ignores the caller's settings.
  if (environ == nullptr || getauxval(AT_SECURE) != 0) return;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const char* text = *entry;
    if (std::strncmp(text, prefix, sizeof(prefix) - 1) != 0) continue;
    const char* equals = std::strchr(text, '=');
    if (equals == nullptr) continue;
    const char* name = text + sizeof(prefix) - 1;
    const char* wanted = apply(name, static_cast<std::size_t>(equals - name), equals + 1);
    if (wanted == nullptr) continue;
    Line line;
    line.text(text, static_cast<std::size_t>(equals - text));
    if (*wanted == '\0') {
      line.text(" is no setting; there are MAINTENANCE, DECAY_MS, HARDENED, COUNTERS, HUGE_PAGES").write();
    } else {
      line.text("=").text(equals + 1).text(" is not ").text(wanted).text("; the default is used").write();
    }
  }
}

}  // namespace

void read_settings() noexcept {
  read_environment();
  const bool is_asked_for = is_thread_wanted || settings.publishes_counters;
  const bool is_allowed = is_asked_for || (is_thread_ended_before_changes() && getauxval(AT_SECURE) == 0);
  settings.has_maintenance_thread = settings.has_maintenance_thread && is_allowed;
  settings.lets_thread_be_unconfined = is_asked_for || !has_special_rights();
  if (settings.is_hardened) settings.huge_pages = HugePages::never;
}

}  // namespace heapwright::heap
