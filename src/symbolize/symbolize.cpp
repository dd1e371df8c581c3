// SPDX-License-Identifier: MIT
#include "symbolize/symbolize.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "symbolize/debug_info.hpp"
#include "symbolize/demangle.hpp"
#include "symbolize/object_file.hpp"
#include "symbolize/runtime_names.hpp"
#include "symbolize/symbol_table.hpp"

namespace heapwright::symbolize {
namespace {

struct Request {
  std::uint64_t address;  // in the object's file
  std::uint32_t frame;
};

std::string hex_of(std::uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
  return "0x" + std::string(digits, end);
}

// The open object with all its lookup functions.
class ObjectSymbols {
 public:
  ObjectSymbols(Object& object, const Options& options, Depth depth) : file_(open_object(object, options)) {
    if (!file_) return;
    is_left_out_ = depth == Depth::brief && has_debug_info(file_);
    if (is_left_out_) {
      object.source = SymbolSource::debug_info;
      return;
    }
    debug_info_.emplace(file_.module);
    table_.emplace(file_.module);
    if (!debug_info_->is_empty()) {
      object.source = SymbolSource::debug_info;
    } else if (!table_->is_empty()) {
      object.source = has_full_table() ? SymbolSource::symbol_table : SymbolSource::dynamic_symbols;
    }
  }

  bool is_left_out() const noexcept { return is_left_out_; }

  std::vector<SourceFrame> frames_at(std::uint64_t file_address) {
    if (!file_) return {};
    const std::uint64_t address = file_address + file_.bias;
    std::vector<SourceFrame> frames = debug_info_->frames_at(address);
    if (frames.empty()) frames.emplace_back();
    // The linker's name is more specific than DWARF's for lambdas and static functions, for which compilers
    // omit the linkage name.
    const char* name = table_->name_at(address);
    if (name != nullptr) frames.back().function = name;
    return frames;
  }

 private:
  // Without debug info, .symtab is the only source of local symbols.
  bool has_full_table() const { return dwfl_module_getsymtab_first_global(file_.module) > 1; }

  ObjectFile file_;
  bool is_left_out_ = false;
  std::optional<DebugInfo> debug_info_;
  std::optional<SymbolTable> table_;
};

class Symbolizer {
 public:
  Symbolizer(std::span<const trace::Module> modules, std::span<const trace::Frame> frames,
             const Options& options)
      : modules_(modules), frames_(frames), options_(options), found_(frames.size()) {}

  Symbols run() {
    group();
    if (options_.names != nullptr) take_embedded_objects();
    for (std::size_t i = 0; i < symbols_.objects.size(); ++i) {
      if (options_.names != nullptr) {
        take_embedded(symbols_.objects[i], requests_[i]);
      } else if (has_own_names(symbols_.objects[i].path)) {
        take_own_names(symbols_.objects[i], requests_[i]);
      } else {
        resolve_object(symbols_.objects[i], requests_[i], depths_[i]);
      }
      if (options_.on_progress) options_.on_progress(i + 1, symbols_.objects.size());
    }
    name_loose_frames();
    return flatten();
  }

 private:
  void group() {
    std::map<std::pair<std::string, std::string>, std::uint32_t> objects;
    for (const trace::Module& module : modules_) {
      const auto next = static_cast<std::uint32_t>(symbols_.objects.size());
      const auto [entry, is_new] = objects.try_emplace({module.path, module.build_id}, next);
      if (is_new) {
        symbols_.objects.emplace_back();
        symbols_.objects.back().path = module.path;
        symbols_.objects.back().build_id = module.build_id;
        const std::size_t number = symbols_.object_of_module.size();
        depths_.push_back(number < options_.depths.size() ? options_.depths[number] : Depth::full);
      }
      symbols_.object_of_module.push_back(entry->second);
    }
    requests_.resize(symbols_.objects.size());
    for (std::uint32_t i = 0; i < frames_.size(); ++i) {
      const trace::Frame& frame = frames_[i];
      if (frame.module >= modules_.size()) continue;
      // A return address may be the first byte of the next function.
      const std::uint64_t address = frame.pc - modules_[frame.module].bias - (frame.is_exact ? 0 : 1);
      requests_[symbols_.object_of_module[frame.module]].push_back({address, i});
    }
  }

  void resolve_object(Object& object, std::vector<Request>& requests, Depth depth) {
    object.frames = requests.size();
    if (requests.empty() || depth == Depth::none) return;
    std::sort(requests.begin(), requests.end(),
              [](const Request& a, const Request& b) { return a.address < b.address; });
    ObjectSymbols source(object, options_, depth);
    if (source.is_left_out()) return;
    for (const Request& request : requests) {
      std::vector<SourceFrame> frames = source.frames_at(request.address);
      if (frames.empty()) frames.emplace_back();
      if (frames.back().function.empty()) {
        ++object.unnamed;
        frames.back().function = place_of(object, request.frame);
      }
      for (const SourceFrame& frame : frames) found_[request.frame].push_back(locate(frame));
    }
    if (object.source == SymbolSource::debug_info || object.unnamed == 0 || !object.problem.empty() ||
        object.used_file.empty()) {
      return;
    }
    object.problem = object.used_file + " is stripped: " + std::to_string(object.unnamed) + " of " +
                     std::to_string(object.frames) +
                     " frames have no name; install its debug symbols, or set DEBUGINFOD_URLS";
  }

  // The position of a frame without a name: "libfoo.so.1+0x1234".
  std::string place_of(const Object& object, std::uint32_t frame) const {
    const trace::Frame& of = frames_[frame];
    return object.path.substr(object.path.rfind('/') + 1) + "+" + hex_of(of.pc - modules_[of.module].bias);
  }

  void take_embedded_objects() {
    for (const trace::NamedObject& found : options_.names->objects) {
      if (found.module >= symbols_.object_of_module.size()) continue;
      Object& object = symbols_.objects[symbols_.object_of_module[found.module]];
      const auto last = static_cast<std::uint32_t>(SymbolSource::debug_info);
      object.source = static_cast<SymbolSource>(std::min(found.source, last));
      object.problem = found.problem;
    }
  }

  std::vector<Location> embedded_locations(std::uint32_t frame) {
    const trace::Names& names = *options_.names;
    std::vector<Location> found;
    for (std::uint32_t i = names.first_location[frame]; i < names.first_location[frame + 1]; ++i) {
      const Location& of = names.locations[i];
      found.push_back({strings_.add(names.strings[of.function]), strings_.add(names.strings[of.file]),
                       of.line, of.is_inlined});
    }
    return found;
  }

  void take_embedded(Object& object, const std::vector<Request>& requests) {
    object.frames = requests.size();
    for (const Request& request : requests) {
      std::vector<Location>& found = found_[request.frame];
      found = embedded_locations(request.frame);
      if (found.empty()) {
        ++object.unnamed;
        found.push_back({strings_.add(place_of(object, request.frame)), 0, 0, 0});
      }
    }
  }

  // Of a pseudo-object, whose frames have their names in the trace.
  static bool has_own_names(const std::string& path) {
    return path == trace::python_module_path || path == trace::context_module_path;
  }

  void take_own_names(Object& object, const std::vector<Request>& requests) {
    object.frames = requests.size();
    object.source = SymbolSource::debug_info;
    for (const trace::PythonFrame& named : options_.python_frames) {
      const bool is_new = named.frame < found_.size() && found_[named.frame].empty();
      if (!is_new || named.function.empty() || !is_of(object, named.frame)) continue;
      found_[named.frame].push_back({strings_.add(named.function), strings_.add(named.file), named.line, 0});
    }
    for (const Request& request : requests) {
      std::vector<Location>& found = found_[request.frame];
      if (!found.empty()) continue;
      ++object.unnamed;
      found.push_back({strings_.add(place_of(object, request.frame)), 0, 0, 0});
    }
  }

  bool is_of(const Object& object, std::uint32_t frame) const {
    const std::uint32_t module = frames_[frame].module;
    return module < modules_.size() && modules_[module].path == object.path;
  }

  // Those in no object.
  void name_loose_frames() {
    if (options_.names != nullptr) {
      for (std::uint32_t frame = 0; frame < frames_.size(); ++frame) {
        if (is_loose(frame)) found_[frame] = embedded_locations(frame);
      }
      return;
    }
    for (const trace::CodeName& named : options_.code_names) {
      if (named.frame >= frames_.size() || !is_loose(named.frame) || !found_[named.frame].empty()) continue;
      const SourceFrame place = place_in_runtime(named.name);
      if (place.function.empty()) continue;
      found_[named.frame].push_back({strings_.add(place.function), strings_.add(place.file), place.line, 0});
    }
  }

  bool is_loose(std::uint32_t frame) const { return frames_[frame].module >= modules_.size(); }

  Location locate(const SourceFrame& frame) {
    const auto [entry, is_new] = functions_.try_emplace(frame.function, 0);
    if (is_new) entry->second = strings_.add(frame.function.empty() ? "?" : demangle(frame.function));
    return {entry->second, strings_.add(frame.file), frame.line, frame.is_inlined ? 1U : 0U};
  }

  Symbols flatten() {
    symbols_.first_location.reserve(frames_.size() + 1);
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      symbols_.first_location.push_back(static_cast<std::uint32_t>(symbols_.locations.size()));
      if (is_loose(static_cast<std::uint32_t>(i)) && found_[i].empty()) {
        found_[i].push_back({strings_.add(hex_of(frames_[i].pc)), 0, 0, 0});
      }
      symbols_.locations.insert(symbols_.locations.end(), found_[i].begin(), found_[i].end());
    }
    symbols_.first_location.push_back(static_cast<std::uint32_t>(symbols_.locations.size()));
    symbols_.strings = strings_.take();
    return std::move(symbols_);
  }

  std::span<const trace::Module> modules_;
  std::span<const trace::Frame> frames_;
  const Options& options_;
  std::vector<std::vector<Location>> found_;                  // by frame
  std::vector<std::vector<Request>> requests_;                // by object
  std::vector<Depth> depths_;                                 // by object
  std::unordered_map<std::string, std::uint32_t> functions_;  // linker name -> readable name
  StringTable strings_;
  Symbols symbols_;
};

}  // namespace

StringTable::StringTable() { add(""); }

std::uint32_t StringTable::add(std::string_view text) {
  const auto [entry, is_new] =
      index_.try_emplace(std::string(text), static_cast<std::uint32_t>(strings_.size()));
  if (is_new) strings_.emplace_back(text);
  return entry->second;
}

Symbols symbolize(std::span<const trace::Module> modules, std::span<const trace::Frame> frames,
                  const Options& options) {
  return Symbolizer(modules, frames, options).run();
}

}  // namespace heapwright::symbolize
