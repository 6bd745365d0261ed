// What is known of Kubernetes' own gangs; rows of kube-scheduler 1.35's podgroupinfo_test.go.
#include <catch2/catch.hpp>

#include "kube_gangs.hpp"
#include "scheduling/plugins/gang_scheduling/kube_book.hpp"

namespace koord::scheduling::gang_scheduling::test {
namespace {

using namespace std::chrono_literals;

struct Book {
  World world;
  PluginContext context = world.engine.context();
  KubeBook book{(context.name = "GangScheduling", context)};
};

TEST_CASE("what is reserved is assumed, until it is not any more or is bound") {
  Book b;
  const auto pod = member("p", "w", "pg");
  b.book.pod_seen(pod);
  const Gang& gang = *b.book.find("default/w/pg");
  CHECK(gang.assumed.empty());
  CHECK(gang.pending.size() == 1);
  b.book.reserve(*pod, Symbol("n"));
  CHECK(gang.assumed.size() == 1);
  CHECK(gang.pending.empty());
  b.book.unreserve(*pod);
  CHECK(gang.assumed.empty());
  CHECK(gang.pending.size() == 1);
  b.book.reserve(*pod, Symbol("n"));
  b.book.pod_seen(changed(pod, [](api::Pod& p) { p.spec.node_name = Symbol("n"); }));
  CHECK(gang.assumed.empty());
  CHECK(gang.bound == 1);
  b.book.pod_left(*pod);
  CHECK(b.book.find("default/w/pg") == nullptr);
}

TEST_CASE("a group's pods have one deadline, and those who come after it a new one") {
  Book b;
  b.book.pod_seen(member("p"));
  Gang& gang = *b.book.find("default/w/pg");
  struct Row {
    nanoseconds later, wait;
  };
  const Row kRows[] = {{0s, 5min}, {2min, 3min}, {179s, 1s}, {1s, 5min}, {0s, 5min}, {1h, 5min}};
  for (const Row& row : kRows) {
    b.world.clock.advance(row.later);
    CHECK(b.book.wait_of(gang) == row.wait);
  }
}

TEST_CASE("gangs are known by workload, group and replica, or by their PodGroup") {
  Book b;
  struct Row {
    PodEdit edit;
    const char* gang;
  };
  const Row kRows[] = {{refers("w", "pg"), "default/w/pg"},
                       {refers("w", "pg", "1"), "default/w/pg/1"},
                       {refers("w.x", "pg"), "default/w.x/pg"},
                       {in_group("pg"), "default/pg"},
                       {[](api::Pod& p) {
                          refers("w", "pg")(p);
                          in_group("later")(p);
                        },
                        "default/later"}};
  int number = 0;
  for (const Row& row : kRows) {
    b.book.pod_seen(make_pod(fmt::format("p{}", number++), "1", "", row.edit));
    const Gang* const gang = b.book.find(row.gang);
    INFO(row.gang);
    REQUIRE(gang != nullptr);
    CHECK(gang->children == 1);
    CHECK_FALSE(gang->known);
  }
  b.book.pod_seen(make_pod("plain"));
  CHECK(b.book.member(*make_pod("plain")) == nullptr);
}

}  // namespace
}  // namespace koord::scheduling::gang_scheduling::test
