// WriterServices: what decisions are carried out with.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "drive/telemetry.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/kube/store.hpp"

namespace koord::api {
struct Pod;
}
namespace koord::kube {
class Client;
}
namespace koord::scheduling {
struct ExtenderAnswer;
}

namespace koord::scheduler {

class ExtenderCalls;

struct WriterServices {
  kube::Client& client;
  Clock& clock;
  Logger log;
  Telemetry& telemetry;
  /// What events of a profile are recorded with.
  std::function<kube::EventRecorder&(std::string_view profile)> events;
  /// The pod as it is known now; nullptr: gone.
  std::function<std::shared_ptr<const api::Pod>(const api::Pod&)> latest;
  /// False while another process may hold the lease: nothing is written then.
  std::function<bool()> may_write;
  /// A binding has ended: of those that failed, and of all whose decision asks for it.
  std::function<void(std::shared_ptr<const api::Pod>, bool bound)> binding_ended;
  /// The victims of the pod's decision were asked to go; false: not all of them could be.
  std::function<void(std::shared_ptr<const api::Pod>, bool all)> preempted;
  /// After each decision, but for those that stop() cuts off: another one may come.
  std::function<void()> done;
  /// What is known now of a node, a pod, or an object of a kind that plugins watch; nullptr: there is none.
  std::function<kube::Object(const kube::ObjectType&, std::string_view ns, std::string_view name)> find = {};
  /// nullptr: there are no extenders. It outlives the writer.
  ExtenderCalls* extenders = nullptr;
  /// They have answered what a decision asks.
  std::function<void(std::shared_ptr<const api::Pod>, std::shared_ptr<const scheduling::ExtenderAnswer>)>
      answered = {};
  /// Before a binding the pod is looked at once more, as Koordinator does: it must be there, stay, and be
  /// meant for the profile still.
  bool checks_pods = false;
  /// What a pod that is bound has asked for and its profile does not serve, as unserved() says it; empty:
  /// nothing.
  std::function<std::string(std::string_view profile, const api::Pod&)> unserved = {};
};

}  // namespace koord::scheduler
