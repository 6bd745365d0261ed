// Gangs whose quota has no room for all that they need.
#include <catch2/catch.hpp>

#include "gang_rig.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

KubeSchedulerConfiguration with_quotas() {
  KubeSchedulerConfiguration config = Gangs::config();
  config.profiles[0].plugins->multi_point.enabled.insert(
      config.profiles[0].plugins->multi_point.enabled.begin(), {"ElasticQuota", {}});
  return config;
}

struct Teams : World {
  Teams() : World(with_quotas()) {
    engine.put_node(make_node("n", "64", "64Gi"));
    quota("4");
  }
  void quota(std::string_view cpu) {
    auto made = std::make_shared<api::ElasticQuota>();
    made->metadata.name = "a";
    made->metadata.namespace_ = "quotas";
    made->spec.max = made->spec.min = {{"cpu", api::Quantity::must(cpu)}};
    engine.put_object<api::ElasticQuota>(made);
  }
  static PodEdit of_quota() {
    return [](api::Pod& p) { p.metadata.labels[std::string(api::kQuotaNameLabel)] = "a"; };
  }
  std::map<Kind, int> all() {
    std::map<Kind, int> kinds;
    for (const Decision& d : run(500)) ++kinds[d.kind()];
    return kinds;
  }
};

TEST_CASE(
    "a gang that its quota has no room for is refused, and not asked again for what it gave back itself") {
  Teams w;
  // Who waits for the same quota hears nothing of the gang's trial.
  w.engine.put_pod(make_pod("large", "9", "1Mi", Teams::of_quota()));
  for (int n = 0; n < 3; ++n) w.engine.put_pod(member("g", n, 3, {}, "2", Teams::of_quota()));
  CHECK(w.all() == std::map<Kind, int>{{Kind::unschedulable, 3}, {Kind::gated, 2}});
  for (int n = 0; n < 20; ++n) {
    w.clock.advance(std::chrono::seconds(11));
    CHECK(w.all().empty());
  }
  w.quota("6");
  w.clock.advance(std::chrono::seconds(11));
  CHECK(w.all()[Kind::bind] == 3);
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
