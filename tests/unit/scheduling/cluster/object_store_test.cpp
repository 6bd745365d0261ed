// What plugins watch besides nodes and pods: the stores, and the events that come of them.
#include "koord/scheduling/cluster/object_store.hpp"

#include <catch2/catch.hpp>

#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"
#include "koord/api/types/apiextensions_v1/custom_resource_definition.hpp"
#include "koord/api/types/apps_v1/deployment.hpp"
#include "koord/api/types/config_v1alpha1/cluster_colocation_profile.hpp"
#include "koord/api/types/coordination_v1/lease.hpp"
#include "koord/api/types/core_v1/binding.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/secret.hpp"
#include "koord/api/types/core_v1/service.hpp"
#include "koord/api/types/events_v1/event.hpp"
#include "koord/api/types/policy_v1/eviction.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

std::shared_ptr<const api::Service> make_service(const char* ns, const char* name, const char* app = "a") {
  auto service = std::make_shared<api::Service>();
  service->metadata.namespace_ = ns;
  service->metadata.name = name;
  service->spec.selector["app"] = app;
  return service;
}

/// No pod without a service in its namespace.
class NeedsService final : public Plugin, public FilterPlugin, public EventPlugin {
 public:
  explicit NeedsService(const PluginContext& context) : services_(context.objects.watch<api::Service>()) {
    events_ = services_.events(ObjectAction::add, ObjectAction::update);
  }
  /// What exists is no part of the signature: each pod is computed on its own.
  bool sign(const PodInfo&, Signature&) const override { return false; }
  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo& pod) override {
    Prepared prepared;
    prepared.rejected = "no service";
    services_.of_namespace(pod.pod->metadata.namespace_,
                           [&](const api::Service&) { prepared.rejected.clear(); });
    return prepared;
  }
  void filter(PodState*, const NodeTable&, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    std::fill_n(out.begin(), rows.size(), kPass);
  }
  EventMask events() const override { return events_; }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    const auto& now = *static_cast<const api::Service*>(event.new_object);
    return event.old_object == nullptr && now.metadata.namespace_ == pod.pod->metadata.namespace_;
  }

 private:
  ObjectStore<api::Service>& services_;
  EventMask events_;
};

constexpr PluginEntry kNeedsService{.name = "NeedsService", .make = &make<NeedsService>};

/// No pod without the service of its name, which is no part of the signature: the pods are of one class. From
/// its filter to its Reserve it keeps a state.
class NeedsOwnService final : public Plugin,
                              public PerPodFilterPlugin,
                              public ReservePlugin,
                              public EventPlugin {
 public:
  static inline int asked = 0, reserved = 0;
  explicit NeedsOwnService(const PluginContext& context)
      : services_(context.objects.watch<api::Service>()), index_(context.index) {
    events_ = services_.events(ObjectAction::add);
    asked = reserved = 0;
  }
  bool sign(const PodInfo&, Signature&) const override { return true; }
  struct State final : PodState {
    std::string service;
  };
  std::unique_ptr<PodState> pre_filter_pod(const PodInfo& pod, PreFiltered& said) override {
    const std::string& name = pod.pod->metadata.name;
    if (!services_.find("default", name)) {
      said.rejected = "no service";
      return nullptr;
    }
    auto state = std::make_unique<State>();
    state->service = name;
    return state;
  }
  void filter_pod(PodState&, const NodeTable&, std::span<const Row> rows,
                  std::span<VerdictId> out) const override {
    std::fill_n(out.begin(), rows.size(), kPass);
  }
  Status reserve(PodAttempt& attempt) override {
    const auto* kept = static_cast<const State*>(attempt.kept(index_));
    reserved += kept != nullptr && kept->service == attempt.pod.pod->metadata.name;
    return {};
  }
  void unreserve(PodAttempt&) override {}
  EventMask events() const override { return events_; }
  EventMask events_of_pods() const override { return events_; }
  bool concerns(const PodInfo& pod, const ClusterEvent& event) const override {
    return static_cast<const api::Service*>(event.new_object)->metadata.name == pod.pod->metadata.name;
  }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override {
    ++asked;
    return true;
  }

 private:
  ObjectStore<api::Service>& services_;
  PluginIndex index_;
  EventMask events_;
};

constexpr PluginEntry kNeedsOwnService{.name = "NeedsOwnService", .make = &make<NeedsOwnService>};

/// Asks for every event of kinds that no other plugin watches, the last kind's last event among them.
template <class... Kinds>
class WatchesMuch final : public Plugin, public PreEnqueuePlugin, public EventPlugin {
 public:
  explicit WatchesMuch(const PluginContext& context) {
    using enum ObjectAction;
    ((events_ |= context.objects.watch<Kinds>().events(add, update, remove)), ...);
    events_ |= events_of(EventKind::node_add);
  }
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool may_enqueue(const PodInfo&) const override { return open; }
  std::string why_kept_out(const PodInfo&) const override { return {}; }
  EventMask events() const override { return events_; }
  bool worth_retrying(const PodInfo&, const ClusterEvent& event) const override {
    heard.emplace_back(label(event));
    return true;
  }
  static inline bool open = false;
  static inline std::vector<std::string> heard;

 private:
  EventMask events_;
};

using WatchesEighteenKinds =
    WatchesMuch<api::MutatingWebhookConfiguration, api::ValidatingWebhookConfiguration,
                api::CustomResourceDefinition, api::Deployment, api::ClusterColocationProfile, api::Lease,
                api::Binding, api::ConfigMap, api::Secret, api::Event, api::Eviction, api::Device,
                api::Reservation, api::ElasticQuota, api::NodeSlo, api::NodeResourceTopology,
                api::PodDisruptionBudget, api::PriorityClass>;

constexpr PluginEntry kWatchesEighteenKinds{.name = "WatchesMuch", .make = &make<WatchesEighteenKinds>};

TEST_CASE("a store holds the newest of each object, in the order of their names") {
  ObjectStores stores;
  auto& services = stores.watch<api::Service>();
  CHECK(&stores.watch<api::Service>() == &services);
  CHECK(stores.stores().size() == 1);
  CHECK(stores.find(kube::kObjectType<api::Namespace>) == nullptr);

  std::string told;
  services.on_change([&](const api::Service* before, const api::Service* now) {
    told += fmt::format("{}->{} ", before ? before->spec.selector.find("app")->view() : "",
                        now ? now->spec.selector.find("app")->view() : "");
  });
  const auto put = [&](std::shared_ptr<const api::Service> s, bool gone = false) {
    return services.put({s->metadata.namespace_.view(), s->metadata.name}, gone ? nullptr : s);
  };
  CHECK(put(make_service("x", "b")) == nullptr);
  CHECK(put(make_service("x", "a")) == nullptr);
  CHECK(put(make_service("w", "c")) == nullptr);
  CHECK(put(make_service("x", "b", "new")) != nullptr);
  CHECK(put(make_service("x", "nobody"), true) == nullptr);
  CHECK(put(make_service("none", "nobody"), true) == nullptr);
  CHECK(services.size() == 3);
  CHECK(services.generation() == 4);
  CHECK(told == "->a ->a ->a a->new ");

  std::string seen;
  const auto see = [&](const api::Service& s) {
    seen += fmt::format("{}/{} ", s.metadata.namespace_.view(), s.metadata.name);
  };
  services.all(see);
  CHECK(seen == "w/c x/a x/b ");
  seen.clear();
  services.of_namespace("x", see);
  services.of_namespace("none", see);
  CHECK(seen == "x/a x/b ");
  CHECK(services.find("x", "b")->spec.selector.find("app")->view() == "new");

  CHECK(put(make_service("w", "c"), true) != nullptr);
  CHECK(services.find("w", "c") == nullptr);
  CHECK(services.size() == 2);
}

TEST_CASE("events of objects are numbered as they are asked for, and labelled as kube-scheduler's") {
  ObjectStores stores;
  auto& services = stores.watch<api::Service>();
  auto& devices = stores.watch<api::Device>();
  const EventMask both = services.events(ObjectAction::add, ObjectAction::remove);
  devices.events(ObjectAction::add);
  CHECK(both == events_of(*services.asked(ObjectAction::add), *services.asked(ObjectAction::remove)));
  CHECK_FALSE(both.has(*devices.asked(ObjectAction::add)));
  CHECK_FALSE(services.asked(ObjectAction::update));
  CHECK(services.label(ObjectAction::add) == "ServiceAdd");
  CHECK(devices.label(ObjectAction::remove) == "devices.v1alpha1.scheduling.koordinator.shDelete");
  CHECK(object_labels(api::Kind("storage.k8s.io/v1", "CSINode", "csinodes"))[1] ==
        "storage.k8s.io/CSINodeUpdate");
}

TEST_CASE("the numbers of events end where EventKind does") {
  ObjectEvents events;
  EventMask all;
  for (unsigned n = kFirstObjectEvent; n < kEventKinds; ++n) {
    const EventKind kind = events.next("a");
    CHECK_FALSE(all.has(kind));
    all |= events_of(kind);
  }
  CHECK(all.has(EventKind{kEventKinds - 1}));
  CHECK_FALSE(all.has(EventKind::node_add));
  CHECK_THROWS_WITH(events.next("ServiceAdd"), Catch::Contains("none is left for ServiceAdd"));
}

TEST_CASE("a plugin may ask for three events of eighteen kinds beside what the default plugins ask for") {
  WatchesEighteenKinds::open = false;
  WatchesEighteenKinds::heard.clear();
  std::vector<const PluginEntry*> table(plugin_table().begin(), plugin_table().end());
  table.push_back(&kWatchesEighteenKinds);
  KubeSchedulerConfiguration config;
  config.profiles.emplace_back().plugins.emplace().multi_point.enabled = {{"WatchesMuch", {}}};
  World world(std::move(config), {}, table);
  const auto last =
      world.engine.objects().find(kube::kObjectType<api::PriorityClass>)->asked(ObjectAction::remove);
  REQUIRE(last);
  CHECK(static_cast<unsigned>(*last) >= 64);
  world.engine.put_pod(make_pod("p"));
  const auto priority = std::make_shared<api::PriorityClass>();
  world.engine.put_object<api::PriorityClass>(priority);
  world.engine.put_object<api::Service>(make_service("default", "s"));  // only others ask for it
  world.engine.put_node(make_node("n"));
  CHECK(world.run().empty());
  WatchesEighteenKinds::open = true;
  world.engine.remove_object<api::PriorityClass>(priority);
  CHECK(WatchesEighteenKinds::heard == std::vector<std::string>{"scheduling.k8s.io/PriorityClassAdd",
                                                                "NodeAdd",
                                                                "scheduling.k8s.io/PriorityClassDelete"});
  CHECK(world.one().kind() == Decision::Kind::bind);
}

TEST_CASE("a plugin's pods wait for the objects that it names") {
  std::vector<const PluginEntry*> table(plugin_table().begin(), plugin_table().end());
  table.push_back(&kNeedsService);
  KubeSchedulerConfiguration config;
  Plugins& plugins = config.profiles.emplace_back().plugins.emplace();
  plugins.multi_point.disabled = {{"PodTopologySpread", {}}, {"InterPodAffinity", {}}};  // they name objects
  plugins.filter.enabled = {{"NeedsService", {}}};
  World world(std::move(config), {}, table);
  CHECK(world.engine.objects().find(kube::kObjectType<api::Service>) != nullptr);
  CHECK(world.engine.objects().find(kube::kObjectType<api::Device>) == nullptr);
  world.engine.put_node(make_node("n"));
  world.engine.put_pod(make_pod("p"));
  const Decision d = world.one();
  CHECK(d.message() == "0/1 nodes are available: no service.");
  world.clock.advance(std::chrono::seconds(5));

  auto device = std::make_shared<api::Device>();
  device->metadata.name = "n";
  world.engine.put_object<api::Device>(device);  // nobody watches it
  world.engine.put_object(make_service("elsewhere", "s"));
  CHECK(world.run().empty());
  world.engine.put_object(make_service("default", "s"));
  CHECK(world.one().kind() == Decision::Kind::bind);
  CHECK(world.engine.incoming().contains({"active", "ServiceAdd"}));

  world.engine.remove_object(make_service("default", "s"));
  world.engine.put_pod(make_pod("q"));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
}

TEST_CASE("of pods of one class those wake up that an event is about") {
  std::vector<const PluginEntry*> table(plugin_table().begin(), plugin_table().end());
  table.push_back(&kNeedsOwnService);
  KubeSchedulerConfiguration config;
  config.profiles.emplace_back().plugins.emplace().multi_point.enabled = {{"NeedsOwnService", {}}};
  World world(std::move(config), {}, table);
  world.engine.put_node(make_node("n"));
  for (const char* name : {"a", "b", "c"}) world.engine.put_pod(make_pod(name));
  CHECK(world.run().size() == 3);
  CHECK(world.engine.queue_sizes().unschedulable == 3);
  world.clock.advance(std::chrono::seconds(5));
  world.engine.put_object(make_service("default", "b"));
  CHECK(NeedsOwnService::asked == 1);
  CHECK(world.engine.queue_sizes().unschedulable == 2);
  const Decision d = world.one();
  CHECK(d.kind() == Decision::Kind::bind);
  CHECK(d.pod->metadata.name == "b");
  CHECK(NeedsOwnService::reserved == 1);
  world.engine.put_object(make_service("default", "d"));
  CHECK(world.run().empty());
  CHECK(NeedsOwnService::asked == 1);
}

}  // namespace
}  // namespace koord::scheduling::test
