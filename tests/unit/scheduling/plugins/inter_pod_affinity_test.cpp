// InterPodAffinity: the rules, with the facts of kube-scheduler's own tables.
#include <catch2/catch.hpp>

#include "affinity_world.hpp"

namespace koord::scheduling::test {
namespace {

const std::string kFar = "node(s) didn't match pod affinity rules!";
const std::string kDisliked = "node(s) didn't match pod anti-affinity rules";
const std::string kRepelled = "node(s) didn't satisfy existing pods anti-affinity rules";
const std::string kOk;

using Pods = std::vector<AffinityPod>;
using Texts = std::vector<std::string>;

struct FilterRow {
  const char* name;
  std::vector<Labels> nodes;
  Pods there;
  AffinityPod pod;
  Texts said;
};

void check(const std::vector<FilterRow>& rows) {
  for (const FilterRow& row : rows) {
    INFO(row.name);
    PluginAlone alone(row.nodes);
    alone.put_namespace("subteam1.team1", {{"team", "team1"}});
    alone.put_namespace("subteam2.team1", {{"team", "team1"}});
    alone.put_namespace("subteam1.team2", {{"team", "team2"}});
    for (const AffinityPod& pod : row.there) alone.put(pod);
    CHECK(alone.filtered(row.pod) == row.said);
  }
}

TEST_CASE("one node: whom a pod wants to be near, whom not, and who does not want it") {
  const std::vector<Labels> one = {{{"region", "r1"}, {"zone", "z11"}}};
  const Labels scan = {{"service", "securityscan"}}, s1 = {{"security", "S1"}};
  const Pods scanning = {{0, scan}};
  const Term near_scan{"service in (securityscan,value2)", "region"};
  const Term away_from_virus{"service in (antivirusscan,value2)", "node"};
  const Term away_from_scan{"service in (securityscan,value2)", "zone"};
  check({
      {"no terms at all", one, {}, {}, {"skip"}},
      {"In", one, scanning, {-1, s1, {near_scan}}, {kOk}},
      {"NotIn", one, scanning, {-1, s1, {{"service notin (securityscan3,value3)", "region"}}}, {kOk}},
      {"another namespace",
       one,
       {{0, scan, {}, {}, {}, {}, "ns"}},
       {-1, s1, {{near_scan.selector, "region", {"DiffNameSpace"}}}},
       {kFar}},
      {"other labels", one, scanning, {-1, scan, {{"service in (antivirusscan,value2)", ""}}}, {kFar}},
      {"all terms hold",
       one,
       scanning,
       {-1,
        s1,
        {{"service,!wrongkey", "region"},
         {"service in (securityscan),service notin (WrongValue)", "region"}}},
       {kOk}},
      {"one of the terms does not hold",
       one,
       scanning,
       {-1,
        s1,
        {{"service,!wrongkey", "region"},
         {"service in (securityscan2),service notin (WrongValue)", "region"}}},
       {kFar}},
      {"near one, away from another", one, scanning, {-1, s1, {near_scan}, {away_from_virus}}, {kOk}},
      {"and nobody there minds",
       one,
       {{0, scan, {}, {away_from_virus}}},
       {-1, s1, {near_scan}, {away_from_virus}},
       {kOk}},
      {"near and away from the same", one, scanning, {-1, s1, {near_scan}, {away_from_scan}}, {kDisliked}},
      {"somebody there minds",
       one,
       {{0, scan, {}, {away_from_scan}}},
       {-1, scan, {near_scan}, {away_from_virus}},
       {kRepelled}},
      {"its own terms do not mean itself, and who they mean is elsewhere",
       one,
       {{1, scan}},
       {-1, scan, {{"service notin (securityscan,value2)", "region"}}},
       {kFar}},
      {"somebody there minds a pod without terms",
       one,
       {{0, scan, {}, {away_from_scan}}},
       {-1, scan},
       {kRepelled}},
      {"somebody there minds others",
       one,
       {{0, scan, {}, {{"service notin (securityscan,value2)", "zone"}}}},
       {-1, scan},
       {"skip"}},
      {"one of the pod's anti-affinity terms",
       one,
       {{0, s1, {}, {{"security", "zone"}}}},
       {-1, scan, {}, {{"service", "region"}, {"security", "region"}}},
       {kDisliked}},
      {"partly, of the same key",
       one,
       {{0, s1, {}, {{"security", "zone"}}}},
       {-1, scan, {}, {{"service", "zone"}, {"security", "zone"}}},
       {kDisliked}},
      {"partly, the other way round",
       one,
       {{0, scan, {}, {{"service", "zone"}, {"security", "zone"}}}},
       {-1, s1, {}, {{"security", "zone"}}},
       {kRepelled}},
      {"partly, both ways",
       one,
       {{0, {{"def", ""}, {"xyz", ""}}, {}, {{"abc", "zone"}, {"def", "zone"}}}},
       {-1, {{"abc", ""}, {"xyz", ""}}, {}, {{"abc", "zone"}, {"def", "zone"}}},
       {kDisliked}},
      {"partly, both ways, exchanged",
       one,
       {{0, {{"abc", ""}, {"xyz", ""}}, {}, {{"abc", "zone"}, {"def", "zone"}}}},
       {-1, {{"def", ""}, {"xyz", ""}}, {}, {{"abc", "zone"}, {"def", "zone"}}},
       {kDisliked}},
      {"namespaces by label",
       one,
       {{0, scan, {}, {}, {}, {}, "subteam1.team1"}},
       {-1, s1, {{near_scan.selector, "region", {}, "team in (team1)"}}},
       {kOk}},
      {"namespaces by label, another",
       one,
       {{0, scan, {}, {}, {}, {}, "subteam1.team2"}},
       {-1, s1, {{near_scan.selector, "region", {}, "team in (team1)"}}},
       {kFar}},
      {"away from namespaces by label",
       one,
       {{0, scan, {}, {}, {}, {}, "subteam2.team1"}},
       {-1, s1, {}, {{near_scan.selector, "zone", {}, "team in (team1)"}}, {}, {}, "subteam1.team1"},
       {kDisliked}},
      {"away from all namespaces",
       one,
       {{0, scan, {}, {}, {}, {}, "subteam2.team1"}},
       {-1, s1, {}, {{near_scan.selector, "zone", {}, ""}}, {}, {}, "subteam1.team1"},
       {kDisliked}},
      {"namespaces without a label value, another",
       one,
       {{0, scan, {}, {}, {}, {}, "subteam1.team1"}},
       {-1, s1, {}, {{near_scan.selector, "zone", {}, "team notin (team1)"}}},
       {kOk}},
      {"namespaces without a label value",
       one,
       {{0, scan, {}, {}, {}, {}, "subteam1.team2"}},
       {-1, s1, {}, {{near_scan.selector, "zone", {}, "team notin (team1)"}}},
       {kDisliked}},
      {"away from other namespaces",
       one,
       {{0, scan, {}, {}, {}, {}, "subteam1.team2"}},
       {-1, s1, {}, {{near_scan.selector, "zone", {}, "team in (team1)"}}, {}, {}, "subteam1.team1"},
       {kOk}},
  });
}

TEST_CASE("several nodes: domains decide") {
  const Labels china = {{"region", "China"}}, china_az1 = {{"region", "China"}, {"az", "az1"}},
               india = {{"region", "India"}};
  const auto node = [](const char* zone) { return Labels{{"region", "r1"}, {"zone", zone}}; };
  const std::vector<Labels> three = {china, china_az1, india}, two_zones = {node("z1"), node("z2")},
                            one_zone = {node("z1"), node("z1")};
  const Labels foobar = {{"foo", "bar"}}, foo_bar = {{"bar", ""}, {"foo", ""}};
  const AffinityPod first{-1,
                          {{"foo", "bar"}, {"service", "securityscan"}},
                          {{"foo in (bar)", "zone"}, {"service in (securityscan)", "zone"}}};
  const Term foo_abc{"foo in (abc)", "region"}, foo_nowhere{"foo", "invalid-node-label"};
  check({
      {"all nodes of the domain",
       three,
       {{0, foobar}},
       {-1, {}, {{"foo in (bar)", "region"}}},
       {kOk, kOk, kFar}},
      {"the first of its kind may go anywhere",
       {{{"zone", "az1"}}, {{"zone", "az2"}}},
       {{0, foobar}},
       first,
       {kOk, kOk}},
      {"the first of its kind needs the key, too",
       {{{"zoneLabel", "az1"}}, {{"zoneLabel", "az2"}}},
       {{0, foobar}},
       first,
       {kFar, kFar}},
      {"away from a whole domain",
       {node(""), node("")},
       {{0, {{"foo", "abc"}}}},
       {-1, {}, {}, {foo_abc}},
       {kDisliked, kDisliked}},
      {"any of its anti-affinity terms",
       two_zones,
       {{0, {{"foo", "abc"}, {"service", "securityscan"}}}},
       {-1, {}, {}, {foo_abc, {"service in (securityscan)", "zone"}}},
       {kDisliked, kDisliked}},
      {"away from one of two domains",
       three,
       {{0, {{"foo", "abc"}}}},
       {-1, {}, {}, {foo_abc}},
       {kDisliked, kDisliked, kOk}},
      {"terms mean their own namespace",
       three,
       {{0, foobar, {}, {}, {}, {}, "NS1"}, {2, {}, {}, {{"foo in (123)", "region"}}, {}, {}, "NS2"}},
       {-1, {{"foo", "123"}}, {}, {{"foo in (bar)", "region"}}, {}, {}, "NS1"},
       {kDisliked, kDisliked, kOk}},
      {"a key that no node has, of a pod there",
       one_zone,
       {{0, {}, {}, {foo_nowhere}}},
       {-1, {{"foo", ""}}},
       {"skip"}},
      {"a key that no node has, of the pod",
       one_zone,
       {{0, {{"foo", ""}}}},
       {-1, {}, {}, {foo_nowhere}},
       {kOk, kOk}},
      {"two pods there, a term each",
       two_zones,
       {{0, {}, {}, {{"foo", "zone"}}}, {0, {}, {}, {{"bar", "region"}}}},
       {-1, foo_bar},
       {kRepelled, kRepelled}},
      {"two terms, a pod each",
       two_zones,
       {{0, {{"foo", ""}}}, {1, {{"bar", ""}}}},
       {-1, {}, {}, {{"foo", "zone"}, {"bar", "region"}}},
       {kDisliked, kDisliked}},
      {"one of a pod's terms there has a key that no node has",
       two_zones,
       {{0, {}, {}, {foo_nowhere, {"bar", "zone"}}}},
       {-1, foo_bar},
       {kRepelled, kOk}},
      {"one of the pod's terms has a key that no node has",
       two_zones,
       {{0, foo_bar}},
       {-1, {}, {}, {foo_nowhere, {"bar", "zone"}}},
       {kDisliked, kOk}},
      {"all terms of a pod there",
       two_zones,
       {{0, {}, {}, {{"foo", "region"}, {"bar", "zone"}}}},
       {-1, foo_bar},
       {kRepelled, kRepelled}},
      {"all terms of the pod",
       two_zones,
       {{0, foo_bar}},
       {-1, {}, {}, {{"foo", "region"}, {"bar", "zone"}}},
       {kDisliked, kDisliked}},
      {"pods in two of three zones",
       {node("z1"), node("z2"), node("z3")},
       {{0, {}, {}, {{"foo", "zone"}, {"labelA", "zone"}}},
        {1, {}, {}, {{"bar", "zone"}, {"labelB", "zone"}}}},
       {-1, foo_bar},
       {kRepelled, kRepelled, kOk}},
      {"one pod meets all terms",
       one_zone,
       {{0, foo_bar}},
       {-1, {}, {{"foo", "region"}, {"bar", "zone"}}},
       {kOk, kOk}},
      {"two pods that meet a term each are not one",
       two_zones,
       {{0, {{"foo", ""}}}, {1, {{"bar", ""}}}},
       {-1, {}, {{"foo", "region"}, {"bar", "zone"}}},
       {kFar, kFar}},
  });
}

TEST_CASE("malformed terms reject their pod alone, in kube-scheduler's words") {
  const auto bad = [](api::Pod& p, bool anti) {
    api::Affinity& affinity = p.spec.affinity.ensure();
    api::PodAffinityTerm term;
    term.topology_key = "zone";
    term.label_selector.ensure().match_expressions.push_back({"service", "In", {"{{.bad-value.}}"}});
    (anti ? affinity.pod_anti_affinity : affinity.pod_affinity).ensure().required.push_back(term);
  };
  for (const bool anti : {false, true}) {
    PluginAlone alone({{{"zone", "z"}}});
    PodInfo& pod = alone.info({-1, {{"a", "b"}}, {}, {{"x", "zone"}}});
    pod = make_pod_info(changed(pod.pod, [&](api::Pod& p) { bad(p, anti); }), alone.nodes.resources());
    const auto state = alone.filter->prepare_cross_node_filter(pod);
    const Texts said = alone.filtered(*state, pod);
    REQUIRE(said.size() == 1);
    CHECK_THAT(said[0], Catch::StartsWith(fmt::format(
                            "parsing pod: required{}AffinityTerms: values[0][service]: Invalid value: "
                            "\"{{{{.bad-value.}}}}\": a valid label must be an empty string or consist of",
                            anti ? "Anti" : "")));
    // Where it is, it has no terms of that kind; others go where they like, or do as its good terms say.
    alone.nodes.add_pod(0, pod);
    CHECK(alone.filtered({-1, {{"x", "y"}}}) == Texts{anti ? "skip" : kRepelled});
    alone.nodes.remove_pod(0, pod);
  }
}

TEST_CASE("a pod's state follows pods, nodes and namespaces") {
  PluginAlone alone(
      {{{"zone", "a"}, {"host", "0"}}, {{"zone", "a"}, {"host", "1"}}, {{"zone", "b"}, {"host", "2"}}});
  const AffinityPod web{-1, {{"app", "web"}}, {{"app in (db)", "zone"}}, {{"app in (web)", "host"}}};
  const PodInfo& pod = alone.info(web);
  const auto state = alone.filter->prepare_cross_node_filter(pod);
  const auto now = [&] { return alone.filtered(*state, pod); };
  CHECK(now() == Texts{kFar, kFar, kFar});
  const PodInfo& db = alone.put({0, {{"app", "db"}}});
  CHECK(now() == Texts{kOk, kOk, kFar});
  AffinityPod placed = web;
  placed.node = 1;
  const PodInfo& first = alone.put(placed);
  CHECK(now() == Texts{kOk, kDisliked, kFar});
  // A node changes its zone with what is on it, and another has the value from then on.
  alone.put_node(0, {{"zone", "b"}, {"host", "0"}});
  CHECK(now() == Texts{kOk, kFar, kOk});
  alone.put_node(1, {{"zone", "b"}});
  CHECK(now() == Texts{kOk, kOk, kOk});
  alone.put_node(1, {{"zone", "b"}, {"host", "1"}});
  CHECK(now() == Texts{kOk, kDisliked, kOk});
  // A node that goes takes its pods out of the counts; one that comes back brings them.
  alone.remove_node(0);
  CHECK(now() == Texts{kFar, kFar});
  alone.put_node(0, {{"zone", "b"}, {"host", "0"}});
  CHECK(now() == Texts{kOk, kDisliked, kOk});
  alone.remove(first, 1);
  CHECK(now() == Texts{kOk, kOk, kOk});
  alone.remove(db, 0);
  CHECK(now() == Texts{kFar, kFar, kFar});
  // Others' terms come and go with them.
  const PodInfo& shy = alone.put({2, {{"app", "db"}}, {}, {{"app", "zone", {}, "team=web"}}});
  CHECK(now() == Texts{kOk, kOk, kOk});
  alone.put_namespace("default", {{"team", "web"}});
  CHECK(now() == Texts{kRepelled, kRepelled, kRepelled});
  alone.put_namespace("default", {});
  CHECK(now() == Texts{kOk, kOk, kOk});
  alone.put_namespace("default", {{"team", "web"}});
  alone.remove(shy, 2);
  CHECK(now() == Texts{kFar, kFar, kFar});
}

TEST_CASE("pods of a class may differ in their labels") {
  PluginAlone alone({{{"zone", "a"}}, {{"zone", "b"}}});
  alone.put({0, {}, {}, {{"index=1", "zone"}}});
  const PodInfo &zero = alone.info({-1, {{"index", "0"}}}), &one = alone.info({-1, {{"index", "1"}}});
  Signature of_zero, of_one;
  CHECK(alone.plugin->sign(zero, of_zero));
  CHECK(alone.plugin->sign(one, of_one));
  CHECK(of_zero.bytes() == of_one.bytes());
  const auto state = alone.filter->prepare_cross_node_filter(zero);
  for (int i = 0; i < 2; ++i) {
    CHECK(alone.filtered(*state, zero) == Texts{"skip"});
    CHECK(alone.filtered(*state, one) == Texts{kRepelled, kOk});
  }
}

TEST_CASE("as if a pod were there, or were not") {
  PluginAlone alone({{{"zone", "a"}}, {{"zone", "a"}}, {{"zone", "b"}}});
  const AffinityPod web{-1, {{"app", "web"}}, {{"app in (web)", "zone"}}, {{"app in (db)", "zone"}}};
  const PodInfo& pod = alone.info(web);
  const PodInfo& friendly = alone.put({2, {{"app", "web"}}});
  const PodInfo& db = alone.put({0, {{"app", "db"}}, {}, {{"app", "zone"}}});
  const PodInfo& nominated = alone.info({-1, {{"app", "web"}}});
  const auto state = alone.filter->prepare_cross_node_filter(pod);
  const Texts before{kFar, kFar, kOk};
  CHECK(alone.filtered(*state, pod) == before);
  alone.filter->add_pod(*state, pod, nominated, 1);
  CHECK(alone.looked_at(*state) == Texts{kDisliked, kDisliked, kOk});
  alone.filter->remove_pod(*state, pod, db, 0);
  CHECK(alone.looked_at(*state) == Texts{kOk, kOk, kOk});
  alone.filter->remove_pod(*state, pod, nominated, 1);
  alone.filter->remove_pod(*state, pod, friendly, 2);
  // Nobody of its kind anywhere, but for itself.
  CHECK(alone.looked_at(*state) == Texts{kOk, kOk, kOk});
  alone.filter->add_pod(*state, pod, db, 0);
  CHECK(alone.looked_at(*state) == Texts{kDisliked, kDisliked, kOk});
  alone.filter->add_pod(*state, pod, friendly, 2);
  CHECK(alone.looked_at(*state) == before);
  CHECK(alone.filtered(*state, pod) == before);
}

TEST_CASE("scores: preferred terms both ways, and required ones of pods that are there") {
  const Labels china = {{"region", "China"}}, india = {{"region", "India"}}, az1 = {{"az", "az1"}},
               az2 = {{"az", "az2"}}, china_az1 = {{"az", "az1"}, {"region", "China"}};
  const Labels s1 = {{"security", "S1"}}, s2 = {{"security", "S2"}};
  const Term with_s1{"security in (S1)", "region", {}, {}, 5},
      with_s2{"security in (S2)", "region", {}, {}, 6}, from_s1{"security in (S1)", "az", {}, {}, 5},
      from_s2{"security in (S2)", "az", {}, {}, 5}, more_s1{"security in (S1)", "region", {}, {}, 8};
  const Term team{"security in (S1)", "region", {"subteam2.team2"}, "team in (team1)", 5};
  const std::vector<Term> three{{"security notin (S1),security in (S2)", "region", {}, {}, 8},
                                {"security,!wrongkey", "region", {}, {}, 2}};
  const std::vector<Term> hard{{"security in (S1,value2)", "region"}, {"security,!wrongkey", "region"}};
  const AffinityPod both{-1, s1, {}, {}, {more_s1}, {from_s2}};
  const auto of = [](const char* name_of_namespace, int node, const Labels& labels) {
    return AffinityPod{node, labels, {}, {}, {}, {}, name_of_namespace};
  };
  struct Row {
    const char* name;
    std::vector<Labels> nodes;
    Pods there;
    AffinityPod pod;
    std::optional<std::vector<std::int64_t>> scores;
    const char* args = "";
  };
  const std::vector<Row> rows = {
      {"nobody prefers anything", {china, india, az1}, {}, {-1, s1}, std::nullopt},
      {"near", {china, india, az1}, {{0, s1}, {1, s2}, {2, s1}}, {-1, s1, {}, {}, {with_s1}}, {{100, 0, 0}}},
      {"near, a domain", {china, china_az1, india}, {{0, s1}}, {-1, {}, {}, {}, {with_s1}}, {{100, 100, 0}}},
      {"near, by numbers",
       {china, india, china, china, india},
       {{0, s2}, {0, s2}, {1, s2}, {2, s2}, {3, s2}, {4, s2}},
       {-1, s1, {}, {}, {with_s2}},
       {{100, 0, 100, 100, 0}}},
      {"near, two terms",
       {china, india, az1},
       {{0, s1}, {1, s2}, {2, s1}},
       {-1, s1, {}, {}, three},
       {{20, 100, 0}}},
      {"others want to be near",
       {china, india, az1},
       {{0, s1, {}, {}, {with_s1}}, {1, s2, {}, {}, {with_s2}}},
       {-1, s2},
       {{0, 100, 0}}},
      {"others want to be near, namespaces by label",
       {china, india, az1},
       {{0, s1, {}, {}, {team}}, {1, s2, {}, {}, {with_s2}}},
       of("subteam1.team1", -1, s1),
       {{100, 0, 0}}},
      {"others keep away, namespaces by label",
       {china, india, az1},
       {{0, s1, {}, {}, {}, {team}}, {1, s2, {}, {}, {with_s2}}},
       of("subteam1.team1", -1, s1),
       {{0, 100, 100}}},
      {"others have to be near",
       {china, india, az1},
       {{0, s1, hard}, {1, s2, hard}},
       {-1, s1},
       {{100, 100, 0}}},
      {"others have to be near, which counts nothing",
       {china, india, az1},
       {{0, s1, hard}, {1, s2, hard}},
       {-1, s1},
       std::nullopt,
       R"({"hardPodAffinityWeight":0})"},
      {"away", {az1, china}, {{0, s1}, {1, s2}}, {-1, s1, {}, {}, {}, {from_s1}}, {{0, 100}}},
      {"away, where there is no such key",
       {az1, china},
       {{0, s1}, {1, s1}},
       {-1, s1, {}, {}, {}, {from_s1}},
       {{0, 100}}},
      {"away, by numbers",
       {az1, india},
       {{0, s1}, {0, s1}, {1, s2}},
       {-1, s1, {}, {}, {}, {from_s1}},
       {{0, 100}}},
      {"others keep away",
       {az1, az2},
       {{0, s1, {}, {}, {}, {from_s2}}, {1, s2, {}, {}, {}, {from_s1}}},
       {-1, s2},
       {{0, 100}}},
      {"near some, away from others", {china, az1}, {{0, s1}, {1, s1}}, both, {{100, 0}}},
      {"near some, away from others, in the same domains",
       {china_az1, india, china, china, india},
       {{0, s1}, {0, s1}, {1, s1}, {2, s1}, {2, s1}, {3, s1}, {4, s1}},
       both,
       {{100, 0, 100, 100, 0}}},
      {"both, and others' as well",
       {china, az1, india, az2},
       {{0, s1}, {1, s2}, {2, {}, {}, {}, {more_s1}, {from_s2}}, {3, {}, {}, {}, {}, {from_s1}}},
       both,
       {{100, 0, 100, 0}}},
      {"all alike", {china, china}, {{0, s1}, {1, {}, {}, {}, {more_s1}, {from_s2}}}, {-1, s1}, {{0, 0}}},
      {"namespaces by label",
       {china, india},
       {of("subteam1.team1", 0, s1), of("subteam1.team1", 0, s1), of("subteam1.team2", 0, s1),
        of("subteam2.team1", 1, s1)},
       {-1, s1, {}, {}, {team}, {}, "subteam1.team1"},
       {{100, 0}}},
      {"namespaces by name or label",
       {china, india},
       {of("subteam1.team1", 0, s1), of("subteam2.team2", 0, s1), of("subteam2.team1", 1, s1)},
       {-1, s1, {}, {}, {}, {team}, "subteam1.team1"},
       {{0, 100}}},
      {"others' are ignored",
       {china, india},
       {{0, s1, {}, {}, {more_s1}, {from_s2}}, {1, s2, {}, {}, {with_s2}}},
       {-1, s2},
       std::nullopt,
       R"({"ignorePreferredTermsOfExistingPods":true})"},
      {"others' are not ignored by who prefers something",
       {china, india},
       {{1, s2, {}, {}, {with_s2}}},
       {-1, s2, {}, {}, {with_s1}},
       {{0, 100}},
       R"({"ignorePreferredTermsOfExistingPods":true})"},
      {"thirds are rounded down",
       {china, india, az1},
       {{0, s1}, {0, s1}, {0, s1}, {1, s1}},
       {-1, s1, {}, {}, {with_s1}},
       {{100, 33, 0}}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    PluginAlone alone(row.nodes, row.args);
    alone.put_namespace("subteam1.team1", {{"team", "team1"}});
    alone.put_namespace("subteam2.team1", {{"team", "team1"}});
    alone.put_namespace("subteam1.team2", {{"team", "team2"}});
    alone.put_namespace("subteam2.team2", {{"team", "team2"}});
    // Before the pods, and after them.
    const PodInfo& asked = alone.info(row.pod);
    const auto early = alone.score->prepare_cross_node_score(asked);
    alone.scored(*early, asked);
    for (const AffinityPod& pod : row.there) {
      alone.put(pod);
      alone.scored(*early, asked);
    }
    CHECK(alone.scored(row.pod) == row.scores);
    CHECK(alone.scored(*early, asked) == row.scores);
  }
}

TEST_CASE("its arguments") {
  const PluginEntry& row = *find_plugin(plugin_table(), "InterPodAffinity");
  const auto check = [&](const char* text) {
    std::shared_ptr<void> args = row.args->make_default();
    REQUIRE(api::decode_strict(text, row.args->schema(), args.get()).has_value());
    row.args->set_defaults(args.get());
    FieldErrors errors;
    row.args->validate(args.get(), "args", errors);
    return errors.empty() ? std::string() : errors.text();
  };
  CHECK(check("{}").empty());
  CHECK(check(R"({"hardPodAffinityWeight":0})").empty());
  CHECK(check(R"({"hardPodAffinityWeight":100})").empty());
  for (const char* weight : {"-1", "101"})
    CHECK(check(fmt::format(R"({{"hardPodAffinityWeight":{}}})", weight).c_str()) ==
          fmt::format("args.hardPodAffinityWeight: Invalid value: {}: not in valid range [0, 100]", weight));
}

}  // namespace
}  // namespace koord::scheduling::test
