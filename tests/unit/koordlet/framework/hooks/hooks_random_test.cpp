// Hooks, CPU burst, memory QoS and CPU suppression together, while pods come, start again, are resized and
// go, the NodeSLO changes, the kernel fails and agents are killed: in the end all is as if nothing of it had
// happened, and --cleanup puts everything back.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <random>

#include "rigs/hooks_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;

class Node : public testing::HooksRig {
 public:
  Node(CgroupVersion version, std::string journal, unsigned seed)
      : HooksRig(version, std::move(journal)), random_(seed) {
    for (const char* gate : {"CPUNormalization=true", "CgroupReconcile=true", "GroupIdentity=true"})
      if (!gates.set(gate).has_value()) throw std::runtime_error("no such gate");
    kernel.burst_within_quota = chance(2);
    kernel.has_bvt = chance(2);
    only({"CPUSuppress", "CPUBurst", "CgroupReconcile", "BatchResource", "CPUSetAllocator",
          "CPUNormalization", "GroupIdentity"});
    for (const char* folder : {"kubepods", "kubepods/burstable", "kubepods/besteffort"}) make(folder);
    inventory.node.allocatable_memory = std::int64_t{1} << 34;
    shape = [this](TickView& view) {
      view.containers = container_usage;
      series.append(*series.open(Metric::node_cpu, ""), view.at, node_cpu_);
    };
    slo();
  }

  void step() {
    switch (below(10)) {
      case 0: return slo();
      case 1: return ratio();
      case 2:
      case 3: return add();
      case 4: return remove();
      case 5: return restart_container();
      case 6: return resize();
      case 7: return fail();
      case 8: return die();
      default: return use();
    }
  }
  /// One tick of an agent that may be killed in it.
  void live() {
    try {
      tick(node_cpu_);
    } catch (const testing::Killed&) {
      kernel.die_after.reset();
      start();
      if (chance(2)) know_little();
    }
  }
  void calm() {
    kernel.fault = nullptr;
    kernel.die_after.reset();
    while (inventory.slo == nullptr) slo();
    node_cpu_ = 2;
    inventory.node.reserved_milli_cpu = 0;  // what is reserved is not given back to best-effort work
    ++inventory.generation;
    for (Usage& usage : container_usage) usage.throttled = 0;
  }
  /// What is not as it was made.
  std::string differences() {
    std::string all;
    for (const auto& [name, group] : kernel.groups())
      if (text(group) != made_.at(name))
        all += fmt::format("{}: {} instead of {}\n", name, text(group), made_.at(name));
    return all;
  }
  /// What everything holds but for the quota of best-effort work, which follows its use in steps.
  std::string held() {
    std::string all;
    for (const auto& [name, group] : kernel.groups())
      all += fmt::format("{}: {}\n", name, name == testing::kBeRoot ? group.cpus.to_string() : text(group));
    return all;
  }
  /// As if nobody had been there yet.
  void begin_anew(std::string journal) {
    for (const auto& [name, group] : std::map(kernel.groups())) make(name, std::stoll(made_.at(name)));
    journal_path = std::move(journal);
    start();
  }
  void busy() { node_cpu_ = 15; }
  std::string problems() const {
    std::string all;
    for (const auto& failure : manager->failures())
      all += fmt::format("{}/{}: {}\n", failure.group, host::row(failure.knob).name, failure.error.message());
    return all;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int in) { return below(in) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + below(static_cast<int>(list.size())));
  }

  static std::string text(const testing::SimKernel::Group& group) {
    std::string text = fmt::format("{} {} {} {} {} {} {}", group.quota, group.shares, group.burst,
                                   group.memory, group.cpus.to_string(), group.bvt, group.idle);
    for (const auto& [name, value] : group.files) text += fmt::format(" {}={}", name, value);
    return text;
  }
  /// As the kubelet and the runtime make it.
  void make(const std::string& name, std::int64_t quota = -1) {
    kernel.remove(name);
    auto& group = kernel.group(name);
    const bool v2 = kernel.version() == CgroupVersion::v2;
    const auto slash = name.rfind('/');  // a new group of v1 has what the runtime finds above it
    group.cpus = slash == std::string::npos ? topology->online : kernel.group(name.substr(0, slash)).cpus;
    group.quota = quota;
    group.shares = 2;
    if (v2) group.memory = "max";
    group.files = {
        {"memory.min", "0"}, {"memory.low", "0"}, {"memory.high", v2 ? "max" : "9223372036854771712"}};
    auto free = group;
    free.cpus = topology->online;
    made_[name] = text(free);
  }
  void note(const std::string& name, std::int64_t quota) {
    // What the kubelet sets is what was there before, whatever the agent makes of it.
    std::string& made = made_.at(name);
    made = fmt::format("{}{}", quota, made.substr(made.find(' ')));
  }

  void slo() {
    auto spec = std::make_shared<api::NodeSloSpec>();
    spec->cpu_burst_strategy.emplace().policy = one_of({"none", "auto", "cpuBurstOnly", "cfsQuotaBurstOnly"});
    auto& threshold = spec->resource_used_threshold_with_be.emplace();
    threshold.enable = chance(2);
    threshold.cpu_suppress_policy = one_of({"cpuset", "cfsQuota"});
    threshold.cpu_suppress_threshold_percent = 65;
    auto& qos = spec->resource_qos_strategy.emplace();
    for (auto* of : {&qos.lsr_class, &qos.ls_class, &qos.be_class}) {
      auto& cpu = of->emplace().cpu_qos.emplace();
      cpu.enable = chance(2);
      cpu.qos.group_identity = of == &qos.be_class ? -1 : 2;
      auto& memory = (*of)->memory_qos.emplace();
      memory.enable = chance(2);
      memory.qos.min_limit_percent = one_of({0, 50, 100});
      memory.qos.low_limit_percent = one_of({0, 80});
      memory.qos.throttling_percent = one_of({0, 80});
    }
    inventory.slo = chance(8) ? nullptr : spec;
    ++inventory.generation;
  }
  void ratio() {
    inventory.node.cpu_normalization = one_of({1.0, 1.1, 1.3, 2.0});
    inventory.node.reserved_milli_cpu = one_of({0, 1000, 3000});
    ++inventory.generation;
  }

  void publish() {
    inventory.all_pods.assign(pods_.begin(), pods_.end());
    inventory.pods = inventory.all_pods;
    inventory.own_cpus = {};
    container_usage.clear();
    for (const auto& pod : pods_) {
      container_usage.resize(container_usage.size() + pod->containers.size(), {.cpu = 0.5, .throttled = 0});
      if (pod->cpus && pod->qos == Qos::lsr) inventory.own_cpus.lsr = inventory.own_cpus.lsr | *pod->cpus;
    }
    pod_usage.assign(pods_.size(), {.cpu = 0.5});
    ++inventory.generation;
  }
  void set_limit(PodInfo& pod, ContainerInfo& container, std::optional<std::int64_t> limit) {
    container.cpu_limit_milli = limit;
    std::int64_t sum = 0;
    bool whole = true;
    for (const ContainerInfo& one : pod.containers) {
      whole = whole && one.cpu_limit_milli;
      sum += one.cpu_limit_milli.value_or(0);
    }
    pod.cpu_limit_milli = whole ? std::optional(sum) : std::nullopt;
  }
  void add() {
    if (pods_.size() > 8) return;
    auto pod = std::make_shared<PodInfo>();
    const int number = ++last_;
    pod->uid = pod->name = fmt::format("p{:04}", number);
    pod->ns = "ns";
    pod->phase = PodPhase::running;
    pod->qos = one_of({Qos::be, Qos::ls, Qos::none, Qos::lsr});
    pod->kube_qos = pod->qos == Qos::be ? host::KubeQos::besteffort : host::KubeQos::burstable;
    pod->group = fmt::format("kubepods/{}/{}", pod->qos == Qos::be ? "besteffort" : "burstable", pod->name);
    if (pod->qos == Qos::lsr) pod->cpus = host::CpuSet::range(number % 6 * 2, number % 6 * 2 + 1);
    HookTerms terms;
    for (int i = below(3); i >= 0; --i) {
      pod->containers.emplace_back();
      ContainerInfo& container = pod->containers.back();
      container.name = fmt::format("c{}", i);
      container.memory_request = std::int64_t{1000} * below(1'000'000);
      container.memory_limit = container.memory_request * 2;
      pod->requests.memory += container.memory_request;
      pod->requests.batch_memory += container.memory_request;
      if (pod->qos == Qos::be)
        terms.lent_to[container.name] = {.cpu_request = 500, .cpu_limit = 1000, .memory_limit = 1 << 28};
      else
        set_limit(*pod, container, one_of<std::optional<std::int64_t>>({5, 500, 1000, 3000, std::nullopt}));
    }
    if (pod->qos == Qos::be) {
      const auto count = static_cast<std::int64_t>(pod->containers.size());
      terms.lent = LentResources{count * 500, count * 1000, count << 28};
    } else {
      set_limit(*pod, pod->containers[0], pod->containers[0].cpu_limit_milli);
    }
    pod->terms.put(std::make_shared<const HookTerms>(std::move(terms)));
    make(pod->group, host::milli_cpu_to_quota(pod->cpu_limit_milli.value_or(0)));
    for (ContainerInfo& container : pod->containers) run(*pod, container);
    pods_.push_back(std::move(pod));
    publish();
  }
  void run(const PodInfo& pod, ContainerInfo& container) {
    container.id = fmt::format("{}-{}", container.name, ++last_);
    container.full_id = "containerd://" + container.id;
    container.group = fmt::format("{}/{}", pod.group, container.id);
    make(container.group, host::milli_cpu_to_quota(container.cpu_limit_milli.value_or(0)));
    // A runtime can start nothing with a quota that its pod has no room for.
    const std::int64_t above = kernel.group(pod.group).quota, own = kernel.group(container.group).quota;
    if (kernel.version() == CgroupVersion::v1 && above > 0) CHECK(own <= above);
  }
  void remove() {
    if (pods_.empty()) return;
    const auto at = pods_.begin() + below(static_cast<int>(pods_.size()));
    for (const ContainerInfo& container : (*at)->containers) kernel.remove(container.group);
    kernel.remove((*at)->group);
    if (chance(2)) live();  // before anybody tells
    pods_.erase(at);
    publish();
  }
  /// Pods are others' to read: a change is another pod.
  PodInfo* any() {
    if (pods_.empty()) return nullptr;
    auto& at = pods_[static_cast<std::size_t>(below(static_cast<int>(pods_.size())))];
    auto changed = std::make_shared<PodInfo>(*at);
    PodInfo* const pod = changed.get();
    at = std::move(changed);
    return pod;
  }
  void restart_container() {
    PodInfo* const pod = any();
    if (pod == nullptr) return;
    kernel.remove(pod->containers[0].group);
    if (chance(2)) live();
    run(*pod, pod->containers[0]);
    publish();
  }
  void resize() {
    PodInfo* const pod = any();
    if (pod == nullptr || pod->qos == Qos::be || pod->qos == Qos::lsr) return;
    ContainerInfo& container = pod->containers[0];
    if (!container.cpu_limit_milli) return;
    const auto before = container.cpu_limit_milli;
    set_limit(*pod, container, one_of({500, 1000, 2000, 4000}));
    const std::int64_t whole = host::milli_cpu_to_quota(pod->cpu_limit_milli.value_or(0));
    const std::int64_t own = host::milli_cpu_to_quota(*container.cpu_limit_milli);
    // The kubelet writes both, unless the kernel refuses.
    auto& of_pod = kernel.group(pod->group);
    auto& of_container = kernel.group(container.group);
    bool fits = !kernel.burst_within_quota || (of_container.burst <= own && of_pod.burst <= whole);
    for (const ContainerInfo& other : pod->containers)
      fits = fits && (whole < 0 || &other == &container || kernel.quota(other.group) <= whole);
    if (!fits) return set_limit(*pod, container, before);
    note(pod->group, of_pod.quota = whole);
    note(container.group, of_container.quota = own);
    publish();
  }
  /// The next agent has neither heard of the NodeSLO nor of the pods.
  void know_little() {
    const Inventory known = std::exchange(inventory, Inventory(inventory));
    const auto usage = std::exchange(pod_usage, {});
    const auto containers = std::exchange(container_usage, {});
    inventory.pods.clear();
    inventory.all_pods.clear();
    inventory.pods_known = inventory.slo_known = false;
    inventory.slo = nullptr;
    ++inventory.generation;
    for (int i = below(3); i >= 0; --i) tick(node_cpu_);
    if (chance(2)) {
      inventory.slo_known = true;
      inventory.slo = known.slo;
      ++inventory.generation;
      tick(node_cpu_);
    }
    inventory = known;
    inventory.generation += 3;
    pod_usage = usage;
    container_usage = containers;
  }
  void fail() {
    const int failure = one_of({EIO, EBUSY, EINVAL, EACCES});
    kernel.fault = [this, failure, left = 1 + below(6)](std::string_view, std::string_view) mutable {
      return left > 0 && chance(3) ? (--left, failure) : 0;
    };
  }
  void die() { kernel.die_after = kernel.written.size() + static_cast<std::size_t>(below(6)); }
  void use() {
    node_cpu_ = one_of({1.0, 5.0, 9.0, 15.0});
    for (Usage& usage : container_usage) usage.throttled = chance(2) ? 0.5 : 0;
  }

  std::mt19937 random_;
  double node_cpu_ = 2;
  int last_ = 0;
  std::vector<std::shared_ptr<const PodInfo>> pods_;
  std::map<std::string, std::string> made_;
};

TEST_CASE(
    "Whatever happened to pods, kernel and agents, what is in force is what is wanted, and everything is put "
    "back",
    "[koordlet][hooks][property]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  for (const unsigned seed : {2U, 28U, 57U}) {  // of 60 that passed, those that told something once
    CAPTURE(seed);
    koord::testing::Tree tree;
    Node node(version, tree / "journal", seed);
    for (int i = 0; i < 120; ++i) {
      node.step();
      node.live();
    }
    node.calm();
    for (int i = 0; i < 70; ++i) node.live();  // what was refused has been tried again
    CHECK_THAT(node.problems(), Catch::Matchers::Equals(""));
    node.busy();  // no quota stays grown
    for (int i = 0; i < 70; ++i) node.live();
    const std::string held = node.held();
    REQUIRE(node.manager->cleanup(node.inventory).has_value());
    CHECK_THAT(node.differences(), Catch::Matchers::Equals(""));
    node.begin_anew(tree / "other");
    for (int i = 0; i < 70; ++i) node.live();
    CHECK(node.held() == held);
  }
}

}  // namespace
}  // namespace koord::koordlet
