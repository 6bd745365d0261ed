// Verbose information: see verbose_info.hpp.
#include "verbose_info.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "koord/json/value.hpp"

namespace koord::rpc::cri {

namespace {

/// The document under the key "info", where both runtimes have it.
Result<json::Document> read_info(const Entries& info) {
  for (const wire::cri::Entry& entry : info)
    if (entry.key() == "info") return json::parse(entry.value());
  return Error(Code::not_found, "no verbose information");
}

/// A number, which Protobuf's own JSON writes as a text.
std::int64_t number_at(const json::Value& object, std::string_view key) {
  const json::Value* value = json::find(object, key);
  if (value == nullptr) return 0;
  if (value->is_string()) {
    std::int64_t number = 0;
    const std::string_view text = value->text();
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc() && end == text.data() + text.size() ? number : 0;
  }
  return value->to_int().value_or(0);
}

/// As the interface's own types are printed by Go: "cpu_period".
hooks::Resources to_resources(const json::Value& config) {
  hooks::Resources resources;
  resources.cpu_period = number_at(config, "cpu_period");
  resources.cpu_quota = number_at(config, "cpu_quota");
  resources.cpu_shares = number_at(config, "cpu_shares");
  resources.memory_limit = number_at(config, "memory_limit_in_bytes");
  resources.memory_swap_limit = number_at(config, "memory_swap_limit_in_bytes");
  resources.oom_score_adj = number_at(config, "oom_score_adj");
  resources.cpuset_cpus = json::text_at(config, "cpuset_cpus");
  resources.cpuset_mems = json::text_at(config, "cpuset_mems");
  if (const json::Value* unified = json::find(config, "unified")) {
    for (const json::Member& member : unified->members())
      resources.unified.emplace_back(member.key(), member.value.text());
    std::ranges::sort(resources.unified);
  }
  if (const json::Value* limits = json::find(config, "hugepage_limits"))
    for (const json::Value& limit : limits->elements())
      resources.hugepages.push_back({std::string(json::text_at(limit, "page_size")),
                                     static_cast<std::uint64_t>(number_at(limit, "limit"))});
  return resources;
}

/// The names that the container's own configuration has, with the values that its process got: those of the
/// configuration are base64 or not, as the runtime was built.
std::optional<hooks::Map> env_of(const json::Value& info) {
  const json::Value* const process = json::find(info, "runtimeSpec", "process", "env");
  if (process == nullptr) return std::nullopt;
  const json::Value* const config = json::find(info, "config");
  std::set<std::string_view> names;
  if (config != nullptr)
    if (const json::Value* const envs = json::find(*config, "envs"))
      for (const json::Value& env : envs->elements()) names.insert(json::text_at(env, "key"));
  hooks::Map env;
  for (const json::Value& variable : process->elements()) {
    const std::string_view text = variable.text();
    const std::size_t end = text.find('=');
    if (end == std::string_view::npos) continue;
    if (config == nullptr || names.contains(text.substr(0, end)))
      env.emplace_back(text.substr(0, end), text.substr(end + 1));
  }
  std::ranges::stable_sort(env, {}, &std::pair<std::string, std::string>::first);
  const auto doubles =
      std::unique(env.rbegin(), env.rend(), [](const auto& a, const auto& b) { return a.first == b.first; });
  env.erase(env.begin(), doubles.base());
  return env;
}

}  // namespace

std::string cgroup_parent_of(const Entries& info) {
  const auto document = read_info(info);
  if (!document) return {};
  const std::string_view told = json::text_at(*document, "config", "linux", "cgroup_parent");
  if (!told.empty()) return std::string(told);
  const std::string_view crio =
      json::text_at(*document, "runtimeSpec", "annotations", "io.kubernetes.cri-o.CgroupParent");
  if (!crio.empty()) return std::string(crio);
  // "/kubepods/podUID/ID"; systemd's "SLICE:RUNTIME:ID" has no path.
  const std::string_view path = json::text_at(*document, "runtimeSpec", "linux", "cgroupsPath");
  const std::size_t end = path.rfind('/');
  if (path.empty() || path.front() != '/' || end == 0) return {};
  return std::string(path.substr(0, end));
}

void add_details(const Entries& info, ContainerDetails& details) {
  const auto document = read_info(info);
  if (!document) return;
  details.sandbox = json::text_at(*document, "sandboxID");
  if (!details.resources)
    if (const json::Value* config = json::find(*document, "config", "linux", "resources"))
      details.resources = to_resources(*config);
  details.env = env_of(*document);
}

}  // namespace koord::rpc::cri
