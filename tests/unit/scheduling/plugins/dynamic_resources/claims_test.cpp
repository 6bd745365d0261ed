// A pod's claims: kube-scheduler's rows and words. What claims have: as they come, change and go.
#include <catch2/catch.hpp>

#include <map>
#include <string>

#include "koord/api/schema/codec.hpp"
#include "scheduling/plugins/dynamic_resources/claims/claim_ledger.hpp"
#include "scheduling/plugins/dynamic_resources/claims/pod_claims.hpp"

namespace koord::scheduling::test {
namespace {

using namespace dynamic_resources;

template <class T>
T object(const std::string& json) {
  auto decoded = api::decode<T>(json);
  INFO(json);
  REQUIRE(decoded.has_value());
  return std::move(*decoded);
}

TEST_CASE("A pod's claim is named by itself or by its status") {
  struct Row {
    const char* name;
    const char* entry;
    const char* statuses;
    const char* claim;  // "=" before the name: its own
    const char* error = "";
  };
  const Row rows[] = {
      {"resource-claim-name-set", R"({"resourceClaimName":"existing-claim"})", "[]", "existing-claim"},
      {"resource-claim-template-name-set-and-status-found",
       R"({"name":"template-claim","resourceClaimTemplateName":"t"})",
       R"([{"name":"template-claim","resourceClaimName":"created-claim"}])", "=created-claim"},
      {"resource-claim-template-name-set-but-status-not-found",
       R"({"name":"template-claim","resourceClaimTemplateName":"t"})",
       R"([{"name":"other-claim","resourceClaimName":"other-created-claim"}])", "",
       R"(pod "default/test-pod": ResourceClaim not created yet)"},
      {"neither-resource-claim-name-nor-template-name-set", R"({"name":"invalid-claim"})", "[]", "",
       R"(pod "default/test-pod", spec.resourceClaim "invalid-claim": none of the supported fields are set)"},
      {"none was needed", R"({"name":"none","resourceClaimTemplateName":"t"})", R"([{"name":"none"}])", "="},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto pod = object<api::Pod>(
        std::string(R"({"metadata":{"namespace":"default","name":"test-pod"},"spec":{"resourceClaims":[)") +
        row.entry + R"(]},"status":{"resourceClaimStatuses":)" + row.statuses + "}}");
    const auto named = claim_name(pod, pod.spec.resource_claims[0]);
    CHECK((named ? std::string() : named.error().message()) == row.error);
    if (named) CHECK((named->is_own ? "=" : "") + named->name == row.claim);
  }
}

const std::string kOwned =
    R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u1","controller":true}])";

TEST_CASE("A pod waits for its claims") {
  struct Row {
    const char* name;
    std::string claim;  // of its metadata
    const char* error;
  };
  const Row rows[] = {
      {"it is there and its own", R"("namespace":"shop","name":"c",)" + kOwned, ""},
      {"it is not there", R"("namespace":"shop","name":"other")", R"(could not find ResourceClaim "shop/c")"},
      {"it goes", R"("namespace":"shop","name":"c","deletionTimestamp":"2026-01-02T03:04:05Z",)" + kOwned,
       R"(resourceclaim "c" is being deleted)"},
      {"it is another's",
       R"("namespace":"shop","name":"c","ownerReferences":[{"uid":"u2","controller":true}])",
       "ResourceClaim shop/c was not created for pod shop/p (pod is not owner)"},
      {"its owner does not control it", R"("namespace":"shop","name":"c","ownerReferences":[{"uid":"u1"}])",
       "ResourceClaim shop/c was not created for pod shop/p (pod is not owner)"},
      {"nobody's", R"("namespace":"shop","name":"c")",
       "ResourceClaim shop/c was not created for pod shop/p (pod is not owner)"},
  };
  const auto pod = object<api::Pod>(
      R"({"metadata":{"namespace":"shop","name":"p","uid":"u1"},"spec":{"resourceClaims":[{"name":"a","resourceClaimTemplateName":"t"}]},"status":{"resourceClaimStatuses":[{"name":"a","resourceClaimName":"c"}]}})");
  for (const Row& row : rows) {
    INFO(row.name);
    const auto claim = object<api::ResourceClaim>(R"({"metadata":{)" + row.claim + "}}");
    const auto found =
        claims_of(pod, [&](std::string_view name) { return claim.metadata.name == name ? &claim : nullptr; });
    CHECK((found ? std::string() : found.error().message()) == row.error);
    if (found) CHECK(*found == std::vector<const api::ResourceClaim*>{&claim});
  }
  // One that it names itself may be anybody's.
  const auto named = object<api::Pod>(
      R"({"metadata":{"namespace":"shop","name":"p","uid":"u1"},"spec":{"resourceClaims":[{"name":"a","resourceClaimName":"c"},{"name":"b","resourceClaimName":"c"}]}})");
  const auto claim = object<api::ResourceClaim>(R"({"metadata":{"namespace":"shop","name":"c"}})");
  const auto found = claims_of(named, [&](std::string_view) { return &claim; });
  REQUIRE(found.has_value());
  CHECK(found->size() == 2);
  CHECK_FALSE(is_reserved_for(named, claim));
  CHECK(is_reserved_for(named,
                        object<api::ResourceClaim>(
                            R"({"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"u1"}]}})")));
}

TEST_CASE("What speaks against claims wherever they are placed") {
  struct Row {
    const char* name;
    const char* request;
    bool prioritized, pending, allocated;
    StatusCode code;
    const char* message;
  };
  const StatusCode kWaits = StatusCode::unresolvable;
  const Row rows[] = {
      {"nothing", R"({"name":"r","exactly":{"deviceClassName":"gpu"}})", true, false, false, {}, ""},
      {"somebody allocates it", R"({"name":"r","exactly":{"deviceClassName":"gpu"}})", true, true, false,
       kWaits, "resource claim shop/c is in the process of being allocated"},
      {"what has devices is through", R"({"name":"r"})", true, true, true, {}, ""},
      {"no class", R"({"name":"r","exactly":{"deviceClassName":"npu"}})", true, false, false, kWaits,
       "request r: device class npu does not exist"},
      {"no class is named", R"({"name":"r","exactly":{"count":1}})", true, false, false, StatusCode::error,
       "request r: unsupported request type"},
      {"no class of a subrequest",
       R"({"name":"r","firstAvailable":[{"name":"a","deviceClassName":"gpu"},{"name":"b","deviceClassName":"npu"}]})",
       true, false, false, kWaits, "request r/b: device class npu does not exist"},
      {"subrequests without the gate",
       R"({"name":"r","firstAvailable":[{"name":"a","deviceClassName":"gpu"}]})", false, false, false, kWaits,
       "resource claim shop/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled"},
      {"a request of another kind", R"({"name":"r"})", true, false, false, kWaits,
       "resource claim shop/c, request r: unknown request type"},
  };
  const api::DeviceClass gpu;
  for (const Row& row : rows) {
    INFO(row.name);
    const auto claim = object<api::ResourceClaim>(
        std::string(R"({"metadata":{"namespace":"shop","name":"c"},"spec":{"devices":{"requests":[)") +
        row.request + "]}}" + (row.allocated ? R"(,"status":{"allocation":{"devices":{}}}})" : "}"));
    const auto why = why_not_now(
        {&claim}, [&](std::string_view name) { return name == "gpu" ? &gpu : nullptr; },
        [&](const api::ResourceClaim&) { return row.pending; }, {.prioritized_list = row.prioritized});
    CHECK((why ? why->message : "") == row.message);
    if (why) CHECK(why->code == row.code);
  }
}

api::ResourceClaim allocated(const std::string& results) {
  return object<api::ResourceClaim>(
      R"({"metadata":{"namespace":"shop","name":"c"},"status":{"allocation":{"devices":{"results":[)" +
      results + "]}}}}");
}

TEST_CASE("The ledger follows what claims say") {
  DeviceNumbers numbers;
  const DeviceNumber one = numbers.hold({"d", "p", "one"}), two = numbers.hold({"d", "p", "two"});
  const std::string
      first = R"({"request":"r","driver":"d","pool":"p","device":"one"})",
      second = R"({"request":"r","driver":"d","pool":"p","device":"two"})",
      looks = R"({"request":"r","driver":"d","pool":"p","device":"two","adminAccess":true})",
      part =
          R"({"request":"r","driver":"d","pool":"p","device":"two","shareID":"s","consumedCapacity":{"memory":"2Gi"}})";
  {
    ClaimLedger ledger(numbers, true);
    ledger.put(allocated(first));
    ledger.put(allocated(first));
    CHECK(ledger.taken().has(one));
    ledger.put(allocated(second));
    CHECK_FALSE(ledger.taken().has(one));
    CHECK(ledger.taken().has(two));
    ledger.put(allocated(looks));
    CHECK_FALSE(ledger.taken().has(two));
    ledger.put(allocated(part));
    CHECK_FALSE(ledger.taken().has(two));
    REQUIRE(ledger.taken().consumed(two) != nullptr);
    CHECK(ledger.taken().consumed(two)->find("memory")->to_string() == "2Gi");
    ledger.remove("shop", "other");
    CHECK(ledger.taken().consumed(two) != nullptr);
    ledger.remove("shop", "c");
    CHECK(ledger.taken().consumed(two) == nullptr);
    ledger.put(allocated(first));
    ledger.put(object<api::ResourceClaim>(R"({"metadata":{"namespace":"shop","name":"c"}})"));
    CHECK_FALSE(ledger.taken().has(one));

    // Without the gate a part is the whole.
    ClaimLedger whole(numbers, false);
    whole.put(allocated(part));
    CHECK(whole.taken().has(two));

    // A device that no slice has.
    ledger.put(allocated(R"({"request":"r","driver":"d","pool":"p","device":"gone"})"));
    CHECK(numbers.size() == 3);
  }
  // Nobody holds its number any more.
  CHECK(numbers.hold({"d", "p", "new"}) == 2);
}

}  // namespace
}  // namespace koord::scheduling::test
