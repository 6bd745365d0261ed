// ExtenderCalls: see extender_calls.hpp.
#include "extenders/extender_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/event.hpp"
#include "koord/async/offload.hpp"
#include "koord/base/base64.hpp"
#include "koord/base/file.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/transport.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/config/extender_interest.hpp"

namespace koord::scheduler {

namespace {

/// Extenders' scores are 0 to 10 (a weight makes them any number), plugins' 0 to 100.
constexpr std::int64_t kScale = 10;
/// More than the names and reasons of 100,000 nodes take, and the nodes of a few thousand.
constexpr std::size_t kMaxAnswer = std::size_t{64} << 20;
/// What one extender may add to a node's score or take from it; a weighted sum of plugins stays below.
constexpr std::int64_t kMostScore = std::int64_t{1} << 50;

/// As Go reads the names of members: in any case.
const json::Value* member(const json::Value& object, std::string_view name) {
  const auto alike = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
    return lower(a) == lower(b);
  };
  for (const json::Member& m : object.members())
    if (m.key().size() == name.size() && std::equal(name.begin(), name.end(), m.key().begin(), alike))
      return &m.value;
  return nullptr;
}
const json::Value* filled(const json::Value& object, std::string_view name) {
  const json::Value* found = member(object, name);
  return found == nullptr || found->is_null() ? nullptr : found;
}
std::string_view text_of(const json::Value& object, std::string_view name) {
  const json::Value* found = member(object, name);
  return found == nullptr ? std::string_view() : found->text();
}

Error wrong(std::string_view what) {
  return Error(Code::parse, fmt::format("the extender's answer: {}", what));
}

std::int64_t scaled(std::int64_t score, std::int64_t weight) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(score, weight, &product) || __builtin_mul_overflow(product, kScale, &product))
    product = (score < 0) == (weight < 0) ? kMostScore : -kMostScore;
  return std::clamp(product, -kMostScore, kMostScore);
}

Result<kube::ClientConfig> client_config(const scheduling::Extender& e) {
  kube::ClientConfig config;
  config.server = e.url_prefix;
  config.user_agent = "koord-scheduler";
  if (e.tls_config) {
    const scheduling::ExtenderTlsConfig& tls = *e.tls_config;
    config.insecure_skip_tls_verify = tls.insecure;
    config.tls_server_name = tls.server_name;
    config.ca_file = tls.ca_file;
    config.client_cert_file = tls.cert_file;
    config.client_key_file = tls.key_file;
    struct Part {
      const std::string &data, &file;
      std::string& pem;
    };
    for (const Part& part : {Part{tls.ca_data, tls.ca_file, config.ca_pem},
                             Part{tls.cert_data, tls.cert_file, config.client_cert_pem},
                             Part{tls.key_data, tls.key_file, config.client_key_pem}}) {
      if (!part.data.empty()) {
        auto decoded = decode_base64(part.data);
        if (!decoded) return Error(Code::invalid, "the TLS data is no base64");
        part.pem = std::move(*decoded);
      } else if (!part.file.empty()) {
        KOORD_TRY(read, read_file(part.file));
        part.pem = std::move(read);
      }
    }
    // Data has precedence, and is not read again.
    if (!tls.ca_data.empty()) config.ca_file.clear();
    if (!tls.cert_data.empty()) config.client_cert_file.clear();
    if (!tls.key_data.empty()) config.client_key_file.clear();
  }
  if (e.enable_https && config.ca_pem.empty()) config.insecure_skip_tls_verify = true;
  return config;
}

}  // namespace

struct ExtenderCalls::Server {
  scheduling::Extender config;
  std::unique_ptr<kube::Transport> transport;
  std::string prefix;  // the path of the URL is the transport's
  // Of questions that have the size of the cluster.
  std::size_t on_the_way = 0;  // bytes
  bool writing = false;        // one of them
  Event room = {};
};

/// A question's share of what is on its way to an extender, for as long as it lives.
class ExtenderCalls::OnTheWay {
 public:
  explicit OnTheWay(Server& server) : server_(server) {}
  OnTheWay(const OnTheWay&) = delete;
  OnTheWay& operator=(const OnTheWay&) = delete;
  ~OnTheWay() {
    end_writing();
    server_.on_the_way -= bytes_;
    server_.room.set();
  }
  /// Returns when it may be written.
  Task<Result<>> begin() {
    while (server_.writing || server_.on_the_way >= kMostOnTheWay) {
      server_.room.reset();
      KOORD_CO_CHECK(co_await server_.room.wait());
    }
    server_.writing = writing_ = true;
    co_return Result<>();
  }
  void written(std::size_t bytes) {
    server_.on_the_way += bytes_ = bytes;
    end_writing();
  }

 private:
  void end_writing() {
    if (!std::exchange(writing_, false)) return;
    server_.writing = false;
    server_.room.set();
  }

  Server& server_;
  std::size_t bytes_ = 0;
  bool writing_ = false;
};

/// One question on its way through the extenders.
struct ExtenderCalls::Asking {
  std::shared_ptr<const api::Pod> pod;
  std::shared_ptr<const scheduling::ExtenderQuestion> question;
  std::string pod_json;
  std::vector<std::shared_ptr<const api::Node>> left;  // nodes that nobody has refused
  scheduling::ExtenderAnswer answer;

  std::string arguments(bool by_name) const {
    std::string body;
    json::Writer json(body);
    json.begin_object().key("Pod").raw(pod_json).key("Nodes");
    if (by_name) {
      json.null().key("NodeNames").begin_array();
      for (const auto& node : left) json.value(node->metadata.name);
      json.end_array();
    } else {
      json.begin_object().key("metadata").begin_object().end_object().key("items").begin_array();
      for (const auto& node : left) json.raw(api::encode(*node));
      json.end_array().end_object().key("NodeNames").null();
    }
    json.end_object();
    return body;
  }
  /// The candidates and victims that are left.
  std::string candidates(bool by_uid) const {
    std::string body;
    json::Writer json(body);
    const auto& asked = question->victims;
    json.begin_object().key("Pod").raw(pod_json);
    if (by_uid) json.key("NodeNameToVictims").null();
    json.key(by_uid ? "NodeNameToMetaVictims" : "NodeNameToVictims").begin_object();
    for (const auto& [node, victims] : *answer.victims) {
      json.key(node).begin_object().key("Pods").begin_array();
      for (const std::string& uid : victims.pods) {
        if (by_uid) {
          json.begin_object().member("UID", uid).end_object();
          continue;
        }
        // Of the question's pods: an extender before may have named others, which kube-scheduler looks up.
        const auto candidate = asked.find(node);
        if (candidate == asked.end()) continue;
        for (const auto& pod : candidate->second.pods)
          if (pod->metadata.uid == uid) json.raw(api::encode(*pod));
      }
      json.end_array().member("NumPDBViolations", victims.violations).end_object();
    }
    json.end_object();
    if (!by_uid) json.key("NodeNameToMetaVictims").null();
    json.end_object();
    return body;
  }
};

ExtenderCalls::ExtenderCalls(Logger log, kube::Client& client, WorkerPool& workers)
    : log_(std::move(log)), client_(client), workers_(workers) {}
ExtenderCalls::~ExtenderCalls() = default;

Result<std::unique_ptr<ExtenderCalls>> ExtenderCalls::make(
    asio::any_io_executor executor, Clock& clock, Logger log, kube::Client& client, WorkerPool& workers,
    const std::vector<scheduling::Extender>& extenders) {
  return make(std::move(log), client, workers, extenders,
              [&](const scheduling::Extender& e) -> Result<std::unique_ptr<kube::Transport>> {
                KOORD_TRY(config, client_config(e));
                net::PoolOptions options;
                options.request_timeout = options.connect_timeout = e.http_timeout.value;
                options.max_body = kMaxAnswer;
                return kube::make_transport(executor, clock, config, std::move(options));
              });
}

Result<std::unique_ptr<ExtenderCalls>> ExtenderCalls::make(Logger log, kube::Client& client,
                                                           WorkerPool& workers,
                                                           const std::vector<scheduling::Extender>& extenders,
                                                           const MakeTransport& transport) {
  std::unique_ptr<ExtenderCalls> made(new ExtenderCalls(std::move(log), client, workers));
  for (const bool ignorable : {false, true})
    for (const scheduling::Extender& e : extenders) {
      if (e.ignorable != ignorable) continue;
      auto reached = transport(e);
      if (!reached) return std::move(reached).error().context(fmt::format("extender {}", e.url_prefix));
      std::string prefix = e.url_prefix;
      while (prefix.ends_with('/')) prefix.pop_back();
      auto server = std::make_unique<Server>();
      server->config = e;
      server->transport = std::move(*reached);
      server->prefix = std::move(prefix);
      made->servers_.push_back(std::move(server));
    }
  return made;
}

Task<Result<net::Response>> ExtenderCalls::send(const Server& server, std::string verb, std::string body,
                                                std::function<bool()> may_go) {
  net::Request request;
  request.method = "POST";
  request.target = fmt::format("/{}", verb);
  request.headers.add("Content-Type", "application/json");
  request.body = std::move(body);
  request.timeout = server.config.http_timeout.value;
  request.max_answer = kMaxAnswer;
  request.may_go = std::move(may_go);
  const std::string url = fmt::format("{}/{}", server.prefix, verb);
  Result<net::Response> answer = co_await server.transport->send(request);
  if (!answer) {
    const Error& error = answer.error();
    // As Go words them.
    if (error.code() == Code::timeout)
      co_return Error(error.code(), fmt::format("Post {}: context deadline exceeded (Client.Timeout exceeded "
                                                "while awaiting headers)",
                                                json::quote(url)));
    co_return Error(error.code(), fmt::format("Post {}: {}", json::quote(url), error.message()));
  }
  if (answer->status != 200)
    co_return Error(Code::server_error,
                    fmt::format("failed {} with extender at URL {}, code {}", verb, url, answer->status));
  co_return answer;
}

/// What has the size of the cluster. `write` runs on a worker.
Task<Result<json::Document>> ExtenderCalls::ask(Server& server, std::string verb,
                                                std::function<std::string()> write) {
  OnTheWay question(server);
  Task<Result<>> begun = question.begin();
  KOORD_CO_CHECK(co_await std::move(begun));
  Task<Result<std::string>> written = offload(workers_, std::move(write));
  KOORD_CO_TRY(body, co_await std::move(written));
  question.written(body.size());
  Task<Result<net::Response>> sent = send(server, std::move(verb), std::move(body));
  KOORD_CO_TRY(answer, co_await std::move(sent));
  Task<Result<json::Document>> read = offload(workers_, [&answer] { return json::parse(answer.body); });
  co_return co_await std::move(read);
}

void ExtenderCalls::skipped(const Server& server, const Error& error) const {
  log_.info("an extender that may be ignored failed", kv("extender", server.config.url_prefix),
            kv("error", error));
}

/// Leaves the nodes that it lets pass.
Task<Result<>> ExtenderCalls::filter(Server& server, Asking& asking) {
  Task<Result<json::Document>> asked = ask(
      server, server.config.filter_verb, [&] { return asking.arguments(server.config.node_cache_capable); });
  KOORD_CO_TRY(said, co_await std::move(asked));
  if (!said.is_object()) co_return wrong("no object");
  if (const std::string_view error = text_of(said, "Error"); !error.empty())
    co_return Error(Code::server_error, std::string(error));
  std::unordered_set<std::string_view> kept;
  const json::Value *names = filled(said, "NodeNames"), *nodes = filled(said, "Nodes");
  if (server.config.node_cache_capable && names != nullptr) {
    for (const json::Value& name : names->elements()) kept.insert(name.text());
  } else if (nodes != nullptr) {
    if (const json::Value* items = member(*nodes, "items"))
      for (const json::Value& node : items->elements()) kept.insert(json::text_at(node, "metadata", "name"));
  }
  std::vector<std::shared_ptr<const api::Node>> left;
  for (const auto& node : asking.left)
    if (kept.erase(node->metadata.name) != 0) left.push_back(node);
  if (!kept.empty())
    co_return Error(Code::invalid,
                    fmt::format("extender {} claims a filtered node {} which is not found in the input node "
                                "list",
                                json::quote(server.config.url_prefix), json::quote(*kept.begin())));
  const json::Value *failed = filled(said, "FailedNodes"),
                    *hopeless = filled(said, "FailedAndUnresolvableNodes");
  for (const auto& node : asking.left) {
    const std::string& name = node->metadata.name;
    const json::Value* why = hopeless == nullptr ? nullptr : json::find(*hopeless, name);
    if (why == nullptr && failed != nullptr && (why = json::find(*failed, name)) != nullptr)
      asking.answer.resolvable.insert(Symbol(name));
    if (why != nullptr) ++asking.answer.reasons[std::string(why->text())];
  }
  asking.left = std::move(left);
  co_return Result<>();
}

Task<Result<>> ExtenderCalls::prioritize(Server& server, Asking& asking) {
  Task<Result<json::Document>> asked = ask(server, server.config.prioritize_verb, [&] {
    return asking.arguments(server.config.node_cache_capable);
  });
  KOORD_CO_TRY(said, co_await std::move(asked));
  for (const json::Value& host : said.elements()) {
    const auto node = asking.answer.passed.find(Symbol(text_of(host, "Host")));
    const json::Value* score = member(host, "Score");
    if (node == asking.answer.passed.end() || score == nullptr) continue;
    node->second = std::clamp(node->second + scaled(score->to_int().value_or(0), server.config.weight),
                              -kMostScore, kMostScore);
  }
  co_return Result<>();
}

Task<> ExtenderCalls::ask_about_nodes(Asking& asking) {
  scheduling::ExtenderAnswer& answer = asking.answer;
  asking.left = asking.question->nodes;
  for (const auto& server : servers_) {
    if (asking.left.empty()) break;
    if (server->config.filter_verb.empty() || !scheduling::is_interested(server->config, *asking.pod))
      continue;
    Task<Result<>> filtered = filter(*server, asking);
    const Result<> done = co_await std::move(filtered);
    if (done) continue;
    if (!server->config.ignorable) {
      answer.error = done.error().message();
      co_return;
    }
    skipped(*server, done.error());
  }
  for (const auto& node : asking.left) answer.passed.emplace(Symbol(node->metadata.name), 0);
  for (const auto& node : asking.question->nodes)
    if (const Symbol name(node->metadata.name); !answer.passed.contains(name)) answer.refused.insert(name);
  if (asking.left.size() < 2) co_return;
  for (const auto& server : servers_) {
    if (server->config.prioritize_verb.empty() || !scheduling::is_interested(server->config, *asking.pod))
      continue;
    Task<Result<>> scored = prioritize(*server, asking);
    // Whoever gives no scores leaves it to the others.
    if (const Result<> done = co_await std::move(scored); !done)
      log_.v(5, "an extender gave no scores", kv("extender", server->config.url_prefix),
             kv("pod", asking.pod->metadata.name), kv("error", done.error()));
  }
}

/// Leaves the candidates and victims that it names.
Task<Result<>> ExtenderCalls::preempt(Server& server, Asking& asking) {
  Task<Result<json::Document>> sent = ask(server, server.config.preempt_verb, [&] {
    return asking.candidates(server.config.node_cache_capable);
  });
  KOORD_CO_TRY(said, co_await std::move(sent));
  if (!said.is_object()) co_return wrong("no object");
  std::map<std::string, scheduling::ExtenderAnswer::Victims> left;
  if (const json::Value* nodes = filled(said, "NodeNameToMetaVictims")) {
    for (const json::Member& m : nodes->members()) {
      scheduling::ExtenderAnswer::Victims victims;
      if (const json::Value* violations = member(m.value, "NumPDBViolations"))
        victims.violations = violations->to_int().value_or(0);
      if (const json::Value* pods = member(m.value, "Pods"))
        for (const json::Value& pod : pods->elements()) victims.pods.emplace_back(text_of(pod, "UID"));
      if (!victims.pods.empty()) {
        left[std::string(m.key())] = std::move(victims);
      } else if (!server.config.ignorable) {
        co_return Error(Code::invalid,
                        fmt::format("expected at least one victim pod on node {}", json::quote(m.key())));
      }
    }
  }
  *asking.answer.victims = std::move(left);
  co_return Result<>();
}

Task<> ExtenderCalls::ask_about_victims(Asking& asking) {
  auto& left = asking.answer.victims.emplace();
  for (const auto& [node, victims] : asking.question->victims) {
    scheduling::ExtenderAnswer::Victims& all = left[node];
    all.violations = victims.violations;
    for (const auto& pod : victims.pods) all.pods.push_back(pod->metadata.uid);
  }
  for (const auto& server : servers_) {
    if (left.empty()) break;
    if (server->config.preempt_verb.empty() || !scheduling::is_interested(server->config, *asking.pod))
      continue;
    Task<Result<>> asked = preempt(*server, asking);
    const Result<> done = co_await std::move(asked);
    if (done) continue;
    if (!server->config.ignorable) {
      asking.answer.victims_error = done.error().message();
      co_return;
    }
    skipped(*server, done.error());
  }
}

Task<scheduling::ExtenderAnswer> ExtenderCalls::ask(
    std::shared_ptr<const api::Pod> pod, std::shared_ptr<const scheduling::ExtenderQuestion> question) {
  Asking asking{pod, std::move(question), {}, {}, {}};
  Result<std::string> read = std::string();
  if (scheduling::is_placeholder(*pod)) {
    read = api::encode(*pod);  // the API server has no such pod
  } else {
    // Whole: what extenders read of a pod is theirs to know.
    read =
        co_await client_.get_raw(api::kind<api::Pod>(), {pod->metadata.namespace_.str(), pod->metadata.name});
  }
  if (!read) {
    const bool victims = !asking.question->victims.empty();
    if (victims) asking.answer.victims.emplace();
    (victims ? asking.answer.victims_error : asking.answer.error) = read.error().message();
    co_return std::move(asking.answer);
  }
  asking.pod_json = std::move(*read);
  Task<> asked = asking.question->victims.empty() ? ask_about_nodes(asking) : ask_about_victims(asking);
  co_await std::move(asked);
  co_return std::move(asking.answer);
}

bool ExtenderCalls::binds(const api::Pod& pod) const {
  return !scheduling::is_placeholder(pod) &&
         std::any_of(servers_.begin(), servers_.end(), [&](const auto& server) {
           return !server->config.bind_verb.empty() && scheduling::is_interested(server->config, pod);
         });
}

Task<std::optional<Result<>>> ExtenderCalls::bind(std::shared_ptr<const api::Pod> pod, Symbol node,
                                                  std::function<bool()> may_go) {
  for (const auto& server : servers_) {
    if (server->config.bind_verb.empty() || !scheduling::is_interested(server->config, *pod)) continue;
    const api::ObjectMeta& meta = pod->metadata;
    std::string body;
    json::Writer json(body);
    json.begin_object().member("PodName", meta.name).member("PodNamespace", meta.namespace_.view());
    json.member("PodUID", meta.uid).member("Node", node.view()).end_object();
    Task<Result<net::Response>> sent = send(*server, server->config.bind_verb, std::move(body), may_go);
    const Result<net::Response> answer = co_await std::move(sent);
    const Result<json::Document> said = answer ? json::parse(answer->body) : answer.error();
    Result<> bound;
    if (!said) {
      bound = said.error();
    } else if (const std::string_view error = text_of(*said, "Error"); !error.empty()) {
      bound = Error(Code::server_error, std::string(error));
    }
    if (bound || !server->config.ignorable) co_return bound;
    skipped(*server, bound.error());
  }
  co_return std::nullopt;
}

}  // namespace koord::scheduler
