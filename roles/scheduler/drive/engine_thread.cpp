// EngineThread: see engine_thread.hpp.
#include "drive/engine_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/event.hpp"
#include "koord/async/timer.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"

namespace koord::scheduler {

namespace {

constexpr std::size_t kBatch = 64;  // decisions in a report: large enough to amortise the hop, small in time
constexpr std::size_t kTurn = 256;  // changes between two such batches
constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::max();

/// Puts a change to the engine.
struct Apply {
  scheduling::Engine& engine;

  void operator()(const NodeChange& c) const {
    if (c.gone) return engine.remove_node(c.node->metadata.name);
    engine.put_node(c.node);
  }
  void operator()(const PodChange& c) const {
    if (c.gone) return engine.remove_pod(*c.pod);
    engine.put_pod(c.pod);
  }
  void operator()(const ObjectChange& o) const {
    const kube::Change& c = o.change;
    engine.change_object(*c.type, c.after ? c.after : c.before, !c.after);
  }
  void operator()(const AllSynced&) const {
    for (const scheduling::Profile& profile : engine.profiles())
      for (const scheduling::Profile::Named& named : profile.plugins)
        if (auto* told = dynamic_cast<scheduling::SyncedPlugin*>(named.plugin.get())) told->all_synced();
  }
  void operator()(const BindingEnded& c) const {
    if (c.bound) return engine.binding_succeeded(*c.pod);
    engine.binding_failed(*c.pod);
  }
  void operator()(const VictimsAsked& c) const { engine.preempted(*c.pod, c.all); }
  void operator()(const ExtendersAnswered& c) const { engine.answered(*c.pod, c.answer); }
};

EngineReport report_of(scheduling::Engine& engine, std::vector<scheduling::Decision> decisions) {
  EngineReport r;
  r.decisions = std::move(decisions);
  r.queue = engine.queue_sizes();
  r.nodes = engine.nodes().nodes();
  r.pods = engine.pods();
  r.assumed = engine.assumed();
  r.incoming = engine.incoming();
  for (const auto& [profile, counts] : engine.rejections())
    for (std::size_t i = 0; i < profile->plugins.size(); ++i)
      r.rejections[{profile->scheduler_name, profile->plugins[i].name}] = counts[i];
  r.hints = engine.take_hints();
  r.handled = engine.take_handled();
  r.points = engine.take_points();
  r.permits = engine.take_permits();
  r.plugins = engine.take_plugins();
  return r;
}

}  // namespace

/// A question and those who wait for its answer; on the executor.
struct EngineThread::Asked {
  Event done;
  std::optional<scheduling::ServiceAnswer> answer;  // none: the engine stops
};

/// What the thread uses: it stays for as long as the thread does.
struct EngineThread::Shared {
  Shared(boost::asio::any_io_executor e, Clock& c, std::unique_ptr<scheduling::Engine> made, OnReport on)
      : executor(std::move(e)), clock(c), engine(std::move(made)), on_report(std::move(on)) {}

  boost::asio::any_io_executor executor;
  Clock& clock;
  std::unique_ptr<scheduling::Engine> engine;  // of the thread
  // On the executor only:
  OnReport on_report;
  bool reporting = true;
  Event ended, room;
  std::map<std::string, std::shared_ptr<Asked>, std::less<>> asked;
  void answered(const std::string& key, std::optional<scheduling::ServiceAnswer> answer) {
    const auto it = asked.find(key);
    if (it == asked.end()) return;
    const std::shared_ptr<Asked> waiting = it->second;
    asked.erase(it);
    waiting->answer = std::move(answer);
    waiting->done.set();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<EngineChange> changes;
  std::vector<std::pair<std::string, Question>> questions;
  bool full = false;         // somebody waits for room
  std::uint64_t posted = 0;  // changes, all in all
  std::size_t permits = 0;
  std::optional<std::uint64_t>
      begin;  // with the first permit: the changes to know before anything is decided
  bool woken = false;
  bool left = false;  // nobody is there any more to post to
  std::atomic<bool> stopping{false};
  /// Nanoseconds of the clock: when the present piece of work began, or was given to a thread that waited.
  std::atomic<std::int64_t> since{kNothing};

  void beat() { since = clock.mono().time_since_epoch().count(); }
  /// With the mutex held.
  void owe() {
    if (since == kNothing) beat();
  }
};

EngineThread::EngineThread(boost::asio::any_io_executor executor, Clock& clock,
                           std::unique_ptr<scheduling::Engine> engine, OnReport on_report)
    : clock_(clock),
      shared_(std::make_shared<Shared>(std::move(executor), clock, std::move(engine), std::move(on_report))) {
  thread_ = std::thread([shared = shared_]() mutable { run(std::move(shared)); });
}

EngineThread::~EngineThread() {
  if (thread_.joinable()) leave_behind();
}

void EngineThread::post(std::vector<EngineChange> changes) {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->owe();
    shared_->posted += changes.size();
    if (shared_->changes.empty()) {
      shared_->changes = std::move(changes);
    } else {
      std::move(changes.begin(), changes.end(), std::back_inserter(shared_->changes));
    }
  }
  shared_->changed.notify_one();
}

void EngineThread::post(EngineChange change) {
  std::vector<EngineChange> changes;
  changes.push_back(std::move(change));
  post(std::move(changes));
}

Task<Result<>> EngineThread::room() {
  {
    std::lock_guard lock(shared_->mutex);
    if (shared_->changes.size() < kBacklog) co_return Result<>();
    shared_->full = true;
    shared_->room.reset();
  }
  Task<Result<>> room = shared_->room.wait();
  co_return co_await std::move(room);
}

void EngineThread::permit(std::size_t decisions) {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->owe();
    if (!shared_->begin) shared_->begin = shared_->posted;
    shared_->permits += decisions;
  }
  shared_->changed.notify_one();
}

void EngineThread::wake() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->owe();
    shared_->woken = true;
  }
  shared_->changed.notify_one();
}

Task<Result<scheduling::ServiceAnswer>> EngineThread::ask(std::string key, Question question) {
  constexpr auto kStops = "the engine has stopped";
  if (!shared_->reporting) co_return Error(Code::unavailable, kStops);
  auto& asked = shared_->asked;
  auto it = asked.find(key);
  if (it == asked.end() && asked.size() >= kMostQuestions)
    co_return Error(Code::too_many_requests, "too many questions wait for the engine");
  if (it == asked.end()) {
    it = asked.emplace(key, std::make_shared<Asked>()).first;
    {
      std::lock_guard lock(shared_->mutex);
      shared_->owe();
      shared_->questions.emplace_back(std::move(key), std::move(question));
    }
    shared_->changed.notify_one();
  }
  const std::shared_ptr<Asked> mine = it->second;
  KOORD_CO_CHECK(co_await mine->done.wait());
  if (!mine->answer) co_return Error(Code::unavailable, kStops);
  co_return *mine->answer;
}

void EngineThread::tell(std::function<void(scheduling::Engine&)> what) {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->owe();
    // Nobody waits under this key.
    shared_->questions.emplace_back(std::string(), [what = std::move(what)](scheduling::Engine& engine) {
      what(engine);
      return scheduling::ServiceAnswer();
    });
  }
  shared_->changed.notify_one();
}

const scheduling::CycleWatch& EngineThread::watch() const { return shared_->engine->watch(); }

nanoseconds EngineThread::behind() const {
  const std::int64_t now = clock_.mono().time_since_epoch().count(), since = shared_->since;
  return nanoseconds(since < now ? now - since : 0);
}

Result<> EngineThread::check() const {
  const nanoseconds late = behind();
  if (late <= kStuck) return {};
  return Error(Code::unavailable, fmt::format("the engine has been at one piece of work for {} s",
                                              std::chrono::floor<std::chrono::seconds>(late).count()));
}

Task<Result<>> EngineThread::stop(nanoseconds grace) {
  if (!thread_.joinable()) co_return Result<>();
  shared_->reporting = false;
  while (!shared_->asked.empty()) {
    const std::string key = shared_->asked.begin()->first;
    shared_->answered(key, std::nullopt);
  }
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->changed.notify_one();
  Task<Result<>> ended = shared_->ended.wait();
  if (auto waited = co_await with_timeout(clock_, grace, std::move(ended)); !waited) {
    leave_behind();
    co_return std::move(waited).error().context("the engine hangs");
  }
  {
    // It told its end with the mutex held, as the last thing that it does with what is shared: whoever holds
    // the mutex after it knows that it is out of the executor, too.
    std::lock_guard lock(shared_->mutex);
  }
  thread_.detach();
  co_return Result<>();
}

void EngineThread::leave_behind() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
    shared_->left = true;
  }
  shared_->reporting = false;
  shared_->changed.notify_one();
  thread_.detach();
}

void EngineThread::run(std::shared_ptr<Shared> shared) {
  Shared& s = *shared;
  scheduling::Engine& engine = *s.engine;
  std::vector<EngineChange> taken;
  std::size_t next = 0;       // of them
  std::uint64_t applied = 0;  // all in all
  bool idle = false;          // the last look found nothing to decide
  std::unique_lock lock(s.mutex);
  while (!s.stopping) {
    if (next == taken.size()) {
      taken.clear();
      next = 0;
      std::swap(taken, s.changes);
      if (std::exchange(s.full, false)) boost::asio::post(s.executor, [shared] { shared->room.set(); });
    }
    const bool news = next < taken.size() || s.woken || !s.questions.empty();
    if (!news && (idle || s.permits == 0)) {
      s.since = kNothing;
      s.changed.wait(lock);
      continue;
    }
    s.woken = false;
    const auto questions = std::exchange(s.questions, {});
    const std::size_t permits = std::min(s.permits, kBatch);
    const std::uint64_t begin = s.begin.value_or(0);
    s.beat();
    lock.unlock();

    for (std::size_t n = 0; n < kTurn && next < taken.size() && !s.stopping; ++n) {
      std::visit(Apply{engine}, std::exchange(taken[next++], {}));
      ++applied;
      s.beat();
    }
    const std::size_t wanted = applied >= begin ? permits : 0;
    std::vector<scheduling::Decision> decisions;
    std::size_t tried = 0;
    while (tried < wanted && !s.stopping && engine.schedule(1, decisions) == 1) {
      ++tried;
      s.beat();
    }
    idle = wanted != 0 && tried < wanted;
    EngineReport report = report_of(engine, std::move(decisions));
    if (idle) report.wakeup = engine.next_wakeup();
    std::vector<std::pair<std::string, scheduling::ServiceAnswer>> answers;
    for (const auto& [key, question] : questions) {
      answers.emplace_back(key, question(engine));
      s.beat();
    }

    lock.lock();
    s.permits -= tried;
    // Not after stop() began: then there may be no executor any more.
    if (!s.stopping)
      boost::asio::post(s.executor,
                        [shared, report = std::move(report), answers = std::move(answers)]() mutable {
                          for (auto& [key, answer] : answers) shared->answered(key, std::move(answer));
                          if (shared->reporting) shared->on_report(std::move(report));
                        });
  }
  s.since = kNothing;
  if (!s.left) boost::asio::post(s.executor, [shared = std::move(shared)] { shared->ended.set(); });
}

}  // namespace koord::scheduler
