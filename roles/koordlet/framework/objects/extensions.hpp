// What a NodeSLO says in its extensions, a key for each feature.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "koord/base/result.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/value.hpp"

namespace koord::koordlet {

/// The key of the extensions' text as it is, or within "Object", as the manager writes extensions; the first
/// counts where both are there. Settings' own defaults where neither is. An error's message starts with the
/// path of what is wrong: "extensions.cpuBlame.minPercent: ...".
template <class Settings>
Result<Settings> read_extension(std::string_view extensions, std::string_view key) {
  if (extensions.empty()) return Settings{};
  const auto document = json::parse(extensions);
  if (!document) return document.error().context("extensions");
  for (const std::string_view above : {"", "/Object"}) {
    const json::Value* const found = json::find_path(*document, fmt::format("{}/{}", above, key));
    if (found == nullptr || found->is_null()) continue;
    const std::string dotted = fmt::format("extensions{}.{}", above.empty() ? "" : ".Object", key);
    if (!found->is_object()) return Error(Code::invalid, fmt::format("{}: expected an object", dotted));
    auto settings = api::decode_strict<Settings>(*found);
    if (settings) return settings;
    const Error& error = settings.error();
    const bool of_a_field = error.message().starts_with('.');
    return Error(error.code(), fmt::format("{}{}{}", dotted, of_a_field ? "" : ": ", error.message()));
  }
  return Settings{};
}

}  // namespace koord::koordlet
