// SPDX-License-Identifier: MIT
#include "collect/object_types.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "trace/heap_graph.hpp"

namespace heapwright::collect {

ObjectTypes::ObjectTypes(const ProcessImage& image) {
  for (const trace::Mapping& mapping : image.mappings) {
    const auto known = image.modules.find(mapping.name);
    if (known == image.modules.end()) continue;
    if (mapping.file_offset == 0) {
      modules_.push_back(
          {{mapping.begin, mapping.end}, known->second.get(), mapping.begin - known->second->base()});
    } else if (!modules_.empty() && modules_.back().variables == known->second.get()) {
      modules_.back().range.end = mapping.end;
    }
  }
}

std::uint32_t ObjectTypes::of(std::uint64_t first_word) {
  const auto after =
      std::upper_bound(modules_.begin(), modules_.end(), first_word,
                       [](std::uint64_t at, const Module& module) { return at < module.range.begin; });
  if (after == modules_.begin() || first_word >= std::prev(after)->range.end) return 0;
  const auto [found, is_new] = numbers_.try_emplace(first_word, 0);
  if (is_new) found->second = find(first_word, *std::prev(after));
  return found->second;
}

std::uint32_t ObjectTypes::find(std::uint64_t first_word, const Module& module) {
  constexpr std::string_view prefix = "vtable for ";
  std::string name = module.variables->names().at(first_word - module.bias);
  if (!name.starts_with(prefix)) return 0;
  name.erase(0, prefix.size());
  const auto [found, is_new] = by_name_.try_emplace(name, static_cast<std::uint32_t>(names_.size() + 1));
  if (is_new && names_.size() == trace::max_graph_types) return found->second = 0;
  if (is_new) names_.push_back(std::move(name));
  return found->second;
}

}  // namespace heapwright::collect
