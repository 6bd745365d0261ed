// Lists, a page at a time: see cluster_reader.hpp.
#include "migrate/cluster_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "koord/api/kinds/crd.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/config_v1alpha1/cluster_colocation_profile.hpp"
#include "koord/api/types/quota_v1alpha1/elastic_quota_profile.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "koord/json/value.hpp"
#include "migrate/judge.hpp"

namespace koord::app::migrate {

namespace {

constexpr std::uint32_t kPage = 500;
constexpr int kMostPages = 40;  // of each kind; what is beyond is told
constexpr std::size_t kMostNames = 3, kMostBad = 20, kMostGroups = 50, kMostPrograms = 200;
constexpr std::string_view kGroups[] = {"koordinator.sh", "scheduling.sigs.k8s.io", "topology.node.k8s.io"};

/// Of a path or a query.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string words(std::string_view text) { return std::string(text); }

}  // namespace

ClusterReader::ClusterReader(std::unique_ptr<kube::Transport> transport, Clock& clock, Options options)
    : transport_(std::move(transport)), client_(*transport_, clock, {}), options_(std::move(options)) {
  facts_.server = options_.config.server;
}

Result<std::unique_ptr<ClusterReader>> ClusterReader::make(asio::any_io_executor executor, Clock& clock,
                                                           Options options) {
  KOORD_TRY(transport, kube::make_transport(std::move(executor), clock, options.config));
  return std::unique_ptr<ClusterReader>(new ClusterReader(std::move(transport), clock, std::move(options)));
}

/// Calls `visit` with each item of a list.
template <class Visit>
Task<Result<>> ClusterReader::each(std::string path, Visit visit) {
  std::string next;
  std::size_t read = 0;
  for (int page = 0; page < kMostPages; ++page) {
    net::Request request;
    request.target = fmt::format("{}?limit={}{}{}", path, kPage, next.empty() ? "" : "&continue=", next);
    KOORD_CO_TRY(response, co_await client_.request(std::move(request)));
    KOORD_CO_TRY(list, json::parse(response.body));
    if (const json::Value* items = json::find(list, "items"))
      for (const json::Value& item : items->elements()) {
        visit(item);
        ++read;
      }
    const auto left = json::int_at(list, "metadata", "remainingItemCount").value_or(0);
    tell(path.substr(path.rfind('/') + 1), read, left);
    next = escaped(json::text_at(list, "metadata", "continue"));
    if (next.empty()) co_return Result<>();
  }
  co_return Error(Code::too_large,
                  fmt::format("more than {} objects: the rest was not read", kPage * kMostPages));
}

void ClusterReader::tell(std::string_view plural, std::size_t read, std::int64_t left) const {
  options_.progress(fmt::format("listing {}", plural), read,
                    left > 0 ? read + static_cast<std::size_t>(left) : 0);
}

void ClusterReader::note(const Result<>& done, std::string_view what) {
  if (!done) facts_.unreadable.push_back(fmt::format("{}: {}", what, done.error().message()));
}

Task<Result<Facts>> ClusterReader::read() {
  net::Request request;
  request.target = "/version";
  KOORD_CO_TRY(response, co_await client_.request(std::move(request)));
  KOORD_CO_TRY(version, json::parse(response.body));
  facts_.kubernetes = json::text_at(version, "gitVersion");
  co_await read_workloads();
  co_await read_config_maps();
  co_await read_webhooks();
  co_await read_kinds();
  co_await read_nodes();
  co_return std::move(facts_);
}

Task<> ClusterReader::read_workloads() {
  struct Row {
    std::string_view kind, plural;
  };
  std::size_t beyond = 0;
  for (const Row row : {Row{"Deployment", "deployments"}, Row{"DaemonSet", "daemonsets"}}) {
    const auto done =
        co_await each(fmt::format("/apis/apps/v1/{}", row.plural), [&](const json::Value& item) {
          for (Program& program : programs_of(item, row.kind, options_.role_of))
            if (facts_.programs.size() < kMostPrograms)
              facts_.programs.push_back(std::move(program));
            else
              ++beyond;
        });
    note(done, row.plural);
  }
  if (beyond > 0)
    facts_.unreadable.push_back(
        fmt::format("programs: more than {}: {} were not looked at", kMostPrograms, beyond));
}

Task<> ClusterReader::read_config_maps() {
  std::vector<std::string> names;
  for (const Program& program : facts_.programs) {
    if (program.role == "manager") names.push_back(slo_config_of(program));
    if (program.role == "scheduler" || program.role == "descheduler")
      for (const auto& [path, file] : program.files) names.push_back(file.config_map);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    const auto slash = name.find('/');
    auto map = co_await client_.get<api::ConfigMap>({name.substr(0, slash), name.substr(slash + 1)});
    if (map)
      facts_.config_maps[name] = std::move(*map);
    else
      facts_.missing_maps[name] = map.error().message();
  }
}

Task<> ClusterReader::read_webhooks() {
  struct Row {
    std::string_view kind, plural;
  };
  for (const Row row : {Row{"MutatingWebhookConfiguration", "mutatingwebhookconfigurations"},
                        Row{"ValidatingWebhookConfiguration", "validatingwebhookconfigurations"}}) {
    const auto take = [&](const json::Value& item) {
      const json::Value* hooks = json::find(item, "webhooks");
      if (hooks == nullptr) return;
      for (const json::Value& hook : hooks->elements()) {
        if (!json::text_at(hook, "name").ends_with(".koordinator.sh")) continue;
        facts_.webhooks.push_back({fmt::format("{} {}", row.kind, json::text_at(item, "metadata", "name")),
                                   words(json::text_at(hook, "name")),
                                   words(json::text_at(hook, "clientConfig", "service", "path")),
                                   words(json::text_at(hook, "failurePolicy")),
                                   json::int_at(hook, "timeoutSeconds").value_or(10)});
      }
    };
    note(co_await each(fmt::format("/apis/admissionregistration.k8s.io/v1/{}", row.plural), take),
         row.plural);
  }
}

template <class T>
Task<Result<>> ClusterReader::count(Kind& kind) {
  kube::ListOptions options;
  options.limit = kPage;
  for (int page = 0; page < kMostPages; ++page) {
    KOORD_CO_TRY(list, co_await client_.list<T>(options));
    kind.objects += static_cast<std::int64_t>(list.items.size() + list.bad.size());
    tell(api::kind_of(api::schema<T>()).plural, static_cast<std::size_t>(kind.objects),
         list.meta.remaining_item_count.value_or(0));
    for (std::string& bad : list.bad)
      if (kind.bad.size() < kMostBad) kind.bad.push_back(std::move(bad));
    options.continue_token = list.meta.continue_;
    if (options.continue_token.empty()) co_return Result<>();
  }
  kind.more = true;
  co_return Result<>();
}

Task<> ClusterReader::read_objects(Kind& kind, const std::string& group, const std::string& plural) {
  Result<> done;
  if (plural == "nodemetrics")
    done = co_await count<api::NodeMetric>(kind);
  else if (plural == "nodeslos")
    done = co_await count<api::NodeSlo>(kind);
  else if (plural == "reservations")
    done = co_await count<api::Reservation>(kind);
  else if (plural == "devices")
    done = co_await count<api::Device>(kind);
  else if (plural == "podmigrationjobs")
    done = co_await count<api::PodMigrationJob>(kind);
  else if (plural == "elasticquotas")
    done = co_await count<api::ElasticQuota>(kind);
  else if (plural == "elasticquotaprofiles")
    done = co_await count<api::ElasticQuotaProfile>(kind);
  else if (plural == "podgroups")
    done = co_await count<api::PodGroup>(kind);
  else if (plural == "clustercolocationprofiles")
    done = co_await count<api::ClusterColocationProfile>(kind);
  else if (plural == "noderesourcetopologies")
    done = co_await count<api::NodeResourceTopology>(kind);
  else
    done = co_await each(fmt::format("/apis/{}/{}/{}", group, kind.version, plural),
                         [&](const json::Value&) { ++kind.objects; });
  if (done) co_return;
  kind.more = done.error().code() == Code::too_large;
  if (!kind.more) kind.unreadable = done.error().message();
}

Task<> ClusterReader::read_kinds() {
  std::vector<std::array<std::string, 2>> places;
  const auto take = [&](const json::Value& item) {
    const std::string_view group = json::text_at(item, "spec", "group");
    const std::string_view plural = json::text_at(item, "spec", "names", "plural");
    const auto in_group = [&](std::string_view one) {
      return group == one || group.ends_with(fmt::format(".{}", one));
    };
    if (!std::ranges::any_of(kGroups, in_group)) return;
    Kind kind{.name = fmt::format("{}.{}", plural, group)};
    const api::Kind* ours = nullptr;
    for (const api::Schema* schema : api::custom_resources())
      if (api::kind_of(*schema).group == group && api::kind_of(*schema).plural == plural)
        ours = &api::kind_of(*schema);
    kind.known = ours != nullptr;
    bool served = ours == nullptr;
    if (const json::Value* versions = json::find(item, "spec", "versions"))
      for (const json::Value& version : versions->elements()) {
        if (json::true_at(version, "storage")) kind.version = json::text_at(version, "name");
        served |= ours != nullptr && json::true_at(version, "served") &&
                  json::text_at(version, "name") == ours->version;
      }
    if (!served)
      kind.lacks.push_back(
          fmt::format("the definition does not serve {}, which koord asks for: koord crds | "
                      "kubectl apply --server-side --force-conflicts -f -",
                      ours->version));
    facts_.kinds.push_back(std::move(kind));
    places.push_back({words(group), words(plural)});
  };
  note(co_await each("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", take),
       "customresourcedefinitions");
  for (std::size_t i = 0; i < places.size(); ++i)
    if (facts_.kinds[i].lacks.empty()) co_await read_objects(facts_.kinds[i], places[i][0], places[i][1]);
}

Task<> ClusterReader::read_nodes() {
  std::size_t beyond = 0;
  const auto take = [&](const json::Value& item) {
    const auto info = [&](const char* key) { return words(json::text_at(item, "status", "nodeInfo", key)); };
    NodeGroup group{.kubelet = info("kubeletVersion"),
                    .runtime = info("containerRuntimeVersion"),
                    .kernel = info("kernelVersion"),
                    .architecture = info("architecture"),
                    .os = info("operatingSystem")};
    const auto alike = [&](const NodeGroup& other) {
      return other.kubelet == group.kubelet && other.runtime == group.runtime &&
             other.kernel == group.kernel && other.architecture == group.architecture && other.os == group.os;
    };
    auto found = std::ranges::find_if(facts_.nodes, alike);
    if (found == facts_.nodes.end()) {
      if (facts_.nodes.size() == kMostGroups) {
        ++beyond;
        return;
      }
      found = facts_.nodes.insert(facts_.nodes.end(), std::move(group));
    }
    ++found->nodes;
    if (found->names.size() < kMostNames) found->names.emplace_back(json::text_at(item, "metadata", "name"));
  };
  note(co_await each("/api/v1/nodes", take), "nodes");
  if (beyond > 0)
    facts_.unreadable.push_back(
        fmt::format("nodes: more than {} sorts: {} nodes were not looked at", kMostGroups, beyond));
  const std::size_t most = std::min(options_.kubelets, facts_.nodes.size());
  for (std::size_t i = 0; i < most; ++i) {
    options_.progress("asking kubelets", i, most);
    co_await ask_kubelet(facts_.nodes[i]);
  }
}

Task<> ClusterReader::ask_kubelet(NodeGroup& group) {
  net::Request request;
  request.target = fmt::format("/api/v1/nodes/{}/proxy/configz", escaped(group.names.front()));
  const auto response = co_await client_.request(std::move(request));
  if (!response) {
    group.unreadable = response.error().message();
    co_return;
  }
  const auto document = json::parse(response->body);
  const json::Value* config = document ? json::find(*document, "kubeletconfig") : nullptr;
  if (config == nullptr) {
    group.unreadable = fmt::format("/configz of {} is no kubelet's configuration", group.names.front());
    co_return;
  }
  group.asked = group.names.front();
  group.runtime_endpoint = json::text_at(*config, "containerRuntimeEndpoint");
  group.cgroup_driver = json::text_at(*config, "cgroupDriver");
  group.cpu_manager = json::text_at(*config, "cpuManagerPolicy");
  group.topology_manager = json::text_at(*config, "topologyManagerPolicy");
}

}  // namespace koord::app::migrate
