// Asker: an engine of its own for each question; see asker.hpp.
#include "view/page/asker.hpp"

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/timer.hpp"
#include "koord/scheduling/config/gates.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/what_if/explain.hpp"
#include "koord/view/ask/cluster_lists.hpp"
#include "koord/view/ask/engine_to_ask.hpp"
#include "koord/view/ask/pod_file.hpp"

namespace koord::view {

namespace {

/// Taken by whoever makes it.
class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) {}
  ~Turn() { turns_.give_back(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns& turns_;
};

Error busy() { return Error(Code::unavailable, "another question is being answered: ask again in a moment"); }

}  // namespace

Asker::Asker(Clock& clock, WorkerPool& workers, kube::Client& client, std::function<Cluster()> cluster)
    : clock_(clock),
      workers_(workers),
      client_(client),
      cluster_(std::move(cluster)),
      gates_(scheduling::gates()),
      turns_(kBetween) {}

Task<Result<std::string>> Asker::explain(std::shared_ptr<const api::Pod> pod) {
  if (!turns_.take()) co_return busy();
  const Turn turn(turns_);
  co_return co_await ask(std::move(pod), true);
}

Task<Result<std::string>> Asker::what_if(std::string manifest) {
  if (!turns_.take()) co_return busy();
  const Turn turn(turns_);
  std::function<Result<std::string>()> read = [&] { return pod_of_manifest(manifest, "the pod", "default"); };
  Result<std::string> json = co_await offload(workers_, std::move(read));
  Result<MadePod> made = json ? co_await as_written(client_, std::move(*json)) : json.error();
  // Whatever is wrong with it: it is the manifest.
  if (!made) co_return Error(Code::invalid, std::string(made.error().message()));
  co_return co_await ask(std::move(made->pod), false);
}

Task<Result<std::string>> Asker::ask(std::shared_ptr<const api::Pod> pod, bool exists) {
  if (const nanoseconds wait = turns_.wait(clock_.mono()); wait > nanoseconds::zero()) {
    KOORD_CO_CHECK(co_await sleep(clock_, wait));
  }
  turns_.lists(clock_.mono());
  EngineToAsk asked;
  std::vector<std::shared_ptr<const api::Pod>> waiting;
  Cluster cluster = cluster_();
  std::function<Result<bool>()> fill = [&]() -> Result<bool> {
    KOORD_TRY(made, make_engine_to_ask(clock_, {}, gates_));
    asked = std::move(made);
    for (auto& node : cluster.nodes) asked.engine->put_node(std::move(node));
    for (auto& other : cluster.pods) {
      if (other->spec.node_name.empty()) waiting.push_back(other);
      asked.engine->put_pod(std::move(other));
    }
    return true;
  };
  const Result<bool> filled = co_await offload(workers_, std::move(fill));
  std::string json;
  Result<> listed;
  if (filled) {
    ClusterLists lists(
        client_, *asked.engine, [](std::string_view, std::size_t, std::size_t) {}, &workers_);
    listed = co_await lists.read_others();
    if (listed) {
      std::function<Result<bool>()> answer = [&]() -> Result<bool> {
        scheduling::explain::Question question;
        question.pod = asked.transforms ? scheduling::Transforms().pod(pod) : pod;
        question.exists = exists;
        question.defaults = true;
        question.ahead = pods_ahead(waiting, *question.pod);
        question.now = clock_.now();
        question.give_up = [this, end = clock_.mono() + kLongest] { return ending_ || clock_.mono() >= end; };
        scheduling::explain::ExplanationView view = scheduling::explain::explain(*asked.engine, question);
        if (!exists)
          view.notes.emplace_back(
              "the pod is taken as it is written: the API server's webhooks, which may give it batch "
              "resources and a "
              "priority, were not asked");
        view.notes.insert(view.notes.end(), lists.notes().begin(), lists.notes().end());
        json = api::encode(view);
        return true;
      };
      const Result<bool> answered = co_await offload(workers_, std::move(answer));
      if (!answered) listed = answered.error();
    }
  }
  // What a large cluster's engine holds is given back by a worker, too.
  std::function<Result<bool>()> end = [&]() -> Result<bool> {
    asked = EngineToAsk();
    cluster = {};
    return true;
  };
  const Result<bool> ended = co_await offload(workers_, std::move(end));
  (void)ended;  // then it is done here
  if (!filled) co_return filled.error();
  if (!listed) co_return listed.error();
  co_return json;
}

}  // namespace koord::view
