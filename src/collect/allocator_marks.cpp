// SPDX-License-Identifier: MIT
#include "collect/allocator_marks.hpp"

#include <cctype>
#include <iterator>
#include <map>

namespace heapwright::collect {
namespace {

enum class Place : std::uint8_t {
  whole,   // the whole name
  ending,  // the name's end, after nothing or a prefix that ends with '_'
  word,    // anywhere, after nothing or '_'
  start,   // of a mangled name
};

// A public function's body tells a wrapper from an allocator; inner names exist only in the allocator's own
// code.
struct NameMark {
  std::string_view text;
  std::string_view meaning;
  Place place;
  bool is_public;
  bool is_enough;  // alone: no other program uses it
};

constexpr NameMark name_marks[] = {
    {"_rjem_malloc", "jemalloc", Place::whole, true, true},
    {"_rjem_je_malloc", "jemalloc", Place::whole, true, true},
    {"_rjem_mallocx", "jemalloc", Place::whole, true, true},
    {"je_malloc", "jemalloc", Place::whole, true, true},
    {"je_malloc_conf", "jemalloc", Place::whole, false, true},
    {"rallocx", "jemalloc", Place::whole, true, true},
    {"je_malloc", "jemalloc", Place::word, true, false},
    {"je_free", "jemalloc", Place::ending, true, false},
    {"je_calloc", "jemalloc", Place::ending, true, false},
    {"mallocx", "jemalloc", Place::ending, true, false},
    {"sdallocx", "jemalloc", Place::ending, true, false},
    {"mallctlnametomib", "jemalloc", Place::ending, false, false},
    {"je_arena_", "jemalloc", Place::word, false, false},
    {"je_tcache_", "jemalloc", Place::word, false, false},
    {"je_extent", "jemalloc", Place::word, false, false},
    {"je_pages_map", "jemalloc", Place::word, false, false},
    {"mi_malloc", "mimalloc", Place::whole, true, true},
    {"mi_heap_malloc", "mimalloc", Place::whole, true, true},
    {"mi_malloc", "mimalloc", Place::word, true, false},
    {"mi_heap_malloc", "mimalloc", Place::word, true, false},
    {"mi_theap_malloc", "mimalloc", Place::word, true, false},
    {"mi_zalloc", "mimalloc", Place::word, true, false},
    {"mi_realloc", "mimalloc", Place::word, true, false},
    {"mi_free", "mimalloc", Place::ending, true, false},
    {"mi_os_alloc", "mimalloc", Place::word, false, false},
    {"mi_page_", "mimalloc", Place::word, false, false},
    {"mi_segment_", "mimalloc", Place::word, false, false},
    {"mi_arena", "mimalloc", Place::word, false, false},
    {"tc_malloc", "tcmalloc", Place::whole, true, true},
    {"TCMallocInternalMalloc", "tcmalloc", Place::whole, true, true},
    {"tc_malloc", "tcmalloc", Place::ending, true, false},
    {"tc_free", "tcmalloc", Place::ending, true, false},
    {"tc_new", "tcmalloc", Place::ending, true, false},
    {"_ZN8tcmalloc8PageHeap", "tcmalloc", Place::start, false, true},
    {"_ZN8tcmalloc17tcmalloc_internal", "tcmalloc", Place::start, false, true},
    {"rpmalloc", "rpmalloc", Place::whole, true, true},
    {"rpmalloc", "rpmalloc", Place::word, true, false},
    {"rpaligned_alloc", "rpmalloc", Place::ending, true, false},
    {"rpfree", "rpmalloc", Place::ending, true, false},
    {"sn_malloc", "snmalloc", Place::whole, true, true},
    {"sn_rust_alloc", "snmalloc", Place::word, true, true},
    {"_ZN8snmalloc", "snmalloc", Place::start, false, true},
    {"scalable_malloc", "tbbmalloc", Place::whole, true, true},
    {"_ZN5scudo", "scudo", Place::start, false, true},
    {"scudo_malloc", "scudo", Place::ending, true, true},
    {"nedmalloc", "nedmalloc", Place::whole, true, true},
    {"_ZN5Hoard", "hoard", Place::start, false, true},
    {"_ZN15partition_alloc", "PartitionAlloc", Place::start, false, true},
    {"_ZN7bmalloc", "bmalloc", Place::start, false, true},
};
constexpr std::size_t least_names = 2;  // of one allocator, where none is enough alone

// Runtimes whose blocks are not malloc's, and are not meant to be. Of two that are found the first one
// counts.
constexpr NameMark runtime_marks[] = {
    {"_Py_DecRefShared", "free-threaded Python", Place::whole, false, true},
    {"PyObject_Malloc", "Python", Place::whole, false, true},
    {"_zend_mm_alloc", "PHP", Place::whole, false, true},
    {"_ZN2v88internal4Heap", "JavaScript", Place::start, false, true},
    {"JVM_GC", "Java", Place::whole, false, true},
};

// In two parts: these texts must not stand in our own files.
struct TextMark {
  std::string_view before;  // "malloc"
  std::string_view after;
  std::string_view meaning;
};
constexpr std::string_view middle = "malloc";
constexpr TextMark text_marks[] = {
    {"<je", ">: ", "jemalloc"},
    {"mi", ": warning: ", "mimalloc"},
    {"mi", ": error: ", "mimalloc"},
    {"tc", ": large alloc", "tcmalloc"},
    {"tc", ": allocation failed", "tcmalloc"},
    {"TBB", ": VERSION", "tbbmalloc"},
    {"initialise sn", "", "snmalloc"},
};
constexpr std::string_view scudo_begin = "Scu";
constexpr std::string_view scudo_end = "do ERROR: ";

bool matches(std::string_view symbol, const NameMark& mark) {
  if (mark.place == Place::whole) return symbol == mark.text;
  if (mark.place == Place::start) return symbol.starts_with(mark.text);
  if (symbol.starts_with("_Z") || symbol.starts_with("_R")) return false;  // mangled: most symbols are
  for (std::size_t at = symbol.find(mark.text); at != symbol.npos; at = symbol.find(mark.text, at + 1)) {
    if (at != 0 && symbol[at - 1] != '_') continue;
    if (mark.place == Place::word || at + mark.text.size() == symbol.size()) return true;
  }
  return false;
}

}  // namespace

bool AllocatorMarks::is_public_name(std::string_view symbol) {
  for (const NameMark& mark : name_marks) {
    if (mark.is_public && matches(symbol, mark)) return true;
  }
  return false;
}

void AllocatorMarks::see_definition(std::string_view symbol, bool is_wrapper) {
  for (const NameMark& mark : name_marks) {
    if ((is_wrapper && mark.is_public) || !matches(symbol, mark)) continue;
    names_.insert(static_cast<std::size_t>(&mark - std::begin(name_marks)));
    if (mark.is_enough && by_name_.empty()) by_name_ = mark.meaning;
  }
  for (std::size_t index = 0; index < std::size(runtime_marks) && index < runtime_; ++index) {
    if (matches(symbol, runtime_marks[index])) runtime_ = index;
  }
}

void AllocatorMarks::see_bytes(std::string_view bytes) {
  for (std::size_t at = bytes.find(middle); at != bytes.npos; at = bytes.find(middle, at + 1)) {
    const std::string_view before = bytes.substr(0, at);
    const std::string_view after = bytes.substr(at + middle.size());
    for (const TextMark& mark : text_marks) {
      if (!before.ends_with(mark.before) || !after.starts_with(mark.after)) continue;
      const char letter = before.size() > mark.before.size() ? before[at - mark.before.size() - 1] : '\0';
      if (std::isalnum(static_cast<unsigned char>(letter)) == 0) by_text_ = mark.meaning;
    }
  }
  for (std::size_t at = bytes.find(scudo_begin); at != bytes.npos; at = bytes.find(scudo_begin, at + 1)) {
    if (bytes.substr(at + scudo_begin.size()).starts_with(scudo_end)) by_text_ = "scudo";
  }
}

std::string AllocatorMarks::allocator() const {
  if (!by_text_.empty()) return by_text_;
  if (!by_name_.empty()) return by_name_;
  std::map<std::string_view, std::size_t> counts;
  for (const std::size_t index : names_) ++counts[name_marks[index].meaning];
  for (const auto& [meaning, count] : counts) {
    if (count >= least_names) return std::string(meaning);
  }
  return "";
}

std::string AllocatorMarks::runtime() const {
  return runtime_ < std::size(runtime_marks) ? std::string(runtime_marks[runtime_].meaning) : "";
}

}  // namespace heapwright::collect
