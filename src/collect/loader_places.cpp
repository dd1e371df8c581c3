// SPDX-License-Identifier: MIT
#include "collect/loader_places.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

namespace heapwright::collect {
namespace {

// In the process's own root.
std::string file_mapped_at(pid_t process, std::uint64_t address) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::ifstream maps(folder + "/maps");
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin = 0;
    if (std::sscanf(line.c_str(), "%lx-", &begin) != 1 || begin != address) continue;
    const std::size_t path = line.find('/');
    return path == std::string::npos ? "" : folder + "/root" + line.substr(path);
  }
  return "";
}

void take_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, LoaderPlaces& places) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(data->d_size / header.sh_entsize);
  for (int index = 0; index < count; ++index) {
    GElf_Sym symbol;
    if (gelf_getsym(data, index, &symbol) == nullptr) return;
    const char* const text = elf_strptr(elf, header.sh_link, symbol.st_name);
    const std::string_view name = text != nullptr && symbol.st_shndx != SHN_UNDEF ? text : "";
    if (name == "_dl_debug_state") places.debugger_call = symbol.st_value;
    if (name == "_r_debug") places.state = symbol.st_value + offsetof(r_debug, r_state);
  }
}

LoaderPlaces places_in(int file) {
  LoaderPlaces places;
  elf_version(EV_CURRENT);
  Elf* const elf = elf_begin(file, ELF_C_READ, nullptr);
  Elf_Scn* section = nullptr;
  while (elf != nullptr && (section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    take_symbols(elf, section, header, places);
  }
  elf_end(elf);
  return places;
}

}  // namespace

LoaderPlaces find_loader_places(pid_t process, std::uint64_t base) {
  if (base == 0) return {};
  const int file = open(file_mapped_at(process, base).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  LoaderPlaces places = places_in(file);
  close(file);
  if (places.debugger_call == 0 || places.state == 0) return {};
  return {.debugger_call = places.debugger_call + base, .state = places.state + base};
}

}  // namespace heapwright::collect
