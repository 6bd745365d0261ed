// Extenders that answer by a rule: see played_extenders.hpp.
#include "random/played_extenders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::scheduling::test {

namespace {

constexpr std::string_view kAll = "ABC";
enum class Says { passes, refuses, never };

std::string resource(char extender) { return fmt::format("example.com/extender-{}", extender); }
std::string url(char extender) { return fmt::format("http://extender-{}", extender); }

bool asks(const api::Pod& pod, char extender) {
  const auto& all = pod.spec.containers;
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& c) { return c.resources.limits.contains(resource(extender)); });
}

/// As good as a coin, and the same for the same names.
unsigned number(char extender, std::string_view pod, std::string_view node) {
  unsigned n = static_cast<unsigned>(extender) * 31;
  for (const char c : pod) n = n * 131 + static_cast<unsigned>(c);
  for (const char c : node) n = n * 137 + static_cast<unsigned>(c);
  return (n ^ n >> 15) * 2654435761U >> 16;
}

bool fails(char extender, std::string_view pod) {
  return extender != 'C' && number(extender, pod, "") % 5 == 0;
}
Says filter(char extender, std::string_view pod, std::string_view node) {
  if (extender == 'C') return Says::passes;
  const unsigned n = number(extender, pod, node) % 10;
  return n < 6 ? Says::passes : n < 8 ? Says::refuses : Says::never;
}
std::string reason(char extender, Says says) {
  return fmt::format("{} {}", extender, says == Says::never ? "never does" : "does not");
}
std::int64_t score(char extender, std::string_view pod, std::string_view node) {
  return extender == 'B' ? 0 : number(extender, node, pod) % 11;
}
bool binds(std::string_view pod, int times) { return times > 1 || number('C', pod, "bind") % 3 != 0; }
constexpr std::int64_t weight(char extender) { return extender == 'A' ? 1 : 3; }

}  // namespace

PlayedExtenders::PlayedExtenders() {
  api_.answer = [](const net::Request& request) {
    const std::string name = request.target.substr(request.target.rfind('/') + 1);
    return net::Response::json(200, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
  };
  // The one that may be ignored is asked last, wherever it stands.
  for (const char extender : {'B', 'A', 'C'}) {
    Extender& e = configured_.emplace_back();
    e.url_prefix = url(extender);
    if (extender != 'C') e.filter_verb = "filter";
    if (extender != 'B') e.prioritize_verb = "prioritize";
    if (extender == 'C') e.bind_verb = "bind";
    e.weight = weight(extender);
    e.http_timeout.value = std::chrono::seconds(5);
    e.node_cache_capable = extender != 'B';
    e.ignorable = extender == 'B';
    e.managed_resources.push_back({resource(extender), true});
  }
  auto made = scheduler::ExtenderCalls::make(
      Logger(captured_, loop_.clock), client_, workers_, configured_,
      [this](const Extender& e) -> Result<std::unique_ptr<kube::Transport>> {
        auto transport = std::make_unique<koord::test::FakeTransport>(loop_.clock);
        transport->answer = [this, extender = e.url_prefix.back()](const net::Request& request) {
          return answer(extender, request);
        };
        return transport;
      });
  if (!made) throw std::runtime_error(made.error().message());
  calls_ = std::move(*made);
}

Result<net::Response> PlayedExtenders::answer(char extender, const net::Request& request) {
  KOORD_TRY(body, json::parse(request.body));
  std::string out;
  json::Writer json(out);
  if (request.target == "/bind") {
    const std::string name(json::text_at(body, "PodName"));
    json.begin_object().member("Error", binds(name, ++times_[name]) ? "" : "not there").end_object();
    return net::Response::json(200, out);
  }
  const std::string pod(json::text_at(body, "Pod", "metadata", "name"));
  if (fails(extender, pod)) return Error(Code::unavailable, "connection refused");
  std::vector<std::string> nodes;
  if (const json::Value* names = json::find(body, "NodeNames"); names != nullptr && !names->is_null()) {
    for (const json::Value& name : names->elements()) nodes.emplace_back(name.text());
  } else {
    for (const json::Value& node : json::find(body, "Nodes", "items")->elements())
      nodes.emplace_back(json::text_at(node, "metadata", "name"));
  }
  if (request.target == "/prioritize") {
    json.begin_array();
    for (const std::string& node : nodes)
      json.begin_object().member("Host", node).member("Score", score(extender, pod, node)).end_object();
    json.end_array();
    return net::Response::json(200, out);
  }
  json.begin_object();
  const bool whole = extender == 'B';
  if (whole) json.key("Nodes").begin_object().key("items");
  if (!whole) json.key("NodeNames");
  json.begin_array();
  for (const std::string& node : nodes) {
    if (filter(extender, pod, node) != Says::passes) continue;
    if (!whole) json.value(node);
    if (whole)
      json.begin_object().key("metadata").begin_object().member("name", node).end_object().end_object();
  }
  json.end_array();
  if (whole) json.end_object();
  for (const Says says : {Says::refuses, Says::never}) {
    json.key(says == Says::never ? "FailedAndUnresolvableNodes" : "FailedNodes").begin_object();
    for (const std::string& node : nodes)
      if (filter(extender, pod, node) == says) json.member(node, reason(extender, says));
    json.end_object();
  }
  json.end_object();
  return net::Response::json(200, out);
}

ExtenderAnswer PlayedExtenders::ask(std::shared_ptr<const api::Pod> pod,
                                    std::shared_ptr<const ExtenderQuestion> question) {
  return koord::test::run_task(loop_, calls_->ask(std::move(pod), std::move(question)), true);
}

std::optional<bool> PlayedExtenders::bind(std::shared_ptr<const api::Pod> pod, const Symbol& node) {
  if (!calls_->binds(*pod)) return std::nullopt;
  const auto bound = koord::test::run_task(loop_, calls_->bind(std::move(pod), node, {}), true);
  return bound && bound->has_value();
}

reference::Extended PlayedExtenders::expected() {
  return {
      [](const api::Pod& pod) {
        return std::any_of(kAll.begin(), kAll.end(), [&](char e) { return asks(pod, e); });
      },
      [](const api::Pod& pod) -> std::string {
        if (!asks(pod, 'A') || !fails('A', pod.metadata.name)) return "";
        return fmt::format("Post \"{}/filter\": connection refused", url('A'));
      },
      [](const api::Pod& pod, const api::Node& node) -> std::optional<reference::Rejection> {
        for (const char e : kAll) {
          if (!asks(pod, e) || fails(e, pod.metadata.name)) continue;
          const Says says = filter(e, pod.metadata.name, node.metadata.name);
          if (says != Says::passes) return reference::Rejection{"", says == Says::never, {reason(e, says)}};
        }
        return std::nullopt;
      },
      [](const api::Pod& pod, const api::Node& node) {
        std::int64_t sum = 0;
        for (const char e : kAll)
          if (asks(pod, e)) sum += 10 * weight(e) * score(e, pod.metadata.name, node.metadata.name);
        return sum;
      },
  };
}

std::optional<bool> PlayedExtenders::expected_bind(const api::Pod& pod, int times) {
  if (!asks(pod, 'C')) return std::nullopt;
  return binds(pod.metadata.name, times);
}

void PlayedExtenders::take(std::mt19937& random, api::Pod& pod) {
  if (random() % 3 != 0) return;
  for (const char e : kAll)
    if (random() % 2 == 0) pod.spec.containers[0].resources.limits[resource(e)] = api::Quantity::must("1");
  // Whom they would let go for it they are not asked.
  pod.spec.preemption_policy = "Never";
}

}  // namespace koord::scheduling::test
