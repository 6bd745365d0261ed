// Three extenders that answer by a rule, asked through scheduler::ExtenderCalls over a transport in memory;
// and what is to be expected of them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "extenders/extender_calls.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/offload.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/reference/evaluate.hpp"
#include "support/run_task.hpp"

namespace koord::scheduling::test {

/// A filters and scores; B, which may be ignored, filters whole nodes; C scores and binds. Each is asked
/// about the pods that limit its resource.
class PlayedExtenders {
 public:
  PlayedExtenders();
  PlayedExtenders(const PlayedExtenders&) = delete;
  PlayedExtenders& operator=(const PlayedExtenders&) = delete;

  const std::vector<Extender>& configured() const { return configured_; }
  ExtenderAnswer ask(std::shared_ptr<const api::Pod> pod, std::shared_ptr<const ExtenderQuestion> question);
  /// Absent: none of them binds it.
  std::optional<bool> bind(std::shared_ptr<const api::Pod> pod, const Symbol& node);

  /// The same, as kube-scheduler says it is.
  static reference::Extended expected();
  /// Some fail at the first time.
  static std::optional<bool> expected_bind(const api::Pod& pod, int times);
  /// Often none of them has a say.
  static void take(std::mt19937& random, api::Pod& pod);

 private:
  Result<net::Response> answer(char extender, const net::Request& request);

  koord::test::Loop loop_;
  koord::test::FakeTransport api_{loop_.clock};
  kube::Client client_{api_, loop_.clock, {}};
  CapturedLog captured_;
  WorkerPool workers_{1};
  std::map<std::string, int> times_;  // that a pod was to be bound, by name
  std::vector<Extender> configured_;
  std::unique_ptr<scheduler::ExtenderCalls> calls_;
};

}  // namespace koord::scheduling::test
