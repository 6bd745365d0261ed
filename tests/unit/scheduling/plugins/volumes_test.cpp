// What plugins about volumes share. The claims of a pod: which they are, whose they are, of which class.
#include "scheduling/volumes/pod_claims.hpp"

#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using namespace volumes;

TEST_CASE("the claims of a pod are those that it names and those that are made for it") {
  const auto pod = make_pod("db", "", "", [](api::Pod& p) {
    p.spec.volumes.emplace_back().name = "tmp";
    p.spec.volumes.back().empty_dir.emplace();
    p.spec.volumes.emplace_back().name = "data";
    p.spec.volumes.back().persistent_volume_claim.emplace().claim_name = "data-0";
    p.spec.volumes.emplace_back().name = "scratch";
    p.spec.volumes.back().ephemeral.emplace();
  });
  const auto claims = claims_of(*pod);
  REQUIRE(claims.size() == 2);
  CHECK(claims[0].name == "data-0");
  CHECK_FALSE(claims[0].ephemeral);
  CHECK(claims[0].volume->name == "data");
  CHECK(claims[1].name == "db-scratch");
  CHECK(claims[1].ephemeral);
  CHECK(has_claims(*pod));
  CHECK_FALSE(has_claims(*make_pod("without")));

  CHECK(names_claim(*pod, "default", "data-0"));
  CHECK(names_claim(*pod, "default", "db-scratch"));
  CHECK_FALSE(names_claim(*pod, "other", "data-0"));
  for (const char* name : {"data", "db-data", "db_scratch", "db-scratc", "xx-scratch", "dbscratch", ""})
    CHECK_FALSE(names_claim(*pod, "default", name));
}

TEST_CASE("an ephemeral claim is of the pod that controls it") {
  const auto pod = make_pod("db");
  api::PersistentVolumeClaim claim;
  claim.metadata.name = "db-scratch";
  claim.metadata.namespace_ = "default";
  CHECK_FALSE(made_for(claim, *pod));
  CHECK(not_made_for(claim, *pod) ==
        "PVC default/db-scratch was not created for pod default/db (pod is not owner)");
  api::OwnerReference& owner = claim.metadata.owner_references.emplace_back();
  owner.uid = Symbol(pod->metadata.uid);
  CHECK_FALSE(made_for(claim, *pod));
  owner.controller = true;
  CHECK(made_for(claim, *pod));
  claim.metadata.namespace_ = "other";
  CHECK_FALSE(made_for(claim, *pod));
}

TEST_CASE("a class is written in the annotation of old or in the spec") {
  api::PersistentVolumeClaim claim;
  api::PersistentVolume volume;
  CHECK(class_of(claim).empty());
  CHECK(class_of(volume).empty());
  claim.spec.storage_class_name = "fast";
  volume.spec.storage_class_name = "fast";
  CHECK(class_of(claim) == "fast");
  CHECK(class_of(volume) == "fast");
  claim.metadata.annotations["volume.beta.kubernetes.io/storage-class"] = "";
  volume.metadata.annotations["volume.beta.kubernetes.io/storage-class"] = "old";
  CHECK(class_of(claim).empty());
  CHECK(class_of(volume) == "old");
}

TEST_CASE("a claim is bound when it has a volume and the binder is through") {
  api::PersistentVolumeClaim claim;
  CHECK_FALSE(is_bound(claim));
  claim.metadata.annotations["pv.kubernetes.io/bind-completed"] = "";
  CHECK_FALSE(is_bound(claim));
  claim.spec.volume_name = "disk";
  CHECK(is_bound(claim));
  claim.metadata.annotations.clear();
  CHECK_FALSE(is_bound(claim));
}

}  // namespace
}  // namespace koord::scheduling::test
