// The routes: see routes.hpp.
#include "docker/routes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace koord::proxy::docker {

namespace {

constexpr std::string_view kContainers = "/containers/";
constexpr std::size_t kLongest = 256;

/// "/v1.40/containers/..." is the same as "/containers/...". As Docker's routes have it, any digits and dots.
std::string_view without_version(std::string_view path) {
  if (!path.starts_with("/v")) return path;
  const std::size_t end = path.find('/', 1);
  if (end == std::string_view::npos) return path;
  if (end == 2 || path.substr(2, end - 2).find_first_not_of("0123456789.") != std::string_view::npos)
    return path;
  return path.substr(end);
}

constexpr std::array<std::pair<std::string_view, Call>, 3> kOfOne = {
    {{"start", Call::start}, {"stop", Call::stop}, {"update", Call::update}}};

}  // namespace

Route route_of(std::string_view method, std::string_view path) {
  path = without_version(path);
  if (!path.starts_with(kContainers)) return {};
  const std::string_view rest = path.substr(kContainers.size());
  const std::size_t slash = rest.find('/');
  const std::string_view first = rest.substr(0, slash);
  if (slash == std::string_view::npos) {
    if (method == "POST" && first == "create") return {Call::create, {}};
    if (method == "DELETE" && is_reference(first)) return {Call::remove, first};
    return {};
  }
  if (method != "POST" || !is_reference(first)) return {};
  for (const auto& [name, call] : kOfOne)
    if (rest.substr(slash + 1) == name) return {call, first};
  return {};
}

bool is_id(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

bool is_reference(std::string_view text) {
  return !text.empty() && text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
         });
}

}  // namespace koord::proxy::docker
