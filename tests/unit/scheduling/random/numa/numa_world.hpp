// A scheduler with NodeNUMAResource beside the oracle that computes everything anew, over one random cluster
// and its changes.
#pragma once

#include <memory>
#include <string>

#include "random/numa/objects.hpp"
#include "random/pod_story.hpp"

namespace koord::scheduling::test {

class RandomNumaWorld final : public PodStory {
 public:
  explicit RandomNumaWorld(unsigned seed, EngineOptions options = {});

 private:
  StoryObjects& random() override { return random_; }
  std::shared_ptr<const api::Node> node(const std::string& name, bool rebuilt) override {
    return random_.node(name, rebuilt);
  }
  Pod new_pod(const std::string& name) override { return random_.pod(name); }
  void put_machine(const std::string& node) override;
  void change(int what) override;
  void tell_others(Told& told) override { tell_again(told, cluster_.topologies); }
  bool has_gift(const api::Pod& pod) const override;
  void say_given(api::Pod& pod) override;
  int ways_to_annotate() const override { return 3; }
  void annotate(api::Pod& pod, int way) override;
  std::string objects_of(const std::string& node) const override;

  // judge.cpp
  void judge_gift(const api::Pod& asked, const api::Pod& bound) override;
  void check_gift(const api::Pod& asked, const api::Pod& bound);
  std::string refusal(const reference::Rejection& by) const override;

  NumaObjects random_;
};

}  // namespace koord::scheduling::test
