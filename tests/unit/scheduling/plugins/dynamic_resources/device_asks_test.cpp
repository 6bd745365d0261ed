// What a pod's extended resources are as requests of a claim: kube-scheduler's own tables, and what they
// lack.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "scheduling/plugins/dynamic_resources/extended/device_asks.hpp"

namespace koord::scheduling::dynamic_resources {
namespace {

using Texts = std::vector<std::string>;
/// "NAME=AMOUNT" each.
using Asked = Texts;

struct Containers {
  std::vector<Asked> init;  // "+..." in front of the first: a sidecar
  std::vector<Asked> regular;
};

api::Pod make_pod(const Containers& containers) {
  api::Pod pod;
  const auto fill = [](api::Container& container, std::string name, const Asked& asked) {
    container.name = std::move(name);
    for (const std::string& each : asked) {
      const auto eq = each.find('=');
      container.resources.requests[each.substr(0, eq)] = api::Quantity::must(each.substr(eq + 1));
    }
  };
  for (std::size_t i = 0; i < containers.init.size(); ++i) {
    Asked asked = containers.init[i];
    api::Container& container = pod.spec.init_containers.emplace_back();
    const bool sidecar = !asked.empty() && asked[0] == "+";
    if (sidecar) {
      asked.erase(asked.begin());
      container.restart_policy = "Always";
    }
    fill(container, fmt::format("{}-con{}", sidecar ? "sidecar" : "init", i), asked);
  }
  for (std::size_t i = 0; i < containers.regular.size(); ++i)
    fill(pod.spec.containers.emplace_back(), fmt::format("con{}", i), containers.regular[i]);
  return pod;
}

std::vector<BackedResource> backed(const Texts& texts) {
  std::vector<BackedResource> all;
  for (const std::string& each : texts) {
    const auto eq = each.find('=');
    all.push_back({Symbol(each.substr(0, eq)), Symbol(each.substr(eq + 1))});
  }
  return all;
}

Texts requests_of(const DeviceAsks& asks) {
  Texts out;
  for (const api::DeviceRequest& each : asks.requests)
    out.push_back(fmt::format("{} {} {} {}", each.name.view(), each.exactly->device_class_name.view(),
                              each.exactly->allocation_mode.view(), each.exactly->count));
  return out;
}

/// By request and container, as kube-scheduler's test has it.
Texts mappings_of(DeviceAsks asks) {
  std::ranges::sort(asks.mappings, [](const RequestMapping& a, const RequestMapping& b) {
    return std::pair(a.request.view(), a.container.view()) < std::pair(b.request.view(), b.container.view());
  });
  Texts out;
  for (const RequestMapping& each : asks.mappings)
    out.push_back(fmt::format("{} {} {}", each.request.view(), each.container.view(), each.resource.view()));
  return out;
}

const Containers kTwoInOne{{}, {{"example.com/gpu=1", "example.com/gpu1=2"}}},
    kOneEach{{}, {{"example.com/gpu=1"}, {"example.com/gpu1=2"}}},
    kInit{{{"example.com/gpuinit=2"}}, {{"example.com/gpu=1"}}},
    kTwoInits{{{"example.com/gpuinit=1"}, {"example.com/gpuinit=2"}}, {{"example.com/gpu=1"}}},
    kSidecar{{{"example.com/gpuinit=1"}, {"+", "example.com/gpuinit=1"}, {"example.com/gpuinit=2"}},
             {{"example.com/gpu=1"}}};
const Texts kGpu{"example.com/gpu=class"}, kGpus{"example.com/gpu=class", "example.com/gpu1=class1"},
    kInitGpus{"example.com/gpu=class", "example.com/gpuinit=classInit"},
    kImplicit{"example.com/gpu=class", "example.com/gpuinit=classInit",
              "deviceclass.resource.kubernetes.io/classInit=classInit"};

struct Case {
  const char* name;
  Containers containers;
  Texts backed;
  Texts requests;
};

TEST_CASE("extended resources are requests of a claim, as kube-scheduler's table has them") {
  const std::vector<Case> cases = {
      {"nothing is backed", kTwoInOne, {}, {}},
      {"one of two", kTwoInOne, kGpu, {"container-0-request-0 class ExactCount 1"}},
      {"two",
       kTwoInOne,
       kGpus,
       {"container-0-request-0 class ExactCount 1", "container-0-request-1 class1 ExactCount 2"}},
      {"two containers",
       kOneEach,
       kGpus,
       {"container-0-request-0 class ExactCount 1", "container-1-request-0 class1 ExactCount 2"}},
      {"an init container",
       kInit,
       kInitGpus,
       {"container-0-request-0 classInit ExactCount 2", "container-1-request-0 class ExactCount 1"}},
      {"of two init containers the larger",
       kTwoInits,
       kInitGpus,
       {"container-1-request-0 classInit ExactCount 2", "container-2-request-0 class ExactCount 1"}},
      {"init containers about a sidecar",
       kSidecar,
       kInitGpus,
       {"container-1-request-0 classInit ExactCount 1", "container-2-request-0 classInit ExactCount 2",
        "container-3-request-0 class ExactCount 1"}},
      // Ours.
      {"an init container uses what the containers after it keep, and asks for the rest",
       {{{"a.com/x=3"}}, {{"a.com/x=1"}, {"a.com/x=1"}}},
       {"a.com/x=c"},
       {"container-0-request-0 c ExactCount 1", "container-1-request-0 c ExactCount 1",
        "container-2-request-0 c ExactCount 1"}},
      {"a sidecar that has started is nobody else's",
       {{{"+", "a.com/x=1"}, {"a.com/x=1"}}, {{"cpu=1"}}},
       {"a.com/x=c"},
       {"container-0-request-0 c ExactCount 1", "container-1-request-0 c ExactCount 1"}},
      {"all names of the container count for the number",
       {{}, {{"a.com/x=1", "a.com/w=1", "cpu=1"}}},
       {"a.com/x=c"},
       {"container-0-request-1 c ExactCount 1"}},
      {"nothing asked for", {{}, {{"a.com/x=0"}, {}}}, {"a.com/x=c"}, {}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(requests_of(device_asks(make_pod(c.containers), backed(c.backed))) == c.requests);
  }
}

TEST_CASE("requests are in the order of their names as texts") {
  Containers many;
  for (int i = 0; i < 11; ++i) many.regular.push_back({"a.com/x=1"});
  const Texts requests = requests_of(device_asks(make_pod(many), backed({"a.com/x=c"})));
  REQUIRE(requests.size() == 11);
  CHECK(requests[1] == "container-1-request-0 c ExactCount 1");
  CHECK(requests[2] == "container-10-request-0 c ExactCount 1");
  CHECK(requests[3] == "container-2-request-0 c ExactCount 1");
}

TEST_CASE("each container is told its requests, as kube-scheduler's table has them") {
  const Containers implicit_and_explicit{
      {{"example.com/gpuinit=1", "deviceclass.resource.kubernetes.io/classInit=2"}}, {{}}};
  const Containers implicit{{{"example.com/gpuinit=1"}, {"deviceclass.resource.kubernetes.io/classInit=2"}},
                            {{"example.com/gpu=1"}}};
  const std::vector<Case> cases = {
      {"one container, two requests",
       kTwoInOne,
       kGpus,
       {"container-0-request-0 con0 example.com/gpu", "container-0-request-1 con0 example.com/gpu1"}},
      {"one container, both ways",
       implicit_and_explicit,
       kImplicit,
       {"container-0-request-0 init-con0 deviceclass.resource.kubernetes.io/classInit",
        "container-0-request-1 init-con0 example.com/gpuinit"}},
      {"two containers",
       kOneEach,
       kGpus,
       {"container-0-request-0 con0 example.com/gpu", "container-1-request-0 con1 example.com/gpu1"}},
      {"an init container",
       kInit,
       kInitGpus,
       {"container-0-request-0 init-con0 example.com/gpuinit", "container-1-request-0 con0 example.com/gpu"}},
      {"two init containers share the larger request",
       kTwoInits,
       kInitGpus,
       {"container-1-request-0 init-con0 example.com/gpuinit",
        "container-1-request-0 init-con1 example.com/gpuinit", "container-2-request-0 con0 example.com/gpu"}},
      {"two init containers, both ways",
       implicit,
       kImplicit,
       {"container-0-request-0 init-con0 example.com/gpuinit",
        "container-1-request-0 init-con1 deviceclass.resource.kubernetes.io/classInit",
        "container-2-request-0 con0 example.com/gpu"}},
      {"a sidecar",
       kSidecar,
       kInitGpus,
       {"container-1-request-0 init-con0 example.com/gpuinit",
        "container-1-request-0 sidecar-con1 example.com/gpuinit",
        "container-2-request-0 init-con2 example.com/gpuinit", "container-3-request-0 con0 example.com/gpu"}},
      // Ours.
      {"an init container with several",
       {{{"a.com/x=3"}}, {{"a.com/x=1"}, {"a.com/x=1"}}},
       {"a.com/x=c"},
       {"container-0-request-0 init-con0 a.com/x", "container-1-request-0 con0 a.com/x",
        "container-1-request-0 init-con0 a.com/x", "container-2-request-0 con1 a.com/x",
        "container-2-request-0 init-con0 a.com/x"}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(mappings_of(device_asks(make_pod(c.containers), backed(c.backed))) == c.requests);
  }
}

}  // namespace
}  // namespace koord::scheduling::dynamic_resources
