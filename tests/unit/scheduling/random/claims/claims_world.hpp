// A scheduler with DynamicResources beside the oracle that computes everything anew, over one random cluster
// and its changes; the API server and Kubernetes' own controllers of claims are played.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plugins/dynamic_resources/claim_server.hpp"
#include "random/claims/objects.hpp"
#include "random/pod_story.hpp"

namespace koord::scheduling::test {

class RandomClaimsWorld final : public PodStory, private ClaimServer {
 public:
  explicit RandomClaimsWorld(unsigned seed, EngineOptions options = {});

 private:
  using ClaimServer::tell;
  using PodStory::tell;

  StoryObjects& random() override { return random_; }
  Engine& engine() override { return world_->engine; }
  std::shared_ptr<const api::Node> node(const std::string& name, bool) override { return random_.node(name); }
  Pod new_pod(const std::string& name) override { return random_.pod(name); }
  Pod begin_life(Pod pod) override;
  void end_life(const api::Pod& pod) override;
  void put_machine(const std::string& node) override;
  void put_others() override;
  void change(int what) override;
  void tell_others(Told& told) override;
  void note() override;
  // What it was given lies in claims.
  bool has_gift(const api::Pod&) const override { return false; }
  void say_given(api::Pod& pod) override;
  int ways_to_annotate() const override { return 0; }
  void annotate(api::Pod&, int) override {}
  std::string objects_of(const std::string& node) const override;

  void publish(const std::string& driver, const std::string& pool);
  void catch_up();
  void change_class();
  void put_class(const std::string& name);
  /// Itself, or in its status.
  static bool names(const api::Pod& pod, const std::string& claim);
  void put_shared(const std::string& name);
  void make_claims(api::Pod& pod);
  void clean_up(const api::Pod& pod);
  void change_claim();

  // judge.cpp
  void begin_binding(const Decision& decision) override;
  bool prepare_binding(const api::Pod& pod, bool well) override;
  void judge_gift(const api::Pod& asked, const api::Pod& bound) override;
  void check_gift(const api::Pod& bound, const std::string& key, const api::AllocationResult& given);
  void check_counters(const api::Pod& bound, const reference::ByKey<api::AllocationResult>& gift);
  void check_written(const api::Pod& pod, bool all);
  void forget_flight(const api::Pod& pod);
  void note_refusal(const Decision& decision) override;
  bool may_fit_by_less(const api::Pod& pod) const;
  void check_waiting() override;
  bool ends_well() override;
  std::string refusal(const reference::Rejection& by) const override;

  struct Flight {
    Decision decision;
    reference::ByKey<api::AllocationResult> gift;
  };

  ClaimObjects random_;
  Named<api::ResourceSlice> to_come_;      // as drivers want them, by name
  std::set<std::string> to_go_;            // slices that drivers do not want any more
  std::map<std::string, Flight> flights_;  // by the pod's key
  std::vector<api::Pod> left_;             // whose claims the controllers have not looked at yet
  std::set<std::string> backing_off_;      // keys of pods
  bool at_once_ = false;                   // the present binding ends as it was decided
  int uids_ = 0;
};

}  // namespace koord::scheduling::test
