// Model: rows of nodes, what changed of them, and names that are text whatever they hold.
#include "view/page/model.hpp"

#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"

using namespace koord;
using namespace std::chrono_literals;
using view::Model;

namespace {

const api::Time kNow{WallTime{1'800'000'000s}};

std::shared_ptr<const api::Node> node(std::string name, bool pressed = false) {
  api::Node out;
  out.metadata.name = std::move(name);
  out.status.capacity["cpu"] = api::Quantity::must("10");
  out.status.capacity["memory"] = api::Quantity::must("100Gi");
  out.status.allocatable["kubernetes.io/batch-cpu"] = api::Quantity::must("4000");
  out.status.allocatable["kubernetes.io/batch-memory"] = api::Quantity::must("40Gi");
  out.status.conditions.emplace_back();
  out.status.conditions.back().type = "Ready";
  out.status.conditions.back().status = "True";
  if (pressed) {
    out.status.conditions.emplace_back();
    out.status.conditions.back().type = "MemoryPressure";
    out.status.conditions.back().status = "True";
  }
  return std::make_shared<const api::Node>(std::move(out));
}

api::NodeMetric metric(const char* cpu, api::Time at = kNow) {
  api::NodeMetric out;
  out.metadata.name = "n";
  out.status.update_time = at;
  out.status.node_metric = api::NodeMetricInfo();
  out.status.node_metric->node_usage.resources["cpu"] = api::Quantity::must(cpu);
  out.status.node_metric->node_usage.resources["memory"] = api::Quantity::must("10Gi");
  api::PodMetricInfo pod;
  pod.name = "x";
  pod.namespace_ = Symbol("a");
  pod.priority = Symbol("koord-batch");
  pod.pod_usage.resources["cpu"] = api::Quantity::must("1");
  out.status.pods_metric.push_back(std::move(pod));
  return out;
}

std::shared_ptr<const api::Pod> batch_pod(const char* cpu) {
  api::Pod out;
  out.metadata.name = "x";
  out.metadata.namespace_ = Symbol("a");
  out.spec.node_name = Symbol("n");
  out.spec.containers.emplace_back();
  out.spec.containers.back().resources.requests["kubernetes.io/batch-cpu"] = api::Quantity::must(cpu);
  return std::make_shared<const api::Pod>(std::move(out));
}

std::string rows(const std::string& frame) {
  const auto at = frame.find("\"rows\":");
  return frame.substr(at);
}

}  // namespace

TEST_CASE("a frame has what nodes use, lend and are asked for; the next one what changed") {
  Model model;
  const api::NodeMetric report = metric("2500m");
  model.set_node(node("n"), &report, MonoTime{1s});
  model.set_node(node("m", true), nullptr, MonoTime{1s});
  CHECK(
      rows(model.whole(kNow, 0)) ==
      R"("rows":[["m",0,0,4,0,10,1000,"MemoryPressure","no report"],["n",250,100,4,0,10,250,"CPU","ready"]],"gone":[]})");
  CHECK(rows(model.delta(kNow, 0)).find("\"n\"") != std::string::npos);
  CHECK(rows(model.delta(kNow, 0)) == R"("rows":[],"gone":[]})");
  model.set_pods(*node("n"), {batch_pod("5000")});
  CHECK(rows(model.delta(kNow, 3)) ==
        R"("rows":[["n",250,100,4,5,10,1000,"batch pods ask for more than is lent","ready"]],"gone":[]})");
  model.set_pods(*node("n"), {batch_pod("5000")});
  CHECK(rows(model.delta(kNow, 0)) == R"("rows":[],"gone":[]})");
  model.remove_node("m");
  model.remove_node("nobody");
  CHECK(rows(model.delta(kNow, 0)) == R"("rows":[],"gone":["m"]})");
}

TEST_CASE("what changed while nobody reads is forgotten") {
  Model model;
  model.set_node(node("n"), nullptr, MonoTime{1s});
  model.set_node(node("m"), nullptr, MonoTime{1s});
  (void)model.whole(kNow, 0);
  model.remove_node("m");
  model.forget_changes();
  CHECK(rows(model.delta(kNow, 0)) == R"("rows":[],"gone":[]})");
  CHECK(rows(model.whole(kNow, 0)).find("\"n\"") != std::string::npos);
}

TEST_CASE("a report grows old without anybody's saying so, and one report is one sample") {
  Model model;
  const api::NodeMetric report = metric("1");
  model.set_node(node("n"), &report, MonoTime{1s});
  model.set_node(node("n"), &report, MonoTime{2s});
  (void)model.delta(kNow, 0);
  CHECK(rows(model.delta(api::Time{kNow.at + 4min}, 0)).find("old report") != std::string::npos);
  const std::string text = model.node("n", kNow, MonoTime{61s}, {batch_pod("1000")});
  CHECK(text.find(R"("seconds":[-60])") != std::string::npos);
  CHECK(text.find(R"({"name":"a/x","tier":"koord-batch","cpu":[1]})") != std::string::npos);
  CHECK(model.node("nobody", kNow, MonoTime{}, {}).empty());
}

TEST_CASE("names stay text: JSON of them reads back as they are") {
  Model model;
  const std::string name = "</script><img src=x onerror=alert(1)>\"\\\n\r\x01";
  model.set_node(node(name), nullptr, MonoTime{});
  const std::string frame = model.whole(kNow, 0);
  CHECK(frame.find('\n') == std::string::npos);  // else it would end an event
  CHECK(frame.find('\r') == std::string::npos);
  REQUIRE(json::parse(frame).has_value());
}
