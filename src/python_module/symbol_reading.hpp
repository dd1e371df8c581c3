// SPDX-License-Identifier: MIT
// Symbols being read in a thread of their own, so that Python can import what
// it needs meanwhile. Knows nothing of Python.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "symbolize/symbolize.hpp"
#include "trace/reader.hpp"

namespace heapwright::python_module {

// Made and used by one thread. The end of its life stops the reading after
// the object at hand.
class SymbolReading {
 public:
  SymbolReading(std::shared_ptr<const trace::Reader> reader, std::string debug_root)
      : symbols_(std::async(std::launch::async,
                            [this, reader = std::move(reader), root = std::move(debug_root)]() mutable {
                              return read(*reader, std::move(root));
                            })) {}
  ~SymbolReading() { is_stopping_ = true; }
  SymbolReading(const SymbolReading&) = delete;
  SymbolReading& operator=(const SymbolReading&) = delete;

  // False when it is not done after `wait`. Precondition: not taken.
  bool is_done(std::chrono::milliseconds wait) const {
    return symbols_.wait_for(wait) == std::future_status::ready;
  }
  std::size_t objects_done() const noexcept { return done_; }
  std::size_t objects() const noexcept { return all_; }
  // Waits; once only. Throws what the reading threw.
  symbolize::Symbols take() { return symbols_.get(); }

 private:
  struct Stopped {};

  symbolize::Symbols read(const trace::Reader& reader, std::string debug_root) {
    symbolize::Options options;
    options.debug_root = std::move(debug_root);
    options.on_progress = [this](std::size_t done, std::size_t all) {
      if (is_stopping_) throw Stopped{};
      all_ = all;
      done_ = done;
    };
    return symbolize::symbolize(reader.modules(), reader.frames(), options);
  }

  std::atomic<bool> is_stopping_ = false;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<std::size_t> all_ = 0;
  std::future<symbolize::Symbols> symbols_;  // last: its end waits for the thread, which uses the above
};

}  // namespace heapwright::python_module
