// EngineThread: the engine on a thread of its own, fed batches of changes and giving back batches of
// decisions.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/kube/delivery.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"

namespace koord::scheduler {

// What the engine is told.

/// Added or changed; gone: `node` is the last one known.
struct NodeChange {
  std::shared_ptr<const api::Node> node;
  bool gone = false;
};
struct PodChange {
  std::shared_ptr<const api::Pod> pod;
  bool gone = false;
};
/// Of any other kind that plugins watch.
struct ObjectChange {
  kube::Change change;
};
/// Of decisions that failed, and of those that ask for it.
struct BindingEnded {
  std::shared_ptr<const api::Pod> pod;
  bool bound;
};
/// The victims of the pod's decision were asked to go; false: not all of them could be.
struct VictimsAsked {
  std::shared_ptr<const api::Pod> pod;
  bool all;
};
struct ExtendersAnswered {
  std::shared_ptr<const api::Pod> pod;
  std::shared_ptr<const scheduling::ExtenderAnswer> answer;
};
/// All that existed at the start was posted before.
struct AllSynced {};
/// One thing that the cluster, the writer or the extenders did.
using EngineChange = std::variant<NodeChange, PodChange, ObjectChange, AllSynced, BindingEnded, VictimsAsked,
                                  ExtendersAnswered>;

struct EngineReport {
  std::vector<scheduling::Decision> decisions;
  /// When EngineThread::wake() should be called if nothing else happens. Absent while the engine waits for
  /// permits: it looks when they come.
  std::optional<MonoTime> wakeup;
  scheduling::QueueSizes queue;
  std::size_t nodes = 0, pods = 0, assumed = 0;
  scheduling::Queue::Incoming incoming;  // since the start
  /// Waiting pods by profile and plugin that rejected them.
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> rejections;
  // Since the last report.
  scheduling::Durations::Taken hints, handled, points, permits, plugins;
};

/// All methods on the executor's thread. The engine decides only as much as it was permitted: each decision
/// uses up one permit, which is given anew when the decision has been written down. Changes and decisions
/// take turns, so that neither waits for all of the others.
class EngineThread {
 public:
  using OnReport = std::function<void(EngineReport)>;
  /// With one piece of work (a change, a decision) longer than this the engine counts as stuck. Those that
  /// are heavy on purpose take a tenth of a second.
  static constexpr nanoseconds kStuck = std::chrono::seconds(20);
  /// So many changes may wait here. Who has more keeps them, one for each object, until there is room().
  static constexpr std::size_t kBacklog = 4096;

  /// `on_report` is called on the executor.
  EngineThread(boost::asio::any_io_executor executor, Clock& clock,
               std::unique_ptr<scheduling::Engine> engine, OnReport on_report);
  /// Await stop() before: a thread that still runs is left behind.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  void post(std::vector<EngineChange> changes);
  void post(EngineChange change);
  /// Returns when fewer than kBacklog changes wait.
  Task<Result<>> room();
  /// Nothing is decided before that which was posted before the first permit is known.
  void permit(std::size_t decisions);
  /// Time has passed: looks whether a backoff is over.
  void wake();

  using Question = std::function<scheduling::ServiceAnswer(scheduling::Engine&)>;
  /// So many questions may wait for their answers.
  static constexpr std::size_t kMostQuestions = 16;
  /// What the question says on the engine's thread, between two pieces of work. Equal keys asked meanwhile
  /// are one question. Error(Code::too_many_requests) if too many wait, Error(Code::unavailable) if it stops.
  Task<Result<scheduling::ServiceAnswer>> ask(std::string key, Question question);
  /// The same without an answer.
  void tell(std::function<void(scheduling::Engine&)> what);
  /// What the engine is at.
  const scheduling::CycleWatch& watch() const;

  /// How long the engine has owed the end of a piece of work: since it began the last one, or was given one
  /// while it waited. Zero while there is nothing to do.
  nanoseconds behind() const;
  /// Error(Code::unavailable) while it is stuck.
  Result<> check() const;

  /// Ends the thread after the piece of work that it is at; reports that are still on their way are dropped.
  /// Error(Code::timeout) if that takes longer than `grace`: the thread is then left behind, with all that it
  /// uses but the clock, and the process has to end without destroying that. Never waits for the thread on
  /// the executor.
  Task<Result<>> stop(nanoseconds grace);

 private:
  struct Shared;
  struct Asked;
  static void run(std::shared_ptr<Shared> shared);
  void leave_behind();

  Clock& clock_;
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace koord::scheduler
