// The rows of Koordinator's own tests of DeviceShare at the plugin's points:
// tests/golden/scheduler/device_share.jsonl, one a line; what is left out of them, and where else it is
// asked, says tests/unit/scheduling/plugins/README.md.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>

#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "reserved_devices.hpp"
#include "scheduling/plugin/reserved_room.hpp"
#include "scheduling/plugins/device_share/request/demand.hpp"
#include "support/tsv.hpp"

namespace koord::scheduling::test {
namespace {

using json::Value;

std::int64_t number(const Value& value) { return value.to_int().value(); }
bool is_true(const Value* value) { return value != nullptr && json::to_text(*value) == "true"; }

/// By type and minor what is said of each resource, as whole numbers; ids and functions apart.
using Amounts = std::map<std::string, std::map<std::string, std::int64_t>>;

std::map<std::string, std::int64_t> amounts(const Value& resources) {
  std::map<std::string, std::int64_t> found;
  for (const json::Member& each : resources.members())
    if (const std::int64_t value = api::Quantity::must(each.value.text()).value(); value != 0)
      found[std::string(each.key())] = value;
  return found;
}
/// Of an annotation.
Amounts given(const Value& annotation) {
  Amounts found;
  for (const json::Member& type : annotation.members())
    for (const Value& each : type.value.elements())
      found[fmt::format("{} {}", type.key(), number(*json::find(each, "minor")))] =
          json::find(each, "resources") != nullptr ? amounts(*json::find(each, "resources"))
                                                   : std::map<std::string, std::int64_t>();
  return found;
}
/// Of a page's details.
Amounts detail(const Value& by_type) {
  Amounts found;
  for (const json::Member& type : by_type.members())
    for (const json::Member& minor : type.value.members())
      found[fmt::format("{} {}", type.key(), minor.key())] = amounts(minor.value);
  return found;
}

const FeatureGates& gates(bool adapts) {
  static constexpr FeatureGate kOn[] = {
      {.name = "DevicePluginAdaption", .enabled = true, .stage = Stage::alpha, .help = ""}};
  static const FeatureGates on{kOn}, off{};
  return adapts ? on : off;
}

/// Koordinator's default in all but its type.
constexpr const char* kStrategy =
    R"({{"scoringStrategy":{{"type":"{}","resources":[{{"name":"koordinator.sh/gpu-memory-ratio","weight":1}},{{"name":"koordinator.sh/gpu-memory","weight":1}},{{"name":"koordinator.sh/rdma","weight":1}},{{"name":"koordinator.sh/fpga","weight":1}}]}}}})";

/// The world that a row asks.
class Case {
 public:
  Case(const Value& row, const std::string& templates) : row_(row) {
    const bool adapts = is_true(find("gate"));
    std::string args = find("args") != nullptr ? json::to_text(*find("args")) : std::string();
    if (find("strategy") != nullptr) args = fmt::format(kStrategy, find("strategy")->text());
    if (find("kept") != nullptr)
      world_ = std::make_unique<ReservedDevices>(gates(adapts), args);
    else
      world_ = std::make_unique<DeviceWorld>(device_config(args), gates(adapts));
    auto map = std::make_shared<api::ConfigMap>();
    map->metadata.namespace_ = "koordinator-system";
    map->metadata.name = "gpu-shared-resource-templates";
    map->data["data.yaml"] = templates;
    world_->engine.put_object<api::ConfigMap>(map);
    world_->engine.put_node(DeviceMachine{.node_labels = texts(find("labels"))}.node("n"));
    if (const Value* device = find("device")) put_device(*device);
    if (const Value* held = find("held")) put_holder("held", json::to_text(*held));
    if (const Value* kept = find("kept")) keep(*kept);
  }

  DeviceWorld& world() { return *world_; }
  const Value* find(std::string_view key) const { return json::find(row_, key); }
  std::string text(std::string_view key) const { return std::string(json::text_at(row_, key)); }

  void put_device(const Value& json) {
    auto made = std::make_shared<api::Device>(*api::decode<api::Device>(json));
    made->metadata.name = "n";
    world_->engine.put_object<api::Device>(std::move(made));
  }
  /// Bound there, with these devices.
  void put_holder(const std::string& name, const std::string& annotation) {
    world_->engine.put_pod(make_pod(name, "1", "1Gi", device_pod({}, {allocated(annotation)}, "n")));
  }
  /// Pod "p", which the reservation is for.
  std::shared_ptr<const api::Pod> pod(std::string_view key = "pod") const {
    const Value& said = *find(key);
    return make_pod("p", "1", "1Gi", [&](api::Pod& p) {
      for (const auto& [name, amount] : texts(json::find(said, "requests")))
        p.spec.containers[0].resources.requests[name] = api::Quantity::must(amount);
      for (const auto& [name, value] : texts(json::find(said, "annotations")))
        p.metadata.annotations[name] = Symbol(value);
      for (const auto& [name, value] : texts(json::find(said, "labels")))
        p.metadata.labels[name] = Symbol(value);
      p.metadata.labels["app"] = "r";
      if (const Value* designated = find("designated")) {
        p.metadata.annotations[api::DeviceAllocations::kAnnotation] = Symbol(json::to_text(*designated));
        p.metadata.annotations[api::kSchedulingHint] = R"({"extensions":{"DeviceShare":{}}})";
      }
    });
  }
  template <class T>
  T& plugin() const {
    T* found = nullptr;
    for (const Profile::Named& named : world_->engine.profiles()[0].plugins)
      if (named.name == "DeviceShare") found = dynamic_cast<T*>(named.plugin.get());
    REQUIRE(found != nullptr);
    return *found;
  }
  /// What the plugin's page says of the node; "": there is none.
  std::string page() const {
    const auto answer = plugin<const ServicePlugin>().serve({"/nodeDeviceSummaries/n", {}});
    return answer.has_value() && answer->status == 200 ? answer->json : std::string();
  }
  /// Of the reservation, to the pod.
  std::int64_t worth() {
    auto& judge = plugin<RoomJudge>();
    const auto& nodes = world_->engine.nodes();
    const PodInfo info = make_pod_info(pod(), world_->engine.context().nodes.resources());
    NodeView view(nodes, nodes.find("n"));
    for (const PodInfo* there : nodes.pods(view.row()))
      if (there->pod->metadata.uid == "uid-of-r") view.remove(*there);
    REQUIRE(view.removed().size() == 1);
    auto open = std::make_shared<OpenRooms>();
    open->rooms.push_back({"uid-of-r", text("policy") == "Restricted"});
    view.slots().put(std::shared_ptr<const OpenRooms>(std::move(open)));
    return judge.worth(*judge.prepare_rooms(info), view, "uid-of-r");
  }

 private:
  static Texts texts(const Value* map) {
    Texts found;
    if (map != nullptr)
      for (const json::Member& each : map->members()) found.emplace_back(each.key(), each.value.text());
    return found;
  }
  void keep(const Value& kept) {
    std::map<std::string, std::int64_t> sums;
    for (const auto& [device, of] : given(kept))
      for (const auto& [name, amount] : of) sums[name] += amount;
    std::string requests;
    for (const auto& [name, amount] : sums)
      requests += fmt::format(R"({}"{}":"{}")", requests.empty() ? "" : ",", name, amount);
    world_->engine.put_object(make_reservation("r", "1", [&](api::Reservation& r) {
      r.spec.allocate_policy = text("policy");
      r.spec.template_.text = fmt::format(
          R"({{"spec":{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"8","memory":"8Gi",{}}}}}}}]}}}})",
          requests);
      r.metadata.annotations[api::DeviceAllocations::kAnnotation] = Symbol(json::to_text(kept));
      reservation::set_available(r, "n", world_->clock.now());
    }));
  }

  const Value& row_;
  std::unique_ptr<DeviceWorld> world_;
};

void pre_filter(Case& c) {
  CHECK(c.world().refused(c.pod()) == c.text("says"));
  if (c.find("asks") == nullptr) return;
  const auto numbers = amounts(*json::find(*c.find("pod"), "requests"));
  device_share::DeviceRequests requests(numbers.begin(), numbers.end());
  const device_share::DeviceDemand demand = device_share::read_demand(requests, {}, {}, {});
  std::map<std::string, std::int64_t> asks;
  for (const auto type : device_share::kAllDeviceTypes)
    for (const auto& [name, amount] : device_share::write_amounts(type, demand.of(type).asked))
      asks[name.str()] = amount.value();
  auto expected = amounts(*c.find("asks"));
  expected.erase(std::string(api::kGpuShared));  // it says of how many
  CHECK(asks == expected);
  if (c.find("each") == nullptr) return;
  std::map<std::string, std::int64_t> each;
  for (const auto& [name, amount] : device_share::write_amounts(
           device_share::DeviceType::gpu, demand.of(device_share::DeviceType::gpu).per_device))
    each[name.str()] = amount.value();
  CHECK(each == amounts(*c.find("each")));
  CHECK(demand.of(device_share::DeviceType::gpu).count == number(*c.find("gpus")));
  CHECK(demand.gpu.shared == is_true(c.find("shared")));
}

void filter(Case& c) { CHECK(c.world().refused(c.pod()) == c.text("says")); }

/// What is written with the binding.
std::map<std::string, std::string> written(const Decision& d) {
  std::map<std::string, std::string> found;
  const auto* const bind = d.as<Decision::Bind>();
  REQUIRE(bind != nullptr);
  if (bind->changes == nullptr) return found;
  for (const auto& [name, value] : bind->changes->annotations) found[name.str()] = value;
  for (const auto& [name, value] : bind->changes->labels) found[name.str()] = value;
  return found;
}

void reserve(Case& c) {
  const Decision d = c.world().put(c.pod());
  INFO(d.message());
  if (const std::string says = c.text("says"); !says.empty()) {
    CHECK(d.message().starts_with("0/1 nodes are available: 1 " + says));
    return;
  }
  const auto found = written(d);
  const auto at = found.find(std::string(api::DeviceAllocations::kAnnotation));
  REQUIRE((at != found.end()) == (c.find("given") != nullptr));
  if (at != found.end()) CHECK(given(std::move(json::parse(at->second)).value()) == given(*c.find("given")));
}

void pre_bind(Case& c) {
  auto found = written(c.world().put(c.pod()));
  for (const json::Member& each : c.find("writes")->members()) {
    const auto at = found.find(std::string(each.key()));
    INFO(each.key());
    REQUIRE(at != found.end());
    if (each.value.is_object()) {
      // Of an annotation which devices, by minor and id.
      const json::Document annotation = std::move(json::parse(at->second)).value();
      std::map<std::string, std::string> ids, expected;
      const auto read = [](const Value& said, auto& to) {
        for (const json::Member& type : said.members())
          for (const Value& device : type.value.elements())
            to[fmt::format("{} {}", type.key(), number(*json::find(device, "minor")))] =
                json::text_at(device, "id");
      };
      read(annotation, ids);
      read(each.value, expected);
      CHECK(ids == expected);
    } else if (each.value.text() != "*") {
      CHECK(at->second == each.value.text());
    }
    found.erase(at);
  }
  CHECK(found.empty());
}

void score(Case& c) {
  if (!c.text("says").empty()) return filter(c);
  auto& engine = c.world().engine;
  std::int64_t raw = 0;
  for (const ScoreDetail& each :
       engine.evaluate(engine.profiles()[0], c.pod()).explain(engine.nodes().find("n")).scores)
    if (engine.profiles()[0].plugins[each.plugin].name == "DeviceShare") raw = each.raw;
  CHECK(raw == number(*c.find("score")));
}

void score_reservation(Case& c) { CHECK(c.worth() == number(*c.find("score"))); }

/// A Device or a pod comes, changes or goes.
void told(Case& c) {
  const Value& event = *c.find("event");
  if (const Value* device = json::find(event, "device")) c.put_device(*device);
  if (json::find(event, "gone") != nullptr)
    c.world().engine.remove_object<api::Device>(DeviceMachine{.gpus = 0}.device("n"));
  if (const Value* pod = json::find(event, "pod")) {
    const auto said = json::find(*pod, "annotations");
    const auto there = make_pod("p", "1", "1Gi", [&](api::Pod& p) {
      for (const json::Member& each : json::find(*pod, "requests")->members())
        p.spec.containers[0].resources.requests[each.key()] = api::Quantity::must(each.value.text());
      if (said != nullptr)
        for (const json::Member& each : said->members())
          p.metadata.annotations[each.key()] = Symbol(each.value.text());
      p.spec.node_name = "n";
    });
    if (json::find(*pod, "from") != nullptr)
      c.world().engine.put_pod(changed(there, [](api::Pod& p) { p.spec.node_name = ""; }));
    c.world().engine.put_pod(there);
    if (json::find(*pod, "goes") != nullptr) c.world().engine.remove_pod(*there);
  }
  const std::string text = c.page();
  const json::Document page = std::move(json::parse(text.empty() ? "{}" : text)).value();
  const auto at = [&](std::string_view key) {
    const Value* found = json::find(page, key);
    return found != nullptr ? detail(*found) : Amounts();
  };
  CHECK(at("deviceTotalDetail") == detail(*c.find("total")));
  CHECK(at("deviceFreeDetail") == detail(*c.find("free")));
  CHECK(at("deviceUsedDetail") == detail(*c.find("used")));
}

TEST_CASE("DeviceShare's points say what Koordinator's say") {
  const std::map<std::string, void (*)(Case&), std::less<>> points = {
      {"PreFilter", pre_filter}, {"Filter", filter},     {"Reserve", reserve},
      {"PreBind", pre_bind},     {"Score", score},       {"ScoreReservation", score_reservation},
      {"DeviceAdd", told},       {"DeviceUpdate", told}, {"DeviceDelete", told},
      {"PodAdd", told},          {"PodUpdate", told},    {"PodDelete", told}};
  std::ifstream in(koord::test::golden("scheduler/device_share.jsonl"));
  REQUIRE(in.good());
  std::string templates, line;
  int rows = 0;
  while (std::getline(in, line)) {
    const auto row = json::parse(line);
    REQUIRE(row.has_value());
    if (const Value* said = json::find(*row, "templates")) {
      templates = json::to_text(*said);
      continue;
    }
    ++rows;
    const std::string point(json::text_at(*row, "point"));
    INFO(point << " " << number(*json::find(*row, "row")));
    Case c(*row, templates);
    points.at(point)(c);
  }
  CHECK(rows == 104);
}

}  // namespace
}  // namespace koord::scheduling::test
