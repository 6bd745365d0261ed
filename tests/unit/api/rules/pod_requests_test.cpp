// Pod requests, limits and quality of service against a table that Kubernetes printed
// (tests/golden/pod_requests.tsv has the form of its columns), and Koordinator's classes.
#include "koord/api/rules/pod_requests.hpp"

#include <catch2/catch.hpp>
#include <chrono>

#include "support/tsv.hpp"

using namespace koord::api;
using koord::test::split;

namespace {

ResourceList list_of(const std::string& text) {
  ResourceList out;
  if (text.empty()) return out;
  for (const std::string& pair : split(text, ','))
    out[pair.substr(0, pair.find('='))] = Quantity::must(pair.substr(pair.find('=') + 1));
  return out;
}

std::string show(const ResourceList& list) {
  std::string out;
  for (const auto& [name, quantity] : list) {
    if (!out.empty()) out += ',';
    out += name.str() + "=" + quantity.to_string();
  }
  return out;
}

Pod pod_of(const std::vector<std::string>& row) {
  Pod pod;
  int n = 0;
  for (const std::string& text : split(row[0], ';')) {
    const auto part = split(text, ':');
    Container container;
    container.name = "c" + std::to_string(n++);
    container.resources.requests = list_of(part[1]);
    container.resources.limits = list_of(part[2]);
    if (part[0] == "sidecar") container.restart_policy = "Always";
    const bool init = part[0] != "main";
    if (part[3] != "-") {
      ContainerStatus status;
      status.name = container.name;
      auto& resources = status.resources.ensure();
      resources.requests = list_of(part[3]);
      resources.limits = list_of(part[4]);
      status.allocated_resources = list_of(part[5]);
      (init ? pod.status.init_container_statuses : pod.status.container_statuses)
          .push_back(std::move(status));
    }
    (init ? pod.spec.init_containers : pod.spec.containers).push_back(std::move(container));
  }
  pod.spec.overhead = list_of(row[1]);
  if (row[2] != "-") {
    const auto part = split(row[2], ':');
    auto& resources = pod.spec.resources.ensure();
    resources.requests = list_of(part[0]);
    resources.limits = list_of(part[1]);
  }
  if (row[3] != "-") {
    auto& condition = pod.status.conditions.emplace_back();
    condition.type = "PodResizePending";
    condition.reason = row[3];
  }
  return pod;
}

}  // namespace

TEST_CASE("pod requests agree with Kubernetes") {
  const auto rows = koord::test::read_tsv(koord::test::golden("pod_requests.tsv"));
  REQUIRE(rows.size() == 400);
  for (const auto& row : rows) {
    INFO(row[0] << " overhead " << row[1] << " pod " << row[2] << " resize " << row[3]);
    const Pod pod = pod_of(row);
    CHECK(show(pod_requests(pod)) == row[4]);
    CHECK(show(pod_limits(pod)) == row[5]);
    PodRequestsOptions plain;
    plain.use_status = false;
    CHECK(show(pod_requests(pod, plain)) == row[6]);
    const NonZeroRequests non_zero = non_zero_requests(pod);
    CHECK(std::to_string(non_zero.milli_cpu) == row[7]);
    CHECK(std::to_string(non_zero.memory) == row[8]);
    CHECK(to_string(kube_qos(pod)) == row[9]);
  }
}

TEST_CASE("options leave out overhead and pod-level resources") {
  Pod pod = pod_of({"main:cpu=1::-:-:-", "cpu=250m", "cpu=3:", "-"});
  CHECK(show(pod_requests(pod)) == "cpu=3250m");
  PodRequestsOptions options;
  options.exclude_overhead = true;
  CHECK(show(pod_requests(pod, options)) == "cpu=3");
  options.skip_pod_level = true;
  CHECK(show(pod_requests(pod, options)) == "cpu=1");
  pod.status.resources.ensure().requests = list_of("cpu=5");
  options = {};
  CHECK(show(pod_requests(pod, options)) == "cpu=3250m");
  options.use_pod_level_status = true;
  CHECK(show(pod_requests(pod, options)) == "cpu=5250m");
  pod.status.qos_class = "Guaranteed";
  CHECK(kube_qos(pod) == KubeQos::guaranteed);
}

TEST_CASE("names in the worst order cost no more than others") {
  // Each name of the second container comes before all of the first's: added one by one, each would move
  // them.
  constexpr int kNames = 10'000;
  const auto fill = [](ResourceList& list, char first) {
    for (int i = 0; i < kNames; ++i) {
      std::string digits = std::to_string(100'000 + i);
      list[first + digits] = Quantity::from_int(i);
    }
  };
  Pod pod;
  for (const char first : {'z', 'y', 'x'}) fill(pod.spec.containers.emplace_back().resources.requests, first);
  fill(pod.spec.init_containers.emplace_back().resources.requests, 'w');
  fill(pod.spec.overhead, 'v');
  const auto began = std::chrono::steady_clock::now();
  const ResourceList all = pod_requests(pod);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  CHECK(all.size() == 5 * kNames);
  CHECK(all.find("v100007")->value() == 7);
  CHECK(took.count() < 10);  // added one by one, each moves all
}
