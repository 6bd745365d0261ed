// The templates of shared GPUs: what is read of their ConfigMap, and what becomes of one that nobody can
// read.
#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/config_map.hpp"
#include "scheduling/plugins/device_share/templates/template_watch.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using device_share::TemplateWatch;

constexpr const char* kTemplates = R"(huawei-Ascend-310P:
  vir01:
    koordinator.sh/gpu-memory: 3Gi
    huawei.com/npu-core: "1"
    huawei.com/npu-cpu: 1
    huawei.com/npu-dvpp: 12
  vir02_1c:
    koordinator.sh/gpu-memory: 6Gi
    huawei.com/npu-core: 2
)";

api::ConfigMap config_map(std::string_view ns, std::string_view name, const char* data) {
  api::ConfigMap map;
  map.metadata.namespace_ = Symbol(ns);
  map.metadata.name = std::string(name);
  map.metadata.uid = "1";
  if (data != nullptr) map.data["data.yaml"] = data;
  return map;
}

TEST_CASE("templates of shared GPUs are read by model and name") {
  const auto templates = api::parse_gpu_share_templates(kTemplates);
  REQUIRE(templates.has_value());
  const auto* const of = templates->by_model.find(api::gpu_model_key("huawei", "Ascend-310P"));
  REQUIRE(of != nullptr);
  REQUIRE(of->size() == 2);
  CHECK(of->find("vir01")->find(api::kGpuMemory)->to_string() == "3Gi");
  CHECK(of->find("vir01")->find(api::kNpuCore)->value() == 1);
  CHECK(of->find("vir01")->size() == 4);
  CHECK(of->find("vir02_1c")->find(api::kNpuDvpp) == nullptr);
  CHECK(api::parse_gpu_share_templates("")->by_model.empty());
  for (const char* wrong : {"invalid yaml", "a: b", "a: {b: {c: x}}", "a: [", "a: 1\na: 2"}) {
    INFO(wrong);
    CHECK_FALSE(api::parse_gpu_share_templates(wrong).has_value());
  }
}

TEST_CASE("the last templates that could be read count") {
  ObjectEvents events;
  ObjectStore<api::ConfigMap> maps(events);
  Complaints complaints;
  std::vector<std::string> said;
  complaints.tell([&](std::string_view kind, const api::ObjectMeta& meta, std::string_view what) {
    said.push_back(fmt::format("{} {}/{}: {}", kind, meta.namespace_.view(), meta.name, what));
  });
  TemplateWatch watch(maps, complaints, "ns", "templates");
  const auto put = [&](std::string_view ns, std::string_view name, const char* data) {
    maps.put({ns, name}, std::make_shared<const api::ConfigMap>(config_map(ns, name, data)));
  };
  CHECK(watch.now()->by_model.empty());
  put("ns", "others", kTemplates);
  put("elsewhere", "templates", kTemplates);
  CHECK(watch.version() == 0);
  put("ns", "templates", kTemplates);
  CHECK(watch.now()->by_model.size() == 1);
  CHECK(watch.version() == 1);
  put("ns", "templates", kTemplates);
  CHECK(watch.version() == 1);
  put("ns", "templates", "invalid yaml");
  put("ns", "templates", "invalid yaml");
  CHECK(watch.now()->by_model.size() == 1);
  REQUIRE(said.size() == 1);
  CHECK(said[0].starts_with("ConfigMap ns/templates: data.yaml: "));
  CHECK(said[0].ends_with("the templates that it had before count on"));
  put("ns", "templates", nullptr);
  CHECK(watch.now()->by_model.empty());
  put("ns", "templates", kTemplates);
  CHECK(watch.now()->by_model.size() == 1);
  maps.put({"ns", "templates"}, nullptr);
  CHECK(watch.now()->by_model.empty());
}

}  // namespace
}  // namespace koord::scheduling::test
