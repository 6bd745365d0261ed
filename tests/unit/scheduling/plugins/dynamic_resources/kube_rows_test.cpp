// More of the rows of kube-scheduler's tests of DynamicResources: what ways of a request are worth, which
// changes of claims and pods help, and what happens between Reserve and the binding.
#include <catch2/catch.hpp>
#include <map>

#include "koord/scheduling/classes/class_state.hpp"
#include "plugins/dynamic_resources/extended_rig.hpp"
#include "plugins/dynamic_resources/plugin_rows.hpp"

namespace koord::scheduling::test {
namespace {

using Lines = std::vector<std::string>;

/// A request that any of these satisfies, the first best: so many devices each; `selectors` by number from 1.
std::string first_of(int number, const std::vector<int>& counts, const std::string& selector = "") {
  std::string ways;
  for (std::size_t i = 0; i < counts.size(); ++i)
    ways += fmt::format(
        R"({}{{"name":"subreq-{}","deviceClassName":"{}","allocationMode":"ExactCount","count":{}{}}})",
        i == 0 ? "" : ",", i + 1, kClass, counts[i], i == 0 ? selector : "");
  return fmt::format(R"({{"name":"req-{}","firstAvailable":[{}]}})", number, ways);
}

TEST_CASE("what the ways are worth in which claims are satisfied") {
  using Scores = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;  // raw and normalised
  struct Row {
    const char* name;
    std::vector<std::string> requests;                 // a claim each
    std::vector<std::pair<int, std::string>> devices;  // of worker, worker-2, ...: how many, and members
    Scores scores;
  };
  const std::string broken =
      R"(,"selectors":[{"cel":{"expression":"device.attributes[\"some-driver\"].healthy"}}])";
  const auto healthy = [](bool is) {
    return fmt::format(R"(,"attributes":{{"healthy":{{"bool":{}}}}})", is);
  };
  const std::vector<int> eight(8, 1);
  // Of eight ways all but the last ask for more than there is.
  const std::vector<int> last = {9, 9, 9, 9, 9, 9, 9, 1}, fourth = {9, 9, 9, 1}, fifth = {9, 9, 9, 9, 1};
  const std::string two = first_of(1, {2, 1}) + "," + first_of(2, {2, 1});
  const Row rows[] = {
      {"single-claim-prioritized-list-scoring",
       {first_of(1, {1, 1}, broken)},
       {{1, healthy(true)}, {1, healthy(false)}},
       {{"worker", {8, 100}}, {"worker-2", {7, 87}}}},
      {"multiple-claims-prioritized-list-scoring",
       {first_of(1, {1}), first_of(1, {4, 3, 2, 1})},
       {{4, ""}, {2, ""}, {1, ""}},
       {{"worker", {15, 100}}, {"worker-2", {13, 86}}}},
      {"multiple-requests-prioritized-list-scoring",
       {two},
       {{4, ""}, {3, ""}, {2, ""}},
       {{"worker", {16, 100}}, {"worker-2", {15, 93}}, {"worker-3", {14, 87}}}},
      {"single-request-only-subrequest-allocated", {first_of(1, {1})}, {{1, ""}}, {{"worker", {8, 100}}}},
      {"single-request-last-subrequest-allocated", {first_of(1, last)}, {{1, ""}}, {{"worker", {1, 100}}}},
      {"multiple-requests-with-middle-subrequests-allocated",
       {first_of(1, fourth) + "," + first_of(2, fifth)},
       {{2, ""}},
       {{"worker", {9, 100}}}},
      {"multiple-requests-with-top-subrequests-allocated",
       {first_of(1, last) + "," + first_of(2, {1})},
       {{2, ""}},
       {{"worker", {9, 100}}}},
      {"multiple-claims-with-last-subrequests-allocated",
       {first_of(1, last), first_of(1, last)},
       {{2, ""}},
       {{"worker", {2, 100}}}},
      {"multiple-claims-with-top-subrequests-allocated",
       {first_of(1, {1}), first_of(1, {1})},
       {{2, ""}},
       {{"worker", {16, 100}}}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ClaimRig rig;
    rig.put_class(class_json());
    std::vector<std::string> names, claims;
    for (std::size_t i = 0; i < row.devices.size(); ++i) {
      names.push_back(i == 0 ? kNode : fmt::format("worker-{}", i + 1));
      rig.put_node(names.back());
      rig.put_slice(slice_json(names.back(), row.devices[i].first, row.devices[i].second));
    }
    for (std::size_t i = 0; i < row.requests.size(); ++i) {
      claims.push_back(fmt::format("claim-{}", i));
      rig.put_claim(claim_json(row.requests[i], "{}", claims.back()));
    }
    const Profile& profile = rig.world.engine.profiles()[0];
    ClassState& state = rig.world.engine.evaluate(profile, claim_pod(claims));
    Scores scores;
    for (const std::string& name : names)
      for (const ScoreDetail& each : state.explain(rig.world.engine.nodes().find(name)).scores)
        if (profile.plugins[each.plugin].name == "DynamicResources")
          scores[name] = {each.raw, each.normalized};
    CHECK(scores == row.scores);
  }
}

TEST_CASE("a finalizer that comes or goes between Reserve and the binding") {
  const Symbol finalizer = "resource.kubernetes.io/delete-protection";
  for (const bool there : {true, false}) {
    INFO((there ? "it goes" : "it comes"));
    ClaimRig rig;
    rig.put_node(kNode);
    rig.put_class(class_json());
    rig.put_slice(slice_json(kNode));
    rig.put_claim(claim_json(one_request()));
    api::ResourceClaim& claim = rig.claims[kClaim];
    if (there) claim.metadata.finalizers = {finalizer};
    claim.metadata.resource_version = "800";
    rig.tell();
    rig.world.engine.put_pod(claim_pod());
    const Decision decision = rig.world.one();
    REQUIRE(decision.node() == kNode);
    claim.metadata.finalizers.clear();
    if (!there) claim.metadata.finalizers = {finalizer};
    claim.metadata.resource_version = "900";
    rig.tell();
    CHECK(rig.carry_out(decision) == "bound to worker");
    CHECK(rig.has() == "req-1=instance-1@worker; my-pod");
    CHECK(rig.claims[kClaim].metadata.finalizers == api::List<Symbol>{finalizer});
  }
}

TEST_CASE("what another plugin refuses after Reserve is written nowhere") {
  ClaimRig rig;
  rig.put_node(kNode);
  rig.put_class(class_json());
  rig.put_slice(slice_json(kNode));
  rig.put_claim(claim_json(one_request()));
  rig.world.engine.put_pod(claim_pod());
  const Decision decision = rig.world.one();
  REQUIRE(decision.node() == kNode);
  rig.world.engine.binding_failed(*decision.pod);
  CHECK(rig.writes.empty());
  CHECK(rig.has().empty());
  // And the device is to be had.
  rig.put_claim(claim_json(one_request(), "{}", "b"));
  CHECK(rig.attempt(claim_pod({"b"}, false, "q", "uid-q")) == "bound to worker");
}

TEST_CASE("which changes of claims and pods have a pod with claims tried again") {
  const std::string mine = claim_json(one_request()), taken = claim_json(one_request(), allocated()),
                    other = claim_json(one_request(), allocated(), "not-my-claim");
  std::string of_another = taken;
  of_another.replace(of_another.find(R"("uid":"1234")"), 12, R"("uid":"1234123")");
  const auto finalized = [](ClaimRig& rig) {
    rig.claims[kClaim].metadata.finalizers.push_back("foo");
    rig.claims[kClaim].metadata.resource_version = "900";
    rig.tell();
  };
  const auto put = [](std::shared_ptr<const api::Pod> pod) {
    return [pod = std::move(pod)](ClaimRig& rig) { rig.world.engine.put_pod(pod); };
  };
  struct Row {
    const char* name;
    std::vector<std::string> claims;  // that there are
    std::shared_ptr<const api::Pod> pod;
    std::function<void(ClaimRig&)> change;
    bool tried;
  };
  const auto by_template = [](std::vector<std::string> claims) { return claim_pod(claims, true); };
  const Row rows[] = {
      {"skip-deletes", {taken}, by_template({""}), [](ClaimRig& rig) { rig.remove_claim(kClaim); }, false},
      {"skip-wrong-claim",
       {},
       by_template({kClaim}),
       [&](ClaimRig& rig) { rig.put_claim(of_another); },
       false},
      {"skip-unrelated-claim",
       {},
       by_template({kClaim}),
       [&](ClaimRig& rig) { rig.put_claim(claim_json(one_request(), allocated(), "foo")); },
       false},
      {"queue-on-add", {}, claim_pod(), [&](ClaimRig& rig) { rig.put_claim(mine); }, true},
      {"skip-adding-finalizer", {mine}, claim_pod(), finalized, false},
      {"queue-on-status-change", {mine}, claim_pod(), [&](ClaimRig& rig) { rig.put_claim(taken); }, true},
      {"claim-deallocate",
       {mine, other},
       claim_pod(),
       [](ClaimRig& rig) { rig.put_claim(claim_json(one_request(), "{}", "not-my-claim")); },
       true},
      {"complete", {mine}, by_template({""}), put(by_template({kClaim})), true},
      {"wrong-pod", {mine}, by_template({""}), put(claim_pod({kClaim}, true, "my-pod2", "12342")), false},
      {"missing-claim", {}, by_template({""}), put(by_template({kClaim})), false},
      {"incomplete", {mine}, by_template({"", ""}), put(by_template({kClaim, ""})), false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ClaimRig rig;
    rig.put_node(kNode);
    rig.put_class(class_json());
    if (row.claims.size() == 2) rig.put_slice(slice_json(kNode));
    for (const std::string& claim : row.claims) rig.put_claim(claim);
    CHECK(rig.attempt(row.pod).find("bound") == std::string::npos);
    rig.world.clock.advance(std::chrono::seconds(20));
    REQUIRE(rig.world.run().empty());
    row.change(rig);
    bool tried = false;
    for (const Decision& each : rig.world.run()) tried |= each.pod->metadata.name == kPod;
    CHECK(tried == row.tried);
  }
}

TEST_CASE("a pod that asks for several extended resources has one claim for those that are devices") {
  constexpr const char *kOther = "example.com/gpu2",
                       *kByClass = "deviceclass.resource.kubernetes.io/my-resource-class";
  struct Row {
    const char* name;
    const char* listed;  // of example.com/gpu, by the node; "": none
    std::vector<std::map<const char*, const char*>> containers;
    std::string has;
  };
  // The first container asks for CPUs and memory, too: requests are numbered among all that it asks for.
  const Row rows[] = {
      {"extended-resource-one-device-plugin-one-dra",
       "1",
       {{{kGpu, "1"}, {kOther, "1"}}},
       "container-0-request-2=instance-1@worker; my-pod"},
      {"implicit-extended-resource-name-with-resources",
       "",
       {{{kByClass, "1"}, {kGpu, "2"}}},
       "container-0-request-1=instance-1@worker container-0-request-2=instance-2@worker "
       "container-0-request-2=instance-3@worker; my-pod"},
      {"implicit-extended-resource-name-two-containers-with-resources",
       "",
       {{{kByClass, "1"}}, {{kGpu, "2"}}},
       "container-0-request-1=instance-1@worker container-1-request-0=instance-2@worker "
       "container-1-request-0=instance-3@worker; my-pod"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ExtendedRig rig;
    rig.put_class(backing_class());
    rig.put_class(backing_class(kOther, "second-class"));
    rig.machine(kNode, 4, row.listed);
    CHECK(rig.attempt(changed(gpu_pod("0"), [&](api::Pod& pod) {
      pod.spec.containers[0].resources.requests.erase(Symbol(kGpu));
      for (std::size_t i = 0; i < row.containers.size(); ++i) {
        if (i > 0) pod.spec.containers.emplace_back().name = fmt::format("con{}", i);
        for (const auto& [name, amount] : row.containers[i])
          pod.spec.containers[i].resources.requests[Symbol(name)] = api::Quantity::must(amount);
      }
    })) == "bound to worker");
    CHECK(rig.created == 1);
    CHECK(rig.has(kOwn) == row.has);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
