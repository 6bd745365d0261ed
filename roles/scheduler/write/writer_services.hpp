// WriterServices and WriterParts: what decisions are carried out with.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drive/telemetry.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/kube/store.hpp"
#include "koord/scheduling/plugin/telling_plugin.hpp"

namespace koord::api {
struct Pod;
}
namespace koord::kube {
class Client;
}
namespace koord::scheduling {
struct ExtenderAnswer;
class PlacedKinds;
}  // namespace koord::scheduling

namespace koord::scheduler {

class ExtenderCalls;

/// The role around the writer: what it knows, and whom it tells. On the event loop's thread.
class WriterServices {
 public:
  virtual ~WriterServices() = default;
  /// What events of a profile are recorded with.
  virtual kube::EventRecorder& events(std::string_view profile) = 0;
  /// What decisions may be about beside pods.
  virtual const scheduling::PlacedKinds& placed() const = 0;
  /// What is known now of a node, a pod, or an object of a kind that plugins watch; nullptr: there is none.
  virtual kube::Object find(const kube::ObjectType& type, std::string_view ns,
                            std::string_view name) const = 0;
  /// False while another process may hold the lease: nothing is written then.
  virtual bool may_write() const = 0;
  /// What a pod that is bound has asked for and its profile does not serve, as unserved() says it; empty:
  /// nothing.
  virtual std::string unserved(std::string_view profile, const api::Pod& pod) const = 0;
  /// What the profile's plugins have to add to the message that a pod is told of a failure.
  virtual std::vector<scheduling::FailureEventPlugin::Event> also_told(std::string_view profile,
                                                                       const api::Pod& pod,
                                                                       std::string_view message) const = 0;

  /// A binding has ended: of those that failed, and of all whose decision asks for it.
  virtual void binding_ended(std::shared_ptr<const api::Pod> pod, bool bound) = 0;
  /// The victims of the pod's decision were asked to go; false: not all of them could be.
  virtual void preempted(std::shared_ptr<const api::Pod> pod, bool all) = 0;
  /// The extenders have answered what a decision asks.
  virtual void answered(std::shared_ptr<const api::Pod> pod,
                        std::shared_ptr<const scheduling::ExtenderAnswer> answer) = 0;
  /// After each decision, but for those that stop() cuts off: another one may come.
  virtual void done() = 0;
};

/// What decisions are carried out with. All of it outlives the writer.
struct WriterParts {
  kube::Client& client;
  Clock& clock;
  Logger log;
  Telemetry& telemetry;
  WriterServices& role;
  /// nullptr: there are no extenders.
  ExtenderCalls* extenders = nullptr;
  /// Before a binding the pod is looked at once more, as Koordinator does: it must be there, stay, and be
  /// meant for the profile still.
  bool checks_pods = false;

  /// For what is sent: whether it may go.
  std::function<bool()> may_go() const {
    return [&role = role] { return role.may_write(); };
  }
};

}  // namespace koord::scheduler
