// Workers over the names of nodes: see node_objects.hpp.
#include "controllers/node_objects.hpp"

namespace koord::manager {

NodeWorkers::NodeWorkers(Clock& clock, Logger log, std::string_view name,
                         std::function<Task<Result<>>(const std::string&)> reconcile,
                         std::function<bool()> may_write)
    : log_(std::move(log)),
      name_(name),
      reconcile_(std::move(reconcile)),
      may_write_(std::move(may_write)),
      queue_(clock) {}

void NodeWorkers::add_all(const kube::Informer<api::Node>& nodes) {
  nodes.for_each([this](const kube::Object& node) {
    queue_.add(std::static_pointer_cast<const api::Node>(node)->metadata.name);
  });
}

void NodeWorkers::start(TaskGroup& tasks) {
  for (int i = 0; i < kWorkers; ++i) tasks.spawn(fmt::format("{} {}", name_, i), work());
}

Task<Result<>> NodeWorkers::work() {
  for (;;) {
    auto next = co_await queue_.next();
    if (!next) co_return next.error();
    if (!*next) co_return Result<>();
    const std::string& node = **next;
    if (!may_write_()) {
      queue_.done(node);
      continue;
    }
    const Result<> done = co_await reconcile_(node);
    if (!done && done.error().code() == Code::cancelled) {
      queue_.done(node);
      co_return done;
    }
    if (done) {
      queue_.forget(node);
    } else {
      if (queue_.failures(node) == 0)
        log_.warn("an object of a node is not right yet", kv("controller", name_), kv("node", node),
                  kv("error", done.error()));
      queue_.retry(node);
    }
    queue_.done(node);
  }
}

}  // namespace koord::manager
