// What becomes of pods between the choice of a node and the end of their binding: see random_world.hpp.
#include <fmt/ranges.h>

#include <algorithm>

#include "random/random_world.hpp"
#include "support/reference/matching.hpp"

namespace koord::scheduling::test {

namespace {

constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr std::string_view kRefusal = "0/1 nodes are available: 1 ";

bool is_bound(const api::PersistentVolumeClaim& claim) {
  return !claim.spec.volume_name.empty() && claim.metadata.annotations.contains(kBindCompleted);
}

}  // namespace

/// What the attempt comes to if the pod goes there; empty: nobody refuses it.
std::string RandomWorld::refused_by_seat(const api::Pod& pod, const std::string& node) const {
  const SeatRule rule = SeatRule::of(pod);
  for (const char seat : served(pod).seats) {
    if (!rule.has(seat)) continue;
    if (rule.what == SeatRule::What::fail)
      return fmt::format("running Reserve plugin \"Seat{}\": no book of seats on {}", seat, node);
    if (rule.in_reserve(node))
      return fmt::format("{}no seat of {} on {} for {}.", kRefusal, seat, node, pod.metadata.name);
    if (rule.what == SeatRule::What::deny) return fmt::format("{}denied by {} on {}.", kRefusal, seat, node);
  }
  return {};
}

void RandomWorld::begin_binding(const Decision& d) {
  const Served& here = served(*d.pod);
  const SeatRule rule = SeatRule::of(*d.pod);
  Flight flight{d.pod, d.node().str(), here.seats, {}, d.tells_end(), false, steps_, {}, {}, here.binds};
  auto assumed = reference::assumed_on(cluster_, here.oracle, *d.pod, *cluster_.nodes.at(flight.node));
  std::string waits_for;
  for (const char seat : here.seats)
    if (rule.what == SeatRule::What::wait && rule.has(seat)) {
      flight.waits[seat] = world_.clock.mono() + rule.timeout(seat);
      waits_for += fmt::format("{}Seat{}", waits_for.empty() ? "" : ", ", seat);
    }
  const auto* wait = d.as<Decision::Wait>();
  const std::string said = wait != nullptr ? wait->plugins : "";
  if (said != waits_for || (wait != nullptr) == waits_for.empty())
    return tell(*d.pod, fmt::format("it waits for \"{}\", and should for \"{}\"", said, waits_for));
  if (const auto* bind = d.as<Decision::Bind>();
      bind != nullptr && bind->pre_binds.size() != (assumed ? 1 : 0))
    return tell(*d.pod, fmt::format("{} plugins have work before its binding", bind->pre_binds.size()));
  if (!waits_for.empty()) ++met_["(seats)"].scored;
  if (assumed) {
    ++met_["VolumeBinding"].scored;
    for (const auto& [name, volume] : assumed->volumes) cluster_.assumed.volumes[name] = volume;
    for (const auto& [key, claim] : assumed->claims) cluster_.assumed.claims[key] = claim;
    flight.assumed = std::move(*assumed);
  }
  const std::string key = reference::key_of(*d.pod);
  const int wake = last_wake_;
  take_away(key);
  last_wake_ = wake;
  assumed_[key] = d.pod;
  cluster_.assumed_at[key] = cluster_.now;
  cluster_.pods[key] = changed(d.pod, [&](api::Pod& p) {
    p.spec.node_name = d.node();
    p.status.nominated_node_name = {};
  });
  if (rule.what == SeatRule::What::open || rule.what == SeatRule::What::close) open_seats(flight);
  const bool waits = !flight.waits.empty();
  flights_[d.pod->metadata.uid] = std::move(flight);
  if (!waits && random_.chance(50)) end_binding(key, true);
}

/// What a pod does to those that wait on its node.
void RandomWorld::open_seats(const Flight& by) {
  const SeatRule rule = SeatRule::of(*by.pod);
  for (const char seat : by.seats) {
    if (!rule.has(seat)) continue;
    for (auto& [uid, other] : flights_) {
      if (other.waits.empty() || other.said || other.gone || other.node != by.node ||
          other.pod->spec.scheduler_name != by.pod->spec.scheduler_name)
        continue;
      if (rule.what == SeatRule::What::close) {
        other.said = fmt::format("closed by {}", seat);
        continue;
      }
      // The last one lets it go.
      if (other.waits.contains(seat) && other.waits.size() == 1)
        other.said = "";
      else
        other.waits.erase(seat);
    }
  }
}

void RandomWorld::judge_end_of_wait(const Decision& d, Flight& flight) {
  if (flight.waits.empty()) return tell(*d.pod, "it is decided about while its binding is on its way");
  if (!flight.said) {
    const auto soonest = std::min_element(flight.waits.begin(), flight.waits.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    if (soonest->second > world_.clock.mono()) return tell(*d.pod, "its wait is over too soon");
    flight.said =
        fmt::format("rejected due to timeout after waiting {} at plugin Seat{}",
                    api::Duration(SeatRule::of(*d.pod).timeout(soonest->first)).to_string(), soonest->first);
  }
  const bool well = flight.said->empty();
  const std::string message = well ? "" : fmt::format("{}{}.", kRefusal, *flight.said);
  if (d.kind() != (well ? Decision::Kind::bind : Decision::Kind::unschedulable) || d.message() != message ||
      (well && d.node() != flight.node))
    return tell(*d.pod, fmt::format("its wait ends with {} \"{}\", and should with \"{}\"",
                                    well ? "a refusal" : "a binding", d.message(), message));
  const std::string key = reference::key_of(*d.pod);
  if (well) {
    flight.waits.clear();
    flight.said.reset();
    flight.tells_end = d.tells_end();
    if (random_.chance(50)) end_binding(key, true);
    return;
  }
  // Its own going does not help it, what happened before does.
  const int since = flight.since < last_wake_ ? flight.since : steps_;
  refusals_[key] = {steps_, since, d.message(), true};
  lose(key);
  put_waiting(changed(d.pod, [&](api::Pod& p) { p.status.nominated_node_name = {}; }));
}

/// The pod is not there any more, or not on that node: a binding that is on its way ends later.
void RandomWorld::lose(const std::string& key) {
  const auto pod = assumed_.find(key);
  if (pod != assumed_.end()) {
    const auto flight = flights_.find(pod->second->metadata.uid);
    if (flight->second.waits.empty()) {
      flight->second.gone = true;
    } else {
      give_back(flight->second);
      flights_.erase(flight);
    }
  }
  take_away(key);
}

/// One of the bindings whose pods are gone.
void RandomWorld::end_gone() {
  const auto it = std::find_if(flights_.begin(), flights_.end(), [](const auto& f) { return f.second.gone; });
  if (it == flights_.end()) return;
  Flight flight = std::move(it->second);
  flights_.erase(it);
  if (flight.tells_end && random_.chance(30) && write_volumes(flight)) {
    world_.engine.binding_succeeded(*flight.pod);
    for (const char seat : flight.seats) ++bound_[static_cast<std::size_t>(seat - 'A')];
    return;
  }
  world_.engine.binding_failed(*flight.pod);
  give_back(flight);
}

void RandomWorld::end_binding(const std::string& key, bool well) {
  const std::shared_ptr<const api::Pod> pod = assumed_.at(key);
  Flight& flight = flights_.at(pod->metadata.uid);
  if (well && write_volumes(flight)) {
    std::optional<bool> bound, expected;
    if (extenders_) {
      bound = extenders_->bind(pod, Symbol(flight.node));
      expected = PlayedExtenders::expected_bind(*pod, bound ? ++tried_[pod->metadata.uid] : 0);
    }
    if (bound != expected) return tell(*pod, "an extender does not bind it as it should");
    if (bound.value_or(true)) return confirm(key);
  }
  // Some of it may have been written.
  for (const auto& [name, volume] : flight.assumed.volumes)
    if (const auto at = cluster_.assumed.volumes.find(name);
        at != cluster_.assumed.volumes.end() && at->second == volume && random_.chance(40))
      put_object(cluster_.volumes, *volume);
  for (const auto& [name, claim] : flight.assumed.claims)
    if (const auto at = cluster_.assumed.claims.find(name);
        at != cluster_.assumed.claims.end() && at->second == claim && random_.chance(40))
      put_object(cluster_.claims, *claim);
  Flight ended = std::move(flight);
  flights_.erase(pod->metadata.uid);
  take_away(key);
  waiting_[key] = pod;
  refusals_[key] = {steps_, steps_, "its binding failed", false};
  failed_.insert(key);
  world_.engine.binding_failed(*pod);
  give_back(ended);
}

/// As the scheduler writes it, and whoever binds volumes then. False: somebody was faster.
bool RandomWorld::write_volumes(Flight& flight) {
  const auto& [claims, volumes] = flight.assumed;
  for (const auto& [name, volume] : volumes)
    if (const auto at = cluster_.assumed.volumes.find(name);
        at == cluster_.assumed.volumes.end() || at->second != volume)
      return false;
  for (const auto& [name, claim] : claims)
    if (const auto at = cluster_.assumed.claims.find(name);
        at == cluster_.assumed.claims.end() || at->second != claim)
      return false;
  // It waits until all of its claims are bound, those that another pod's binding binds, too.
  for (const api::Volume& v : flight.pod->spec.volumes) {
    if (!flight.binds || (!v.persistent_volume_claim && !v.ephemeral)) continue;
    const std::string key =
        fmt::format("{}/{}", flight.pod->metadata.namespace_.view(),
                    v.ephemeral ? fmt::format("{}-{}", flight.pod->metadata.name, v.name.view())
                                : v.persistent_volume_claim->claim_name);
    const auto claim = cluster_.claims.find(key);
    if (claim == cluster_.claims.end()) return false;
    const bool gets =
        claims.contains(key) || std::any_of(volumes.begin(), volumes.end(), [&](const auto& each) {
          const api::ObjectReference& ref = *each.second->spec.claim_ref;
          return ref.uid == claim->second->metadata.uid;
        });
    if (!gets && !is_bound(*claim->second)) return false;
  }
  const auto bind = [&](const api::PersistentVolumeClaim& claim, const std::string& volume) {
    api::PersistentVolumeClaim bound = claim;
    bound.spec.volume_name = volume;
    bound.metadata.annotations[kBindCompleted] = "yes";
    bound.status.phase = "Bound";
    put_object(cluster_.claims, bound);
  };
  for (const auto& [name, volume] : volumes) {
    const api::ObjectReference& ref = *volume->spec.claim_ref;
    const std::string claim = fmt::format("{}/{}", ref.namespace_.view(), ref.name);
    api::PersistentVolume bound = *volume;
    bound.status.phase = "Bound";
    put_object(cluster_.volumes, bound);
    if (const auto of = cluster_.claims.find(claim); of != cluster_.claims.end()) bind(*of->second, name);
  }
  for (const auto& [key, claim] : claims) {
    api::PersistentVolume made;
    for (int i = 0; made.metadata.name.empty() || cluster_.volumes.contains(made.metadata.name); ++i)
      made.metadata.name = fmt::format("v{}", i);
    made.spec.csi.ensure().driver = "disks.example.com";
    made.spec.csi->volume_handle = made.metadata.name;
    made.spec.capacity = claim->spec.resources.requests;
    made.spec.access_modes = claim->spec.access_modes;
    if (claim->spec.storage_class_name) made.spec.storage_class_name = *claim->spec.storage_class_name;
    made.spec.claim_ref.ensure().namespace_ = claim->metadata.namespace_;
    made.spec.claim_ref->name = claim->metadata.name;
    made.spec.claim_ref->uid = claim->metadata.uid;
    made.status.phase = "Bound";
    put_object(cluster_.volumes, made);
    bind(*claim, made.metadata.name);
  }
  return true;
}

/// The engine does not assume it any more. As in kube-scheduler that is no event; the next word of the API
/// server is.
void RandomWorld::give_back(Flight& flight) {
  const auto again = [this](auto& all, auto& assumed, const auto& own) {
    for (const auto& [name, object] : own) {
      const auto at = assumed.find(name);
      if (at == assumed.end() || at->second != object) continue;
      assumed.erase(at);
      if (const auto stored = all.find(name); stored != all.end()) put_object(all, *stored->second);
    }
  };
  again(cluster_.volumes, cluster_.assumed.volumes, flight.assumed.volumes);
  again(cluster_.claims, cluster_.assumed.claims, flight.assumed.claims);
}

/// The watch tells of the pod's binding; whoever bound it, if it still waits.
void RandomWorld::confirm(const std::string& key) {
  std::shared_ptr<const api::Pod>& pod = cluster_.pods.at(key);
  pod = changed(pod, [&](api::Pod& p) {
    if (random_.chance(80)) p.status.start_time = random_.start_time();
    loads_.settle(p, cluster_.now);
  });
  const auto it = flights_.find(pod->metadata.uid);
  Flight flight = std::move(it->second);
  flights_.erase(it);
  assumed_.erase(key);
  cluster_.assumed_at.erase(key);
  world_.engine.put_pod(pod);
  if (!flight.waits.empty()) return give_back(flight);
  if (!flight.tells_end) return;
  world_.engine.binding_succeeded(*pod);
  for (const char seat : flight.seats) ++bound_[static_cast<std::size_t>(seat - 'A')];
}

/// What the two plugins hold is what is on its way; and whom they refused has been tried again if an event
/// of theirs came.
void RandomWorld::check_seats() {
  for (const char seat : {'A', 'B'}) {
    const auto i = static_cast<std::size_t>(seat - 'A');
    std::map<std::string, std::string> expected;
    for (const auto& [uid, flight] : flights_)
      if (flight.seats.find(seat) != std::string::npos) expected[uid] = flight.node;
    if (book_.reserved[i] != expected || book_.bound[i] != bound_[i])
      tell({}, fmt::format("Seat{} holds {} and was told of {} ends, {} are on their way and {} ended", seat,
                           book_.reserved[i], book_.bound[i], expected, bound_[i]));
  }
  for (const auto& [uid, flight] : flights_) {
    if (flight.waits.empty() || flight.gone) continue;
    const bool late = std::any_of(flight.waits.begin(), flight.waits.end(),
                                  [&](const auto& w) { return w.second <= world_.clock.mono(); });
    if (late || flight.said) tell(*flight.pod, "its wait is over, and nobody said so");
  }
  for (const auto& [key, pod] : waiting_)
    if (const Refusal& last = refusals_[key];
        last.by_seat && PodLives::is_ours(*pod) && last.step < steps_ && last.since < last_wake_)
      tell(*pod, fmt::format("it was refused in step {}, and not tried again after an event in step {}: {}",
                             last.step, last_wake_, last.message));
}

}  // namespace koord::scheduling::test
