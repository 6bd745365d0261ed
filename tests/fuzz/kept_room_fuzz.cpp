// What nodes, their agents, pods and reservations say to NodeNUMAResource and Reservation, through the
// readers and ledgers that production has. Each line is a letter and an object as JSON: n (Node), t
// (NodeResourceTopology), p (Pod), r (Reservation), in capitals: it is gone; s: pods and reservations are
// placed. Nobody stops the scheduler, a pod that asks for little is looked at, and when all are gone nothing
// is left of what they had.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/plugin/complaints.hpp"
#include "plugins/reservation_rig.hpp"

namespace {

using namespace koord;
using namespace koord::scheduling;
using namespace koord::scheduling::test;

void check(bool holds) {
  if (!holds) std::abort();
}

KubeSchedulerConfiguration configured() {
  KubeSchedulerConfiguration c = ReservationWorld::config(true);
  Plugins& plugins = *c.profiles[0].plugins;
  for (PluginSet* set : {&plugins.pre_filter, &plugins.filter, &plugins.score, &plugins.reserve})
    set->enabled.push_back({"NodeNUMAResource", {}});
  plugins.pre_bind.enabled.insert(plugins.pre_bind.enabled.begin(), {"NodeNUMAResource", {}});
  return c;
}

class Cluster {
 public:
  Cluster() : world_(configured()) {
    world_.engine.context().shared.get<Complaints>().tell(
        [this](std::string_view kind, const api::ObjectMeta&, std::string_view what) {
          check(!kind.empty() && !what.empty() && what.size() <= Complaints::kMostText);
          ++complaints_;
        });
    put(make_node("other", "8", "16Gi"));
  }

  void line(std::string_view text) {
    if (text.empty() || steps_ == kMostSteps) return;
    ++steps_;
    const std::string_view json = text.substr(1);
    switch (text[0]) {
      case 'n':
        if (auto o = read<api::Node>(json)) put(std::move(o));
        break;
      case 't':
        if (auto o = read<api::NodeResourceTopology>(json)) put(std::move(o));
        break;
      case 'p':
        if (auto o = read<api::Pod>(json)) put(std::move(o));
        break;
      case 'r':
        if (auto o = read<api::Reservation>(json)) put(std::move(o));
        break;
      case 'N': forget(nodes_, std::string(json)); break;
      case 'T': forget(topologies_, std::string(json)); break;
      case 'P': forget(pods_, std::string(json)); break;
      case 'R': forget(reservations_, std::string(json)); break;
      case 's': place(); break;
      default: break;
    }
  }

  void end() {
    place();
    // Somebody else is looked at.
    auto probe = make_pod("probe", "1m", "1Mi", [](api::Pod& p) { p.spec.priority = 2'000'000'001; });
    world_.engine.put_pod(probe);
    // Reservations that say no priority come before everything.
    const std::vector<Decision> decided = world_.run(256);
    check(std::ranges::any_of(decided,
                              [&](const Decision& d) { return d.pod->metadata.uid == probe->metadata.uid; }));
    world_.engine.remove_pod(*probe);
    check(complaints_ <= puts_ * 2);
    while (!pods_.empty()) forget(pods_, pods_.begin()->first);
    while (!reservations_.empty()) forget(reservations_, reservations_.begin()->first);
    place();
    for (Row row = 0; row < world_.engine.nodes().rows(); ++row)
      for (const ResourceId resource : {kCpu, kMemory, kStorage, kPods, kNonzeroCpu, kNonzeroMemory})
        check(world_.engine.nodes().used(resource, row) == 0);
    check(world_.engine.pods() == 0);
  }

 private:
  static constexpr int kMostSteps = 40;
  template <class T>
  using Known = std::map<std::string, std::shared_ptr<const T>>;

  template <class T>
  static std::shared_ptr<const T> read(std::string_view json) {
    auto read = api::decode<T>(json);
    if (!read) return nullptr;
    auto made = std::make_shared<T>(*std::move(read));
    // The API server sees to these.
    api::ObjectMeta& meta = made->metadata;
    if (meta.name.empty() || meta.name.size() > 63 || meta.name.find(':') != std::string::npos)
      meta.name = "x";
    if constexpr (std::is_same_v<T, api::Pod>) {
      meta.namespace_ = "default";
      if (made->spec.scheduler_name.empty()) made->spec.scheduler_name = "default-scheduler";
    } else {
      meta.namespace_ = {};
    }
    meta.uid = std::string(std::is_same_v<T, api::Pod> ? "pod-" : "") + meta.name;
    meta.resource_version = "1";
    return made;
  }

  void put(std::shared_ptr<const api::Node> o) {
    ++puts_;
    nodes_[o->metadata.name] = o;
    world_.engine.put_node(std::move(o));
  }
  void put(std::shared_ptr<const api::Pod> o) {
    ++puts_;
    const auto there = pods_.find(o->metadata.name);
    // Nobody moves a pod that is bound.
    if (there != pods_.end() && !there->second->spec.node_name.empty() &&
        there->second->spec.node_name != o->spec.node_name) {
      auto stays = std::make_shared<api::Pod>(*o);
      stays->spec.node_name = there->second->spec.node_name;
      o = std::move(stays);
    }
    pods_[o->metadata.name] = o;
    world_.engine.put_pod(std::move(o));
  }
  template <class T>
  void put(std::shared_ptr<const T> o) {
    ++puts_;
    known(o.get())[o->metadata.name] = o;
    world_.engine.put_object<T>(std::move(o));
  }
  Known<api::NodeResourceTopology>& known(const api::NodeResourceTopology*) { return topologies_; }
  Known<api::Reservation>& known(const api::Reservation*) { return reservations_; }

  template <class T>
  void forget(Known<T>& known, const std::string& name) {
    const auto it = known.find(name);
    if (it == known.end()) return;
    const std::shared_ptr<const T> last = it->second;
    known.erase(it);
    if constexpr (std::is_same_v<T, api::Node>) {
      world_.engine.remove_node(name);
    } else if constexpr (std::is_same_v<T, api::Pod>) {
      world_.engine.remove_pod(*last);
    } else {
      world_.engine.remove_object<T>(last);
    }
  }

  /// As the API server has it when the decisions are written.
  void place() {
    world_.clock.advance(std::chrono::seconds(20));
    for (const Decision& d : world_.run(16)) {
      const auto* const bind = d.as<Decision::Bind>();
      if (bind == nullptr) continue;
      const auto pod = pods_.find(d.pod->metadata.name);
      if (pod == pods_.end() || pod->second->metadata.uid != d.pod->metadata.uid) {
        bound_reservation(d, *bind);
        continue;
      }
      auto now = std::make_shared<api::Pod>(bind->changes != nullptr ? patched(*pod->second, *bind->changes)
                                                                     : *pod->second);
      now->spec.node_name = d.node();
      put(std::shared_ptr<const api::Pod>(std::move(now)));
    }
  }
  void bound_reservation(const Decision& d, const Decision::Bind& bind) {
    const PlacedName name = placed_name(*d.pod);
    const auto it = reservations_.find(std::string(name.name));
    if (it == reservations_.end()) return;
    auto now = std::make_shared<api::Reservation>(*it->second);
    if (bind.changes != nullptr)
      for (const auto& [key, value] : bind.changes->annotations)
        now->metadata.annotations[key] = Symbol(value);
    reservation::set_available(*now, d.node(), world_.clock.now());
    put(std::shared_ptr<const api::Reservation>(std::move(now)));
  }

  World world_;
  Known<api::Node> nodes_;
  Known<api::NodeResourceTopology> topologies_;
  Known<api::Pod> pods_;
  Known<api::Reservation> reservations_;
  std::size_t complaints_ = 0, puts_ = 0;
  int steps_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Cluster cluster;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    cluster.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  cluster.end();
  return 0;
}
