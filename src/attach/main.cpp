// SPDX-License-Identifier: MIT
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "attach/attachment.hpp"
#include "attach/counter_page.hpp"
#include "attach/counting_observer.hpp"
#include "attach/options.hpp"
#include "attach/process_checks.hpp"
#include "attach/recording_observer.hpp"
#include "attach/refusal.hpp"

namespace heapwright::attach {
namespace {

// Polling interval: an exec of another program causes no event that could be waited for.
constexpr int look_ms = 50;
constexpr int most_ending_ms = 500;

std::string plain(std::string text) {
  const auto needs_escape = [](char letter) { return letter == '"' || letter == '\\' || letter < ' '; };
  std::replace_if(text.begin(), text.end(), needs_escape, '?');
  return text;
}

std::string as_json(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "\"" : ", \"") + plain(text) + "\"";
  return "[" + list + "]";
}

void say_attached(const Attachment& attachment, const Observer& observer) {
  std::vector<std::string> patched;
  for (const Patch& patch : attachment.plan().patches) {
    patched.emplace_back(agent::entry_names[agent::index_of(patch.entry)]);
  }
  const StopFacts& facts = attachment.facts();
  const Allocator* const other = attachment.plan().beside();
  const std::vector<std::string> beside(other != nullptr ? 1 : 0, other != nullptr ? other->name : "");
  std::printf(
      "{\"state\": \"attached\", %s, \"stopped_ns\": %lu, \"threads\": %zu, \"stops\": %d, "
      "\"healed\": %s, \"patched\": %s, \"notes\": %s, \"beside\": %s}\n",
      observer.place().c_str(), static_cast<unsigned long>(facts.stopped_ns), facts.threads, facts.stops,
      attachment.has_healed() ? "true" : "false", as_json(patched).c_str(),
      as_json(attachment.plan().notes).c_str(), as_json(beside).c_str());
  std::fflush(stdout);
}

void say_detached(const Attachment& attachment, const char* reason, std::uint64_t seen_ns) {
  const StopFacts& facts = attachment.facts();
  std::printf(
      "{\"state\": \"detached\", \"reason\": \"%s\", \"stopped_ns\": %lu, \"threads\": %zu, \"seen_ns\": "
      "%lu}\n",
      reason, static_cast<unsigned long>(facts.stopped_ns), facts.threads,
      static_cast<unsigned long>(seen_ns));
  std::fflush(stdout);
}

// Blocked permanently: a signal that ended this program in the middle of a stop would harm the process.
int open_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  sigdelset(&signals, SIGPIPE);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

// What the program that started this one says while we are attached.
class Input {
 public:
  // Reads what is there. False: it has ended.
  bool read_some(Attachment& attachment) {
    char text[4096];
    const ssize_t length = read(STDIN_FILENO, text, sizeof text);
    if (length <= 0) return false;
    said_.append(text, static_cast<std::size_t>(length));
    for (std::size_t end = said_.find('\n'); end != std::string::npos; end = said_.find('\n')) {
      obey(said_.substr(0, end), attachment);
      said_.erase(0, end + 1);
    }
    return true;
  }

 private:
  static void obey(const std::string& line, Attachment& attachment) {
    const std::size_t library = line.find('\t') + 1;
    const std::size_t session = line.find('\t', library) + 1;
    if (!line.starts_with("images\t") || session == 0) return;
    attachment.hand_on({line.substr(library, session - 1 - library), line.substr(session)});
    std::printf("{\"state\": \"following\"}\n");
    std::fflush(stdout);
  }

  std::string said_;
};

// Returns CLOCK_MONOTONIC when the agent was last seen in the process.
std::uint64_t wait_for_stop_request(Attachment& attachment, int process, int signals) {
  pollfd sources[] = {{process, POLLIN, 0}, {signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  Input input;
  std::uint64_t seen_ns = monotonic_ns();
  for (std::uint64_t now_ns = seen_ns; attachment.is_there(); now_ns = monotonic_ns()) {
    seen_ns = now_ns;
    attachment.look_at_filters();
    if (poll(sources, 3, look_ms) <= 0) continue;
    if (sources[0].revents != 0 || sources[1].revents != 0) break;
    if (sources[2].revents != 0 && !input.read_some(attachment)) break;
  }
  return seen_ns;
}

// An exiting process loses its memory some time before it counts as ended.
const char* why_it_ended(int process) {
  pollfd source{process, POLLIN, 0};
  return poll(&source, 1, most_ending_ms) > 0 ? "ended" : "replaced";
}

std::unique_ptr<Observer> make_observer(const Options& options) {
  if (options.is_recording) return std::make_unique<RecordingObserver>(options.process);
  const pid_t keeper = options.keeper != 0 ? options.keeper : getppid();
  return std::make_unique<CountingObserver>(options.process, keeper, options.is_held);
}

int run(const Options& options) {
  const int signals = open_signals();
  check_process(options.process, getppid(), options.is_forced, options.is_recording);
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, options.process, 0));
  const std::unique_ptr<Observer> observer = make_observer(options);
  const Whose whose = options.is_inside ? Whose::of_executable : Whose::of_process;
  Attachment attachment(options.process, *observer, {whose, options.with_children});
  attachment.attach();
  say_attached(attachment, *observer);
  const std::uint64_t seen_ns = wait_for_stop_request(attachment, process, signals);
  say_detached(attachment, attachment.detach() ? "asked" : why_it_ended(process), seen_ns);
  return 0;
}

}  // namespace
}  // namespace heapwright::attach

int main(int count, char** values) {
  constexpr int refused = 2;
  using namespace heapwright::attach;
  Options options;
  try {
    options = parse_options(std::vector<std::string>(values + (count > 0 ? 1 : 0), values + count));
    if (options.show_help) return std::fputs(help_text, stdout) < 0 ? 1 : 0;
    if (options.show_version) return std::puts("heapwright-attach " HEAPWRIGHT_VERSION) < 0 ? 1 : 0;
    return run(options);
  } catch (const Refusal& refusal) {
    std::fprintf(stderr, "heapwright: process %d is not %s: %s\n", options.process,
                 options.is_recording ? "recorded" : "counted", refusal.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heapwright: %s\n", error.what());
  }
  return refused;
}
