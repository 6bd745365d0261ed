// What gangs say, and what is known of them; rows of Koordinator's gang_cache_test.go.
#include <catch2/catch.hpp>

#include "gang_rig.hpp"
#include "scheduling/plugins/coscheduling/koordinator_book.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace std::chrono_literals;

struct Book {
  World world;
  CoschedulingArgs args;
  PluginContext context = world.engine.context();
  KoordinatorBook book{(context.name = "Coscheduling", context), args};

  Gang& gang(const std::string& name) { return *book.find("default/" + name); }
  void put(const std::shared_ptr<const api::Pod>& pod) { book.pod_seen(pod); }
};

struct Terms {
  const char* name;
  Says says;  // besides the gang's name
  std::string min;
  bool known;
  int total;
  nanoseconds wait;
  bool strict;
  api::GangMatchPolicy policy;
  std::string group;
};

TEST_CASE("a gang is what its first pod says, and what makes no sense counts as not said") {
  constexpr auto kOnce = api::GangMatchPolicy::once_satisfied;
  const Terms kTerms[] = {
      {"only what is needed", {}, "2", true, 2, 600s, true, kOnce, "default/g"},
      {"all of it",
       {{api::kGangTotal, "4"},
        {api::kGangMode, "NonStrict"},
        {api::kGangWaitingTime, "30s"},
        {api::kGangMatchPolicy, "only-waiting"},
        {api::kGangGroups, R"(["default/h","default/g"])"}},
       "2",
       true,
       4,
       30s,
       false,
       api::GangMatchPolicy::only_waiting,
       "default/g,default/h"},
      {"no number of members", {}, "xx", false, 0, 0s, true, kOnce, "default/g"},
      {"a total that is none", {{api::kGangTotal, "xx"}}, "2", true, 2, 600s, true, kOnce, "default/g"},
      {"a total below the number", {{api::kGangTotal, "1"}}, "2", true, 2, 600s, true, kOnce, "default/g"},
      {"a mode that is none", {{api::kGangMode, "WENDERFUL"}}, "2", true, 2, 600s, true, kOnce, "default/g"},
      {"a time that is none",
       {{api::kGangWaitingTime, "BADTIME"}},
       "2",
       true,
       2,
       600s,
       true,
       kOnce,
       "default/g"},
      {"a time below zero", {{api::kGangWaitingTime, "-20s"}}, "2", true, 2, 600s, true, kOnce, "default/g"},
      {"no time", {{api::kGangWaitingTime, "0"}}, "2", true, 2, 600s, true, kOnce, "default/g"},
      {"a policy that is none",
       {{api::kGangMatchPolicy, "sometimes"}},
       "2",
       true,
       2,
       600s,
       true,
       kOnce,
       "default/g"},
      {"a policy under its other name",
       {{api::kGangMatchPolicyAlias, "waiting-and-running"}},
       "2",
       true,
       2,
       600s,
       true,
       api::GangMatchPolicy::waiting_and_running,
       "default/g"},
      {"groups that are none",
       {{api::kGangGroups, "gangA,gangB"}},
       "2",
       true,
       2,
       600s,
       true,
       kOnce,
       "default/g"},
      {"groups without itself",
       {{api::kGangGroups, R"(["default/h"])"}},
       "2",
       true,
       2,
       600s,
       true,
       kOnce,
       "default/g,default/h"},
      {"groups that name one twice",
       {{api::kGangGroups, R"(["default/g","default/g"])"}},
       "2",
       true,
       2,
       600s,
       true,
       kOnce,
       "default/g,default/g"},
  };
  for (const Terms& c : kTerms) {
    INFO(c.name);
    Book b;
    b.put(
        member("g", 0, 0, c.says, "1", [&](api::Pod& p) { p.metadata.annotations[api::kGangMin] = c.min; }));
    const Gang& gang = b.gang("g");
    CHECK(gang.known == c.known);
    CHECK(gang.total == c.total);
    CHECK(gang.wait == c.wait);
    CHECK(gang.strict == c.strict);
    CHECK(gang.policy == c.policy);
    CHECK(gang.group->id == c.group);
    // Who comes later has no say.
    if (!c.known) continue;
    b.put(member("g", 1, 77));
    CHECK(b.gang("g").min == 2);
    CHECK(b.gang("g").children == 2);
  }
}

TEST_CASE("a gang by labels, as lightweight coscheduling has them") {
  Book b;
  b.put(make_pod("p", "1", "1Gi", [](api::Pod& p) {
    p.metadata.labels[api::kGangNameLabel] = "g";
    p.metadata.labels[api::kGangMinLabel] = "3";
  }));
  CHECK(b.gang("g").known);
  CHECK(b.gang("g").min == 3);
}

TEST_CASE("a PodGroup may come after its pods, change, and go before them") {
  Book b;
  b.put(grouped("g", 0));
  CHECK_FALSE(b.gang("g").known);
  const auto first = pod_group("g", 2, {{api::kGangTotal, "5"}, {api::kGangMode, "NonStrict"}});
  b.book.pod_group_changed(nullptr, first.get());
  CHECK(b.gang("g").known);
  CHECK(b.gang("g").min == 2);
  CHECK(b.gang("g").total == 5);
  CHECK_FALSE(b.gang("g").strict);
  CHECK(b.gang("g").wait == 600s);
  CHECK_FALSE(b.gang("g").group->complete());
  auto more = std::make_shared<api::PodGroup>(*first);
  more->spec.min_member = 1;
  more->spec.schedule_timeout_seconds = 20;
  b.book.pod_group_changed(first.get(), more.get());
  CHECK(b.gang("g").wait == 20s);
  CHECK(b.gang("g").group->complete());
  b.book.pod_group_changed(more.get(), nullptr);
  CHECK_FALSE(b.gang("g").known);
  CHECK_FALSE(b.gang("g").group->complete());
  b.book.pod_left(*grouped("g", 0));
  CHECK(b.book.find("default/g") == nullptr);
}

TEST_CASE("a gang of annotations goes with its last pod, one of a PodGroup stays") {
  Book b;
  for (int n = 0; n < 3; ++n) {
    b.put(member("a", n, 2));
    b.put(grouped("c", n));
  }
  const auto group = pod_group("c", 2);
  b.book.pod_group_changed(nullptr, group.get());
  for (int n = 0; n < 3; ++n) {
    b.book.pod_left(*member("a", n, 2));
    b.book.pod_left(*grouped("c", n));
  }
  CHECK(b.book.find("default/a") == nullptr);
  REQUIRE(b.book.find("default/c") != nullptr);
  CHECK(b.gang("c").children == 0);
  CHECK(b.gang("c").pending.empty());
}

TEST_CASE("pods count where their labels say, and nowhere twice") {
  Book b;
  b.put(member("a", 0, 2));
  b.put(member("a", 1, 2));
  CHECK(b.gang("a").group->complete());
  // The same pod, in another gang now.
  b.put(changed(member("a", 1, 2), [](api::Pod& p) { p.metadata.annotations[api::kGangName] = "b"; }));
  CHECK(b.gang("a").children == 1);
  CHECK_FALSE(b.gang("a").group->complete());
  CHECK(b.gang("b").children == 1);
  // Another pod of the same name.
  b.put(changed(member("a", 0, 2), [](api::Pod& p) { p.metadata.uid = "another"; }));
  CHECK(b.gang("a").children == 1);
  // In none.
  b.put(make_pod("a-001"));
  CHECK(b.book.find("default/b") == nullptr);
}

TEST_CASE("members go from waiting to assumed to bound, and back") {
  Book b;
  const auto pod = member("g", 0, 2);
  b.put(pod);
  b.put(member("g", 1, 2));
  b.book.reserve(*pod, Symbol("n"));
  CHECK(b.gang("g").assumed.size() == 1);
  CHECK(b.gang("g").needs() == 1);
  CHECK_FALSE(b.book.valid(*b.gang("g").group));
  b.book.unreserve(*pod);
  CHECK(b.gang("g").pending.size() == 2);
  b.book.reserve(*pod, Symbol("n"));
  b.book.reserve(*member("g", 1, 2), Symbol("n"));
  CHECK(b.book.valid(*b.gang("g").group));
  b.book.post_bind(*pod);
  CHECK(b.gang("g").bound == 1);
  CHECK(b.gang("g").group->satisfied);
  CHECK(b.gang("g").is_free());
}

struct Valid {
  const char* name;
  const char* policy;
  int waiting, bound;
  bool valid;
};

TEST_CASE("what counts for a gang of three follows from its match policy") {
  // Rows of TestPermit.
  const Valid kRows[] = {
      {"too few wait", "once-satisfied", 2, 0, false},
      {"enough wait", "once-satisfied", 3, 0, true},
      {"once is for ever", "once-satisfied", 0, 1, true},
      {"bound ones do not count", "only-waiting", 2, 2, false},
      {"enough wait beside bound ones", "only-waiting", 3, 1, true},
      {"together too few", "waiting-and-running", 1, 1, false},
      {"together enough", "waiting-and-running", 1, 2, true},
  };
  for (const Valid& c : kRows) {
    INFO(c.name);
    Book b;
    for (int n = 0; n < 5; ++n) {
      const auto pod = member("g", n, 3, {{api::kGangMatchPolicy, c.policy}});
      b.put(n < c.bound ? changed(pod, [](api::Pod& p) { p.spec.node_name = "n"; }) : pod);
      if (n >= c.bound && n < c.bound + c.waiting) b.book.reserve(*pod, Symbol("n"));
    }
    CHECK(b.book.valid(*b.gang("g").group) == c.valid);
  }
}

TEST_CASE("what a group lacks is said in Koordinator's words") {
  Book b;
  const Says both{{api::kGangGroups, R"(["default/a","default/b","default/c"])"}};
  b.put(member("a", 0, 2, both));
  b.put(grouped("b", 0));
  const Member& told = *b.book.member(*member("a", 0, 2, both));
  CHECK(b.book.lack(*b.gang("a").group, told) ==
        "gangGroup [default/a default/b default/c] basic check: memberGangs [default/c] doesn't exists, "
        "memberGangs [default/b] has not init, memberGangs [default/a default/b default/c] child pod not "
        "collect enough, current gang: default/a, podName: default/a-000");
  CHECK(b.book.lack(*b.gang("b").group, *b.book.member(*grouped("b", 0))) ==
        "gang has not init, gangName: default/b, podName: default/b-000");
}

TEST_CASE("what nobody can use is told by name") {
  struct Row {
    int min;
    Says says;
    const char* told;
  };
  const Row kRows[] = {
      {0, {}, "asks for 0 members: its pods do not wait for one another"},
      {1'000'000'000, {}, "asks for 1000000000 members"},
      {2, {{api::kGangGroups, R"(["default/h"])"}}, "does not name gang default/g itself"},
      {2, {{api::kGangMode, "Maybe"}}, "gang.scheduling.koordinator.sh/mode"},
      {2, {{api::kGangGroups, R"(["default/g","default/h"])"}}, "which says otherwise (default/h)"},
  };
  for (const Row& row : kRows) {
    INFO(row.told);
    Book b;
    std::string told;
    b.context.shared.get<Complaints>().tell(
        [&](std::string_view, const api::ObjectMeta& object, std::string_view what) {
          told += fmt::format("{}: {}; ", object.name, what);
        });
    b.put(member("h", 0, 1));
    CHECK(told.empty());
    b.put(member("g", 0, row.min, row.says));
    CHECK(told.find(row.told) != std::string::npos);
    CHECK(told.starts_with("g-000: "));
  }
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
