// The webhooks of ElasticQuotas: whom they answer, with which codes, and what they leave behind.
#include "admission/quota/quota_handlers.hpp"

#include <catch2/catch.hpp>

#include "admission/handler_rig.hpp"
#include "admission/quota/quotas.hpp"

namespace koord::manager {
namespace {

using testing::Answer;
using testing::HandlerRig;
using enum Operation;

constexpr std::string_view kPrefix = "quota.scheduling.koordinator.sh/";

struct World : HandlerRig {
  World() {
    parts.catalog = std::make_shared<QuotaCatalog>(clock);
    QuotaPods none;
    none.of_quota = [](std::string_view) { return std::vector<std::string>(); };
    none.in_namespace = [](std::string_view) { return false; };
    parts.rules = std::make_shared<const QuotaRules>(*parts.catalog, std::move(none), QuotaRuleOptions());
    mutating = std::make_unique<QuotaMutating>(parts, registry);
    validating = std::make_unique<QuotaValidating>(parts, registry);
  }
  Answer mutate(std::string_view object, Operation operation = create) {
    return ask(*mutating, {.operation = operation, .resource = "elasticquotas", .object = object});
  }
  Verdict validate(Operation operation, std::string_view object, std::string_view old = "null") {
    return ask(*validating,
               {.operation = operation, .resource = "elasticquotas", .object = object, .old_object = old});
  }

  QuotaParts parts;
  std::unique_ptr<QuotaMutating> mutating;
  std::unique_ptr<QuotaValidating> validating;
};

TEST_CASE("Upstream's rows of the validating handler") {
  World world;
  const auto quota = [](std::string_view name, std::string_view tree = {}) {
    return tree.empty() ? fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name)
                        : fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"{}tree-id":"{}"}}}}}})", name,
                                      kPrefix, tree);
  };
  CHECK(world.ask(*world.validating, {.resource = "configmaps"}).allowed);
  CHECK(world.ask(*world.validating, {.resource = "elasticquotas", .subresource = "status"}).allowed);
  CHECK(world.validate(create, "null").code == 400);
  CHECK(world.validate(create, quota("quota1")).allowed);
  world.parts.catalog->set(testing::quota({.name = "quota1"}, "1"));
  CHECK(world.validate(create, quota("quota2", "tree-2")).allowed);
  world.parts.catalog->set(testing::quota({.name = "quota2", .labels = "tree-id=tree-2"}, "2"));
  for (const auto& [after, before] : {std::pair{quota("quota1", "tree-1"), quota("quota1")},
                                      std::pair{quota("quota2", "tree-1"), quota("quota2", "tree-2")},
                                      std::pair{quota("quota2"), quota("quota2", "tree-2")}}) {
    const Verdict verdict = world.validate(update, after, before);
    CHECK_FALSE(verdict.allowed);
    CHECK(verdict.code == 400);
    CHECK_THAT(verdict.message, Catch::Contains(" tree id changed ["));
  }
  CHECK_THAT(world.registry.exposition(),
             Catch::Contains(R"(operation="UPDATE",plugin_name="QuotaMetaChecker",status="rejected")"));
}

TEST_CASE("What is new in an object is a label, a tree and a weight; the rest stays as it came") {
  World world;
  world.parts.catalog->set(testing::quota({.name = "root", .labels = "is-parent=true tree-id=t"}, "1"));
  const Answer answer = world.mutate(
      R"({"kept":[1],"metadata":{"name":"a","labels":{"quota.scheduling.koordinator.sh/parent":"root"}},)"
      R"("spec":{"max":{"memory":"1024Mi","cpu":2}}})");
  CHECK(answer.verdict.allowed);
  CHECK(testing::same_document(
      answer.object,
      R"({"kept":[1],"metadata":{"name":"a","labels":{"quota.scheduling.koordinator.sh/parent":"root",)"
      R"("quota.scheduling.koordinator.sh/tree-id":"t"},"annotations":)"
      R"({"quota.scheduling.koordinator.sh/shared-weight":"{\"cpu\":\"2\",\"memory\":\"1Gi\"}"}},)"
      R"("spec":{"max":{"memory":"1024Mi","cpu":2}}})"));
  CHECK_THAT(world.registry.exposition(),
             Catch::Contains(R"(quota_shared_weight{elasticquota_name="a",resource_name="cpu"} 2)"));
  CHECK(testing::same_document(world.mutate(R"({"metadata":{"name":"b"}})", update).object,
                               R"({"metadata":{"name":"b"}})"));
  const Answer orphan = world.mutate(
      R"({"metadata":{"name":"b","labels":{"quota.scheduling.koordinator.sh/parent":"nobody"}}})");
  CHECK(orphan.verdict.code == 400);
  CHECK(orphan.verdict.message == "fill quota b failed, parent not exist");
  CHECK((orphan.verdict.again && orphan.verdict.stands));
  for (const std::string_view bad :
       {"null", "7", R"({"spec":{"max":{"cpu":"much"}}})", R"({"metadata":[]})"}) {
    CAPTURE(bad);
    CHECK(world.mutate(bad).verdict.code == 400);
    CHECK(world.validate(create, bad).code == 400);
    CHECK_FALSE(world.validate(remove, "null", bad).allowed);  // nobody knows it
  }
}

TEST_CASE("A quota that is stored and cannot be read may be mended and removed") {
  World world;
  world.parts.catalog->set(testing::quota({.name = "a"}, "1"));
  constexpr std::string_view kBad =
      R"({"metadata":{"name":"a","namespace":"default"},"spec":{"max":{"cpu":"much"}}})";
  CHECK(world.validate(update, testing::to_json({.name = "a", .max = "cpu=1"}), kBad).allowed);
  CHECK(world.validate(remove, "null", kBad).allowed);
  CHECK(world.validate(remove, "null", "7").code == 400);
}

TEST_CASE("What is admitted is remembered, a dry run and a status are not") {
  World world;
  world.parts.catalog->set(
      testing::quota({.name = "p", .labels = "is-parent=true", .min = "cpu=4", .max = "cpu=9"}, "1"));
  const auto child = [](std::string_view name, std::string_view version = {},
                        std::string_view used = "cpu=1") {
    return testing::to_json(
        {.name = name, .labels = "parent=p", .min = "cpu=3", .max = "cpu=9", .used = used}, version);
  };
  json::Document object = json::parse(child("a")).value();
  AdmissionRequest dry;
  dry.resource = "elasticquotas";
  dry.ns = "default";
  dry.dry_run = true;
  dry.object = std::move(static_cast<json::Value&>(object));
  const PluginTimes times(world.registry, world.clock, WebhookType::validate, "elasticquota");
  CHECK(world.validating->handle(dry, times).allowed);
  CHECK_FALSE(world.parts.catalog->has_recent());
  CHECK(world.validate(create, child("a")).allowed);
  CHECK(world.parts.catalog->has_recent());
  CHECK_FALSE(world.validate(create, child("b")).allowed);
  world.parts.catalog->set(
      testing::quota({.name = "a", .labels = "parent=p", .min = "cpu=3", .max = "cpu=9"}, "5"));
  CHECK(world.validate(update, child("a", "5", "cpu=2"), child("a", "5")).allowed);
  CHECK_FALSE(world.parts.catalog->has_recent());
  CHECK(world.validate(remove, "null", child("a", "5")).allowed);
  CHECK(world.parts.catalog->recently_removed("a"));
}

TEST_CASE("The page of the tree") {
  World world;
  world.parts.catalog->set(
      testing::quota({.name = "p", .labels = "is-parent=true", .min = "cpu=4", .max = "cpu=9"}, "1"));
  world.parts.catalog->set(testing::quota(
      {.name = "a", .labels = "parent=p allow-lent-resource=false", .min = "cpu=3", .max = "cpu=9"}, "2"));
  CHECK(testing::same_document(
      quota_page(*world.parts.catalog),
      R"({"quotaInfoMap":{"a":{"name":"a","parentName":"p","isParent":false,"allowLentResource":false,)"
      R"("max":{"cpu":"9"},"min":{"cpu":"3"}},"p":{"name":"p","parentName":"koordinator-root-quota",)"
      R"("isParent":true,"allowLentResource":true,"max":{"cpu":"9"},"min":{"cpu":"4"}}},)"
      R"("quotaHierarchyInfo":{"a":[],"koordinator-root-quota":["p"],"p":["a"]}})"));
}

}  // namespace
}  // namespace koord::manager
