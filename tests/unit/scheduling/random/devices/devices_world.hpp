// A scheduler with DeviceShare beside the oracle that computes everything anew, over one random cluster and
// its changes.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "random/devices/objects.hpp"
#include "random/pod_story.hpp"

namespace koord::scheduling::test {

class RandomDevicesWorld final : public PodStory {
 public:
  explicit RandomDevicesWorld(unsigned seed, EngineOptions options = {});

 private:
  StoryObjects& random() override { return random_; }
  std::shared_ptr<const api::Node> node(const std::string& name, bool rebuilt) override {
    return random_.node(name, rebuilt);
  }
  Pod new_pod(const std::string& name) override { return random_.pod(name); }
  void put_machine(const std::string& node) override;
  void put_others() override;
  void put_templates();
  void change(int what) override;
  void tell_others(Told& told) override;
  void note() override;
  bool has_gift(const api::Pod& pod) const override;
  void say_given(api::Pod& pod) override;
  int ways_to_annotate() const override { return 2; }
  void annotate(api::Pod& pod, int way) override;
  std::string objects_of(const std::string& node) const override;

  // judge.cpp
  void judge_gift(const api::Pod& asked, const api::Pod& bound) override;
  void check_gift(const api::Pod& asked, const api::Pod& bound);
  bool excused(const Decision& decision, const reference::Answer& expected) override;
  void check_waiting() override;
  /// Who is given back waits a while, although it fits.
  bool ends_well() override { return true; }
  std::string refusal(const reference::Rejection& by) const override;

  DeviceObjects random_;
  std::set<std::string> refused_late_;  // keys of pods that the filter took and Reserve did not
  std::string templates_;               // as they were written last
};

}  // namespace koord::scheduling::test
