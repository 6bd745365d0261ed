// What happens to nodes with devices and to claims: see claims_world.hpp.
#include "random/claims/claims_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "support/reference/claims/claims.hpp"
#include "support/reference/matching.hpp"

namespace koord::scheduling::test {

namespace {

reference::Config oracle_of(unsigned seed) {
  reference::Config oracle;
  oracle.filters = {"DynamicResources"};
  oracle.scores = {{"DynamicResources", 1}};
  oracle.preemption = false;
  // With the defaults every third.
  reference::ClaimGates& gates = oracle.claim_gates;
  gates.partitions = seed % 3 != 0;
  gates.taints = seed % 3 == 1;
  gates.shares = seed % 3 == 2;
  return oracle;
}

std::string gates_of(const reference::ClaimGates& gates) {
  return fmt::format("DRAPartitionableDevices={},DRADeviceTaints={},DRAConsumableCapacity={}",
                     gates.partitions, gates.taints, gates.shares);
}

KubeSchedulerConfiguration config_of(const reference::Config& oracle) {
  KubeSchedulerConfiguration config = config_of_plugin(oracle, "DynamicResources", "{}");
  Plugins& plugins = config.profiles[0].plugins.ensure();
  plugins.pre_enqueue.enabled = plugins.post_bind.enabled = {{"DynamicResources", {}}};
  plugins.pre_score.enabled.clear();  // it prepares no scores
  return config;
}

}  // namespace

bool RandomClaimsWorld::names(const api::Pod& pod, const std::string& claim) {
  const auto is = [&](const auto& entry) { return entry.resource_claim_name == claim; };
  return std::ranges::any_of(pod.spec.resource_claims, is) ||
         std::ranges::any_of(pod.status.resource_claim_statuses, is);
}

RandomClaimsWorld::RandomClaimsWorld(unsigned seed, EngineOptions options)
    : PodStory(seed, std::move(options), oracle_of(seed), config_of(oracle_of(seed)), "DynamicResources",
               test::gates_of(gates_of(oracle_of(seed).claim_gates))),
      random_(seed, oracle_of(seed).claim_gates) {
  begin();
}

void RandomClaimsWorld::put_others() {
  for (const char* name : ClaimObjects::kClasses) put_class(name);
  for (const char* name : ClaimObjects::kShared) put_shared(name);
  publish("fabric.x", "fabric");
}

void RandomClaimsWorld::tell_others(Told& told) {
  tell_again(told, cluster_.device_classes);
  tell_again(told, cluster_.slices);
  forget_told();
  told.emplace_back([this] { tell(); });
}

/// What the engine knows of claims is what is written: of its own writes it knows before it is told.
void RandomClaimsWorld::note() {
  std::erase_if(cluster_.resource_claims,
                [&](const auto& each) { return !claims.contains(each.second->metadata.name); });
  for (const auto& [name, claim] : claims) {
    auto& known = cluster_.resource_claims[reference::key_of(claim)];
    if (known == nullptr || known->metadata.resource_version != claim.metadata.resource_version)
      known = std::make_shared<const api::ResourceClaim>(claim);
  }
}

void RandomClaimsWorld::change(int what) {
  backing_off_.clear();
  if (random_.chance(70)) tell();
  while (!left_.empty() && random_.chance(60)) {
    clean_up(left_.back());
    left_.pop_back();
  }
  if (what < 6) return put_node();
  if (what < 8) return remove_node();
  if (what < 18) return put_machine(any_of(cluster_.nodes));
  if (what < 21) return publish("fabric.x", "fabric");
  if (what < 31) return catch_up();
  if (what < 33) return remove_any("ResourceSlice", cluster_.slices);
  if (what < 35) return restart();
  if (what < 37) return change_class();
  if (what < 38 && random_.chance(50)) return remove_any("DeviceClass", cluster_.device_classes);
  if (what < 42) return change_claim();
  if (what < 47) return place_foreign_pod();
  if (what < 51) return change_pod();
  if (what < 65 && !cluster_.pods.empty()) return remove_pod(any_of(cluster_.pods));
  if (what < 73) return end_a_binding(random_.chance(60));
  add_pod();
}

// Slices and classes

void RandomClaimsWorld::put_machine(const std::string& node) {
  publish("gpu.x", node);
  if (random_.chance(30)) publish("nic.x", node);
}

/// Drivers write one slice after the other, and may be at it for a while.
void RandomClaimsWorld::publish(const std::string& driver, const std::string& pool) {
  const auto slices = random_.publish(driver == "fabric.x" ? "gpu.x" : driver, pool);
  for (const auto& [name, slice] : cluster_.slices)
    if (slice->spec.driver == slices[0]->spec.driver && slice->spec.pool.name == slices[0]->spec.pool.name)
      to_go_.insert(name);
  std::erase_if(to_come_, [&](const auto& each) {
    return each.second->spec.driver == slices[0]->spec.driver &&
           each.second->spec.pool.name == slices[0]->spec.pool.name;
  });
  for (const auto& slice : slices) {
    const std::string& name = slice->metadata.name;
    to_go_.erase(name);
    if (random_.chance(7))
      to_come_[name] = slice;
    else
      put("ResourceSlice", cluster_.slices, name, slice);
  }
  if (random_.chance(80)) catch_up();
}

/// What drivers want there to be is there.
void RandomClaimsWorld::catch_up() {
  for (const std::string& name : std::exchange(to_go_, {})) {
    const auto known = cluster_.slices.extract(name);
    if (known.empty()) continue;
    done_ += fmt::format(" remove ResourceSlice {}", name);
    engine().remove_object(known.mapped());
  }
  for (const auto& [name, slice] : to_come_)
    if (random_.chance(70)) put("ResourceSlice", cluster_.slices, name, slice);
  std::erase_if(to_come_, [&](const auto& each) {
    const auto known = cluster_.slices.find(each.first);
    return known != cluster_.slices.end() && known->second == each.second;
  });
}

/// What is missing comes again first.
void RandomClaimsWorld::change_class() {
  for (const char* name : ClaimObjects::kClasses)
    if (!cluster_.device_classes.contains(name) && random_.chance(70)) return put_class(name);
  put_class(random_.one_of(ClaimObjects::kClasses));
}

void RandomClaimsWorld::put_class(const std::string& name) {
  put("DeviceClass", cluster_.device_classes, name, random_.device_class(name));
}

// Claims

void RandomClaimsWorld::put_shared(const std::string& name) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = "default";
  claim.metadata.name = name;
  claim.metadata.uid = fmt::format("uid-{}-{}", name, ++uids_);
  claim.spec = random_.claim_spec();
  done_ += fmt::format(" put {}", api::encode(claim));
  put_claim(std::move(claim));
}

RandomClaimsWorld::Pod RandomClaimsWorld::begin_life(Pod pod) {
  const Pod with = changed(pod, [&](api::Pod& p) {
    p.status.resource_claim_statuses = {};
    if (random_.chance(98)) make_claims(p);
  });
  note();
  return with;
}

/// As Kubernetes' controller does of templates; now and then it is another's, or going.
void RandomClaimsWorld::make_claims(api::Pod& pod) {
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    if (entry.resource_claim_template_name.empty()) continue;
    api::ResourceClaim claim;
    claim.metadata.namespace_ = pod.metadata.namespace_;
    claim.metadata.name = fmt::format("{}-{}", pod.metadata.name, entry.name.view());
    claim.metadata.uid = fmt::format("uid-{}-{}", claim.metadata.name, ++uids_);
    const std::string owner = random_.chance(99) ? pod.metadata.uid : "another";
    claim.metadata.owner_references.push_back(
        {"v1", "Pod", Symbol(pod.metadata.name), Symbol(owner), true, {}});
    if (random_.chance(1)) claim.metadata.deletion_timestamp = api::Time(world_->clock.now());
    claim.spec = random_.of_template(entry.resource_claim_template_name);
    auto& made = pod.status.resource_claim_statuses.emplace_back();
    made.name = entry.name;
    made.resource_claim_name = claim.metadata.name;
    put_claim(std::move(claim));
  }
}

void RandomClaimsWorld::end_life(const api::Pod& pod) {
  forget_flight(pod);
  if (random_.chance(15))
    left_.push_back(pod);
  else
    clean_up(pod);
  note();
}

/// Its own claims go; of others it is no user any more, and who has none gives its devices back.
void RandomClaimsWorld::clean_up(const api::Pod& pod) {
  std::vector<std::string> own;
  std::vector<api::ResourceClaim> others;
  for (const auto& [name, claim] : claims) {
    if (!names(pod, name)) continue;
    if (std::ranges::find(ClaimObjects::kShared, name) == std::end(ClaimObjects::kShared)) {
      own.push_back(name);
      continue;
    }
    api::ResourceClaim without = claim;
    without.status.reserved_for = {};
    for (const auto& user : claim.status.reserved_for)
      if (user.uid != pod.metadata.uid) without.status.reserved_for.push_back(user);
    if (without.status.reserved_for.size() == claim.status.reserved_for.size()) continue;
    if (without.status.reserved_for.empty()) without.status = {};
    others.push_back(std::move(without));
  }
  for (const std::string& name : own) remove_claim(name);
  for (api::ResourceClaim& claim : others) put_claim(std::move(claim));
}

/// A claim that pods share comes again, or gives back what nobody uses; claims of a pod that had none are
/// made.
void RandomClaimsWorld::change_claim() {
  const std::string name = random_.one_of(ClaimObjects::kShared);
  const auto known = claims.find(name);
  if (known == claims.end()) return put_shared(name);
  const bool assumed = cluster_.assumed_devices.contains("default/" + name);
  const int what = random_.below(3);
  if (what == 0 && !waiting_.empty()) {
    const std::string key = any_of(waiting_);
    if (!waiting_.at(key)->status.resource_claim_statuses.empty()) return;
    done_ = fmt::format("make claims of {}", key);
    auto& pod = waiting_.at(key);
    pod = changed(pod, [&](api::Pod& p) { make_claims(p); });
    return engine().put_pod(pod);
  }
  if (assumed || !known->second.status.reserved_for.empty()) return;
  if (what == 1) {
    done_ = fmt::format("remove {}", name);
    return remove_claim(name);
  }
  done_ = fmt::format("{} gives its devices back", name);
  api::ResourceClaim without = known->second;
  without.status = {};
  put_claim(std::move(without));
}

void RandomClaimsWorld::say_given(api::Pod& pod) {
  std::vector<api::ResourceClaim> given;
  for (const auto& [name, claim] : claims)
    if (names(pod, name) && !claim.status.allocation &&
        !cluster_.assumed_devices.contains(reference::key_of(claim)) && random_.chance(70)) {
      given.push_back(claim);
      given.back().status.allocation.ensure() = random_.given(cluster_.slices, pod.spec.node_name.str());
      given.back().status.reserved_for.push_back({"", "pods", pod.metadata.name, pod.metadata.uid});
    }
  for (api::ResourceClaim& claim : given) put_claim(std::move(claim));
  note();
}

std::string RandomClaimsWorld::objects_of(const std::string& node) const {
  std::string all;
  for (const auto& [name, slice] : cluster_.slices)
    if (!slice->spec.node_name || slice->spec.node_name->view() == node) all += "\n  " + api::encode(*slice);
  for (const auto& [name, claim] : claims) all += "\n    " + api::encode(claim);
  for (const auto& [key, given] : cluster_.assumed_devices)
    all += fmt::format("\n    {} is to get {}", key,
                       api::encode(&given->devices, api::schema<api::DeviceAllocationResult>()));
  for (const auto& [name, each] : cluster_.device_classes) all += "\n    " + api::encode(*each);
  return all;
}

}  // namespace koord::scheduling::test
