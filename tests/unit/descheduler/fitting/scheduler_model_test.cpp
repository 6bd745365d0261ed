// SchedulerModel: what it knows of the cluster, and when.
#include "fitting/scheduler_model.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "koord/scheduling/engine/engine.hpp"
#include "unit/descheduler/migration/fake_cluster.hpp"

namespace koord::descheduler {

namespace {

struct Process {
  Process() {
    cluster.put("nodes//a", R"({"metadata":{"name":"a"},"status":{"allocatable":{"cpu":"2","pods":"10"}}})");
    for (const char* name : {"p", "q"}) pod(name);
    model->follow(informers, api);
    informers.start();
    loop.settle();
  }
  ~Process() { koord::test::run_task(loop, informers.stop()); }
  void pod(const std::string& name) {
    cluster.put(
        "pods/x/" + name,
        fmt::format(R"({{"metadata":{{"namespace":"x","name":"{}"}},"spec":{{"nodeName":"a"}}}})", name));
    loop.settle();
  }
  std::size_t pods() const { return model->engine().pods(); }

  koord::test::Loop loop;
  migration::test::FakeCluster cluster{loop};
  kube::Client api{cluster.server, loop.clock, {.max_retries = 0}};
  std::unique_ptr<SchedulerModel> model = *SchedulerModel::make(loop.clock, {});
  kube::InformerSet informers{loop.executor(), loop.clock};
};

}  // namespace

TEST_CASE("a model knows what has been delivered once it has caught up") {
  Process process;
  SECTION("at once") { process.model->catch_up(); }
  SECTION("in parts") { koord::test::run_task(process.loop, process.model->catch_up_in_parts()); }
  CHECK(process.pods() == 2);
  CHECK(process.model->engine().nodes().nodes() == 1);
  process.pod("r");
  process.cluster.erase("pods/x/p");
  process.cluster.erase("pods/x/q");
  process.loop.settle();
  CHECK(process.pods() == 2);
  process.model->catch_up();
  CHECK(process.pods() == 1);
  process.cluster.erase("nodes//a");
  process.loop.settle();
  process.model->catch_up();
  CHECK(process.model->engine().nodes().nodes() == 0);
}

TEST_CASE("a model that is held stays as it is until the last has released it") {
  Process process;
  process.model->catch_up();
  process.model->hold();
  process.model->hold();
  process.pod("r");
  process.model->catch_up();
  process.model->release();
  process.model->catch_up();
  koord::test::run_task(process.loop, process.model->catch_up_in_parts());
  CHECK(process.pods() == 2);
  process.model->release();
  process.model->catch_up();
  CHECK(process.pods() == 3);
}

TEST_CASE("a model follows what the scheduler's plugins read, and waits for it") {
  Process process;
  CHECK(process.model->followed().size() > 15);
  for (const kube::AnyInformer& informer : process.model->followed()) CHECK(informer.synced());
}

}  // namespace koord::descheduler
