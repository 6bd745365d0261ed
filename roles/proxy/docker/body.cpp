// The bodies: see body.hpp.
#include "docker/body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "koord/json/reader.hpp"
#include "koord/json/writer.hpp"

namespace koord::proxy::docker {

namespace {

using json::Value;
using rpc::cri::ResourceChange;
using rpc::hooks::Map;
using rpc::hooks::Resources;

struct Number {
  std::string_view name;
  std::int64_t Resources::*value;
  std::optional<std::int64_t> ResourceChange::*change;
};
struct Text {
  std::string_view name;
  std::string Resources::*value;
  std::optional<std::string> ResourceChange::*change;
};
constexpr std::string_view kOomScore = "OomScoreAdj";
constexpr std::array<Number, 6> kNumbers = {{
    {"CpuPeriod", &Resources::cpu_period, &ResourceChange::cpu_period},
    {"CpuQuota", &Resources::cpu_quota, &ResourceChange::cpu_quota},
    {"CpuShares", &Resources::cpu_shares, &ResourceChange::cpu_shares},
    {"Memory", &Resources::memory_limit, &ResourceChange::memory_limit},
    {"MemorySwap", &Resources::memory_swap_limit, &ResourceChange::memory_swap_limit},
    {kOomScore, &Resources::oom_score_adj, &ResourceChange::oom_score_adj},
}};
constexpr std::array<Text, 2> kTexts = {{
    {"CpusetCpus", &Resources::cpuset_cpus, &ResourceChange::cpuset_cpus},
    {"CpusetMems", &Resources::cpuset_mems, &ResourceChange::cpuset_mems},
}};

bool same(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// The last member of that name; null counts as none.
const Value* member(const Value& object, std::string_view name) {
  const Value* found = nullptr;
  for (const json::Member& one : object.members())
    if (same(one.key(), name)) found = &one.value;
  return found != nullptr && !found->is_null() ? found : nullptr;
}

/// Refuses an object in which Labels or HostConfig stands twice: Docker puts both together, as Go does, and
/// of members with one name our own reader keeps the last alone.
class NoneTwice final : public json::Events {
 public:
  bool on_key(std::string_view key) override {
    skip_value();
    for (std::size_t i = 0; i < kNames.size(); ++i)
      if (same(key, kNames[i]) && std::exchange(seen_[i], true)) twice_ = kNames[i];
    return twice_.empty();
  }
  Error stop_error() override { return Error(Code::parse, fmt::format("{} stands there twice", twice_)); }
  bool on_null() override { return true; }
  bool on_bool(bool) override { return true; }
  bool on_number(std::string_view) override { return true; }
  bool on_string(std::string_view) override { return true; }
  bool on_begin_object() override { return true; }
  bool on_end_object() override { return true; }
  bool on_begin_array() override { return true; }
  bool on_end_array() override { return true; }

 private:
  static constexpr std::array<std::string_view, 2> kNames = {"Labels", "HostConfig"};
  std::array<bool, 2> seen_{};
  std::string_view twice_;
};

/// The member's place, made if there is none.
Value& place(Value& object, std::string_view name, json::Arena& arena) {
  Value* found = nullptr;
  for (json::Member& one : object.members())
    if (same(one.key(), name)) found = &one.value;
  return found != nullptr ? *found : object.append(name, Value(), arena);
}

Value& object_place(Value& object, std::string_view name, json::Arena& arena) {
  Value& found = place(object, name, arena);
  if (!found.is_object()) found.set_object();
  return found;
}

void put_text(Value& object, std::string_view name, std::string_view text, json::Arena& arena) {
  place(object, name, arena) = json::make_text(text, arena);
}

std::string_view text_of(const Value& object, std::string_view name) {
  const Value* found = member(object, name);
  return found != nullptr ? found->text() : std::string_view();
}

Map map_of(const Value& object, std::string_view name) {
  Map out;
  if (const Value* found = member(object, name))
    for (const json::Member& one : found->members())
      if (one.value.is_string()) out.emplace_back(one.key(), one.value.text());
  return sorted(std::move(out));
}

std::string_view pair_of(const Map& map, std::string_view name) {
  for (const auto& [key, value] : map)
    if (key == name) return value;
  return {};
}

Map env_of(const Value& config) {
  Map out;
  if (const Value* list = member(config, "Env"))
    for (const Value& one : list->elements())
      if (const auto variable = split_variable(one.text()))
        out.emplace_back(variable->first, variable->second);
  return sorted(std::move(out));
}

Resources resources_of(const Value* config) {
  Resources out;
  if (config == nullptr) return out;
  for (const Number& number : kNumbers)
    if (const Value* found = member(*config, number.name)) out.*number.value = found->to_int().value_or(0);
  for (const Text& text : kTexts) out.*text.value = text_of(*config, text.name);
  return out;
}

/// Docker refuses 1000.0 where it wants 1000. Written anew it would be 1000, and taken.
Result<> whole_numbers(const Value* config) {
  if (config == nullptr) return {};
  for (const Number& number : kNumbers)
    if (const Value* found = member(*config, number.name);
        found != nullptr && found->is_number() && !found->is_int())
      return Error(Code::parse, fmt::format("{}: expected a whole number of 64 bits", number.name));
  return {};
}

void apply_resources(Value& config, const ResourceChange& change, bool oom_score, json::Arena& arena) {
  for (const Number& number : kNumbers)
    if (const auto& value = change.*number.change; value && (oom_score || number.name != kOomScore))
      place(config, number.name, arena) = Value(*value);
  for (const Text& text : kTexts)
    if (const auto& value = change.*text.change) put_text(config, text.name, *value, arena);
}

bool touches(const ResourceChange& change) {
  return std::ranges::any_of(kNumbers,
                             [&](const Number& number) { return (change.*number.change).has_value(); }) ||
         std::ranges::any_of(kTexts, [&](const Text& text) { return (change.*text.change).has_value(); });
}

/// Where a variable stands there already it is changed there; new ones follow the old ones.
void apply_env(Value& body, const Map& changed, const std::vector<std::string>& removed, json::Arena& arena) {
  if (changed.empty() && removed.empty()) return;
  Value& list = place(body, "Env", arena);
  if (!list.is_array()) list.set_array();
  const auto is = [](const Value& one, std::string_view name) {
    const auto variable = split_variable(one.text());
    return variable && variable->first == name;
  };
  list.erase_if([&](const Value& one) {
    return std::ranges::any_of(removed, [&](const std::string& name) { return is(one, name); });
  });
  for (const auto& [name, value] : changed) {
    Value* last = nullptr;
    for (Value& one : list.elements())
      if (is(one, name)) last = &one;
    Value text = json::make_text(fmt::format("{}={}", name, value), arena);
    if (last != nullptr)
      *last = std::move(text);
    else
      list.push_back(std::move(text), arena);
  }
}

Result<json::Document> read_object(std::string_view text) {
  KOORD_TRY(document, json::parse(text));
  if (!document.is_object()) return Error(Code::parse, "not a JSON object");
  return std::move(document);
}

}  // namespace

Result<CreateBody> CreateBody::read(std::string_view text) {
  CreateBody out;
  KOORD_TRY(document, read_object(text));
  NoneTwice none_twice;
  KOORD_CHECK(json::read(text, none_twice));
  if (auto whole = whole_numbers(member(document, "HostConfig")); !whole)
    return std::move(whole).error().context("HostConfig");
  out.body_ = std::move(document);
  out.labels_ = map_of(out.body_, "Labels");
  out.type_ = pair_of(out.labels_, kTypeLabel);
  out.sandbox_ = pair_of(out.labels_, kSandboxIdLabel);
  return out;
}

Result<Identity> CreateBody::identity(std::string_view name) const {
  if (auto named = identity_of_name(name)) return std::move(*named);
  if (auto labelled = identity_of_labels(labels_)) return std::move(*labelled);
  return Error(Code::invalid, fmt::format("Failed to split k8s container name \"{}\"", name));
}

rpc::hooks::PodRequest CreateBody::pod(const Identity& identity, bool systemd) const {
  const Value* host = member(body_, "HostConfig");
  Split split = split_labels(labels_);
  return {.meta = identity.pod,
          .runtime_handler = "docker",
          .labels = std::move(split.labels),
          .annotations = std::move(split.annotations),
          .cgroup_parent =
              host != nullptr ? path_of_parent(systemd, text_of(*host, "CgroupParent")) : std::string(),
          .overhead = {},
          .resources = resources_of(host)};
}

rpc::hooks::ContainerRequest CreateBody::container(const Identity& identity, bool systemd) const {
  const Value* host = member(body_, "HostConfig");
  return {.pod = identity.pod,
          .meta = {.name = identity.container, .attempt = identity.attempt, .id = {}},
          .annotations = split_labels(labels_).annotations,
          .resources = resources_of(host),
          .pod_resources = {},
          .pod_annotations = {},
          .pod_labels = {},
          .pod_cgroup_parent =
              host != nullptr ? path_of_parent(systemd, text_of(*host, "CgroupParent")) : std::string(),
          .env = env_of(body_)};
}

void CreateBody::apply(const rpc::cri::PodChange& change, const ResourceChange& resources, bool systemd) {
  json::Arena& arena = body_.arena();
  if (!change.labels.empty() || !change.annotations.empty()) {
    Value& labels = object_place(body_, "Labels", arena);
    for (const auto& [name, value] : change.labels) json::set_text(labels, name, value, arena);
    for (const auto& [name, value] : change.annotations)
      json::set_text(labels, label_of_annotation(name), value, arena);
  }
  if (!change.cgroup_parent && !touches(resources)) return;
  Value& host = object_place(body_, "HostConfig", arena);
  if (change.cgroup_parent)
    put_text(host, "CgroupParent", parent_of_path(systemd, *change.cgroup_parent), arena);
  apply_resources(host, resources, true, arena);
}

void CreateBody::apply(const rpc::cri::ContainerChange& change, bool systemd) {
  apply(
      rpc::cri::PodChange{
          .labels = {}, .annotations = change.annotations, .cgroup_parent = change.pod_cgroup_parent},
      change.resources, systemd);
  apply_env(body_, change.env, change.env_removed, body_.arena());
}

std::string CreateBody::text() const { return json::to_text(body_); }

Result<UpdateBody> UpdateBody::read(std::string_view text) {
  UpdateBody out;
  KOORD_TRY(document, read_object(text));
  KOORD_CHECK(whole_numbers(&document));
  out.body_ = std::move(document);
  return out;
}

Resources UpdateBody::resources() const { return resources_of(&body_); }
void UpdateBody::apply(const ResourceChange& change) { apply_resources(body_, change, false, body_.arena()); }
std::string UpdateBody::text() const { return json::to_text(body_); }

Result<std::string> read_created(std::string_view text) {
  KOORD_TRY(document, read_object(text));
  const std::string_view id = text_of(document, "Id");
  if (id.empty()) return Error(Code::parse, "no id");
  return std::string(id);
}

Result<Listed> read_list(std::string_view text) {
  KOORD_TRY(document, json::parse(text));
  Listed out;
  for (const Value& one : document.elements()) {
    const std::string_view id = text_of(one, "Id");
    const Map labels = map_of(one, "Labels");
    const std::string_view type = pair_of(labels, kTypeLabel);
    if (id.empty() || type.empty()) continue;
    std::optional<Identity> identity;
    if (const Value* names = member(one, "Names"))
      for (const Value& name : names->elements())
        if (!identity) identity = identity_of_name(name.text());
    if (!identity) identity = identity_of_labels(labels);
    if (!identity) continue;
    Split split = split_labels(labels);
    if (type == kSandbox)
      out.pods.push_back({.id = std::string(id),
                          .pod = {.meta = std::move(identity->pod),
                                  .runtime_handler = "docker",
                                  .labels = std::move(split.labels),
                                  .annotations = std::move(split.annotations),
                                  .cgroup_parent = {},
                                  .overhead = {},
                                  .resources = {}}});
    else
      out.containers.push_back({.id = std::string(id),
                                .sandbox = std::string(pair_of(labels, kSandboxIdLabel)),
                                .meta = {.name = std::move(identity->container),
                                         .attempt = identity->attempt,
                                         .id = std::string(id)},
                                .annotations = std::move(split.annotations)});
  }
  return out;
}

Result<Inspected> read_inspected(std::string_view text) {
  KOORD_TRY(document, read_object(text));
  Inspected out;
  out.id = text_of(document, "Id");
  if (out.id.empty()) return Error(Code::parse, "a container without an id");
  if (const Value* config = member(document, "Config")) {
    const Map labels = map_of(*config, "Labels");
    const std::string_view type = pair_of(labels, kTypeLabel);
    out.sandbox_id = pair_of(labels, kSandboxIdLabel);
    out.sandbox = type == kSandbox;
    std::optional<Identity> identity = identity_of_name(text_of(document, "Name"));
    if (!identity) identity = identity_of_labels(labels);
    out.of_kubernetes = !type.empty() && identity;
    if (identity) out.identity = std::move(*identity);
    Split split = split_labels(labels);
    out.labels = std::move(split.labels);
    out.annotations = std::move(split.annotations);
    out.env = env_of(*config);
  }
  const Value* host = member(document, "HostConfig");
  out.resources = resources_of(host);
  if (host != nullptr) out.cgroup_parent = text_of(*host, "CgroupParent");
  return out;
}

Result<bool> read_systemd(std::string_view text) {
  KOORD_TRY(document, read_object(text));
  return text_of(document, "CgroupDriver") == "systemd";
}

}  // namespace koord::proxy::docker
