// The store's text: see store_text.hpp.
#include "store/store_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::proxy {

namespace {

using rpc::hooks::Map;
using rpc::hooks::Resources;

constexpr std::int64_t kVersion = 1;

void write(json::Writer& json, std::string_view key, const Map& map) {
  if (map.empty()) return;
  json.key(key).begin_object();
  for (const auto& [name, value] : map) json.member(name, value);
  json.end_object();
}

/// Names of wholes, in the order of the text.
struct Whole {
  std::string_view name;
  std::int64_t Resources::*field;
};
constexpr Whole kWholes[] = {{"cpuPeriod", &Resources::cpu_period},
                             {"cpuQuota", &Resources::cpu_quota},
                             {"cpuShares", &Resources::cpu_shares},
                             {"memoryLimit", &Resources::memory_limit},
                             {"memorySwapLimit", &Resources::memory_swap_limit},
                             {"oomScoreAdj", &Resources::oom_score_adj}};

void write(json::Writer& json, const Resources& resources) {
  json.begin_object();
  for (const Whole& whole : kWholes)
    if (resources.*whole.field != 0) json.member(whole.name, resources.*whole.field);
  json.member_if("cpusetCpus", resources.cpuset_cpus).member_if("cpusetMems", resources.cpuset_mems);
  write(json, "unified", resources.unified);
  if (!resources.hugepages.empty()) {
    json.key("hugepages").begin_array();
    for (const rpc::hooks::HugepageLimit& limit : resources.hugepages)
      json.begin_object().member("pageSize", limit.page_size).member("limit", limit.limit).end_object();
    json.end_array();
  }
  json.end_object();
}

/// Reads one object; the first thing that is wrong is kept.
class Object {
 public:
  Object(const json::Value& value, std::string place) : value_(value), place_(std::move(place)) {
    if (!value.is_object()) fail("", "not an object");
  }
  const std::optional<Error>& error() const { return error_; }

  std::string text(std::string_view key) {
    const json::Value* value = json::find(value_, key);
    if (value == nullptr) return {};
    if (!value->is_string()) fail(key, "not a text");
    return std::string(value->text());
  }
  std::int64_t whole(std::string_view key) {
    const json::Value* value = json::find(value_, key);
    if (value == nullptr) return 0;
    if (!value->is_int()) fail(key, "not a whole number");
    return value->to_int().value_or(0);
  }
  bool truth(std::string_view key) { return json::true_at(value_, key); }
  Map map(std::string_view key) {
    Map map;
    const json::Value* value = json::find(value_, key);
    if (value == nullptr) return map;
    if (!value->is_object()) fail(key, "not an object");
    for (const json::Member& member : value->members()) {
      if (!member.value.is_string()) fail(key, "has what is no text");
      map.emplace_back(member.key(), member.value.text());
    }
    std::ranges::stable_sort(map, {}, &Map::value_type::first);
    const auto doubles = std::ranges::unique(map, {}, &Map::value_type::first);
    map.erase(doubles.begin(), doubles.end());
    return map;
  }
  std::optional<Resources> resources(std::string_view key) {
    const json::Value* value = json::find(value_, key);
    if (value == nullptr) return std::nullopt;
    Object inner(*value, fmt::format("{}.{}", place_, key));
    Resources resources;
    for (const Whole& whole : kWholes) resources.*whole.field = inner.whole(whole.name);
    resources.cpuset_cpus = inner.text("cpusetCpus");
    resources.cpuset_mems = inner.text("cpusetMems");
    resources.unified = inner.map("unified");
    if (const json::Value* limits = json::find(*value, "hugepages"))
      for (const json::Value& limit : limits->elements()) {
        Object item(limit, fmt::format("{}.hugepages", inner.place_));
        const json::Value* most = json::find(limit, "limit");
        resources.hugepages.push_back(
            {item.text("pageSize"), most != nullptr ? most->to_uint().value_or(0) : 0});
        if (item.error_ && !inner.error_) inner.error_ = item.error_;
      }
    if (inner.error_ && !error_) error_ = inner.error_;
    return resources;
  }

 private:
  void fail(std::string_view key, std::string_view what) {
    if (!error_)
      error_ = Error(Code::invalid, fmt::format("{}{}{}: {}", place_, key.empty() ? "" : ".", key, what));
  }

  const json::Value& value_;
  std::string place_;
  std::optional<Error> error_;
};

Result<> read_rows(const json::Value& document, Store& store) {
  if (const json::Value* pods = json::find(document, "pods")) {
    std::size_t index = 0;
    for (const json::Value& row : pods->elements()) {
      Object object(row, fmt::format("pods[{}]", index++));
      PodEntry entry;
      entry.pod.meta = {
          .name = object.text("name"), .uid = object.text("uid"), .ns = object.text("namespace")};
      entry.pod.runtime_handler = object.text("runtimeHandler");
      entry.pod.labels = object.map("labels");
      entry.pod.annotations = object.map("annotations");
      entry.pod.cgroup_parent = object.text("cgroupParent");
      entry.stopped = object.truth("stopped");
      const std::string id = object.text("id");
      if (object.error()) return *object.error();
      store.put(id, std::move(entry));
    }
  }
  if (const json::Value* containers = json::find(document, "containers")) {
    std::size_t index = 0;
    for (const json::Value& row : containers->elements()) {
      Object object(row, fmt::format("containers[{}]", index++));
      ContainerEntry entry;
      const std::string id = object.text("id");
      const std::int64_t attempt = object.whole("attempt");
      entry.sandbox = object.text("sandbox");
      entry.meta = {.name = object.text("name"), .attempt = static_cast<std::uint32_t>(attempt), .id = id};
      entry.annotations = object.map("annotations");
      entry.resources = object.resources("resources");
      entry.pod_cgroup_parent = object.text("podCgroupParent");
      entry.stopped = object.truth("stopped");
      if (object.error()) return *object.error();
      store.put(id, std::move(entry));
    }
  }
  return {};
}

}  // namespace

std::string store_text(const Store::Kept& kept) {
  std::string text;
  json::Writer json(text);
  json.begin_object().member("version", kVersion).key("pods").begin_array();
  for (const auto& [id, entry] : kept.pods) {
    const rpc::hooks::PodRequest& pod = entry->pod;
    json.begin_object().member("id", id).member("name", pod.meta.name).member("uid", pod.meta.uid);
    json.member("namespace", pod.meta.ns).member_if("runtimeHandler", pod.runtime_handler);
    write(json, "labels", pod.labels);
    write(json, "annotations", pod.annotations);
    json.member_if("cgroupParent", pod.cgroup_parent);
    if (entry->stopped) json.member("stopped", true);
    json.end_object();
  }
  json.end_array().key("containers").begin_array();
  for (const auto& [id, entry] : kept.containers) {
    json.begin_object().member("id", id).member("sandbox", entry->sandbox).member("name", entry->meta.name);
    if (entry->meta.attempt != 0) json.member("attempt", entry->meta.attempt);
    write(json, "annotations", entry->annotations);
    if (entry->resources) write(json.key("resources"), *entry->resources);
    json.member_if("podCgroupParent", entry->pod_cgroup_parent);
    if (entry->stopped) json.member("stopped", true);
    json.end_object();
  }
  json.end_array().end_object();
  text.push_back('\n');
  return text;
}

Result<> read_store(std::string_view text, Store& store) {
  KOORD_TRY(document, json::parse(text));
  if (!document.is_object()) return Error(Code::invalid, "not a store's text");
  const auto version = json::int_at(document, "version");
  if (!version) return Error(Code::invalid, "version: not a whole number");
  if (*version != kVersion)
    return Error(Code::unsupported, fmt::format("version: {}, not {}", *version, kVersion));
  if (auto read = read_rows(document, store); !read) {
    store = Store();
    return read;
  }
  return {};
}

}  // namespace koord::proxy
