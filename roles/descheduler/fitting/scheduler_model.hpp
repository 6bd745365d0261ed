// SchedulerModel: the scheduler's engine with the cluster in it; it decides nothing and tells what the
// scheduler would say of pods.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/snapshot.hpp"
#include "koord/async/task.hpp"
#include "koord/kube/delivery.hpp"
#include "koord/kube/informer.hpp"

namespace koord {
class FeatureGates;
}

namespace koord::scheduling {
class ClassState;
class Engine;
class NodeTable;
struct Profile;
}  // namespace koord::scheduling

namespace koord::descheduler {

/// Asks about one pod as the scheduler would see one of its shape that is new and waits for a node. It is
/// judged by the profile that its schedulerName names, and by the configuration's first one if that has none
/// of the name. Belongs to the role's strand.
class SchedulerModel {
 public:
  /// `config`: a file with a KubeSchedulerConfiguration; empty: the shipped profile, for koord-scheduler and
  /// default-scheduler. `gates`: the scheduler's. Errors name the file and its field.
  static Result<std::unique_ptr<SchedulerModel>> make(Clock& clock, const std::string& config,
                                                      const FeatureGates& gates);
  /// With the gates as they are by default.
  static Result<std::unique_ptr<SchedulerModel>> make(Clock& clock, const std::string& config);
  ~SchedulerModel();
  SchedulerModel(const SchedulerModel&) = delete;
  SchedulerModel& operator=(const SchedulerModel&) = delete;

  /// Declares nodes, pods and what the profiles' plugins watch; once. What has been delivered is taken in by
  /// catch_up() alone.
  void follow(kube::InformerSet& informers, kube::Client& client);
  /// What it follows, for who waits until all is known.
  const std::vector<kube::AnyInformer>& followed() const { return followed_; }
  /// Whether all of that is known: else what it says of pods is not what the scheduler would.
  bool whole() const;
  /// Takes in all that has been delivered, unless somebody holds what is known; the task in parts, between
  /// which others have their turn.
  Task<> catch_up_in_parts();
  void catch_up();
  /// For as long as somebody asks who has to see one cluster.
  void hold() { ++holders_; }
  void release() {
    out_.reset();
    --holders_;
  }

  /// What is not asked, in sentences for who reads the log or a report: extenders, plugins that koord does
  /// not have, gates that it does not honour.
  const std::vector<std::string>& notes() const { return notes_; }
  /// For who brings in objects otherwise. What was taken out is in it again.
  scheduling::Engine& engine();
  const scheduling::NodeTable& nodes() const;
  const scheduling::Profile& profile_of(const api::Pod& pod) const;
  /// What a pod like this one would get on each node now. Its own place is still taken. nullptr: none,
  /// whatever the nodes are (its quota is used up, claims of it are not known). Until the next call.
  scheduling::ClassState* ask(const api::Pod& pod);
  /// The same without the pod, which is out of the cluster until anything else is asked or changed here: for
  /// verdicts of some nodes, by ClassState::judge() alone.
  scheduling::ClassState* ask_without(const PodPtr& pod);
  /// Another number: what ask() gave is no longer good.
  std::uint64_t asked() const { return asked_; }

  /// While it lives these pods, as the cluster has them now or when it was held, are gone from it with all
  /// that they use. One at a time; nothing is caught up with meanwhile.
  class Without {
   public:
    Without(SchedulerModel& model, std::vector<PodPtr> pods);
    ~Without();
    Without(const Without&) = delete;
    Without& operator=(const Without&) = delete;
    /// One of them is on that node from now on, as the scheduler would assume it.
    void assume(const PodPtr& pod, const Symbol& node);

   private:
    SchedulerModel& model_;
    std::vector<PodPtr> gone_, assumed_;
  };

 private:
  SchedulerModel();
  bool take(std::size_t most);
  scheduling::ClassState* ask(const api::Pod& pod, bool some);

  std::unique_ptr<scheduling::Engine> engine_;
  kube::DeliveryQueue changes_;
  std::vector<kube::AnyInformer> followed_;
  std::vector<std::string> notes_;
  std::uint64_t asked_ = 1;
  int holders_ = 0;
  std::unique_ptr<Without> out_;
};

}  // namespace koord::descheduler
