// Page: the port, its routes, and what keeps the model up to date; see page.hpp.
#include "koord/view/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <chrono>
#include <set>
#include <span>
#include <string_view>

#include "koord/api/figures/cluster_figures.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/net/certificate.hpp"
#include "koord/net/server.hpp"
#include "koord/runtime/token_gate.hpp"
#include "view/page/asker.hpp"
#include "view/page/feed.hpp"
#include "view/page/files.hpp"
#include "view/page/gate.hpp"
#include "view/page/groups.hpp"
#include "view/page/model.hpp"

namespace koord::view {

namespace {

constexpr std::uint16_t kPort = 8089;
constexpr auto kFrame = std::chrono::seconds{2};
/// A certificate is looked at again after so many frames.
constexpr int kFramesOfCertificate = 5;
/// Nodes whose pods are added up before somebody else has the loop.
constexpr std::size_t kNodesAtOnce = 50;
/// Quotas, gangs and who waits are added up at most as often.
constexpr auto kGroupsAge = std::chrono::seconds{3};
/// Of a certificate of the page's own; made anew after half of that.
constexpr std::chrono::hours kCertificateLives{24 * 365};
/// Of the page's own, so that nobody else waits for a question: it takes one of them, the other adds up.
constexpr unsigned kWorkers = 2;

struct Place {
  std::string address = "127.0.0.1";
  std::uint16_t port = kPort;
  bool loopback = true;
};

Result<Place> place_of(const std::string& text) {
  Place place;
  if (text == "true") return place;
  std::string_view digits = text;
  if (const auto colon = text.rfind(':'); colon != std::string::npos) {
    place.address = text.substr(0, colon);
    digits = std::string_view(text).substr(colon + 1);
    if (place.address.starts_with('[') && place.address.ends_with(']'))
      place.address = place.address.substr(1, place.address.size() - 2);
  }
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place.port);
  if (error != std::errc{} || end != digits.data() + digits.size() || place.port == 0)
    return Error(Code::invalid,
                 fmt::format("--ui: \"{}\" is neither a port, which is 1 to 65535, nor ADDRESS:PORT", text));
  if (place.address.empty() || place.address == "0.0.0.0" || place.address == "::") {
    place.address.clear();
    place.loopback = false;
    return place;
  }
  boost::system::error_code bad;
  const auto address = boost::asio::ip::make_address(place.address, bad);
  if (bad) return Error(Code::invalid, fmt::format("--ui: {} is no numeric address", place.address));
  place.loopback = address.is_loopback();
  return place;
}

kube::Scope unfinished() {
  kube::Scope scope;
  scope.fields = "status.phase!=Succeeded,status.phase!=Failed";
  return scope;
}

net::ServerOptions server_options(const Logger& log) {
  net::ServerOptions options;
  options.max_header_bytes = std::size_t{32} << 10;
  options.max_body_bytes = kMostPasted;
  options.body_budget = 8 * kMostPasted;
  options.write_timeout = std::chrono::seconds{10};
  options.answer_timeout = std::chrono::seconds{30};
  options.send_buffer = std::size_t{64} << 10;  // for each of kStreams who may not read
  options.max_connections = 4 * Feed::kStreams;
  options.log = log;
  return options;
}

net::Response answer(Result<std::string> json) {
  if (json) return net::Response::json(200, std::move(*json));
  unsigned status = 500;
  switch (json.error().code()) {
    case Code::unavailable: status = 429; break;
    case Code::not_found: status = 404; break;
    case Code::invalid:
    case Code::bad_request:
    case Code::parse: status = 400; break;
    default: break;
  }
  net::Response response = net::Response::text(status, std::string(json.error().message()));
  if (status == 429) response.headers.add("Retry-After", "2");
  return response;
}

}  // namespace

class Page::Impl {
 public:
  Impl(PageParts parts, Place place, GateSettings gate, std::string certificate, std::string key)
      : parts_(std::move(parts)),
        place_(std::move(place)),
        gate_(std::move(gate)),
        nodes_(parts_.informers.informer<api::Node>(parts_.client)),
        metrics_(parts_.informers.informer<api::NodeMetric>(parts_.client)),
        pods_(parts_.informers.informer<api::Pod>(
            parts_.client, unfinished(),
            {kube::index<api::Pod>("node", [](const api::Pod& pod) { return pod.spec.node_name.view(); }),
             kube::index<api::Pod>("waits",
                                   [](const api::Pod& pod) -> std::string_view {
                                     return pod.spec.node_name.empty() ? "for a node" : "";
                                   })})),
        quotas_(parts_.informers.informer<api::ElasticQuota>(parts_.client)),
        groups_(parts_.informers.informer<api::PodGroup>(parts_.client)),
        reservations_(parts_.informers.informer<api::Reservation>(parts_.client)),
        feed_([this] { return model_.whole(now(), waiting()); }),
        asker_(parts_.clock, workers_, parts_.client,
               [this] {
                 return Asker::Cluster{nodes_.list(), pods_.list()};
               }),
        server_(parts_.executor, parts_.clock, server_options(parts_.log),
                {.handle = [this](net::Request request) { return handle(std::move(request)); },
                 .admit = [this](const net::Request& request) { return admit(request); }}) {
    if (!certificate.empty()) files_.emplace(std::move(certificate), std::move(key));
    if (!place_.loopback)
      tokens_ = std::make_unique<runtime::TokenGate>(parts_.executor, parts_.clock, parts_.client, "/ui");
    nodes_.deliver_to(queue_);
    metrics_.deliver_to(queue_);
    pods_.deliver_to(queue_);
  }

  Result<> open(TaskGroup& tasks) {
    std::shared_ptr<const net::TlsContext> tls;
    if (gate_.tls) {
      KOORD_TRY(made, make_tls());
      tls = std::move(made);
    }
    auto port = server_.listen(place_.address, place_.port, std::move(tls));
    if (!port) return std::move(port).error().context("--ui");
    const bool v6 = place_.address.find(':') != std::string::npos;
    url_ = fmt::format("{}://{}:{}/ui/", gate_.tls ? "https" : "http",
                       place_.address.empty() ? "localhost"
                       : v6                   ? fmt::format("[{}]", place_.address)
                                              : place_.address,
                       *port);
    parts_.log.info("the page is served", kv("url", url_));
    tasks.spawn("page", follow());
    tasks.spawn("page frames", draw());
    return {};
  }

  Task<> stop() {
    queue_.close();
    feed_.close();
    asker_.stop();
    co_await server_.stop(std::chrono::milliseconds{100});
    if (tokens_) co_await tokens_->stop();
  }
  const std::string& url() const { return url_; }

 private:
  api::Time now() const { return api::Time{std::chrono::floor<std::chrono::seconds>(parts_.clock.now())}; }
  std::size_t waiting() const { return pods_.by_index("waits", "for a node").size(); }

  Result<std::shared_ptr<const net::TlsContext>> make_tls() {
    net::KeyPair pair;
    if (files_) {
      KOORD_TRY(read, files_->load());
      pair = std::move(read);
    } else {
      net::CertificateRequest request;
      request.common_name = "koord-ui";
      request.dns_names = gate_.hosts;
      request.dns_names.emplace_back("localhost");
      request.ip_addresses = {"127.0.0.1", "::1"};
      if (!place_.address.empty()) request.ip_addresses.push_back(place_.address);
      request.valid_for = kCertificateLives;
      made_at_ = parts_.clock.now();
      KOORD_TRY(made, net::make_self_signed(request, made_at_));
      pair = std::move(made);
    }
    return net::TlsContext::make_server({std::move(pair.certificate_pem), std::move(pair.key_pem)});
  }

  Task<Result<>> follow() {
    for (;;) {
      Result<kube::Batch> batch = co_await queue_.next(1000);
      if (!batch) co_return batch.error();
      for (const kube::Change& change : batch->changes) take(change);
    }
  }

  void take(const kube::Change& change) {
    if (change.is<api::Pod>()) {
      for (const auto& pod : {change.old_object<api::Pod>(), change.new_object<api::Pod>()})
        if (pod && !pod->spec.node_name.empty()) stale_.emplace(pod->spec.node_name.view());
      return;
    }
    const std::string& name =
        change.is<api::Node>()
            ? (change.after ? change.new_object<api::Node>() : change.old_object<api::Node>())->metadata.name
            : (change.after ? change.new_object<api::NodeMetric>() : change.old_object<api::NodeMetric>())
                  ->metadata.name;
    const auto node = nodes_.get("", name);
    if (!node) return model_.remove_node(name);
    if (change.is<api::Node>() && !change.before) stale_.insert(name);
    model_.set_node(node, metrics_.get("", name).get(), parts_.clock.mono());
  }

  Task<Result<>> draw() {
    for (int frame = 1;; ++frame) {
      KOORD_CO_CHECK(co_await sleep(parts_.clock, kFrame));
      if (gate_.tls && frame % kFramesOfCertificate == 0) co_await look_at_certificate();
      if (feed_.streams() == 0) {
        rest();
        continue;
      }
      if (resting_)
        for (const auto& node : nodes_.list()) stale_.insert(node->metadata.name);
      resting_ = false;
      std::size_t done = 0;
      while (!stale_.empty()) {
        const std::string name = std::move(stale_.extract(stale_.begin()).value());
        if (const auto node = nodes_.get("", name)) model_.set_pods(*node, pods_.list_by("node", name));
        if (++done % kNodesAtOnce == 0) co_await asio::post(parts_.executor, asio::use_awaitable);
      }
      feed_.publish(model_.delta(now(), waiting()));
    }
  }

  /// Nobody reads: what changes is not kept for anybody.
  void rest() {
    resting_ = true;
    stale_.clear();
    model_.forget_changes();
    feed_.forget();
  }

  Task<> look_at_certificate() {
    if (!files_) co_return renew_own();
    std::function<Result<std::optional<net::KeyPair>>()> read = [this] { return files_->reload(); };
    const Result<std::optional<net::KeyPair>> pair = co_await offload(workers_, std::move(read));
    if (pair && !*pair) co_return;
    Result<std::shared_ptr<const net::TlsContext>> tls =
        pair ? net::TlsContext::make_server({(*pair)->certificate_pem, (*pair)->key_pem}) : pair.error();
    if (tls)
      server_.set_tls(*tls);
    else
      parts_.log.warn("the page's certificate could not be read again, the old one stays",
                      kv("error", tls.error()));
  }

  void renew_own() {
    if (parts_.clock.now() - made_at_ < kCertificateLives / 2) return;
    if (const auto tls = make_tls())
      server_.set_tls(*tls);
    else
      parts_.log.warn("the page's certificate could not be made anew, the old one stays",
                      kv("error", tls.error()));
  }

  Task<net::Admission> admit(const net::Request& request) {
    net::Admission admission;
    admission.max_body = request.path == kWhatIfPath ? kMostPasted : 0;
    admission.refusal = refuse_foreign(gate_, request);
    if (!admission.refusal && tokens_) {
      admission.refusal = co_await tokens_->refuse(shown_token(request));
      if (admission.refusal && admission.refusal->status == 401)
        admission.refusal->headers.add("WWW-Authenticate",
                                       "Basic realm=\"koord: a token as the password\", charset=\"UTF-8\"");
    }
    if (admission.refusal) add_page_headers(*admission.refusal);
    co_return admission;
  }

  Task<net::Response> handle(net::Request request) {
    net::Response response = co_await route(std::move(request));
    add_page_headers(response);
    co_return response;
  }

  Task<net::Response> route(net::Request request) {
    const std::string_view path = request.path;
    if (path == "/" || path == "/ui") {
      net::Response response;
      response.status = 302;
      response.headers.add("Location", kPageRoot);
      co_return response;
    }
    if (!path.starts_with(kDataRoot)) {
      if (auto file = page_file(request)) co_return *std::move(file);
      co_return net::Response::text(404, "404 page not found\n");
    }
    const std::string_view what = path.substr(kDataRoot.size());
    if (what == "stream") co_return stream();
    if (what == "node") co_return node(std::string(request.query_get("name")));
    if (what == "groups") co_return answer(co_await groups());
    if (what == "explain") {
      const auto pod = pods_.get(request.query_get("namespace"), request.query_get("name"));
      if (!pod) co_return net::Response::text(404, "there is no such pod, or it has ended\n");
      co_return answer(co_await asker_.explain(pod));
    }
    if (path == kWhatIfPath) co_return answer(co_await asker_.what_if(std::move(request.body)));
    co_return net::Response::text(404, "404 page not found\n");
  }

  net::Response stream() {
    net::Response response;
    response.stream = feed_.open();
    if (!response.stream) {
      response = net::Response::text(503, "as many read already as may\n");
      response.headers.add("Retry-After", "10");
      return response;
    }
    response.content_type = "text/event-stream";
    return response;
  }

  net::Response node(const std::string& name) {
    std::string json = model_.node(name, now(), parts_.clock.mono(), pods_.list_by("node", name));
    if (json.empty()) return net::Response::text(404, "there is no such node\n");
    return net::Response::json(200, std::move(json));
  }

  /// Added up by a worker, for all who ask within a few seconds once.
  Task<Result<std::string>> groups() {
    while (adding_) {
      KOORD_CO_CHECK(co_await added_.wait());
    }
    if (groups_at_ && parts_.clock.mono() - *groups_at_ < kGroupsAge) co_return groups_json_;
    const Adding adding(*this);
    std::function<Result<std::string>()> add =
        [pods = pods_.list(), quotas = quotas_.list(), groups = groups_.list(),
         reservations = reservations_.list(), now = now(), quotas_known = quotas_.listed(),
         groups_known = groups_.listed(),
         unread = std::vector<Unread>{{"quotas", why_unread(quotas_, "ElasticQuotas")},
                                      {"gangs", why_unread(groups_, "PodGroups")},
                                      {"reservations", why_unread(reservations_, "Reservations")}}] {
          figures::ClusterFigures figures;
          for (const auto& each : quotas) figures.add(*each);
          for (const auto& each : groups) figures.add(*each);
          for (const auto& each : reservations) figures.add(*each);
          for (const auto& each : pods) figures.add(*each);
          if (quotas_known) figures.know_quotas();
          if (groups_known) figures.know_groups();
          return Result<std::string>(groups_document(figures.view("", now), pods, unread));
        };
    Result<std::string> json = co_await offload(workers_, std::move(add));
    if (json) {
      groups_json_ = *json;
      groups_at_ = parts_.clock.mono();
    }
    co_return json;
  }

  /// While it lives others wait.
  class Adding {
   public:
    explicit Adding(Impl& impl) : impl_(impl) {
      impl_.adding_ = true;
      impl_.added_.reset();
    }
    ~Adding() {
      impl_.adding_ = false;
      impl_.added_.set();
    }
    Adding(const Adding&) = delete;
    Adding& operator=(const Adding&) = delete;

   private:
    Impl& impl_;
  };

  PageParts parts_;
  WorkerPool workers_{kWorkers};
  const Place place_;
  const GateSettings gate_;
  std::optional<net::CertificateFiles> files_;
  WallTime made_at_;  // the certificate, where there are no files
  kube::Informer<api::Node> nodes_;
  kube::Informer<api::NodeMetric> metrics_;
  kube::Informer<api::Pod> pods_;
  kube::Informer<api::ElasticQuota> quotas_;
  kube::Informer<api::PodGroup> groups_;
  kube::Informer<api::Reservation> reservations_;
  kube::DeliveryQueue queue_;
  Model model_;
  std::set<std::string, std::less<>> stale_;  // nodes whose pods have changed
  bool resting_ = false;                      // all nodes' pods may have
  Feed feed_;
  Asker asker_;
  std::unique_ptr<runtime::TokenGate> tokens_;  // null: on loopback
  net::Server server_;
  std::string url_;
  bool adding_ = false;
  Event added_;
  std::optional<MonoTime> groups_at_;
  std::string groups_json_;
};

Result<std::unique_ptr<Page>> Page::make(const runtime::FlagValues& flags, PageParts parts) {
  const std::string& where = flags.get("ui");
  if (where == "false") return std::unique_ptr<Page>();
  KOORD_TRY(place, place_of(where));
  const std::string& certificate = flags.get("ui-tls-cert-file");
  const std::string& key = flags.get("ui-tls-private-key-file");
  if (certificate.empty() != key.empty())
    return Error(Code::invalid,
                 "--ui-tls-cert-file and --ui-tls-private-key-file belong together: give both or neither");
  GateSettings gate;
  gate.loopback = place.loopback;
  gate.tls = !place.loopback || !certificate.empty();
  gate.hosts = flags.get_list("ui-hosts");
  return std::unique_ptr<Page>(new Page(
      std::make_unique<Impl>(std::move(parts), std::move(place), std::move(gate), certificate, key)));
}

Page::Page(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Page::~Page() = default;
Result<> Page::open(TaskGroup& tasks) { return impl_->open(tasks); }
Task<> Page::stop() { return impl_->stop(); }
const std::string& Page::url() const { return impl_->url(); }

}  // namespace koord::view
