// EngineThread: the engine on a thread of its own, fed batches of changes and giving back batches of
// decisions.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "framework/engine.hpp"

namespace koord::scheduler {

/// One thing that the cluster or the binder did.
struct EngineChange {
  enum class Kind : std::uint8_t { node, node_gone, pod, pod_gone, binding_failed };
  Kind kind;
  std::shared_ptr<const api::Node> node;  // of the first two; the last one known when it is gone
  std::shared_ptr<const api::Pod> pod;
};

struct EngineReport {
  std::vector<Decision> decisions;
  /// When EngineThread::wake() should be called if nothing else happens.
  std::optional<MonoTime> wakeup;
  QueueSizes queue;
  std::size_t nodes = 0, pods = 0, assumed = 0;
  Queue::Incoming incoming;  // since the start
  /// Waiting pods by profile and plugin that rejected them.
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> rejections;
};

/// All methods on the executor's thread. The engine decides only as much as it was permitted: each decision
/// uses up one permit, which is given anew when the decision has been written down.
class EngineThread {
 public:
  using OnReport = std::function<void(EngineReport)>;
  /// `on_report` is called on the executor.
  EngineThread(boost::asio::any_io_executor executor, std::unique_ptr<Engine> engine, OnReport on_report);
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  void post(std::vector<EngineChange> changes);
  void permit(std::size_t decisions);
  /// Time has passed: looks whether a backoff is over.
  void wake();
  /// Ends the thread; reports that are still on their way are dropped.
  void stop();

 private:
  struct Shared;
  void run();
  void apply(const EngineChange& change);
  EngineReport report(std::vector<Decision> decisions) const;

  boost::asio::any_io_executor executor_;
  std::unique_ptr<Engine> engine_;  // of the thread
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace koord::scheduler
