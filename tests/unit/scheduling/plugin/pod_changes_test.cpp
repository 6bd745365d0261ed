// What plugins change of pods: made of an object, and made again of a newer one.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("a patch sets values, takes keys away, and changes the spec") {
  const auto pod = make_pod("p", "1", "1Gi", [](api::Pod& p) {
    p.metadata.labels["old"] = "1";
    p.metadata.labels["both"] = "1";
    p.metadata.annotations["old"] = "1";
    p.metadata.annotations["stays"] = "1";
  });
  PodPatch patch;
  CHECK(patch.empty());
  CHECK(patched(*pod, patch) == *pod);
  patch.removed_labels = {"old", "both", "never"};
  patch.labels["both"] = "2";
  patch.removed_annotations = {"old"};
  patch.annotations["new"] = "2";
  patch.spec.emplace_back([](api::PodSpec& spec) { spec.tolerations.emplace_back(); });
  patch.spec.emplace_back([](api::PodSpec& spec) { spec.tolerations.back().key = "last"; });
  CHECK_FALSE(patch.empty());
  const api::Pod after = patched(*pod, patch);
  CHECK(after.metadata.labels == api::SymbolMap{{"both", Symbol("2")}});
  CHECK(after.metadata.annotations == api::SymbolMap{{"new", Symbol("2")}, {"stays", Symbol("1")}});
  REQUIRE(after.spec.tolerations.size() == 1);
  CHECK(after.spec.tolerations[0].key == "last");
  CHECK(patched(after, {.labels = {{"x", "y"}}}).metadata.labels.size() == 2);
  CHECK_FALSE(PodChanges{{}, {{pod, patch}}}.empty());
}

}  // namespace
}  // namespace koord::scheduling::test
