// What jobs of the descheduler cost: a round of arbitration over JOBS that wait (three workloads of a
// thousand pods, 300 nodes, limits by node and workload), and a start with MANY that are there already, of
// which nearly all wait for a limit: until all are known and arbitrated once, a further round, and memory.
// usage: migration_bench [JOBS [MANY]]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>
#include <vector>

#include "koord/api/schema/codec.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "migration/arbitrator.hpp"
#include "migration/controller.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "unit/descheduler/migration/migration_objects.hpp"

namespace {

using namespace koord;
using namespace koord::descheduler;
using namespace koord::descheduler::migration;
using koord::descheduler::migration::test::FakeWorkloads;
using koord::descheduler::migration::test::make_job;
using koord::descheduler::migration::test::make_pod;
using koord::descheduler::migration::test::make_ready;

double cpu_millis() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

std::shared_ptr<MigrationControllerArgs> arguments() {
  auto args = std::make_shared<MigrationControllerArgs>();
  scheduling::args_type<MigrationControllerArgs>.set_defaults(args.get());
  args->max_migrating_per_node = 2;
  return args;
}

std::string set_of(int i) { return fmt::format("set-{}", i % 3); }

/// CPU of one round over as many jobs, and how many of them it lets pass.
std::pair<double, std::size_t> round(int jobs) {
  const auto args = arguments();
  FakeWorkloads workloads;
  workloads.replicas = 1000;
  JobBook book;
  std::map<std::string, std::shared_ptr<const api::Pod>, std::less<>> pods;
  for (int i = 0; i < 3000; ++i) {
    api::Pod pod = make_pod(fmt::format("p{}", i), fmt::format("n{}", i % 300), set_of(i));
    make_ready(pod);
    auto made = std::make_shared<const api::Pod>(std::move(pod));
    workloads.pods[set_of(i)].push_back(made);
    pods[made->metadata.name] = made;
  }
  for (int i = 0; i < jobs; ++i) {
    const auto& pod = pods.find(fmt::format("p{}", i % 3000))->second;
    book.put(std::make_shared<const api::PodMigrationJob>(make_job(fmt::format("j{}", i), *pod)), pod);
  }
  Filters filters(args, book.counts(), workloads, [](std::string_view) { return std::nullopt; });
  const double began = cpu_millis();
  const auto decided = arbitrate(
      book, [&](const api::PodMigrationJob&) -> Filters& { return filters; },
      [&](const api::PodMigrationJob& job) { return pods.find(job.spec.pod_ref->name)->second; });
  return {cpu_millis() - began, decided.size()};
}

/// An API server with so many jobs, a pod for each, and nothing that can be written.
struct Server {
  std::string jobs, pods;

  explicit Server(int many) {
    std::string all_jobs, all_pods;
    for (int i = 0; i < many; ++i) {
      api::Pod pod = make_pod(fmt::format("p{}", i), fmt::format("n{}", i % 5), set_of(i));
      make_ready(pod);
      api::PodMigrationJob job = make_job(fmt::format("j{}", i), pod);
      job.metadata.creation_timestamp = api::Time(ManualClock().now());
      job.spec.ttl = api::Duration(std::chrono::minutes(5));
      all_pods += (i == 0 ? "" : ",") + api::encode(pod);
      all_jobs += (i == 0 ? "" : ",") + api::encode(job);
    }
    jobs = list(all_jobs);
    pods = list(all_pods);
  }
  static std::string list(const std::string& items) {
    return fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},"items":[{}]}})", items);
  }
  Result<net::Response> answer(const net::Request& request) const {
    const auto has = [&](std::string_view text) { return request.target.find(text) != std::string::npos; };
    if (has("sendInitialEvents")) return koord::test::status_response(422, "Invalid");
    if (has("watch=")) return koord::test::json_response(200, "");
    if (request.method != "GET") return koord::test::status_response(500, "InternalError");
    if (has("/podmigrationjobs?")) return koord::test::json_response(200, jobs);
    if (has("/pods?")) return koord::test::json_response(200, pods);
    return koord::test::json_response(200, list(""));
  }
};

double mebibytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void start(int many) {
  koord::test::Loop loop;
  const Server content(many);
  koord::test::FakeTransport server(loop.clock);
  server.answer = [&](const net::Request& request) { return content.answer(request); };
  kube::Client api(server, loop.clock, {.max_retries = 0});
  CapturedLog captured;
  const Logger log(captured, loop.clock);
  kube::InformerSet informers(loop.executor(), loop.clock);
  TaskGroup tasks(loop.executor());
  FakeWorkloads workloads;
  workloads.replicas = many;
  Controller controller(
      {.clock = loop.clock,
       .log = log,
       .client = api,
       .jobs = informers.informer<api::PodMigrationJob>(api),
       .reservations = informers.informer<api::Reservation>(api),
       .pods = informers.informer<api::Pod>(api),
       .workloads = workloads,
       .ask = [](PodPtr, EvictionPolicy, EvictOptions) -> Task<Result<>> { co_return Result<>(); },
       .may_write = [] { return true; },
       .tell = [](const api::PodMigrationJob&, const JobEvent&) {},
       .tell_pod = [](const api::Pod&, const JobEvent&) {}});
  controller.add_profile("main", arguments(), [](std::string_view) { return std::nullopt; });
  const double before = mebibytes(), began = cpu_millis();
  informers.start();
  controller.start(tasks);
  loop.settle();
  loop.advance(std::chrono::seconds(1));
  const double known = cpu_millis();
  controller.wake();
  loop.advance(std::chrono::seconds(1));
  const double again = cpu_millis();
  fmt::print("| {} | {} | {:.0f} | {:.1f} | {:.0f} |\n", many, controller.book().waiting().size(),
             known - began, again - known, mebibytes() - before);
  controller.stop();
  koord::test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(20)));
  koord::test::run_task(loop, informers.stop());
}

}  // namespace

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 1000, many = argc > 2 ? std::atoi(argv[2]) : 50'000;
  std::vector<double> rounds;
  std::size_t passed = 0;
  for (int i = 0; i < 9; ++i) {
    const auto [took, decided] = round(jobs);
    rounds.push_back(took);
    passed = decided;
  }
  std::ranges::sort(rounds);
  fmt::print("| jobs that wait | let pass | a round, ms |\n|---|---|---|\n| {} | {} | {:.1f} |\n\n", jobs,
             passed, rounds[rounds.size() / 2]);
  fmt::print(
      "| jobs at the start | wait | until all are known, ms | another round, ms | MiB "
      "|\n|---|---|---|---|---|\n");
  start(many);
  return passed > 0 ? 0 : 1;
}
