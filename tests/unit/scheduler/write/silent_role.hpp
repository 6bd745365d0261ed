// SilentRole: the role around a writer that knows nothing and tells nobody; tests say more.
#pragma once

#include "koord/scheduling/plugin/placed_kind.hpp"
#include "write/writer_services.hpp"

namespace koord::scheduler::test {

struct SilentRole : WriterServices {
  kube::EventRecorder& events(std::string_view) override { return *recorder; }
  const scheduling::PlacedKinds& placed() const override { return kinds; }
  kube::Object find(const kube::ObjectType&, std::string_view, std::string_view) const override { return {}; }
  bool may_write() const override { return writes; }
  std::string unserved(std::string_view, const api::Pod&) const override { return {}; }
  std::vector<scheduling::FailureEventPlugin::Event> also_told(std::string_view, const api::Pod&,
                                                               std::string_view) const override {
    return {};
  }
  void binding_ended(std::shared_ptr<const api::Pod>, bool) override {}
  void preempted(std::shared_ptr<const api::Pod>, bool) override {}
  void answered(std::shared_ptr<const api::Pod>, std::shared_ptr<const scheduling::ExtenderAnswer>) override {
  }
  void done() override {}

  kube::EventRecorder* recorder = nullptr;
  bool writes = true;
  scheduling::PlacedKinds kinds;
};

}  // namespace koord::scheduler::test
