// What profiles of schedulers and deschedulers share: sets of plugins merged into the default ones, arguments
// completed. For the .cpp files that complete a configuration.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

/// The defaults less what is disabled; a default that is enabled again keeps its place, as it is enabled now.
/// `Set` has `enabled` and `disabled`, lists of what has a `name`.
template <class Set>
Set merge_plugins(const Set& defaults, const Set& custom) {
  std::set<std::string> disabled;
  for (const auto& p : custom.disabled) disabled.insert(p.name);
  // Of several entries of a name the last one replaces the default.
  std::map<std::string, std::size_t> again;
  for (std::size_t i = 0; i < custom.enabled.size(); ++i) again[custom.enabled[i].name] = i;
  std::set<std::size_t> used;
  Set merged;
  if (!disabled.contains("*")) {
    for (const auto& p : defaults.enabled) {
      if (disabled.contains(p.name)) continue;
      const auto it = again.find(p.name);
      merged.enabled.push_back(it == again.end() ? p : custom.enabled[it->second]);
      if (it != again.end()) used.insert(it->second);
    }
  }
  for (std::size_t i = 0; i < custom.enabled.size(); ++i)
    if (!used.contains(i)) merged.enabled.push_back(custom.enabled[i]);
  return merged;
}

/// Decodes the arguments of the entries of a profile's pluginConfig, gives them their defaults, and adds
/// those of enabled plugins that have no entry, by name. `type_of(name)` is a plugin's ArgsType, or null;
/// `decode(type, entry, args)` reads an entry's. Errors name the entry, in the profile at `path`.
template <class Entry, class TypeOf, class Decode>
Result<> complete_plugin_config(std::vector<Entry>& entries, const std::set<std::string>& enabled,
                                const std::string& path, TypeOf&& type_of, Decode&& decode) {
  std::set<std::string> configured;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Entry& entry = entries[i];
    configured.insert(entry.name);
    const ArgsType* const type = type_of(entry.name);
    if (type == nullptr) continue;
    std::shared_ptr<void> args = type->create();
    if (!entry.args.empty()) {
      const Result<> done = decode(*type, entry, args.get());
      if (!done)
        return Error(done.error().code(),
                     fmt::format("{}.pluginConfig[{}].args{} (decoding args for plugin {})", path, i,
                                 done.error().message(), entry.name));
    }
    type->set_defaults(args.get());
    entry.args.text = api::encode(args.get(), type->schema());  // /configz shows the defaults
    entry.decoded = std::move(args);
  }
  for (const std::string& name : enabled) {
    const ArgsType* const type = type_of(name);
    if (type == nullptr || configured.contains(name)) continue;
    Entry& entry = entries.emplace_back();
    entry.name = name;
    std::shared_ptr<void> args = type->make_default();
    entry.args.text = api::encode(args.get(), type->schema());
    entry.decoded = std::move(args);
  }
  return {};
}

}  // namespace koord::scheduling
