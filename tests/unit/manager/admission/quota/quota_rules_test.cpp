// The rules of ElasticQuotas: upstream's rows of its topology as sequences of writes, and what two writes at
// once come to.
#include "admission/quota/quota_rules.hpp"

#include <catch2/catch.hpp>

#include "admission/quota/amounts.hpp"
#include "admission/quota/quotas.hpp"

namespace koord::manager {
namespace {

using testing::QuotaText;
using testing::QuotaWorld;

constexpr std::string_view kBig = "cpu=120 memory=1048576";

TEST_CASE("What a quota says of itself") {
  struct Row {
    QuotaText quota;
    std::string_view wrong;
  };
  constexpr std::string_view kStrict =
      R"("quota.scheduling.koordinator.sh/max-strict-check-resource-keys":"[\"cpu\",\"memory\"]")";
  constexpr std::string_view kStrictCpu =
      R"("quota.scheduling.koordinator.sh/max-strict-check-resource-keys":"[\"cpu\"]")";
  for (const Row& row : {
           Row{{.name = "temp", .max = kBig}, ""},
           Row{{.name = "temp", .max = "cpu=-1 memory=1048576"},
               "temp quota.Spec.Max's value < 0, in dimensions :[cpu]"},
           Row{{.name = "temp", .min = "cpu=-1 memory=1048576", .max = "cpu=1 memory=1048576"},
               "temp quota.Spec.Min's value < 0, in dimensions :[cpu]"},
           Row{{.name = "temp", .min = "cpu=1 memory=1048576", .max = "cpu=10"},
               "resourceKey memory of quota temp is included in min, which is not included in max"},
           Row{{.name = "temp", .min = "cpu=12", .max = "cpu=10"},
               "resourceKey cpu of quota temp min 12 > max 10"},
           Row{{.name = "temp",
           .max = "cpu=0 memory=1048576",
           .annotations =
                    R"("quota.scheduling.koordinator.sh/shared-weight":"{\"cpu\":\"-1\",\"memory\":\"1\"}")"},
               "temp quota.Annotation[quota.scheduling.koordinator.sh/shared-weight]'s value < 0, in "
               "dimension "
               ":[cpu]"},
           Row{{.name = "temp",
           .max = "cpu=0 memory=1048576",
           .annotations = kStrict,
           .used = "cpu=0 memory=10485760"},
               "resourceKey memory of quota temp max 1048576 < used 10485760"},
           Row{{.name = "temp",
           .max = "cpu=0 memory=1048576",
           .annotations = kStrictCpu,
           .used = "cpu=0 memory=10485760"},
               ""},
           Row{{.name = "temp", .max = "cpu=0 memory=1048576", .annotations = kStrict, .used = "cpu=0"}, ""},
           Row{{.name = "temp", .max = "cpu=0", .annotations = kStrict, .used = "cpu=0 memory=10485760"},
               "resourceKey memory of quota temp is included in used, which is not included in max but "
               "should "
               "check max >= used"},
       }) {
    CAPTURE(row.quota.min, row.quota.max, row.quota.annotations, row.quota.used);
    QuotaWorld world;
    CHECK(world.create(row.quota) == row.wrong);
  }
  QuotaWorld world;
  CHECK_THAT(world.create({.name = "temp",
                           .annotations =
                               R"("quota.scheduling.koordinator.sh/max-strict-check-resource-keys":"cpu")"}),
             Catch::StartsWith(
                 "temp quota.Annotation[quota.scheduling.koordinator.sh/max-strict-check-resource-keys]'s "
                 "value is invalid: "));
}

TEST_CASE("What a new quota does not say: parent, tree, shared weight") {
  struct Row {
    QuotaText quota;
    std::string_view parent, tree, weight;
  };
  constexpr std::string_view kWeightZero =
      R"("quota.scheduling.koordinator.sh/shared-weight":"{\"cpu\":\"0\",\"memory\":\"0\"}")";
  constexpr std::string_view kWeightCpu =
      R"("quota.scheduling.koordinator.sh/shared-weight":"{\"cpu\":\"0\"}")";
  QuotaWorld world;
  world.put({.name = "plain", .labels = "is-parent=true", .max = kBig});
  world.put({.name = "tree", .labels = "is-parent=true tree-id=tree-1", .max = kBig});
  for (const Row& row : {
           Row{{.name = "a", .max = kBig},
               "koordinator-root-quota",
               "",
               R"({"cpu":"120","memory":"1048576"})"},
           Row{{.name = "a", .labels = "parent=plain", .max = kBig},
               "plain",
               "",
               R"({"cpu":"120","memory":"1048576"})"},
           Row{{.name = "a", .labels = "parent=tree", .max = kBig},
               "tree",
               "tree-1",
               R"({"cpu":"120","memory":"1048576"})"},
           Row{{.name = "a", .labels = "tree-id=tree-2", .max = kBig, .annotations = kWeightZero},
               "koordinator-root-quota",
               "tree-2",
               R"({"cpu":"0","memory":"0"})"},
           Row{{.name = "a", .max = "memory=1048576", .annotations = kWeightZero},
               "koordinator-root-quota",
               "",
               R"({"memory":"0"})"},
           Row{{.name = "a", .max = kBig, .annotations = kWeightCpu},
               "koordinator-root-quota",
               "",
               R"({"cpu":"0","memory":"1048576"})"},
           Row{{.name = "a", .max = "memory=1048576", .annotations = kWeightCpu},
               "koordinator-root-quota",
               "",
               R"({"memory":"1048576"})"},
           Row{{.name = "koordinator-root-quota", .max = kBig}, "", "", ""},
       }) {
    CAPTURE(row.quota.labels, row.quota.max, row.quota.annotations);
    api::ElasticQuota quota = *testing::quota(row.quota);
    bool weight_set = false;
    CHECK(world.rules.fill(quota, weight_set).wrong.empty());
    CHECK(api::value_or(quota.metadata.labels, api::kQuotaParentLabel) == row.parent);
    CHECK(api::value_or(quota.metadata.labels, api::kQuotaTreeIdLabel) == row.tree);
    CHECK(api::value_or(quota.metadata.annotations, api::kQuotaSharedWeight) == row.weight);
    CHECK(weight_set == (row.quota.annotations.empty() && !row.weight.empty()));
  }
  bool weight_set = false;
  api::ElasticQuota orphan = *testing::quota({.name = "o", .labels = "parent=nobody", .max = kBig});
  const QuotaRuling ruling = world.rules.fill(orphan, weight_set);
  CHECK(ruling.wrong == "fill quota o failed, parent not exist");
  CHECK(ruling.again);
  api::ElasticQuota bad = *testing::quota(
      {.name = "b", .max = kBig, .annotations = R"("quota.scheduling.koordinator.sh/shared-weight":"{")"});
  CHECK_THAT(world.rules.fill(bad, weight_set).wrong,
             Catch::StartsWith("fillDefaultQuotaInfo unmarshal sharedWeight failed:"));
}

TEST_CASE("A quota among its parent and its children") {
  struct Row {
    std::string_view what;
    std::vector<QuotaText> there;
    QuotaText quota;
    std::string_view wrong;
    bool keys_may_differ = false;
  };
  const std::vector<Row> rows = {
      {"the parent has other resources of max",
       {{.name = "temp", .labels = "is-parent=true", .max = "cpu=10 memory=120"}},
       {.name = "bu1", .labels = "parent=temp", .max = "cpu=120"},
       "failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey failed: temp's "
       "max keys "
       "are not the same with bu1's"},
      {"the same, which may be",
       {{.name = "temp", .labels = "is-parent=true", .max = "cpu=10 memory=120"}},
       {.name = "bu1", .labels = "parent=temp", .max = "cpu=120"},
       "",
       true},
      {"other ones than the parent may not be",
       {{.name = "temp", .labels = "is-parent=true", .max = "memory=120"}},
       {.name = "bu1", .labels = "parent=temp", .max = "cpu=120"},
       "failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey failed: bu1's max "
       "keys "
       "are not all included in temp's",
       true},
      {"the parent is sure of less",
       {{.name = "temp", .labels = "is-parent=true", .min = "cpu=10", .max = "cpu=200 memory=200"}},
       {.name = "bu1", .labels = "parent=temp", .min = "cpu=1 memory=1", .max = "cpu=120 memory=120"},
       "failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey failed: bu1's min "
       "keys "
       "are not all included in temp's"},
      {"a child has other resources of max",
       {{.name = "bu1", .labels = "parent=temp", .max = "cpu=120"}},
       {.name = "temp", .labels = "is-parent=true", .max = "cpu=10 memory=120"},
       "failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey failed: bu1's max "
       "keys "
       "are not the same with temp's"},
      {"a child has resources that its parent lacks",
       {{.name = "bu1", .labels = "parent=temp", .max = "cpu=120 memory=1"}},
       {.name = "temp", .labels = "is-parent=true", .max = "cpu=10"},
       "failed to check sub and parent group quotaKey, err: checkSubAndParentGroupQuotaKey failed: bu1's max "
       "keys "
       "are not all included in temp's",
       true},
      {"the parent's tree is another",
       {{.name = "temp", .labels = "is-parent=true", .max = kBig}},
       {.name = "bu1", .labels = "parent=temp tree-id=t", .max = kBig},
       "bu1 tree id is different from parent temp, [t] vs []"},
      {"a child's tree is another",
       {{.name = "bu1", .labels = "parent=temp tree-id=t", .max = kBig}},
       {.name = "temp", .labels = "is-parent=true", .max = kBig},
       "temp tree id is different from child bu1, [] vs [t]"},
      {"no parent",
       {},
       {.name = "bu1", .labels = "parent=temp", .max = kBig},
       "bu1 has parentName temp but not find parentInfo in quotaInfoMap"},
      {"the parent is none",
       {{.name = "temp", .labels = "is-parent=false", .max = kBig}},
       {.name = "bu1", .labels = "parent=temp", .max = kBig},
       "bu1 has parentName temp but the parentQuotaInfo's IsParent is false"},
      {"siblings are sure of the rest",
       {{.name = "temp", .labels = "is-parent=true", .min = "cpu=10 memory=51200", .max = kBig},
        {.name = "sub-2", .labels = "parent=temp", .min = "cpu=6 memory=1", .max = kBig}},
       {.name = "sub-1", .labels = "parent=temp", .min = "cpu=5 memory=12800", .max = kBig},
       "checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: temp"},
      {"just so much",
       {{.name = "temp", .labels = "is-parent=true", .min = "cpu=10 memory=51200", .max = kBig},
        {.name = "sub-2", .labels = "parent=temp", .min = "cpu=5 memory=1", .max = kBig}},
       {.name = "sub-1", .labels = "parent=temp", .min = "cpu=5 memory=12800", .max = kBig},
       ""},
      {"children are sure of more",
       {{.name = "sub-1", .labels = "parent=temp", .min = "cpu=16 memory=12801", .max = kBig}},
       {.name = "temp", .labels = "is-parent=true", .min = "cpu=16 memory=12800", .max = kBig},
       "checkMinQuotaSum all children's MinQuota > current MinQuota, current: temp"},
      {"who may be forced is not held to it",
       {{.name = "temp", .labels = "is-parent=true", .min = "cpu=10", .max = "cpu=120"}},
       {.name = "sub-1", .labels = "parent=temp allow-force-update=true", .min = "cpu=11", .max = "cpu=120"},
       ""},
      {"a tree's root is not held to it",
       {{.name = "sub-1", .labels = "parent=temp", .min = "cpu=16", .max = "cpu=120"}},
       {.name = "temp", .labels = "is-parent=true is-root=true", .min = "cpu=1", .max = "cpu=120"},
       ""},
      {"of the root without children nothing is asked",
       {},
       {.name = "a", .labels = "parent=koordinator-root-quota", .min = "cpu=1", .max = "cpu=2"},
       ""},
      {"its own parent",
       {},
       {.name = "a", .labels = "parent=a is-parent=true", .max = kBig},
       "a has parentName a but not find parentInfo in quotaInfoMap"},
      {"the name of another namespace's quota",
       {{.name = "a", .max = kBig, .ns = "other"}},
       {.name = "a", .max = kBig},
       "AddQuota quota already exist:a"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    QuotaWorld world({.keys_may_differ = row.keys_may_differ});
    for (const QuotaText& there : row.there) world.put(there);
    CHECK(world.create(row.quota) == row.wrong);
  }
}

TEST_CASE("Nobody becomes his own ancestor") {
  QuotaWorld world;
  for (const QuotaText& there : {QuotaText{.name = "a", .labels = "is-parent=true", .max = kBig},
                                 QuotaText{.name = "b", .labels = "is-parent=true parent=a", .max = kBig},
                                 QuotaText{.name = "c", .labels = "is-parent=true parent=b", .max = kBig}})
    REQUIRE(world.create(there).empty());
  CHECK(world.update({.name = "a", .labels = "is-parent=true parent=c", .max = kBig}) ==
        "a has parentName c, which is below it: the quotas' tree must not have a cycle");
  CHECK(world.update({.name = "a", .labels = "is-parent=true parent=a", .max = kBig}) ==
        "a has parentName a, which is itself: the quotas' tree must not have a cycle");
  // Two moves at once, each of which is none alone.
  REQUIRE(world.update({.name = "c", .labels = "is-parent=true", .max = kBig}).empty());
  world.sees = false;
  REQUIRE(world.update({.name = "c", .labels = "is-parent=true parent=b", .max = kBig}).empty());
  CHECK_THAT(world.update({.name = "a", .labels = "is-parent=true parent=c", .max = kBig}),
             Catch::Contains("must not have a cycle"));
  CHECK(world.again);
  // A cycle that is there already ends the search, and does not hold up who leaves it.
  QuotaWorld broken;
  broken.put({.name = "x", .labels = "is-parent=true parent=y", .max = kBig});
  broken.put({.name = "y", .labels = "is-parent=true parent=x", .max = kBig});
  CHECK(broken.create({.name = "z", .labels = "parent=x", .max = kBig}).empty());
  CHECK(broken.update({.name = "x", .labels = "is-parent=true", .max = kBig}).empty());
}

TEST_CASE("Upstream's sequence of updates") {
  QuotaWorld world;
  constexpr std::string_view kMin = "cpu=64 memory=51200";
  const QuotaText temp{.name = "temp", .labels = "is-parent=true", .min = kMin, .max = kBig};
  QuotaText temp2 = temp;
  temp2.name = "temp2";
  QuotaText sub{.name = "sub-1", .labels = "parent=temp", .min = "cpu=60 memory=12800", .max = kBig};
  REQUIRE(world.create(temp).empty());
  CHECK(world.update(temp).empty());
  REQUIRE(world.create(temp2).empty());
  REQUIRE(world.create(sub).empty());
  CHECK(world.catalog.children("temp").size() == 1);
  sub.labels = "parent=temp2";
  CHECK(world.update(sub).empty());
  CHECK(world.catalog.children("temp").empty());
  CHECK(world.catalog.children("temp2").size() == 1);
  QuotaText more = sub;
  more.labels = "parent=temp";
  more.min = "cpu=121 memory=1048576";
  CHECK(world.update(more) == "resourceKey cpu of quota sub-1 min 121 > max 120");
  CHECK(world.update({.name = "tmp", .labels = "parent=temp", .max = kBig}) ==
        "UpdateQuota quota not exist in quotaInfoMap:tmp");
  CHECK(world.again);
  for (const std::string_view built_in : {"koordinator-root-quota", "koordinator-system-quota"})
    CHECK(world.update({.name = built_in, .max = kBig}) == fmt::format("invalid quota {}", built_in));
  QuotaText alone = temp;
  alone.labels = "is-parent=false";
  CHECK(world.update(alone).empty());
  QuotaText owner = temp2;
  owner.labels = "is-parent=false";
  CHECK(world.update(owner) ==
        "quota has children, isParent is forbidden to modify as false, quotaName:temp2");
  QuotaText parent = sub;
  parent.labels = "parent=temp2 is-parent=true";
  constexpr std::string_view kBound =
      "quota has bound pods, isParent is forbidden to modify as true, quotaName: sub-1";
  world.pods = {{"sub-1", "elsewhere"}};
  CHECK(world.update(parent) == kBound);
  world.pods = {{"", "sub-1"}};
  CHECK(world.update(parent) == kBound);
  sub.annotations = R"("quota.scheduling.koordinator.sh/namespaces":"[\"one\",\"two\"]")";
  REQUIRE(world.update(sub).empty());
  world.pods = {{"", "two"}};
  CHECK(world.update(parent) == kBound);
  world.pods = {{"", "three"}};
  CHECK(world.update(parent).empty());
  parent.labels = "parent=temp2 is-parent=true tree-id=tree-1";
  CHECK(world.update(parent) == "sub-1 tree id changed [] vs [tree-1]");
}

TEST_CASE("Namespaces belong to one quota") {
  QuotaWorld world;
  REQUIRE(
      world
          .create(
              {.name = "temp",
               .annotations =
                   R"("quota.scheduling.koordinator.sh/namespaces":"[\"test1\",\"t\u0065st2\",\"test1\"]")"})
          .empty());
  constexpr std::string_view kSecond = R"("quota.scheduling.koordinator.sh/namespaces":"[\"test2\"]")";
  CHECK(world.create({.name = "temp2", .annotations = kSecond}) ==
        "AddQuota quota temp2's annotation namespace test2 is already bound to quota temp");
  REQUIRE(world.create({.name = "temp5"}).empty());
  CHECK(world.update({.name = "temp5", .annotations = kSecond}) ==
        "UpdadteQuota, quota temp5 update namespaces, but namespace test2 is already bound to quota temp");
  CHECK(
      world
          .update({.name = "temp",
                   .annotations = R"("quota.scheduling.koordinator.sh/namespaces":"[\"test2\",\"test3\"]")"})
          .empty());
  CHECK(world.catalog.of_namespace("test1") == nullptr);
  CHECK(world.catalog.of_namespace("test3")->name() == "temp");
  CHECK(world.remove("temp").empty());
  CHECK(world.catalog.of_namespace("test2") == nullptr);
  CHECK(world.update({.name = "temp5", .annotations = kSecond}).empty());
  // One that cannot be read binds nothing.
  CHECK(
      world.create({.name = "odd", .annotations = R"("quota.scheduling.koordinator.sh/namespaces":"test2")"})
          .empty());
}

TEST_CASE("Who may be deleted") {
  QuotaWorld world;
  REQUIRE(world.create({.name = "temp", .labels = "is-parent=true", .max = kBig}).empty());
  REQUIRE(world.create({.name = "sub-1", .labels = "parent=temp", .max = kBig}).empty());
  CHECK(world.remove("temp") == "delete quota failed, quota temp has 1 child quotas");
  world.pods = {{"sub-1", "sub-1"}};
  CHECK(world.remove("sub-1") == "delete quota failed, quota sub-1 has 1 child pods: pod1");
  world.pods.resize(3, {"sub-1", "x"});
  CHECK(world.remove("sub-1") == "delete quota failed, quota sub-1 has 3 child pods: pod1, pod2, ...");
  world.pods = {{"", "sub-1"}};  // by its namespace alone: upstream does not look
  CHECK(world.remove("sub-1").empty());
  CHECK(world.remove("temp").empty());
  CHECK(world.catalog.size() == 0);
  for (const std::string_view built_in :
       {"koordinator-root-quota", "koordinator-system-quota", "koordinator-default-quota"})
    CHECK(world.remove(built_in) == fmt::format("can not delete quotaGroup :{}", built_in));
  CHECK(world.remove("notFound") == "not found quota:notFound");
  CHECK(world.again);
}

TEST_CASE("What is guaranteed, with the gate") {
  struct Row {
    std::string_view min, sibling, wrong;
  };
  constexpr std::string_view kKey = "quota.scheduling.koordinator.sh/guaranteed";
  const std::string parent = fmt::format(R"("{}":"{{\"cpu\":\"10\",\"memory\":\"51200\"}}")", kKey),
                    own = fmt::format(R"("{}":"{{\"cpu\":\"6\",\"memory\":\"35600\"}}")", kKey);
  for (const Row& row :
       {Row{"cpu=5 memory=25600", "2", ""}, Row{"cpu=7 memory=25600", "3", ""},
        Row{"cpu=8 memory=25600", "3", "tree root quota temp can't guarantee for min test1"}}) {
    CAPTURE(row.min);
    for (const bool gate : {true, false}) {
      QuotaWorld world({.guarantees_usage = gate});
      world.put({.name = "temp",
                 .labels = "is-parent=true tree-id=tree1 is-root=true",
                 .min = "cpu=10 memory=51200",
                 .max = kBig,
                 .annotations = parent});
      const std::string sibling =
          fmt::format(R"("{}":"{{\"cpu\":\"{}\",\"memory\":\"10000\"}}")", kKey, row.sibling);
      world.put({.name = "test2",
                 .labels = "parent=temp tree-id=tree1",
                 .min = "cpu=2 memory=10000",
                 .max = kBig,
                 .annotations = sibling});
      CHECK(world.create({.name = "test1",
                          .labels = "parent=temp tree-id=tree1",
                          .min = row.min,
                          .max = kBig,
                          .annotations = own}) == (gate ? row.wrong : ""));
    }
  }
}

TEST_CASE("Pods belong to leaves, by label, namespace or annotation") {
  QuotaWorld world;
  world.put({.name = "temp", .labels = "is-parent=true", .max = kBig});
  world.put({.name = "sub-1", .labels = "parent=temp", .max = kBig});
  world.put({.name = "test-ns", .labels = "is-parent=true", .max = kBig, .ns = "test-ns"});
  world.put({.name = "bound",
             .labels = "is-parent=true",
             .max = kBig,
             .annotations = R"("quota.scheduling.koordinator.sh/namespaces":"[\"annotated\"]")"});
  struct Row {
    std::string_view label, ns, quota, wrong;
  };
  for (const Row& row :
       {Row{"sub-1", "test-ns", "sub-1", ""},
        Row{"temp", "x", "temp", "pod can not be linked to a parentQuotaGroup,quota:temp, pod:p"},
        Row{"", "test-ns", "test-ns", "pod can not be linked to a parentQuotaGroup,quota:test-ns, pod:p"},
        Row{"", "annotated", "bound", "pod can not be linked to a parentQuotaGroup,quota:bound, pod:p"},
        Row{"", "x", "koordinator-default-quota", ""}, Row{"nobody", "x", "nobody", ""}}) {
    CAPTURE(row.label, row.ns);
    CHECK(world.rules.quota_of_pod(row.label, row.ns) == row.quota);
    CHECK(world.pod(row.label, row.ns) == row.wrong);
  }
  QuotaWorld may({.parents_may_own_pods = true});
  may.put({.name = "temp", .labels = "is-parent=true", .max = kBig});
  CHECK(may.pod("temp").empty());
  QuotaWorld without({.without_default = true});
  without.put({.name = "x", .labels = "is-parent=true", .max = kBig, .ns = "x"});
  CHECK(without.rules.quota_of_pod("", "x").empty());
  CHECK(without.pod("", "x").empty());
}

TEST_CASE("What was admitted and is not seen yet holds others back, and nobody lives by it") {
  QuotaWorld world;
  world.put({.name = "temp", .labels = "is-parent=true", .min = "cpu=10", .max = "cpu=20"});
  world.sees = false;
  const QuotaText first{.name = "a", .labels = "parent=temp is-parent=true", .min = "cpu=6", .max = "cpu=20"};
  QuotaText second = first;
  second.name = "b";
  REQUIRE(world.create(first).empty());
  CHECK(world.create(second) == "checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: temp");
  CHECK(world.again);
  // It is no parent, no namesake and no reason to delete its own parent.
  CHECK(world.create({.name = "c", .labels = "parent=a", .min = "cpu=1", .max = "cpu=20"}) ==
        "c has parentName a but not find parentInfo in quotaInfoMap");
  QuotaText namesake = first;
  namesake.ns = "other";
  CHECK(world.create(namesake) == "AddQuota quota already exist:a");
  CHECK(world.remove("temp") == "delete quota failed, quota temp has 1 child quotas");
  CHECK(world.again);

  SECTION("seen, it counts once") {
    world.catalog.set(testing::quota(first, "100"));
    world.catalog.refresh();
    CHECK_FALSE(world.catalog.has_recent());
    second.min = "cpu=4";
    CHECK(world.create(second).empty());
  }
  SECTION("refused elsewhere, it is forgotten in time") {
    world.clock.advance(QuotaCatalog::kRemembered - std::chrono::milliseconds(1));
    world.catalog.refresh();
    CHECK(world.catalog.has_recent());
    world.clock.advance(std::chrono::milliseconds(1));
    world.catalog.refresh();
    CHECK_FALSE(world.catalog.has_recent());
    CHECK(world.create(second).empty());
  }
  SECTION("of an update the larger of both counts, whichever is written") {
    world.catalog.set(testing::quota(first, "100"));
    world.catalog.refresh();
    QuotaText less = first;
    less.min = "cpu=1";
    REQUIRE(world.update(less).empty());
    CHECK(world.create(second) == "checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: temp");
    world.catalog.set(testing::quota(less, "101"));
    world.catalog.refresh();
    CHECK(world.create(second).empty());
  }
  SECTION("a parent that may be gone in a moment takes no children") {
    world.put({.name = "empty", .labels = "is-parent=true", .max = "cpu=20"});
    REQUIRE(world.remove("empty").empty());
    CHECK(world.create({.name = "d", .labels = "parent=empty", .max = "cpu=20"}) ==
          "d has parentName empty but not find parentInfo in quotaInfoMap");
    CHECK(world.again);
  }
}

TEST_CASE("Only so many writes are remembered; beyond them nothing is admitted") {
  ManualClock clock;
  QuotaCatalog catalog(clock);
  for (std::size_t i = 0; i < QuotaCatalog::kMaxRecent; ++i)
    REQUIRE(catalog.remember(testing::version_of({.name = fmt::format("q{}", i)})));
  CHECK_FALSE(catalog.remember(testing::version_of({.name = "one-more"})));
  CHECK(catalog.remember(testing::version_of({.name = "q7"})));
}

TEST_CASE("Quotas of one name: the older is meant, and both are counted where they hang") {
  ManualClock clock;
  QuotaCatalog catalog(clock);
  const auto put = [&](std::string_view ns, std::string_view made, std::string_view parent) {
    catalog.set(std::make_shared<const api::ElasticQuota>(
        api::decode<api::ElasticQuota>(
            fmt::format(
                R"({{"metadata":{{"name":"q","namespace":"{}","creationTimestamp":"{}","labels":)"
                R"({{"quota.scheduling.koordinator.sh/parent":"{}"}}}},"spec":{{"min":{{"cpu":"2"}}}}}})",
                ns, made, parent))
            .value()));
  };
  put("a", "2026-01-02T00:00:00Z", "p");
  put("b", "2026-01-01T00:00:00Z", "p");
  CHECK(catalog.count("q") == 2);
  CHECK(catalog.find("q")->object->metadata.namespace_ == "b");
  CHECK(to_text(catalog.min_of_children("p")) == "cpu=4");
  put("b", "2026-01-01T00:00:00Z", "other");
  CHECK(to_text(catalog.min_of_children("p")) == "cpu=2");
  catalog.remove("b", "q");
  catalog.remove("a", "q");
  CHECK(catalog.min_of_children("p").empty());
  CHECK(catalog.min_of_children("other").empty());
  CHECK(catalog.find("q") == nullptr);
}

}  // namespace
}  // namespace koord::manager
