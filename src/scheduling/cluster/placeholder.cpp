// Placeholders: see placeholder.hpp.
#include "koord/scheduling/cluster/placeholder.hpp"

#include <fmt/format.h>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling {

namespace {
constexpr char kSeparator = ':';
}  // namespace

std::string placeholder_name(const PlacedName& of) {
  if (of.ns.empty()) return fmt::format("{}{}{}", of.word, kSeparator, of.name);
  return fmt::format("{}{}{}{}{}", of.word, kSeparator, of.ns, kSeparator, of.name);
}

bool is_placeholder(const api::Pod& pod) { return pod.metadata.name.find(kSeparator) != std::string::npos; }

PlacedName placed_name(const api::Pod& pod) {
  const std::string_view name = pod.metadata.name;
  const auto word = name.find(kSeparator);
  if (word == std::string_view::npos) return {"pod", pod.metadata.namespace_.view(), name};
  const std::string_view rest = name.substr(word + 1);
  const auto ns = rest.find(kSeparator);
  if (ns == std::string_view::npos) return {name.substr(0, word), {}, rest};
  return {name.substr(0, word), rest.substr(0, ns), rest.substr(ns + 1)};
}

std::string text(const PlacedName& of) {
  return of.ns.empty() ? std::string(of.name) : fmt::format("{}/{}", of.ns, of.name);
}

std::string described(const api::Pod& pod) {
  const PlacedName name = placed_name(pod);
  return fmt::format("{} {}", name.word, text(name));
}

std::string listed(const api::Pod& pod) {
  return is_placeholder(pod) ? described(pod) : text(placed_name(pod));
}

}  // namespace koord::scheduling
