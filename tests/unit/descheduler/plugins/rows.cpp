// See rows.hpp.
#include "unit/descheduler/plugins/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "evictions/evictable.hpp"
#include "evictions/pass_limits.hpp"
#include "framework/node_fit.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/base/feature_gate.hpp"
#include "support/run_task.hpp"

namespace koord::descheduler::test {

namespace {

std::pair<std::string, std::string> split(const std::string& text, char at) {
  const std::size_t found = text.find(at);
  if (found == std::string::npos) return {text, {}};
  return {text.substr(0, found), text.substr(found + 1)};
}

api::Quantity amount(std::string_view resource, const std::string& text) {
  return resource == "cpu" ? api::Quantity::from_milli(std::stoll(text))
                           : api::Quantity::from_int(std::stoll(text));
}

api::ContainerStatus& first(api::List<api::ContainerStatus>& statuses) {
  return statuses.empty() ? statuses.emplace_back() : statuses.front();
}

bool status_word(api::Pod& pod, std::string key, const std::string& value) {
  auto* statuses = &pod.status.container_statuses;
  if (key.starts_with("init.")) {
    statuses = &pod.status.init_container_statuses;
    key = key.substr(5);
  } else if (key.starts_with("ephemeral.")) {
    statuses = &pod.status.ephemeral_container_statuses;
    key = key.substr(10);
  }
  if (key == "waits")
    first(*statuses).state.waiting.ensure().reason = value;
  else if (key == "ends")
    first(*statuses).state.terminated.ensure().reason = value;
  else if (key == "exit")
    first(*statuses).state.terminated.ensure().exit_code = std::stoi(value);
  else if (key == "restarts")
    first(*statuses).restart_count = std::stoi(value);
  else
    return false;
  return true;
}

void colon_word(api::Pod& pod, const std::string& key, const std::string& rest) {
  const auto [name, value] = split(rest, '=');
  if (key == "label") {
    pod.metadata.labels[name] = value;
  } else if (key == "annotation") {
    pod.metadata.annotations[name] = value;
  } else if (key == "select") {
    pod.spec.node_selector[name] = value;
  } else if (key == "tolerates") {
    const auto [text, effect] = split(value, ':');
    api::Toleration& toleration = pod.spec.tolerations.emplace_back();
    toleration.key = name;
    toleration.value = text;
    toleration.effect = effect;
  } else if (key == "apart") {
    const auto [text, topology] = split(value, '@');
    api::PodAffinityTerm& term =
        pod.spec.affinity.ensure().pod_anti_affinity.ensure().required.emplace_back();
    term.topology_key = topology;
    term.label_selector.ensure().match_labels[name] = text;
  } else {
    throw std::logic_error("no such word: " + key);
  }
}

void plain_word(api::Pod& pod, const std::string& word) {
  api::ResourceRequirements& resources = pod.spec.containers.front().resources;
  if (word == "mirror") {
    pod.metadata.annotations["kubernetes.io/config.mirror"] = "mirror";
  } else if (word == "local") {
    pod.spec.volumes.emplace_back().empty_dir.emplace();
  } else if (word == "pvc") {
    pod.spec.volumes.emplace_back().persistent_volume_claim.emplace();
  } else if (word == "terminating") {
    pod.metadata.deletion_timestamp = api::Time(kRowsNow);
  } else if (word == "guaranteed") {
    resources.limits = resources.requests;
  } else if (word == "besteffort") {
    resources = {};
  } else {
    throw std::logic_error("no such word: " + word);
  }
}

void value_word(api::Pod& pod, const std::string& key, const std::string& value) {
  if (key == "ns") {
    pod.metadata.namespace_ = value;
  } else if (key == "owner") {
    const auto [kind, name] = split(value, '/');
    api::OwnerReference& owner = pod.metadata.owner_references.emplace_back();
    owner.kind = kind;
    owner.name = name;
    owner.uid = value;
  } else if (key == "prio") {
    pod.spec.priority = std::stoi(value);
  } else if (key == "age") {
    pod.metadata.creation_timestamp = api::Time(kRowsNow - std::chrono::seconds(std::stoll(value)));
  } else if (key == "phase") {
    pod.status.phase = value;
  } else if (key == "reason") {
    pod.status.reason = value;
  } else if (key == "image") {
    pod.spec.containers.front().image = value;
  } else if (key == "container") {
    pod.spec.containers.emplace_back().image = value;
  } else if (!status_word(pod, key, value)) {
    pod.spec.containers.front().resources.requests[key] = amount(key, value);
  }
}

PluginContext context_of(FakePass& pass) {
  static ManualClock clock;
  static const FeatureGates kGates;
  return {.profile = "test", .clock = clock, .log = pass.log(), .gates = kGates};
}

Result<Args> read_args(const PluginEntry& entry, std::string_view json) {
  auto args = entry.args->create();
  KOORD_CHECK(api::decode_strict(json, entry.args->schema(), args.get()));
  entry.args->set_defaults(args.get());
  api::FieldErrors errors;
  entry.args->validate(args.get(), "", errors);
  if (!errors.empty()) return Error(Code::invalid, errors.text());
  return Args(args);
}

}  // namespace

std::shared_ptr<const api::Node> node_of(const std::string& row) {
  auto node = std::make_shared<api::Node>();
  std::istringstream words(row);
  std::string word;
  words >> node->metadata.name;
  api::ResourceList& has = node->status.allocatable;
  has = {{"cpu", amount("cpu", "2000")}, {"memory", amount("", "3000")}, {"pods", amount("", "10")}};
  while (words >> word) {
    if (word == "cordoned") {
      node->spec.unschedulable = true;
    } else if (word == "notready") {
      auto& condition = node->status.conditions.emplace_back();
      condition.type = "Ready";
      condition.status = "False";
    } else if (word.starts_with("label:")) {
      const auto [key, value] = split(word.substr(6), '=');
      node->metadata.labels[key] = value;
    } else if (word.starts_with("taint:")) {
      const auto [key, rest] = split(word.substr(6), '=');
      const auto [value, effect] = split(rest, ':');
      api::Taint& taint = node->spec.taints.emplace_back();
      taint.key = key;
      taint.value = value;
      taint.effect = effect;
    } else {
      const auto [key, value] = split(word, '=');
      has[key] = amount(key, value);
    }
  }
  return node;
}

PodPtr pod_of(const std::string& row) {
  const std::size_t json = row.find('{');
  auto pod = std::make_shared<api::Pod>(
      json == std::string::npos ? api::Pod() : api::decode<api::Pod>(row.substr(json)).value());
  std::istringstream words(row.substr(0, json));
  std::string word, node;
  words >> pod->metadata.name >> node;
  pod->spec.node_name = node;
  pod->metadata.uid = "uid-" + pod->metadata.name;
  pod->metadata.namespace_ = "default";
  pod->metadata.creation_timestamp = api::Time(kRowsNow);
  if (pod->spec.containers.empty()) pod->spec.containers.emplace_back();
  auto& requests = pod->spec.containers.front().resources.requests;
  requests["cpu"] = amount("cpu", "100");
  requests["memory"] = amount("", "0");
  bool bare = false;
  while (words >> word) {
    const std::size_t at = word.find_first_of(":=");
    if (word == "bare")
      bare = true;
    else if (at == std::string::npos)
      plain_word(*pod, word);
    else if (word[at] == ':')
      colon_word(*pod, word.substr(0, at), word.substr(at + 1));
    else
      value_word(*pod, word.substr(0, at), word.substr(at + 1));
  }
  if (!bare && pod->metadata.owner_references.empty()) value_word(*pod, "owner", "Pod");
  return pod;
}

std::unique_ptr<FakePass> pass_of(const Rows& rows) {
  SnapshotObjects objects;
  for (const std::string& row : rows.nodes) objects.nodes.push_back(node_of(row));
  for (const std::string& row : rows.pods) objects.pods.push_back(pod_of(row));
  auto pass = std::make_unique<FakePass>(std::move(objects), kRowsNow);
  EvictableRules rules;
  PassLimits::Limits limits;
  std::istringstream words(rows.holds);
  std::string word;
  while (words >> word) {
    const auto [key, value] = split(word, '=');
    if (key == "nodefit")
      pass->filter_now = [pass = pass.get()](const api::Pod& pod) {
        return pass->node_fit().fits_elsewhere(pod, pass->nodes());
      };
    else if (key == "local")
      rules.local_storage = true;
    else if (key == "system")
      rules.system_critical = true;
    else if (key == "node")
      limits.per_node = std::stoull(value);
    else if (key == "ns")
      limits.per_namespace = std::stoull(value);
    else if (key == "total")
      limits.total = std::stoull(value);
    else
      throw std::logic_error("no such word: " + word);
  }
  pass->fit = [fit = std::make_shared<BasicNodeFit>(pass->snapshot())](const auto& pod, const auto& node) {
    return fit->fits(pod, node);
  };
  pass->filter = [rules](const api::Pod& pod) { return why_not_evictable(pod, rules).empty(); };
  pass->evictor = [counted = PassLimits(limits)](const api::Pod& pod) mutable {
    const std::string_view node = pod.spec.node_name.view(), ns = pod.metadata.namespace_.view();
    if (!counted.exceeded(node, ns).empty()) return false;
    counted.count(node, ns);
    return true;
  };
  return pass;
}

std::unique_ptr<Plugin> make_plugin(const PluginEntry& entry, std::string_view args) {
  static FakePass lasting{SnapshotObjects{}};
  PluginContext context = context_of(lasting);
  auto read = read_args(entry, args);
  if (!read) throw std::runtime_error(read.error().message());
  auto plugin = entry.make(*read, context);
  if (!plugin) throw std::runtime_error(plugin.error().message());
  return std::move(*plugin);
}

std::string why_refused(const PluginEntry& entry, std::string_view args) {
  const auto read = read_args(entry, args);
  return read ? std::string() : read.error().message();
}

void run(Plugin& plugin, FakePass& pass) {
  koord::test::Loop loop;
  for (const auto point : {&Plugin::deschedule, &Plugin::balance})
    if (auto done = koord::test::run_task(loop, (plugin.*point)(pass)); !done)
      throw std::runtime_error(done.error().message());
}

std::string gone(const PluginEntry& entry, std::string_view args, const Rows& rows) {
  const auto plugin = make_plugin(entry, args);
  const auto pass = pass_of(rows);
  run(*plugin, *pass);
  std::string names;
  for (const std::string& name : pass->names())
    names += (names.empty() ? "" : " ") + name.substr(name.find('/') + 1);
  return names;
}

std::size_t count_gone(const PluginEntry& entry, std::string_view args, const Rows& rows) {
  const std::string names = gone(entry, args, rows);
  return names.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(names, ' ')) + 1;
}

}  // namespace koord::descheduler::test
