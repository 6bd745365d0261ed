// The sandbox put together: store, API, simulated nodes and controllers behind an HTTPS port.
#include "koord/sandbox/sandbox.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>

#include "koord/api/kinds/crd.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/base64.hpp"
#include "koord/base/file.hpp"
#include "koord/net/certificate.hpp"
#include "koord/net/server.hpp"
#include "sandbox/agents/agents.hpp"
#include "sandbox/api/api.hpp"
#include "sandbox/builtin/builtin_kinds.hpp"
#include "sandbox/controllers/claim_guard.hpp"
#include "sandbox/controllers/disruptions.hpp"
#include "sandbox/controllers/garbage.hpp"
#include "sandbox/controllers/jobs.hpp"
#include "sandbox/controllers/namespace_objects.hpp"
#include "sandbox/controllers/provisioner.hpp"
#include "sandbox/controllers/resource_claims.hpp"
#include "sandbox/controllers/stateful_sets.hpp"
#include "sandbox/controllers/volume_binder.hpp"
#include "sandbox/controllers/workloads.hpp"
#include "sandbox/crd/registrar.hpp"
#include "sandbox/load/loader.hpp"
#include "sandbox/nodes/kubelets.hpp"
#include "sandbox/nodes/make_nodes.hpp"
#include "sandbox/server/watch_body.hpp"
#include "sandbox/summary/summary.hpp"
#include "sandbox/webhooks/webhooks.hpp"

namespace koord::sandbox {
namespace {

constexpr std::chrono::seconds kTick{1};
constexpr int kTicksPerBookmark = 60;
constexpr int kObjectsPerTurn = 64;
// Claims that name no class have volumes, as on the clusters that people try things on.
constexpr const char* kDefaultClass =
    R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"standard","annotations":)"
    R"({"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"sandbox.koordinator.sh/disk",)"
    R"("volumeBindingMode":"WaitForFirstConsumer"})";

// Of the API server itself, as every cluster has it. The argument is its port.
constexpr std::string_view kOwnService =
    R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":"kubernetes","namespace":"default","labels":)"
    R"({{"component":"apiserver","provider":"kubernetes"}}}},"spec":{{"clusterIP":"10.96.0.1","clusterIPs":)"
    R"(["10.96.0.1"],"ports":[{{"name":"https","port":443,"protocol":"TCP","targetPort":{}}}]}}}})";

std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

class Sandbox::Impl {
 public:
  Impl(asio::any_io_executor executor, Clock& clock, SandboxOptions options)
      : executor_(std::move(executor)),
        clock_(clock),
        options_(std::move(options)),
        token_(options_.token.empty() ? fmt::format("{:016x}{:016x}", random_number(), random_number())
                                      : options_.token),
        store_(options_.history, options_.lease_history),
        registry_(store_),
        verbs_(store_, with_kinds(registry_), clock, options_.seed ? options_.seed : random_number()),
        caller_(executor_, clock, *registry_.get("", "services").objects),
        webhooks_(executor_, verbs_, caller_),
        registrar_(registry_, clock_),
        garbage_(verbs_),
        workloads_(verbs_, creator()),
        jobs_(verbs_, creator()),
        stateful_sets_(verbs_, creator()),
        volume_binder_(verbs_),
        provisioner_(verbs_, creator()),
        claim_guard_(verbs_, creator()),
        resource_claims_(verbs_, creator()),
        disruptions_(verbs_),
        namespace_objects_(verbs_),
        kubelets_(verbs_, {options_.pod_start_delay, options_.pod_stop_delay, std::chrono::seconds{10},
                           [this](const Object& pod, nanoseconds whole) {
                             return agents_ ? agents_->work_left(pod, whole) : nanoseconds{0};
                           }}),
        summary_(verbs_) {
    add_initial_objects(verbs_);
    // Koordinator's own kinds are there from the start.
    for (const api::Schema* schema : api::custom_resources())
      (void)load_object(verbs_, api::crd_manifest_json(*schema));
    (void)load_object(verbs_, kDefaultClass);
  }
  ~Impl() { clock_.cancel(timer_); }

  Task<Result<>> start() {
    if (!options_.trace.empty()) {
      KOORD_CO_TRY(trace, Trace::open(options_.trace));
      agents_.emplace(verbs_, std::move(trace),
                      AgentSettings{options_.trace_speed, options_.report_interval});
    }
    KOORD_CO_CHECK(make_all_nodes());
    KOORD_CO_TRY(ca, net::make_ca("koord-sandbox-ca", clock_.now()));
    ca_pem_ = ca.certificate_pem;
    net::CertificateRequest request;
    request.common_name = "koord-sandbox";
    request.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"};
    request.ip_addresses = {options_.address, "127.0.0.1", "::1"};
    KOORD_CO_TRY(pair, net::issue_certificate(ca, request, clock_.now()));
    net::TlsSettings settings;
    settings.certificate_pem = pair.certificate_pem;
    settings.key_pem = pair.key_pem;
    KOORD_CO_TRY(tls, net::TlsContext::make_server(settings));
    api_ = std::make_unique<Api>(verbs_, Api::Options{token_, options_.address});
    // What changes nothing, or is nobody's business, is answered at once.
    auto fast = [this](net::Request& http) -> std::optional<net::Response> {
      if (http.method != "GET" && !webhooks_.idle()) return std::nullopt;
      return finish(api_->handle(http));
    };
    auto slow = [this](net::Request http) -> Task<net::Response> {
      co_return finish(co_await webhooks_.handle(*api_, std::move(http)));
    };
    auto admit = [this](const net::Request& http) { return api_->admit(http); };
    server_ =
        std::make_unique<net::Server>(executor_, clock_, net::ServerOptions{},
                                      net::ServerHandlers{.handle = slow, .fast = fast, .fast_admit = admit});
    KOORD_CO_TRY(port, server_->listen(options_.address, options_.port, tls));
    port_ = port;
    namespace_objects_.set_ca(ca_pem_);
    (void)load_object(verbs_, fmt::format(kOwnService, port));
    tick();
    co_return Result<>();
  }

  Task<Result<>> load() {
    for (const std::string& path : options_.load) {
      KOORD_CO_TRY(reader, ManifestReader::open(path));
      for (int count = 1;; ++count) {
        KOORD_CO_TRY(item, reader.next());
        if (!item) break;
        const auto create = [&](Gate* gate) { return load_object(verbs_, item->json, gate); };
        auto made = webhooks_.idle() ? create(nullptr) : co_await webhooks_.reviewed(create);
        if (!made) co_return std::move(made).error().context(fmt::format("{}:{}", path, item->line));
        if (count % kObjectsPerTurn == 0) co_await asio::post(executor_, asio::use_awaitable);
      }
    }
    loaded_ = true;
    co_return Result<>();
  }

  Task<> stop() {
    clock_.cancel(std::exchange(timer_, 0));
    if (server_) co_await server_->stop(std::chrono::milliseconds{500});
    co_await webhooks_.stop();
  }

  Task<Result<>> until_idle() {
    for (;;) {
      MonoTime quiet = summary_.last_change() + options_.idle_after;
      if (clock_.mono() >= quiet && (loaded_ || options_.load.empty())) co_return Result<>();
      KOORD_CO_CHECK(
          co_await sleep_until(clock_, std::max(quiet, clock_.mono() + std::chrono::milliseconds{50})));
    }
  }

  std::string url() const {
    bool v6 = options_.address.find(':') != std::string::npos;
    return fmt::format("https://{}{}{}:{}", v6 ? "[" : "", options_.address, v6 ? "]" : "", port_);
  }

  std::string kubeconfig() const {
    return fmt::format(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: sandbox\n  cluster:\n    server: {}\n    "
        "certificate-authority-data: {}\nusers:\n- name: "
        "sandbox\n  user:\n    token: {}\ncontexts:\n- name: sandbox\n  context:\n    cluster: sandbox\n    "
        "user: sandbox\ncurrent-context: sandbox\n",
        url(), encode_base64(ca_pem_), token_);
  }

  Result<> write_kubeconfig(const std::string& path) const { return replace_file(path, kubeconfig()); }

  void fail_requests(int count, int status) {
    int left = count;
    api_->set_interceptor([left, status](const net::Request&) mutable -> std::optional<Reply> {
      if (left <= 0) return std::nullopt;
      --left;
      if (status == 429)
        return failure_reply(too_many_requests("the server is asked to refuse this request", 1));
      Failure failure = status == 410 ? expired("the server is asked to refuse this request")
                                      : internal_error("the server is asked to fail");
      failure.code = status;
      return failure_reply(failure);
    });
  }

  void drop_watches() {
    for (WatchBody* body : watches_) body->break_off();
  }

  const SandboxOptions& options() const { return options_; }
  const std::string& token() const { return token_; }
  const std::string& ca_pem() const { return ca_pem_; }
  std::uint16_t port() const { return port_; }
  Summary& summary() { return summary_; }
  std::optional<AgentTotals> usage() const {
    return agents_ ? std::optional(agents_->totals()) : std::nullopt;
  }
  Store& store() { return store_; }
  std::uint64_t requests() const { return api_ ? api_->requests() : 0; }

 private:
  // What controllers make is reviewed as everybody's.
  Workloads::Create creator() {
    return [this](const Kind& kind, std::string ns, json::Document doc, Workloads::Done done) {
      webhooks_.create(kind, std::move(ns), std::move(doc), std::move(done));
    };
  }

  static Registry& with_kinds(Registry& registry) {
    add_builtin_kinds(registry);
    return registry;
  }

  net::Response finish(Reply reply) {
    if (reply.watch) reply.http.stream = std::make_unique<WatchBody>(std::move(reply.watch), watches_);
    return std::move(reply.http);
  }

  Result<> make_all_nodes() {
    std::vector<std::string> templates;
    if (!options_.node_file.empty()) {
      KOORD_TRY(reader, ManifestReader::open(options_.node_file));
      for (;;) {
        KOORD_TRY(item, reader.next());
        if (!item) break;
        templates.push_back(std::move(item->json));
      }
    }
    return make_nodes(verbs_, options_.nodes, options_.node_capacity, templates);
  }

  void tick() {
    ++ticks_;
    MonoTime now = clock_.mono();
    for (WatchBody* body : watches_) {
      if (body->watch().overdue(now))
        body->watch().end();
      else if (body->watch().take_last_bookmark(now) || ticks_ % kTicksPerBookmark == 0)
        body->watch().want_bookmark();
    }
    timer_ = clock_.call_at(now + kTick, [this] { tick(); });
  }

  asio::any_io_executor executor_;
  Clock& clock_;
  const SandboxOptions options_;
  const std::string token_;
  Store store_;
  Registry registry_;
  Verbs verbs_;
  PoolCaller caller_;
  Webhooks webhooks_;
  Registrar registrar_;
  Garbage garbage_;
  Workloads workloads_;
  Jobs jobs_;
  StatefulSets stateful_sets_;
  VolumeBinder volume_binder_;
  Provisioner provisioner_;
  ClaimGuard claim_guard_;
  ResourceClaims resource_claims_;
  Disruptions disruptions_;
  NamespaceObjects namespace_objects_;
  Kubelets kubelets_;
  std::optional<Agents> agents_;
  Summary summary_;
  WatchBody::Open watches_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<net::Server> server_;
  std::string ca_pem_;
  std::uint16_t port_ = 0;
  TimerId timer_ = 0;
  int ticks_ = 0;
  bool loaded_ = false;
};

Sandbox::Sandbox(asio::any_io_executor executor, Clock& clock, SandboxOptions options)
    : impl_(std::make_unique<Impl>(std::move(executor), clock, std::move(options))) {}
Sandbox::~Sandbox() = default;

Task<Result<>> Sandbox::start() { return impl_->start(); }
Task<Result<>> Sandbox::load() { return impl_->load(); }
Task<> Sandbox::stop() { return impl_->stop(); }
std::uint16_t Sandbox::port() const { return impl_->port(); }
std::string Sandbox::url() const { return impl_->url(); }
const std::string& Sandbox::token() const { return impl_->token(); }
const std::string& Sandbox::ca_pem() const { return impl_->ca_pem(); }
std::string Sandbox::kubeconfig() const { return impl_->kubeconfig(); }
Result<> Sandbox::write_kubeconfig(const std::string& path) const { return impl_->write_kubeconfig(path); }
Task<Result<>> Sandbox::until_idle() { return impl_->until_idle(); }
Progress Sandbox::progress() const { return impl_->summary().progress(); }
std::string Sandbox::summary_text() const { return impl_->summary().text(impl_->usage()); }
std::string Sandbox::summary_json() const { return impl_->summary().json(impl_->usage()); }
void Sandbox::fail_requests(int count, int status) { impl_->fail_requests(count, status); }
void Sandbox::drop_watches() { impl_->drop_watches(); }
void Sandbox::forget_history() { impl_->store().compact(); }
std::uint64_t Sandbox::requests() const { return impl_->requests(); }

}  // namespace koord::sandbox
