// The names: see names.hpp.
#include "docker/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace koord::proxy::docker {

namespace {

using rpc::hooks::Map;

constexpr std::string_view kAnnotation = "annotation.", kSlice = ".slice";
constexpr std::size_t kMostSteps = 64;  // of a slice: longer names are no path

std::string_view label(const Map& labels, std::string_view name) {
  const auto found = std::ranges::lower_bound(
      labels, name, {}, [](const auto& pair) -> std::string_view { return pair.first; });
  return found != labels.end() && found->first == name ? std::string_view(found->second) : std::string_view();
}

}  // namespace

std::optional<Identity> identity_of_name(std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);
  std::array<std::string_view, 7> parts;
  std::size_t count = 0;
  for (;;) {
    const std::size_t end = std::min(name.find('_'), name.size());
    if (count == parts.size()) return std::nullopt;
    parts[count++] = name.substr(0, end);
    if (end == name.size()) break;
    name.remove_prefix(end + 1);
  }
  if (count < 6) return std::nullopt;
  Identity out{
      .container = std::string(parts[1]),
      .pod = {.name = std::string(parts[2]), .uid = std::string(parts[4]), .ns = std::string(parts[3])}};
  (void)std::from_chars(parts[5].data(), parts[5].data() + parts[5].size(), out.attempt);
  return out;
}

std::optional<Identity> identity_of_labels(const Map& labels) {
  Identity out{.container = std::string(label(labels, "io.kubernetes.container.name")),
               .pod = {.name = std::string(label(labels, "io.kubernetes.pod.name")),
                       .uid = std::string(label(labels, "io.kubernetes.pod.uid")),
                       .ns = std::string(label(labels, "io.kubernetes.pod.namespace"))}};
  if (out.pod.name.empty() || out.pod.ns.empty() || out.pod.uid.empty()) return std::nullopt;
  return out;
}

Split split_labels(const Map& all) {
  Split out;
  for (const auto& [name, value] : all) {
    if (name.starts_with(kAnnotation))
      out.annotations.emplace_back(name.substr(kAnnotation.size()), value);
    else
      out.labels.emplace_back(name, value);
  }
  return out;  // both in order: all is
}

std::string label_of_annotation(std::string_view name) { return fmt::format("{}{}", kAnnotation, name); }

std::string path_of_parent(bool systemd, std::string_view parent) {
  const bool slice =
      parent.ends_with(kSlice) && parent.size() > kSlice.size() && parent.find('/') == std::string_view::npos;
  if (!systemd || !slice) return std::string(parent);
  if (static_cast<std::size_t>(std::ranges::count(parent, '-')) > kMostSteps) return std::string(parent);
  std::string path;
  for (std::size_t dash = parent.find('-'); dash != std::string_view::npos; dash = parent.find('-', dash + 1))
    path.append("/").append(parent.substr(0, dash)).append(kSlice);
  return path.append("/").append(parent);
}

std::string parent_of_path(bool systemd, std::string_view path) {
  if (!systemd) return std::string(path);
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash + 1 == path.size()) return std::string(path);
  return std::string(path.substr(slash + 1));
}

std::optional<std::pair<std::string_view, std::string_view>> split_variable(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Map sorted(Map pairs) {
  std::ranges::stable_sort(pairs, {}, [](const auto& pair) -> std::string_view { return pair.first; });
  Map out;
  out.reserve(pairs.size());
  for (auto& pair : pairs) {
    if (!out.empty() && out.back().first == pair.first)
      out.back() = std::move(pair);
    else
      out.push_back(std::move(pair));
  }
  return out;
}

}  // namespace koord::proxy::docker
