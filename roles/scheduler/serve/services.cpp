// Services: see services.hpp.
#include "serve/services.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/text.hpp"
#include "koord/json/writer.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "serve/node_dump.hpp"

namespace koord::scheduler {

namespace {

constexpr std::string_view kBase = "/apis/v1/", kPlugins = "/apis/v1/plugins/", kFlags = "/debug/flags/";
constexpr nanoseconds kPatience = std::chrono::seconds(10);
constexpr std::array<std::string_view, 5> kFlagNames = {"d", "db", "f", "s", "v"};

net::Response message(unsigned status, std::string_view text) {
  return net::Response::json(status, scheduling::service_error(status, text).json);
}

/// The first instance of the plugin that serves.
const scheduling::ServicePlugin* find(const scheduling::Engine& engine, std::string_view name) {
  for (const scheduling::Profile& profile : engine.profiles())
    for (const scheduling::Profile::Named& p : profile.plugins)
      if (p.name == name)
        if (const auto* serves = dynamic_cast<const scheduling::ServicePlugin*>(p.plugin.get()))
          return serves;
  return nullptr;
}

/// The original's record of an attempt that failed.
std::string diagnosis_json(const scheduling::Decision& d, WallTime now) {
  std::string text;
  json::Writer out(text);
  out.begin_object()
      .member("timestamp", api::Time(now).to_string())
      .member("questionedKey", scheduling::pod_key(*d.pod))
      .member_if("nominatedNode", d.pod->status.nominated_node_name.view());
  if (d.detail) out.member_if("preFilterMessage", d.detail->prefilter_message);
  out.member("isRootCausePod", true).key("scheduleDiagnosis").begin_object().member("alreadyWaitForBound", 0);
  if (d.detail && !d.detail->refusals.empty()) {
    out.key("nodeFailedDetails").begin_array();
    for (const scheduling::AttemptDetail::Refusal& r : d.detail->refusals) {
      out.begin_object()
          .member("failedPlugin", r.plugin)
          .member("reason", fmt::format("{}", fmt::join(r.reasons, ", ")))
          .member("preemptMightHelp", r.victims_may_help)
          .member("nodes", r.nodes)
          .key("failedNodes")
          .begin_array();
      for (const Symbol& node : r.examples) out.value(node.view());
      out.end_array().end_object();
    }
    out.end_array();
  }
  out.end_object().key("preemptionDiagnosis");
  if (d.preemption().tried) {
    out.begin_object().member("failedMessage", d.detail ? d.detail->postfilter_message : "").end_object();
  } else {
    out.null();
  }
  out.end_object();
  return text;
}

}  // namespace

std::vector<std::string> service_paths(std::span<const scheduling::Profile> profiles) {
  std::set<std::string> all;
  for (const scheduling::Profile& profile : profiles)
    for (const scheduling::Profile::Named& p : profile.plugins)
      if (const auto* serves = dynamic_cast<const scheduling::ServicePlugin*>(p.plugin.get()))
        for (const std::string_view path : serves->service_paths())
          all.insert(fmt::format("{}{}{}", kPlugins, p.name, path));
  return {all.begin(), all.end()};
}

void Services::add_to(runtime::Routes& routes) {
  routes.add(std::string(kBase), [this](net::Request request) { return answer(std::move(request)); },
             {.debug = true});
  const auto flags = [this](net::Request request) { return flag(std::move(request)); };
  routes.add("/debug/flags", flags, {.debug = true});
  routes.add(std::string(kFlags), flags, {.debug = true, .max_body = 64});
}

std::string Services::list() const {
  std::vector<std::string> paths = parts_.plugin_paths;
  for (const std::string_view own : {"__services__", "attempts/:namespace/:name", "nodes/:nodeName"})
    paths.push_back(fmt::format("{}{}", kBase, own));
  std::sort(paths.begin(), paths.end());
  std::string text;
  json::Writer out(text);
  out.begin_object().key("GET").begin_array();
  for (const std::string& path : paths) out.value(path);
  out.end_array().end_object();
  return text;
}

Task<net::Response> Services::ask(std::string key, EngineThread::Question question) {
  EngineThread* engine = parts_.engine();
  if (engine == nullptr)
    co_return net::Response::text(503, "The component is initializing and temporarily unavailable\n");
  Task<Result<scheduling::ServiceAnswer>> asking = engine->ask(std::move(key), std::move(question));
  Result<Result<scheduling::ServiceAnswer>> waited =
      co_await with_timeout(parts_.clock, kPatience, std::move(asking));
  if (!waited) co_return message(503, "the engine does not answer in time");
  Result<scheduling::ServiceAnswer>& answer = *waited;
  if (!answer)
    co_return message(answer.error().code() == Code::too_many_requests ? 429 : 503, answer.error().message());
  co_return net::Response::json(answer->status, std::move(answer->json));
}

Task<net::Response> Services::answer(net::Request request) {
  if (!parts_.leading()) co_return message(503, "the instance is not leader");
  if (request.method != "GET" && request.method != "HEAD")
    co_return net::Response::text(405, "only GET is served here\n");
  const std::string_view path = request.path;
  if (path == "/apis/v1/__services__") co_return net::Response::json(200, list());
  constexpr std::string_view kNodes = "/apis/v1/nodes/", kAttempts = "/apis/v1/attempts/";
  if (path.starts_with(kNodes)) {
    std::string name(path.substr(kNodes.size()));
    std::string key = fmt::format("node {}", name);
    co_return co_await ask(std::move(key),
                           [name](scheduling::Engine& engine) { return dump_node(engine, name); });
  }
  if (path.starts_with(kAttempts)) {
    const std::string_view pod = path.substr(kAttempts.size());
    const auto slash = pod.find('/');
    const auto known = slash == std::string_view::npos
                           ? parts_.attempts.of({}, pod)  // KIND:NAMESPACE:NAME
                           : parts_.attempts.of(pod.substr(0, slash), pod.substr(slash + 1));
    const std::string_view what = pod.find(':') == std::string_view::npos ? "pod " : "";
    if (!known) co_return message(404, fmt::format("no attempt of {}{} is remembered", what, pod));
    co_return net::Response::json(200, api::encode(*known));
  }
  if (path.starts_with(kPlugins)) {
    const std::string_view rest = path.substr(kPlugins.size());
    const auto slash = std::min(rest.find('/'), rest.size());
    std::string name(rest.substr(0, slash));
    scheduling::ServiceRequest asked{std::string(rest.substr(slash)), request.query};
    std::string key = fmt::format("plugin {}", request.target);
    co_return co_await ask(std::move(key), [name, asked](scheduling::Engine& engine) {
      const scheduling::ServicePlugin* plugin = find(engine, name);
      const auto said = plugin != nullptr ? plugin->serve(asked) : std::nullopt;
      return said ? *said : scheduling::ServiceAnswer{404, "\"404 page not found\""};
    });
  }
  co_return net::Response::text(404, "404 page not found\n");
}

// Flags

std::optional<std::string> Services::get(std::string_view name) const {
  const DebugFlags& f = parts_.flags;
  if (name == "v") return fmt::to_string(parts_.log.verbosity());
  if (name == "s") return fmt::to_string(f.scores);
  if (name == "f") return fmt::to_string(f.filters);
  if (name == "d") return fmt::to_string(f.diagnosis);
  if (name == "db") return fmt::to_string(f.blocking);
  return std::nullopt;
}

Result<std::string> Services::set(std::string_view name, const std::string& value) {
  DebugFlags& f = parts_.flags;
  const bool number = name == "v" || name == "s";
  std::int64_t n = 0;
  const auto [end, bad] = std::from_chars(value.data(), value.data() + value.size(), n);
  const std::string_view what = name == "v"   ? "klog.logging.verbosity"
                                : name == "s" ? "debugTopNScores"
                                              : "debugFilterFailure";
  if (number && (bad != std::errc() || end != value.data() + value.size() || n < 0 || n > 1000))
    return Error(Code::invalid, fmt::format("failed set {} {}: not a number from 0 to 1000", what, value));
  const std::optional<bool> truth = parse_bool(value);
  if (!number && !truth)
    return Error(Code::invalid,
                 fmt::format("failed set {} {}: strconv.ParseBool: parsing \"{}\": invalid syntax", what,
                             value, value));
  if (name == "v") parts_.log.set_verbosity(static_cast<int>(n));
  if (name == "s") f.scores = n;
  if (name == "f") f.filters = *truth;
  if (name == "d") f.diagnosis = *truth;
  if (name == "db") f.blocking = *truth;
  if (name != "v") apply_flags();
  return fmt::format("successfully set {} to {}", what, value);
}

void Services::apply_flags() {
  EngineThread* engine = parts_.engine();
  if (engine == nullptr) return;
  const bool refusals = parts_.flags.filters || parts_.flags.diagnosis;
  engine->tell([scores = parts_.flags.scores, refusals](scheduling::Engine& of) {
    of.details().tell_scores(static_cast<std::uint32_t>(scores));
    of.details().tell_refusals(refusals);
  });
}

Task<net::Response> Services::flag(net::Request request) {
  const std::string_view path = request.path;
  const std::string name(path.size() > kFlags.size() ? path.substr(kFlags.size()) : "");
  const std::optional<std::string> value = get(name);
  if (!value) {
    std::string html =
        "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\n"
        "flags:<br>\n<table>\n";
    for (const std::string_view flag : kFlagNames) html += fmt::format("<tr>{}<br>\n", flag);
    html += "</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n";
    net::Response response = net::Response::text(200, std::move(html));
    response.content_type = "text/html; charset=utf-8";
    co_return response;
  }
  if (request.method == "GET" || request.method == "HEAD")
    co_return net::Response::text(200, fmt::format("{}\n", *value));
  if (request.method != "PUT") co_return net::Response::text(406, "unsupported http method\n");
  const Result<std::string> done = set(name, request.body);
  co_return net::Response::text(done ? 200 : 400, fmt::format("{}\n", done ? *done : done.error().message()));
}

void Services::log_attempt(const scheduling::Decision& d) const {
  const DebugFlags& f = parts_.flags;
  if ((f.scores == 0 && !f.filters && !f.diagnosis) || d.kind() == scheduling::Decision::Kind::gated ||
      d.kind() == scheduling::Decision::Kind::ask)
    return;
  const scheduling::PlacedName name = scheduling::placed_name(*d.pod);
  const std::string pod = scheduling::text(name);
  if (f.scores > 0 && d.detail)
    for (std::size_t i = 0; i < d.detail->scores.size(); ++i) {
      const scheduling::AttemptDetail::NodeScores& n = d.detail->scores[i];
      std::vector<std::string> scores;
      scores.reserve(n.scores.size());
      for (const scheduling::AttemptDetail::Score& s : n.scores)
        scores.push_back(fmt::format("{}:{}", s.plugin, s.score));
      parts_.log.info("scores", kv("#", i), kv(name.word, pod), kv("node", n.node.view()),
                      kv("score", n.total), kv("feasible_nodes", d.feasible_nodes),
                      kv("plugins", fmt::format("{}", fmt::join(scores, " "))));
    }
  if (f.filters && d.detail)
    for (const scheduling::AttemptDetail::Refusal& r : d.detail->refusals) {
      std::vector<std::string_view> nodes;
      nodes.reserve(r.examples.size());
      for (const Symbol& node : r.examples) nodes.push_back(node.view());
      parts_.log.info("filter failed", kv(name.word, pod), kv("plugin", r.plugin), kv("nodes", r.nodes),
                      kv("examples", fmt::format("{}", fmt::join(nodes, " "))),
                      kv("reason", fmt::format("{}", fmt::join(r.reasons, ", "))));
    }
  if (f.diagnosis && (d.kind() == scheduling::Decision::Kind::unschedulable ||
                      d.kind() == scheduling::Decision::Kind::error))
    parts_.log.info("diagnosis", kv(name.word, pod), kv("record", diagnosis_json(d, parts_.clock.now())));
}

}  // namespace koord::scheduler
