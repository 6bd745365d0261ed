// What the engine says and gives beside the oracle's answers: see numa_world.hpp.
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "random/answers.hpp"
#include "random/numa/numa_world.hpp"
#include "support/reference/matching.hpp"
#include "support/reference/numa_machine.hpp"

namespace koord::scheduling::test {

namespace {

std::optional<api::ResourceStatus> status_of(const api::Pod& pod) {
  auto status = api::read_annotation<api::ResourceStatus>(pod.metadata.annotations);
  return status ? *status : std::nullopt;
}
api::ResourceSpec spec_of(const api::Pod& pod) {
  const auto spec = api::read_annotation<api::ResourceSpec>(pod.metadata.annotations);
  return spec && *spec ? **spec : api::ResourceSpec();
}

/// What is written there of how the CPUs are bound, where the pod leaves it open.
api::ResourceSpec completed(api::ResourceSpec spec, const std::string& bind, bool must) {
  Symbol &required = spec.required_cpu_bind_policy, &preferred = spec.preferred_cpu_bind_policy;
  if (bind.empty()) return spec;
  if (must && (required.empty() || required == "Default")) required = Symbol(bind);
  if (preferred == "Default") preferred = Symbol(bind);
  if (required.empty() && preferred.empty()) preferred = Symbol(bind);
  return spec;
}

}  // namespace

void RandomNumaWorld::decide() {
  std::vector<Decision> one;
  for (int i = 0; i < 200 && found_.empty(); ++i) {
    one.clear();
    world_->engine.schedule(1, one);
    if (one.empty()) return;
    judge(one.front());
  }
}

void RandomNumaWorld::judge(const Decision& d) {
  const std::string key = reference::key_of(*d.pod);
  if (!waiting_.contains(key)) return tell(d.pod->metadata.name, "it is decided about, and does not wait");
  const auto pod = waiting_.at(key);
  const reference::Answer expected = reference::evaluate(cluster_, oracle_, *pod);
  if (d.kind() == Decision::Kind::bind) return judge_choice(d, expected);
  if (expected.feasible > 0)
    return tell(api::encode(*pod), fmt::format("the engine says \"{}\",\n  the oracle has {} nodes",
                                               d.message(), expected.feasible));
  if ((d.kind() == Decision::Kind::error) != !expected.error.empty())
    return tell(pod->metadata.name, "one of them has an error: " + d.message());
  if (!expected.error.empty()) return;
  ++met_["pods refused"];
  if (d.message() != expected.message)
    tell(api::encode(*pod),
         fmt::format("the engine says \"{}\",\n  the oracle \"{}\"", d.message(), expected.message));
}

void RandomNumaWorld::judge_choice(const Decision& d, const reference::Answer& expected) {
  const std::string node = d.node().str(), key = reference::key_of(*d.pod);
  const auto at = expected.nodes.find(node);
  if (at == expected.nodes.end() || at->second.rejected)
    return tell(api::encode(*d.pod),
                fmt::format("bound to {}, where the oracle says: {}", node,
                            at == expected.nodes.end() ? "no such node" : text(at->second.rejected)));
  for (const auto& [other, each] : expected.nodes)
    if (expected.feasible > 1 && !each.rejected && each.final > at->second.final)
      return tell(api::encode(*d.pod), fmt::format("bound to {} of{}, better is {} of{}", node,
                                                   scores(at->second.scores), other, scores(each.scores)));
  const auto& changes = d.as<Decision::Bind>()->changes;
  const auto bound = changed(changes ? std::make_shared<const api::Pod>(patched(*d.pod, *changes)) : d.pod,
                             [&](api::Pod& p) { p.spec.node_name = d.node(); });
  judge_gift(*waiting_.at(key), *bound);
  ++met_["pods placed"];
  waiting_.erase(key);
  cluster_.pods[key] = bound;
  flights_[key] = {d.pod, d.tells_end()};
  if (random_.chance(40)) end_a_binding(random_.chance(90));
}

/// What is written into it is what the oracle gives, and can be had.
void RandomNumaWorld::judge_gift(const api::Pod& asked, const api::Pod& bound) {
  const std::string node = bound.spec.node_name.str();
  const auto expected = reference::numa_written(cluster_, oracle_, asked, *cluster_.nodes.at(node));
  const auto status = status_of(bound);
  if (status.has_value() != expected.has_value())
    return tell(api::encode(bound),
                fmt::format("on {} {} is written into it", node, status ? "what it was given" : "nothing"));
  const api::ResourceSpec own = spec_of(asked);
  const api::ResourceSpec spec = expected ? completed(own, expected->bind, expected->required) : own;
  if (spec_of(bound) != spec)
    return tell(api::encode(bound),
                fmt::format("on {} its CPUs are bound by other than {}", node, api::encode_annotation(spec)));
  if (!expected) return;
  const auto cpus = reference::parse_cpus(status->cpuset);
  std::map<int, std::map<std::string, std::int64_t>> zones;
  for (const api::NumaNodeResource& zone : status->numa_node_resources)
    for (const auto& [name, amount] : zone.resources)
      zones[zone.node][name.str()] = reference::whole_amount(zone.resources, name);
  if (!cpus || *cpus != expected->cpus || zones != expected->zones)
    return tell(api::encode(bound),
                fmt::format("on {} the oracle gives it {} and {}", node, expected->cpus, expected->zones));
  ++met_[!expected->cpus.empty() && !zones.empty() ? "CPUs at memory nodes given"
         : !zones.empty()                          ? "shares of memory nodes given"
                                                   : "CPUs given"];
  check_gift(asked, bound);
}

/// By the objects alone: nobody else has these CPUs, they are there, as many as it asks for, and no memory
/// node has to give more than it has.
void RandomNumaWorld::check_gift(const api::Pod& asked, const api::Pod& bound) {
  const api::Node& node = *cluster_.nodes.at(bound.spec.node_name.str());
  const auto gift = reference::gift_of(bound);
  if (!gift) return;
  const reference::Machine machine(cluster_, node);
  const auto wrong = [&](const std::string& what) {
    tell(api::encode(bound), fmt::format("on {} {}", node.metadata.name, what));
  };
  const std::int64_t cpu = reference::whole_amount(api::pod_requests(asked), "cpu");
  if (!gift->cpus.empty() && static_cast<std::int64_t>(gift->cpus.size()) * 1000 != cpu)
    wrong("it is given another number of CPUs than it asks for");
  for (const auto& [key, other] : machine.given)
    if (!reference::common(other.cpus, gift->cpus).empty()) wrong("it is given CPUs of " + key);
  if (!reference::without(gift->cpus, machine.all()).empty()) wrong("it is given CPUs that are not there");
  if (!reference::common(gift->cpus, machine.reserved).empty()) wrong("it is given CPUs that are kept back");
  for (const auto& [zone, amounts] : gift->zones)
    for (const auto& [name, amount] : amounts) {
      const std::int64_t left = machine.has_of(zone, name) - machine.allocated(zone, name);
      if (amount > left)
        wrong(fmt::format("memory node {} has {} {} left, not {}", zone, left, name, amount));
    }
}

void RandomNumaWorld::compare(const std::shared_ptr<const api::Pod>& probe) {
  if (!found_.empty() || cluster_.nodes.empty()) return;
  const Profile& profile = world_->engine.profiles()[0];
  ClassState& state = world_->engine.evaluate(profile, probe);
  state.judge_refused();
  const reference::Answer expected = reference::evaluate(cluster_, oracle_, *probe);
  const Diagnosis why = state.diagnose();
  if (why.error.empty() != expected.error.empty())
    return tell(api::encode(*probe), "one of them has an error: " + why.error + expected.error);
  if (!expected.error.empty()) return;
  const NodeTable& table = world_->engine.nodes();
  for (Row row = 0; row < table.rows() && expected.prefilter_message.empty(); ++row) {
    const VerdictId id = state.verdict(row);
    if (id == kAbsent) continue;
    const std::string name = table.name(row).str();
    const reference::NodeAnswer& at = expected.nodes.at(name);
    const auto rejected =
        id == kPass ? std::nullopt : rejection(profile, world_->engine.context().verdicts[id]);
    if (rejected != at.rejected)
      return tell(api::encode(*probe),
                  fmt::format("{}:\n  engine: {}\n  oracle: {}", name, text(rejected), text(at.rejected)));
    ++met_[!rejected                                ? "nodes pass"
           : rejected->plugin != "NodeNUMAResource" ? rejected->plugin + " refuses"
           : rejected->reasons[0].starts_with("Unaligned")
               ? "refused: Unaligned"
               : "refused: " + rejected->reasons[0].substr(0, 24)];
    if (rejected || expected.feasible == 1) continue;
    const std::string ours = scores(profile, state.explain(row)), theirs = scores(at.scores);
    if (state.score(row) != at.final || ours != theirs)
      return tell(api::encode(*probe), fmt::format("{}:\n  engine: {} of{}\n  oracle: {} of{}", name,
                                                   state.score(row), ours, at.final, theirs));
  }
  if (state.feasible() != expected.feasible)
    return tell(api::encode(*probe),
                fmt::format("{} feasible nodes instead of {}", state.feasible(), expected.feasible));
  if (expected.feasible == 0 && fit_error(why) != expected.message)
    tell(api::encode(*probe),
         fmt::format("the engine says \"{}\",\n  the oracle \"{}\"", fit_error(why), expected.message));
}

void RandomNumaWorld::tell(std::string_view about, const std::string& what) {
  if (!found_.empty()) return;
  found_ = fmt::format("seed {}, step {}, after\n  {}\n  {}\n{}: {}", seed_, steps_,
                       fmt::join(last_changes_, "\n  "), done_, about, what);
  for (const auto& [name, node] : cluster_.nodes) {
    if (what.find(name) == std::string::npos) continue;
    found_ += fmt::format("\n  {}", api::encode(*node));
    if (cluster_.topologies.contains(name))
      found_ += fmt::format("\n  {}", api::encode(*cluster_.topologies.at(name)));
    for (const auto& [key, pod] : cluster_.pods)
      if (pod->spec.node_name.view() == name)
        found_ += fmt::format("\n    {}{}", flights_.contains(key) ? "(on its way) " : "", api::encode(*pod));
  }
}

}  // namespace koord::scheduling::test
