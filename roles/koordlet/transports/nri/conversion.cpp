// Between NRI and hooks: see conversion.hpp.
#include "transports/nri/conversion.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <utility>

#include "koord/host/cpuset.hpp"

namespace koord::koordlet::nri {

namespace {

using rpc::nri::Resources;

std::vector<RuntimePair> pairs(const rpc::nri::Map& map) {
  std::vector<RuntimePair> pairs;
  pairs.reserve(map.size());
  for (const auto& [name, value] : map) pairs.push_back({name, value});
  return pairs;
}

/// CRI says 0 where it says nothing.
template <class Number>
std::optional<std::int64_t> said(const std::optional<Number>& number) {
  if (!number || *number == 0) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

RuntimeResources resources_of(const Resources& from) {
  return {.cpu_period = said(from.cpu_period),
          .cpu_quota = said(from.cpu_quota),
          .cpu_shares = said(from.cpu_shares),
          .memory_limit = said(from.memory_limit),
          .oom_score_adj = {},
          .cpuset_cpus = from.cpuset_cpus,
          .cpuset_mems = from.cpuset_mems};
}

Resources resources_of(const RuntimeSettings& from) {
  Resources resources;
  if (from.cpu_period) resources.cpu_period = static_cast<std::uint64_t>(*from.cpu_period);
  resources.cpu_quota = from.cpu_quota;
  if (from.cpu_shares) resources.cpu_shares = static_cast<std::uint64_t>(*from.cpu_shares);
  resources.memory_limit = from.memory_limit;
  if (from.cpuset_cpus) resources.cpuset_cpus = *from.cpuset_cpus;
  return resources;
}

/// No quota, no limit: said as 0, as -1, or not at all.
bool same_limit(const std::optional<std::int64_t>& wanted, const std::optional<std::int64_t>& has) {
  const std::int64_t now = has.value_or(0);
  return *wanted == now || (*wanted <= 0 && now <= 0);
}

bool same_cpus(const std::string& wanted, const std::string& has) {
  if (wanted == has) return true;
  const auto a = host::CpuSet::parse(wanted), b = host::CpuSet::parse(has);
  return a && b && *a == *b;
}

/// What of `wanted` differs from what there is.
void leave_out_what_is(Resources& wanted, const Resources& has) {
  if (wanted.cpu_quota && same_limit(wanted.cpu_quota, has.cpu_quota)) wanted.cpu_quota.reset();
  if (wanted.memory_limit && same_limit(wanted.memory_limit, has.memory_limit)) wanted.memory_limit.reset();
  if (wanted.cpu_shares == has.cpu_shares) wanted.cpu_shares.reset();
  if (wanted.cpu_period == has.cpu_period) wanted.cpu_period.reset();
  if (!wanted.cpuset_cpus.empty() && same_cpus(wanted.cpuset_cpus, has.cpuset_cpus))
    wanted.cpuset_cpus.clear();
}

}  // namespace

std::string scheme_of(std::string_view runtime_name) {
  return runtime_name.empty() ? "containerd" : std::string(runtime_name);
}

RuntimeRequest request_of(RuntimeMoment moment, std::string_view scheme, const rpc::nri::Pod& pod,
                          const rpc::nri::Container* container, const Resources* resources) {
  RuntimeRequest request;
  request.moment = moment;
  request.runtime = scheme;
  request.sandbox = {.id = pod.id,
                     .uid = pod.uid,
                     .ns = pod.ns,
                     .name = pod.name,
                     .labels = pairs(pod.labels),
                     .annotations = pairs(pod.annotations),
                     .cgroup_parent = pod.cgroup_parent,
                     .runtime_handler = pod.runtime_handler};
  if (container == nullptr) return request;
  RuntimeContainer& to = request.container.emplace();
  to.name = container->name;
  to.id = container->id;
  to.annotations = pairs(container->annotations);
  for (const std::string& one : container->env) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos) continue;
    to.env.push_back({one.substr(0, equals), one.substr(equals + 1)});
  }
  for (const rpc::nri::Device& device : container->devices) to.devices.push_back({device.path, device.path});
  for (const rpc::nri::Mount& mount : container->mounts)
    to.mounts.push_back({mount.source, mount.destination, mount.type, mount.options});
  to.resources = resources_of(resources != nullptr ? *resources : container->resources);
  to.resources.oom_score_adj = container->oom_score_adj;
  return request;
}

std::optional<rpc::nri::Device> find_device(const std::string& host_path) {
  struct stat found {};
  if (::stat(host_path.c_str(), &found) != 0) return std::nullopt;
  if (!S_ISCHR(found.st_mode) && !S_ISBLK(found.st_mode)) return std::nullopt;
  return rpc::nri::Device{.path = host_path,
                          .type = S_ISCHR(found.st_mode) ? "c" : "b",
                          .major = static_cast<std::int64_t>(major(found.st_rdev)),
                          .minor = static_cast<std::int64_t>(minor(found.st_rdev)),
                          .file_mode = found.st_mode & 0777};
}

rpc::nri::Adjustment adjustment_of(const Verdict& verdict, const FindDevice& find,
                                   std::vector<std::string>& missing) {
  rpc::nri::Adjustment adjustment;
  adjustment.resources = resources_of(verdict.settings);
  adjustment.oom_score_adj = verdict.settings.oom_score_adj;
  for (const RuntimePair& pair : verdict.env) adjustment.env.emplace_back(pair.name, pair.value);
  for (const RuntimePair& pair : verdict.annotations)
    adjustment.annotations.emplace_back(pair.name, pair.value);
  for (const RuntimeMount& mount : verdict.mounts)
    adjustment.mounts.push_back({mount.source, mount.destination, mount.type, mount.options});
  for (const RuntimeDevice& device : verdict.devices) {
    auto found = find(device.host_path);
    if (!found) {
      missing.push_back(fmt::format("{} is no device of this host", device.host_path));
      continue;
    }
    if (!device.path.empty()) found->path = device.path;
    if (device.file_mode) found->file_mode = *device.file_mode;
    adjustment.devices.push_back(std::move(*found));
  }
  adjustment.cdi_devices = verdict.cdi_devices;
  return adjustment;
}

std::optional<rpc::nri::Update> update_of(const Verdict& verdict, std::string_view container_id,
                                          const Resources* has) {
  rpc::nri::Update update;
  update.container_id = container_id;
  update.resources = resources_of(verdict.settings);
  if (has != nullptr) leave_out_what_is(update.resources, *has);
  if (update.resources.empty() || container_id.empty()) return std::nullopt;
  return update;
}

}  // namespace koord::koordlet::nri
