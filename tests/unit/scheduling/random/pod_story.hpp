// The story of one plugin: a random cluster, pods that want what its machines have and are given it, and a
// scheduler beside the oracle that computes everything anew.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/schema/codec.hpp"
#include "random/story_objects.hpp"
#include "support/reference/evaluate.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

/// One seed's story: see run_stories(). Whatever the engine says or gives that the oracle would not is told
/// once. What a plugin has of its own (objects, changes, what is given) is in a class that derives from it,
/// whose constructor ends with begin().
class PodStory {
 public:
  virtual ~PodStory() = default;
  PodStory(const PodStory&) = delete;
  PodStory& operator=(const PodStory&) = delete;

  /// One change, the decisions that follow from it, what must hold then, and every node for the probes.
  void step();
  /// The pods go: nothing is left of them.
  void empty();
  /// The first difference, with seed, step and both answers; empty: there is none.
  const std::string& found() const { return found_; }
  /// How often something was compared that is worth it.
  const std::map<std::string, std::size_t>& met() const { return met_; }

 protected:
  using Pod = std::shared_ptr<const api::Pod>;
  using Told = std::vector<std::function<void()>>;
  template <class T>
  using Named = reference::ByKey<T>;

  /// `plugin`: of which those that come again want what they had. `gates` are kube-scheduler's.
  PodStory(unsigned seed, EngineOptions options, reference::Config oracle, KubeSchedulerConfiguration config,
           std::string plugin, FeatureGates gates = {});
  /// The cluster before the first step.
  void begin();

  // What a plugin has of its own. All random numbers are of random(), those of the objects too.
  virtual StoryObjects& random() = 0;
  /// A machine of that name stays what it is, unless it is `rebuilt`; what is said of it differs.
  virtual std::shared_ptr<const api::Node> node(const std::string& name, bool rebuilt) = 0;
  /// A pod that asks for something. It waits, is placed by others, or is a probe that nobody places.
  virtual Pod new_pod(const std::string& name) = 0;
  /// What else there has to be for a pod that is new: it is made, and the pod may name it.
  virtual Pod begin_life(Pod pod) { return pod; }
  /// The pod has ended or is gone, or is not asked about any more.
  virtual void end_life(const api::Pod&) {}
  /// What a node's agent tells of it, beside the node: now.
  virtual void put_machine(const std::string& node) = 0;
  /// What belongs to no node, before the first step.
  virtual void put_others() {}
  /// One change by a number below 100, where there are nodes.
  virtual void change(int what) = 0;
  /// What a scheduler that starts anew is told beside nodes and pods.
  virtual void tell_others(Told& told) = 0;
  /// After whatever changes the cluster: for who has to know what was there.
  virtual void note() {}
  /// Whether what it was given can be read in the pod.
  virtual bool has_gift(const api::Pod& pod) const = 0;
  /// What another scheduler has written into a pod that it has placed: what others have, what is not there,
  /// or nothing that can be read.
  virtual void say_given(api::Pod& pod) = 0;
  /// In how many ways somebody changes the annotations of a bound pod; one of them, from 0.
  virtual int ways_to_annotate() const = 0;
  virtual void annotate(api::Pod& pod, int way) = 0;
  /// What is written into a pod as it is bound is what the oracle gives, and can be had.
  virtual void judge_gift(const api::Pod& asked, const api::Pod& bound) = 0;
  /// Before that, with what it is decided to be done before the binding.
  virtual void begin_binding(const Decision&) {}
  /// What is done before the binding of a pod; false: it cannot be bound. It is not to be if not `well`.
  virtual bool prepare_binding(const api::Pod&, bool well) { return well; }
  /// A pod is not placed, as is right or not.
  virtual void note_refusal(const Decision&) {}
  /// Whether a pod that is not placed is told rightly why, although the oracle says something else.
  virtual bool excused(const Decision& decision, const reference::Answer& expected);
  /// What must hold of those that wait, when all has been decided.
  virtual void check_waiting() {}
  /// Whether a binding that ends at once ends well.
  virtual bool ends_well() { return random().chance(90); }
  /// As what a node's refusal of a probe is counted.
  virtual std::string refusal(const reference::Rejection& by) const = 0;
  /// A node's objects, each on a line of its own that "\n  " begins.
  virtual std::string objects_of(const std::string& node) const = 0;

  // What can happen: a change() calls these. Those with nothing to work on do nothing.
  void put_node();
  void remove_node();  // there is one
  void restart();
  void add_pod();
  void place_foreign_pod();
  void change_pod();
  void remove_pod(std::string key);  // it waits, or has a node
  void end_a_binding(bool well);
  /// An object that is new, or another than before. `kind` is for who reads what was done.
  template <class T>
  void put(std::string_view kind, Named<T>& all, const std::string& name, std::shared_ptr<const T> object) {
    done_ += fmt::format("put {} {}", kind, api::encode(*object));
    all[name] = object;
    world_->engine.put_object(std::move(object));
  }
  template <class T>
  void remove_any(std::string_view kind, Named<T>& all) {
    if (all.empty()) return;
    const auto it = all.find(any_of(all));
    done_ = fmt::format("remove {} {}", kind, it->first);
    const auto last = it->second;
    all.erase(it);
    world_->engine.remove_object(last);
  }
  /// For tell_others(): all of these.
  template <class T>
  void tell_again(Told& told, const Named<T>& all) {
    for (const auto& [name, object] : all)
      told.emplace_back([this, o = object] { world_->engine.put_object(o); });
  }
  /// A name; there is one.
  template <class T>
  std::string any_of(const Named<T>& all) {
    return std::next(all.begin(), random().below(static_cast<int>(all.size())))->first;
  }
  /// That something is not as it should be. The first is kept, with the nodes that `what` names.
  void tell(std::string_view about, const std::string& what);

  reference::Config oracle_;
  std::unique_ptr<World> world_;
  reference::Cluster cluster_;  // those on their way count as there
  Named<api::Pod> waiting_;     // by key
  std::string done_;            // by this step
  std::map<std::string, std::size_t> met_;

 private:
  struct Flight {  // from the choice of a node to the end of the binding
    Pod pod;
    bool tells_end = false;
  };

  void start();
  Pod pod(const std::string& name);

  // pod_story_judge.cpp
  void decide();
  void judge(const Decision& decision);
  void judge_choice(const Decision& decision, const reference::Answer& expected);
  void compare(const Pod& probe);

  const unsigned seed_;
  const EngineOptions options_;
  const KubeSchedulerConfiguration config_;
  const FeatureGates gates_;
  const std::string plugin_;
  /// Bound ones as the API server has them, where what they were given stays given.
  Named<api::Pod> written_;                // by key
  std::map<std::string, Flight> flights_;  // by key
  std::vector<Pod> probes_;
  Pod gone_;  // the last that went and had been given something
  int pods_ = 0, steps_ = 0;
  std::string found_;
  std::vector<std::string> last_changes_;
};

/// The oracle's filters and scores, and at every other point `plugin` alone, with these arguments.
KubeSchedulerConfiguration config_of_plugin(const reference::Config& oracle, const std::string& plugin,
                                            std::string args);
/// A plugin's argument of how it scores.
std::string scoring_strategy(bool most, const std::map<std::string, std::int64_t>& weights);

}  // namespace koord::scheduling::test
