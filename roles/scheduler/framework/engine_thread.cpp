// EngineThread: see engine_thread.hpp.
#include "framework/engine_thread.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduler {

namespace {
constexpr std::size_t kBatch = 64;  // decisions in a report: large enough to amortise the hop, small in time
}

struct EngineThread::Shared {
  OnReport on_report;     // on the executor only
  bool reporting = true;  // on the executor only

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<EngineChange> changes;
  std::size_t permits = 0;
  bool woken = false;
  bool stopping = false;
};

EngineThread::EngineThread(boost::asio::any_io_executor executor, std::unique_ptr<Engine> engine,
                           OnReport on_report)
    : executor_(std::move(executor)), engine_(std::move(engine)), shared_(std::make_shared<Shared>()) {
  shared_->on_report = std::move(on_report);
  thread_ = std::thread([this] { run(); });
}

EngineThread::~EngineThread() { stop(); }

void EngineThread::post(std::vector<EngineChange> changes) {
  {
    std::lock_guard lock(shared_->mutex);
    if (shared_->changes.empty()) {
      shared_->changes = std::move(changes);
    } else {
      std::move(changes.begin(), changes.end(), std::back_inserter(shared_->changes));
    }
  }
  shared_->changed.notify_one();
}

void EngineThread::permit(std::size_t decisions) {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->permits += decisions;
  }
  shared_->changed.notify_one();
}

void EngineThread::wake() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->woken = true;
  }
  shared_->changed.notify_one();
}

void EngineThread::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->changed.notify_one();
  thread_.join();
  shared_->reporting = false;
}

void EngineThread::apply(const EngineChange& change) {
  switch (change.kind) {
    case EngineChange::Kind::node: engine_->put_node(change.node); break;
    case EngineChange::Kind::node_gone: engine_->remove_node(change.node->metadata.name); break;
    case EngineChange::Kind::pod: engine_->put_pod(change.pod); break;
    case EngineChange::Kind::pod_gone: engine_->remove_pod(*change.pod); break;
    case EngineChange::Kind::binding_failed: engine_->binding_failed(*change.pod); break;
  }
}

void EngineThread::run() {
  std::vector<EngineChange> changes;
  bool idle = false;  // the last look found nothing to decide
  std::unique_lock lock(shared_->mutex);
  while (!shared_->stopping) {
    bool news = !shared_->changes.empty() || shared_->woken;
    if (!news && (idle || shared_->permits == 0)) {
      shared_->changed.wait(lock);
      continue;
    }
    changes.clear();
    std::swap(changes, shared_->changes);
    shared_->woken = false;
    std::size_t permits = shared_->permits;
    lock.unlock();

    for (const EngineChange& change : changes) apply(change);
    std::vector<Decision> decisions;
    std::size_t wanted = std::min(permits, kBatch);
    std::size_t tried = engine_->schedule(wanted, decisions);
    idle = tried < wanted || wanted == 0;
    boost::asio::post(executor_, [shared = shared_, report = report(std::move(decisions))]() mutable {
      if (shared->reporting) shared->on_report(std::move(report));
    });

    lock.lock();
    shared_->permits -= tried;
    if (wanted == 0) idle = false;
  }
}

EngineReport EngineThread::report(std::vector<Decision> decisions) const {
  EngineReport r;
  r.decisions = std::move(decisions);
  r.wakeup = engine_->next_wakeup();
  r.queue = engine_->queue_sizes();
  r.nodes = engine_->nodes().nodes();
  r.pods = engine_->pods();
  r.assumed = engine_->assumed();
  r.incoming = engine_->incoming();
  for (const auto& [profile, counts] : engine_->rejections())
    for (std::size_t i = 0; i < profile->plugins.size(); ++i)
      r.rejections[{profile->scheduler_name, profile->plugins[i]->name()}] = counts[i];
  return r;
}

}  // namespace koord::scheduler
