// Gangs as pods and PodGroups name them: Koordinator's precedences, and what becomes of nonsense.
#include "koord/api/koordinator/gang.hpp"

#include <catch2/catch.hpp>

namespace koord::api {
namespace {

using std::chrono::seconds;

TEST_CASE("A pod's gang is that of the first source which names one") {
  ObjectMeta pod;
  CHECK_FALSE(gang_of(pod));
  pod.annotations[kGangName] = "c";
  CHECK(gang_of(pod) == GangReference{"c", GangSource::annotations});
  pod.labels[kGangNameLabel] = "b";
  CHECK(gang_of(pod) == GangReference{"b", GangSource::labels});
  pod.labels[kPodGroupLabel] = "";
  CHECK(gang_of(pod) == GangReference{"b", GangSource::labels});
  pod.labels[kPodGroupLabel] = "a";
  CHECK(gang_of(pod) == GangReference{"a", GangSource::pod_group});
}

TEST_CASE("What a pod says of its gang") {
  struct Row {
    SymbolMap labels, annotations;
    GangTerms expected;
    std::size_t warnings = 0;
  };
  const Row rows[] = {
      {{}, {}, {}},
      {{},
       {{kGangMin, "4"},
        {kGangTotal, "6"},
        {kGangWaitingTime, "30s"},
        {kGangMode, "NonStrict"},
        {kGangMatchPolicy, "only-waiting"},
        {kGangGroups, R"(["ns/a","ns/b"])"}},
       {.min = 4,
        .total = 6,
        .waiting_time = seconds(30),
        .strict = false,
        .match_policy = GangMatchPolicy::only_waiting,
        .groups = {"ns/a", "ns/b"}}},
      {{{kGangMinLabel, "3"}}, {{kGangMin, "4"}}, {.min = 3, .total = 3}},
      {{}, {{kGangMin, "four"}, {kGangTotal, "6"}}, {.total = 6}, 1},
      {{}, {{kGangMin, "4"}, {kGangTotal, "3"}}, {.min = 4, .total = 4}, 1},
      {{}, {{kGangMin, "4"}, {kGangTotal, "x"}}, {.min = 4, .total = 4}, 1},
      {{}, {{kGangMin, "99999999999"}}, {}, 1},
      {{}, {{kGangWaitingTime, "0"}, {kGangMode, "strict"}, {kGangMatchPolicy, "any"}}, {}, 3},
      {{}, {{kGangWaitingTime, "-5s"}, {kGangGroups, "ns/a"}}, {}, 2},
      {{}, {{kGangWaitingTime, "soon"}, {kGangGroups, "[]"}}, {}, 1},
      {{},
       {{kGangMatchPolicyAlias, "waiting-and-running"}},
       {.match_policy = GangMatchPolicy::waiting_and_running}},
      {{},
       {{kGangMatchPolicyAlias, "waiting-and-running"}, {kGangMatchPolicy, "once-satisfied"}},
       {.match_policy = GangMatchPolicy::once_satisfied}},
      {{}, {{kGangGroups, std::string(kMaxAnnotation + 1, '[')}}, {}, 1},
  };
  int at = 0;
  for (const Row& row : rows) {
    CAPTURE(at++);
    ObjectMeta object;
    object.labels = row.labels;
    object.annotations = row.annotations;
    CHECK((gang_terms(object) == row.expected));
    const auto warnings = gang_warnings(object);
    CHECK(warnings.size() == row.warnings);
    for (const std::string& line : warnings) CHECK(line.size() < 256);
  }
  ObjectMeta object;
  object.annotations[kGangMin] = "four";
  CHECK(gang_warnings(object)[0] ==
        "gang.scheduling.koordinator.sh/min-available: \"four\" is no whole number: the gang waits");
}

TEST_CASE("Gangs that are placed together, and near to one another") {
  CHECK(gang_group_id({"ns/b", "ns/a"}) == "ns/a,ns/b");
  CHECK(gang_group_id({"ns/a"}) == "ns/a");
  SymbolMap annotations;
  annotations[NetworkTopologySpec::kAnnotation] =
      R"({"gatherStrategy":[{"layer":"block","strategy":"MustGather","podCountMultiple":8},{"layer":"spine","strategy":"PreferGather"}]})";
  const auto spec = read_annotation<NetworkTopologySpec>(annotations);
  REQUIRE(spec.has_value());
  CHECK((*spec)->gather_strategy[0].pod_count_multiple == 8);
  CHECK(encode_annotation(**spec) == value_or(annotations, NetworkTopologySpec::kAnnotation));
  ObjectMeta pod;
  CHECK_FALSE(network_topology_index(pod));
  pod.annotations[kNetworkTopologyIndex] = "7";
  CHECK(network_topology_index(pod) == 7);
  pod.annotations[kNetworkTopologyIndex] = "7a";
  CHECK_FALSE(network_topology_index(pod));
}

}  // namespace
}  // namespace koord::api
