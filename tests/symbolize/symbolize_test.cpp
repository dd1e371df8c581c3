// SPDX-License-Identifier: MIT
// length: every way to a debug file, one test each
#include "symbolize/symbolize.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "symbolize/demangle.hpp"
#include "symbolize/variable_types.hpp"

namespace heapwright::symbolize {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "symbolize_test.XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

// The sample library, loaded, with the return addresses of its calls.
struct Sample {
  void* handle = dlopen(SAMPLE_LIBRARY, RTLD_NOW);
  std::uint64_t base = 0;
  std::uint64_t entry = 0;
  std::uint64_t outer = 0;

  Sample() {
    link_map* map = nullptr;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    base = map->l_addr;
    entry = reinterpret_cast<std::uint64_t>(dlsym(handle, "sample_entry"));
    outer = reinterpret_cast<std::uint64_t>(dlsym(handle, "_ZN6sample5outerEm"));
  }
  ~Sample() { dlclose(handle); }

  // The address after the first call instruction (e8) of a function.
  static std::uint64_t after_first_call(std::uint64_t function) {
    const auto* code = reinterpret_cast<const unsigned char*>(function);
    for (std::uint64_t i = 0; i < 64; ++i) {
      if (code[i] == 0xe8) return function + i + 5;
    }
    return 0;
  }
};

std::string build_id_of(const Sample& sample) {
  std::string text;
  const auto find = [](dl_phdr_info* info, std::size_t, void* out) {
    auto& [base, id] = *static_cast<std::pair<std::uint64_t, std::string*>*>(out);
    if (info->dlpi_addr != base) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      if (info->dlpi_phdr[i].p_type != PT_NOTE) continue;
      const char* at = reinterpret_cast<const char*>(base + info->dlpi_phdr[i].p_vaddr);
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      if (note->n_type != NT_GNU_BUILD_ID) continue;
      for (unsigned b = 0; b < note->n_descsz; ++b) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(at[sizeof *note + 4 + b]));
        *id += digits;
      }
    }
    return 1;
  };
  std::pair<std::uint64_t, std::string*> out{sample.base, &text};
  dl_iterate_phdr(find, &out);
  return text;
}

trace::Module module_of(const Sample& sample, const std::string& path, const std::string& build_id) {
  trace::Module module;
  module.start = sample.base;
  module.end = sample.base + 0x10000;
  module.bias = sample.base;
  module.path = path;
  module.build_id = build_id;
  return module;
}

std::string describe(const Symbols& symbols, std::size_t frame) {
  std::string text;
  for (auto i = symbols.first_location[frame]; i < symbols.first_location[frame + 1]; ++i) {
    const Location& location = symbols.locations[i];
    text += symbols.strings[location.function];
    const std::string& file = symbols.strings[location.file];
    if (!file.empty()) text += " " + fs::path(file).filename().string() + ":" + std::to_string(location.line);
    text += location.is_inlined != 0 ? " (inlined); " : "; ";
  }
  return text;
}

Symbols symbolize_sample(const Sample& sample, const trace::Module& module, const Options& options = {}) {
  const std::vector<trace::Module> modules = {module};
  const std::vector<trace::Frame> frames = {{Sample::after_first_call(sample.outer), 0, false},
                                            {Sample::after_first_call(sample.entry), 0, false}};
  return symbolize(modules, frames, options);
}

TEST(Symbolize, NamesInlinedCallsWithTheirLines) {
  const Sample sample;
  const Symbols symbols = symbolize_sample(sample, module_of(sample, SAMPLE_LIBRARY, build_id_of(sample)));
  EXPECT_EQ(describe(symbols, 0),
            "sample::inner(unsigned long) sample.cpp:8 (inlined); "
            "sample::middle(unsigned long) sample.cpp:12 (inlined); "
            "sample::outer(unsigned long) sample.cpp:16; ");
  EXPECT_EQ(describe(symbols, 1), "sample_entry sample.cpp:24; ");
  ASSERT_EQ(symbols.objects.size(), 1U);
  EXPECT_EQ(symbols.objects[0].source, SymbolSource::debug_info);
  EXPECT_EQ(symbols.objects[0].problem, "");
  EXPECT_EQ(symbols.objects[0].unnamed, 0U);
}

TEST(Symbolize, AnotherBuildIsNamedAndNotUsed) {
  const Sample sample;
  const Symbols symbols = symbolize_sample(sample, module_of(sample, SAMPLE_LIBRARY, std::string(40, 'a')));
  EXPECT_TRUE(describe(symbols, 0).starts_with("libsymbolize_sample.so+0x")) << describe(symbols, 0);
  EXPECT_NE(symbols.objects[0].problem.find("build id differs"), std::string::npos);
  EXPECT_EQ(symbols.objects[0].used_file, "");
  EXPECT_EQ(symbols.objects[0].unnamed, 2U);
}

TEST(Symbolize, MissingObjectsGiveOffsetsInTheFile) {
  const std::vector<trace::Module> modules = {{0x1000, 0x9000, 0x1000, 0, 0, "/gone/libfoo.so.1", "abcdef"}};
  const std::vector<trace::Frame> frames = {
      {0x2234, 0, false}, {0x2234, 0, true}, {0xdead, 7, false}, {0xbeef, trace::Frame::no_module, false}};
  const Symbols symbols = symbolize(modules, frames, {});
  EXPECT_EQ(describe(symbols, 0), "libfoo.so.1+0x1234; ");
  EXPECT_EQ(describe(symbols, 1), "libfoo.so.1+0x1234; ");
  EXPECT_EQ(describe(symbols, 2), "0xdead; ");
  EXPECT_EQ(describe(symbols, 3), "0xbeef; ");
  EXPECT_EQ(symbols.objects[0].problem,
            "/gone/libfoo.so.1 is not on this machine: name a folder that has it with --debug-root");
}

TEST(Symbolize, DebugRootIsLookedThroughFirst) {
  const Sample sample;
  const Folder folder;
  fs::create_directories(folder / "opt/app");
  fs::copy_file(SAMPLE_LIBRARY, folder / "opt/app/libmoved.so");
  Options options;
  options.debug_root = folder.path();
  const auto module = module_of(sample, "/opt/app/libmoved.so", build_id_of(sample));
  const Symbols symbols = symbolize_sample(sample, module, options);
  EXPECT_EQ(describe(symbols, 1), "sample_entry sample.cpp:24; ");
  EXPECT_EQ(symbols.objects[0].used_file, folder / "opt/app/libmoved.so");
}

TEST(Symbolize, ASeparateDebugFileIsFoundByItsBuildId) {
  const Sample sample;
  const Folder folder;
  const std::string id = build_id_of(sample);
  const std::string debug_folder = folder / ("lib/.build-id/" + id.substr(0, 2));
  fs::create_directories(debug_folder);
  const std::string debug_file = debug_folder + "/" + id.substr(2) + ".debug";
  const std::string stripped = folder / "libsample.so";
  const std::string split = "objcopy --only-keep-debug " SAMPLE_LIBRARY " " + debug_file +
                            " && objcopy --strip-all " SAMPLE_LIBRARY " " + stripped;
  ASSERT_EQ(std::system(split.c_str()), 0);
  Options options;
  options.debug_directories = {folder / "lib"};
  EXPECT_EQ(describe(symbolize_sample(sample, module_of(sample, stripped, id), options), 1),
            "sample_entry sample.cpp:24; ");
  // The debug file stands in for an object that is gone.
  EXPECT_EQ(describe(symbolize_sample(sample, module_of(sample, "/gone/libsample.so", id), options), 1),
            "sample_entry sample.cpp:24; ");
  // Without it the dynamic symbols are left.
  const Symbols stripped_only = symbolize_sample(sample, module_of(sample, stripped, id));
  EXPECT_EQ(describe(stripped_only, 1), "sample_entry; ");
  EXPECT_EQ(stripped_only.objects[0].source, SymbolSource::dynamic_symbols);

  // A brief reading leaves out what has debug info, here or there.
  options.depths = {Depth::brief};
  for (const std::string& path : {stripped, std::string(SAMPLE_LIBRARY)}) {
    const Symbols brief = symbolize_sample(sample, module_of(sample, path, id), options);
    EXPECT_EQ(describe(brief, 0) + describe(brief, 1), "");
    EXPECT_EQ(brief.objects[0].source, SymbolSource::debug_info);
    EXPECT_EQ(brief.objects[0].problem, "");
    EXPECT_EQ(brief.objects[0].frames, 2U);
  }
  options.debug_directories = {};
  EXPECT_EQ(describe(symbolize_sample(sample, module_of(sample, stripped, id), options), 1),
            "sample_entry; ");
  options.depths = {Depth::none};
  EXPECT_EQ(describe(symbolize_sample(sample, module_of(sample, stripped, id), options), 1), "");
}

// Beside the object, in .debug there, and below a folder of debug files.
TEST(Symbolize, ASeparateDebugFileIsFoundByItsName) {
  const Sample sample;
  const Folder folder;
  const std::string id = build_id_of(sample);
  const std::string stripped = folder / "libsample.so";
  const std::string link = folder / "libsample.debug";
  const std::string split = "objcopy --only-keep-debug " SAMPLE_LIBRARY " " + link +
                            " && objcopy --strip-all " + "--add-gnu-debuglink=" + link +
                            " " SAMPLE_LIBRARY " " + stripped;
  ASSERT_EQ(std::system(split.c_str()), 0);
  Options options;
  options.debug_directories = {folder / "debug"};
  std::string place = link;
  for (const std::string& next : {folder / ".debug", folder / "debug", folder / "debug" + folder.path()}) {
    EXPECT_EQ(describe(symbolize_sample(sample, module_of(sample, stripped, id), options), 1),
              "sample_entry sample.cpp:24; ")
        << place;
    fs::create_directories(next);
    fs::rename(place, next + "/libsample.debug");
    place = next + "/libsample.debug";
  }
  EXPECT_EQ(describe(symbolize_sample(sample, module_of(sample, stripped, id), options), 1),
            "sample_entry sample.cpp:24; ");
}

TEST(Symbolize, OddFilesAreNamed) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::ofstream(folder / "empty");
  std::ofstream(folder / "text") << "#!/bin/sh\n";
  std::ofstream(folder / "head", std::ios::binary) << "\x7f"
                                                      "ELF\x02\x01\x01";
  for (const std::string& path : {folder / "pipe", folder / "empty", folder / "text", folder / "head",
                                  folder.path(), std::string("/dev/zero")}) {
    const std::vector<trace::Module> modules = {{0, 0x1000, 0, 0, 0, path, ""}};
    const Symbols symbols = symbolize(modules, std::vector<trace::Frame>{{0x10, 0, false}}, {});
    EXPECT_EQ(symbols.objects[0].problem, path + " is not an ELF program or library");
  }
}

TEST(Symbolize, DamagedObjectsDoNotCrash) {
  const Sample sample;
  const Folder folder;
  std::ifstream file(SAMPLE_LIBRARY, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  std::mt19937 random(7);
  const std::string path = folder / "damaged.so";
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 1 + round % 20; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 5 == 0) bytes.resize(random() % bytes.size());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const Symbols symbols = symbolize_sample(sample, module_of(sample, path, ""));
    EXPECT_EQ(symbols.first_location.size(), 3U);
  }
}

TEST(Symbolize, OneObjectLoadedTwiceIsReadOnce) {
  const Sample sample;
  auto first = module_of(sample, SAMPLE_LIBRARY, build_id_of(sample));
  auto second = first;
  second.bias += 0x100000;
  const std::uint64_t pc = Sample::after_first_call(sample.entry);
  const std::vector<trace::Frame> frames = {{pc, 0, false}, {pc + 0x100000, 1, false}};
  const Symbols symbols = symbolize(std::vector<trace::Module>{first, second}, frames, {});
  EXPECT_EQ(symbols.objects.size(), 1U);
  EXPECT_EQ(describe(symbols, 0), describe(symbols, 1));
}

TEST(Demangle, ReadsCppRustAndClones) {
  EXPECT_EQ(demangle("malloc"), "malloc");
  EXPECT_EQ(demangle("_ZN6sample5outerEm"), "sample::outer(unsigned long)");
  EXPECT_EQ(demangle("_ZN6sample5outerEm.part.0"), "sample::outer(unsigned long)");
  EXPECT_EQ(demangle("parse.constprop.3.cold"), "parse");
  EXPECT_EQ(demangle("malloc@@GLIBC_2.2.5"), "malloc");
  EXPECT_EQ(demangle("file.txt"), "file.txt");
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
  EXPECT_EQ(demangle("_ZN47_$LT$alloc..string..String$u20$as$u20$Clone$GT$5clone17h0123456789abcdefE"),
            "<alloc::string::String as Clone>::clone");
  EXPECT_EQ(demangle("_Znot_a_name"), "_Znot_a_name");
}

// What rustc 1.95 wrote, and binutils' c++filt reads (without the crates'
// hashes and the types of constants).
TEST(Demangle, ReadsRustsSecondScheme) {
  const std::pair<const char*, const char*> names[] = {
      {"_RINvCs6xxl1lAjzDf_1a3genKb1_Kc78_Kln5_EB2_", "a::gen::<true, 'x', -5>"},
      {"_RINvCs6xxl1lAjzDf_1a4showFUKClElEB2_", "a::show::<unsafe extern \"C\" fn(i32) -> i32>"},
      {"_RINvCs6xxl1lAjzDf_1a4showThAxj4_ReINtNtCsgEmfK2I1SDS_4core6option6OptionQlEEEB2_",
       "a::show::<(u8, [i64; 4], &str, core::option::Option<&mut i32>)>"},
      {"_RINvCs6xxl1lAjzDf_1a5applyDG_INtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTRL0_"
       "eEEp6OutputNtNtCslNYArtu3iFV_5alloc6string6StringEL_EB2_",
       "a::apply::<dyn for<'a> core::ops::function::Fn<(&'a str,), Output = alloc::string::String>>"},
      {"_RNvXCs6xxl1lAjzDf_1aINtB2_2SqKj3_ENtB2_5Shape4areaB2_", "<a::Sq<3> as a::Shape>::area"},
      {"_RNCNvCs6xxl1lAjzDf_1a4main0B3_", "a::main::{closure#0}"},
      {"_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCsgvbsrvnw3yD_9hashbrown11rustc_"
       "entry16RustcVacantEntryNtNtCslNYArtu3iFV_5alloc6string6StringINtNtB1I_3vec3VecINtNtB1I_"
       "5boxed3BoxDNtCs6xxl1lAjzDf_1a5ShapeNtNtB4_6marker4SendEL_EEEEB2T_",
       "core::ptr::drop_in_place::<hashbrown::rustc_entry::RustcVacantEntry<alloc::string::String, "
       "alloc::vec::Vec<alloc::boxed::Box<dyn a::Shape + core::marker::Send>>>>"},
      {"_RNvNtNtNtCsjrHSEGnQ3l9_3std3sys3pal4unix19ON_BROKEN_PIPE_USED.0",
       "std::sys::pal::unix::ON_BROKEN_PIPE_USED"},
  };
  for (const auto& [symbol, name] : names) EXPECT_EQ(demangle(symbol), name) << symbol;
}

TEST(Demangle, LeavesWhatIsNoRustNameAsItIs) {
  for (const std::string name :
       {"_R", "_RNv", "_RNvC1a", "_RNvC1aB_", "_RNvC1a1bEE", "_RNvC1a99b", "_R2NvC1a1b", "_RNvC1a1bKp"}) {
    EXPECT_EQ(demangle(name), name);
  }
  // Each level names the one before it twice.
  std::string doubling = "_RINvC1a1bu";
  std::size_t target = doubling.size() - 3;
  for (int level = 0; level < 200; ++level) {
    std::string reference(
        1, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[(target - 1) % 62]);
    const std::size_t here = doubling.size() - 2;
    doubling += "TB" + reference + "_B" + reference + "_E";
    target = here < 62 ? here : 61;
  }
  EXPECT_LE(demangle(doubling + "E").size(), 65536U);
  // Any cut of a real name.
  const std::string whole = "_RNvXs_Cs1_1aINtB4_2SqKj3_ENtB4_5Shape4area";
  for (std::size_t length = 0; length < whole.size(); ++length) demangle(whole.substr(0, length));
}

}  // namespace
TEST(VariableTypes, AreAsInTheSource) {
  const std::vector<std::string> names{"sample::g_sessions", "sample::g_chosen",
                                       "sample::g_counters", "sample::(anonymous namespace)::g_hidden",
                                       "sample::g_tagged",   "sample::g_missing"};
  Object object;
  object.path = SAMPLE_LIBRARY;
  EXPECT_EQ(
      variable_types(object, names, {}),
      (std::vector<std::string>{"sample::Table<sample::Session>", "sample::Session**", "sample::counter_t[]",
                                "sample::Table<bool>*", "sample::Session*", ""}));
}

TEST(VariableTypes, AreNotKnownWithoutTheFile) {
  Object object;
  object.path = "/nowhere/libsample.so";
  EXPECT_EQ(variable_types(object, std::vector<std::string>{"g_one"}, {}), std::vector<std::string>{""});
}

}  // namespace heapwright::symbolize
