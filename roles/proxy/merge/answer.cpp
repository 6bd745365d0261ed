// Answers: see answer.hpp.
#include "merge/answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/base/text.hpp"

namespace koord::proxy {

namespace {

constexpr std::size_t kLongestPath = 4096;  // the kernel's

std::string shown(std::string_view text) { return quote(utf8_prefix(text, 64)); }

Error wrong(std::string_view field, std::string_view what) {
  return Error(Code::invalid, fmt::format("the answer's {}: {}", field, what));
}

/// "/kubepods/podUID", "kubepods-podUID.slice": whatever it is, it stays below what it is joined to.
Result<> check_parent(std::string_view field, std::string_view asked, std::string_view said) {
  if (said == asked) return {};
  if (said.size() > kLongestPath || said.find('\0') != std::string_view::npos)
    return wrong(field, fmt::format("{} is no path of at most {} bytes", shown(said), kLongestPath));
  for (std::size_t begin = 0; begin <= said.size();) {
    const std::size_t end = std::min(said.find('/', begin), said.size());
    if (said.substr(begin, end - begin) == "..")
      return wrong(field,
                   fmt::format("{} leads out of its place; expected a path without \"..\"", shown(said)));
    begin = end + 1;
  }
  return {};
}

Result<> check_set(std::string_view field, std::string_view asked, std::string_view said) {
  if (said == asked || said.find_first_not_of("0123456789,- \n") == std::string_view::npos) return {};
  return wrong(field, fmt::format("{} is no list of numbers, as 0-3,8", shown(said)));
}

/// `none`: what no name has.
Result<> check_names(std::string_view field, char none, const hooks::Map& asked, const hooks::Map& said) {
  for (const auto& pair : said) {
    const auto& [name, value] = pair;
    const bool named =
        !name.empty() && name.find(none) == std::string::npos && name.find('\0') == std::string::npos;
    if ((named && value.find('\0') == std::string::npos) || std::ranges::binary_search(asked, pair)) continue;
    return wrong(field, named ? fmt::format("{} has a value with a zero byte", shown(name))
                              : fmt::format("{} is no name; expected one without '{}'", shown(name), none));
  }
  return {};
}

Result<> check_resources(const std::optional<hooks::Resources>& had,
                         const std::optional<hooks::Resources>& said) {
  static const hooks::Resources kNone;
  if (!said) return {};
  const hooks::Resources& asked = had ? *had : kNone;
  KOORD_CHECK(check_set("cpuset_cpus", asked.cpuset_cpus, said->cpuset_cpus));
  KOORD_CHECK(check_set("cpuset_mems", asked.cpuset_mems, said->cpuset_mems));
  return check_names("unified", '/', asked.unified, said->unified);  // each is a file of the cgroup's
}

}  // namespace

Result<> check_answer(const hooks::PodRequest& asked, const hooks::PodResponse& said) {
  KOORD_CHECK(check_parent("cgroup_parent", asked.cgroup_parent, said.cgroup_parent));
  return check_resources(asked.resources, said.resources);
}

Result<> check_answer(const hooks::ContainerRequest& asked, const hooks::ContainerResponse& said) {
  KOORD_CHECK(check_parent("pod_cgroup_parent", asked.pod_cgroup_parent, said.pod_cgroup_parent));
  KOORD_CHECK(check_resources(asked.resources, said.resources));
  return check_names("container_envs", '=', asked.env, said.env);
}

}  // namespace koord::proxy
