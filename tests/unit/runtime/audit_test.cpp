// The audit of modifications: what is recorded of a request, when it is in the file, what is read back and
// what is answered.
#include "koord/runtime/audit.hpp"

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <catch2/catch.hpp>
#include <filesystem>

#include "koord/api/schema/kind.hpp"
#include "koord/base/file.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::runtime {
namespace {

using namespace std::chrono_literals;

constexpr api::Kind kNode = api::Kind("v1", "Node", "nodes").cluster_scoped();
constexpr api::Kind kPod("v1", "Pod", "pods");
constexpr api::Kind kLease("coordination.k8s.io/v1", "Lease", "leases");

kube::By taints() {
  return kube::by(
      {.profile = "main", .plugin = "Taints", .wanted_by = {"DrainNode/d"}, .reason = "it is hot"});
}

struct Desk {
  explicit Desk(std::string folder = {}) { options.folder = std::move(folder); }
  Audit& start() {
    client.set_write_log(nullptr);
    audit.reset();
    audit = Audit::make(loop.executor(), loop.clock, log, options).value();
    client.set_write_log(audit.get());
    return *audit;
  }
  template <class T>
  T run(Task<T> task) {
    return koord::test::run_task(loop, std::move(task), true);
  }
  Result<std::string> patch(std::string_view body, kube::MayGo may_go = {}, std::string name = "n1") {
    kube::PatchOptions how;
    how.may_go = std::move(may_go);
    how.by = taints();
    return run(client.patch_raw(kNode, {"", std::move(name)}, std::string(body), std::move(how)));
  }
  json::Document ask(std::string_view query = {}) {
    net::Request request = asked(query);
    const net::Response answer = audit->answer(request);
    CHECK(answer.status == 200);
    return json::parse(answer.body).value();
  }
  static net::Request asked(std::string_view query) {
    net::Request request;
    while (!query.empty()) {
      const std::string_view pair = query.substr(0, query.find('&'));
      query.remove_prefix(std::min(query.size(), pair.size() + 1));
      const auto equals = pair.find('=');
      request.query.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    }
    return request;
  }
  /// The newest record's members, one after another.
  std::string newest(std::initializer_list<std::string_view> members) {
    const json::Document page = ask();
    const json::Value* const records = json::find(page, "records");
    REQUIRE(!records->empty());
    std::string all;
    for (const std::string_view member : members)
      all += (all.empty() ? "" : "|") + std::string(json::text_at((*records)[0], member));
    return all;
  }
  std::string names(std::string_view query) {
    std::string all;
    const json::Document page = ask(query);
    for (const json::Value& record : json::find(page, "records")->elements())
      all += std::string(json::text_at(record, "name")) + " ";
    if (const std::string_view next = json::text_at(page, "continue"); !next.empty())
      all += fmt::format("then {}", next);
    return all;
  }

  koord::test::Loop loop;
  asio::executor_work_guard<asio::any_io_executor> awake{loop.executor()};
  koord::test::FakeTransport server{loop.clock};
  kube::Client client{server, loop.clock, {.max_retries = 0}};
  CapturedLog captured;
  Logger log{captured, loop.clock};
  Audit::Options options;
  std::unique_ptr<Audit> audit;
};

std::string text(const std::string& path) {
  const Result<std::string> read = read_file(path);
  return read ? *read : std::string();
}

std::size_t lines(const std::string& all) {
  return static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n'));
}

TEST_CASE("a request says what is done to which object", "[runtime][audit]") {
  struct Row {
    std::string_view method, target, body, said;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"PATCH", "/api/v1/nodes/n1?fieldManager=x",
            R"({"metadata":{"uid":"u","resourceVersion":"5",)"
            R"("labels":{"app":"v","old":null}},"spec":{"taints":[1],"$setElementOrder/taints":[]}})",
            "patch nodes/n1 u metadata.labels[app] -metadata.labels[old] spec.taints"},
           {"PATCH", "/apis/a.b/v1/things/t/status", R"({"status":{"phase":"x","a":{"b":{"c":{"d":1}}}}})",
            "patch things.a.b/t#status  status.phase status.a.b.c"},
           {"POST", "/apis/a.b/v1/things", R"({"metadata":{"name":"new"},"spec":{"secret":1}})",
            "create things.a.b/new "},
           {"POST", "/api/v1/namespaces/ns/pods/p/eviction",
            R"({"metadata":{"name":"p"},"deleteOptions":{"preconditions":{"uid":"u"},"dryRun":["All"]}})",
            "evict pods/ns/p#eviction u dry"},
           {"DELETE", "/api/v1/namespaces/ns/pods/p", R"({"preconditions":{"uid":"u"}})",
            "delete pods/ns/p u"},
           {"DELETE", "/api/v1/namespaces/ns", "", "delete namespaces/ns "},
           {"PUT", "/apis/a.b/v1/namespaces/ns/things/t%2Fx", "not json", "update things.a.b/ns/t/x "},
           {"POST", "/", "{}", "create  "},
           {"DELETE", "/apis/a", "", "delete a "}}) {
    net::Request request;
    request.method = row.method;
    request.target = row.target;
    request.body = row.body;
    const AuditRecord record = record_of(request, nullptr);
    std::string said = fmt::format("{} {}", record.verb, record.object());
    if (!record.subresource.empty()) said += "#" + record.subresource;
    said += " " + record.uid;
    for (const std::string& field : record.changes) said += " " + field;
    if (record.dry_run) said += " dry";
    CAPTURE(row.target);
    if (row.target != "/" && row.target != "/apis/a") CHECK(said == row.said);
  }
  const auto before =
                 json::parse(R"({"metadata":{"generation":1,"labels":{"a":"1"}},"data":{"x":"1","y":"s"}})"),
             after =
                 json::parse(R"({"metadata":{"generation":2,"labels":{"a":"2"}},"data":{"y":"t","z":"1"}})");
  CHECK(changed_fields(*before, *after) ==
        std::vector<std::string>{"-data[x]", "data[y]", "data[z]", "metadata.labels[a]"});
}

TEST_CASE("what came of a write is in its record", "[runtime][audit]") {
  Desk desk;
  desk.start();
  struct Row {
    unsigned status;  // 0: the connection breaks
    std::string_view reason, said;
    bool may_go = true;
  };
  for (const Row& row :
       std::initializer_list<Row>{{200, "", "done||"},
                                  {409, "Conflict", "conflict|conflict|no"},
                                  {409, "AlreadyExists", "conflict|already exists|no"},
                                  {429, "TooManyRequests", "refused|too many requests|no"},
                                  {403, "Forbidden", "refused|forbidden|no"},
                                  {504, "Timeout", "unknown|timeout|no"},
                                  {0, "", "unknown|unavailable|reset"},
                                  {200, "", "notSent|unavailable|the request may not go any more", false}}) {
    desk.server.answer = [&](const net::Request&) -> Result<net::Response> {
      if (row.status == 0) return Error(Code::unavailable, "reset");
      if (row.status == 200) return koord::test::json_response(200, "{}");
      return koord::test::status_response(row.status, std::string(row.reason));
    };
    (void)desk.patch(R"({"spec":{"unschedulable":true}})", [&] { return row.may_go; });
    CHECK(desk.newest({"result", "error", "message"}) == row.said);
    CHECK(desk.newest({"profile", "plugin", "reason", "verb", "resource", "name"}) ==
          "main|Taints|it is hot|patch|nodes|n1");
  }
  const json::Document page = desk.ask("limit=1");
  CHECK(json::to_text(*json::find((*json::find(page, "records"))[0], "wantedBy")) == R"(["DrainNode/d"])");
  desk.server.answer = [](const net::Request&) { return koord::test::json_response(200, "{}"); };
  (void)desk.run(desk.client.create_raw(kLease, "ns", R"({"metadata":{"name":"lease"}})"));
  (void)desk.run(desk.client.get_raw(kPod, {"ns", "p"}));
  CHECK(desk.newest({"resource"}) == "nodes");  // neither a lease nor a read is a modification
  (void)desk.run(desk.client.create_raw(kPod, "ns", R"({"metadata":{"name":"p"}})"));
  CHECK(desk.newest({"resource", "plugin"}) == "pods|");  // on nobody's behalf, but recorded
}

TEST_CASE("a modification is in the file before it is sent, and again with what came of it",
          "[runtime][audit]") {
  testing::Tree tree;
  Desk desk(tree / "log");
  desk.start();
  std::string seen;
  desk.server.answer = [&](const net::Request&) {
    seen = text(tree / "log/audit.log");
    return koord::test::json_response(200, "{}");
  };
  REQUIRE(desk.patch(R"({"spec":{"unschedulable":true}})").has_value());
  CHECK(lines(seen) == 1);
  const auto intent = json::parse(seen);
  REQUIRE(intent.has_value());
  CHECK(json::text_at(*intent, "name") == "n1");
  CHECK(json::find(*intent, "result") == nullptr);
  desk.audit->flush();
  const std::string all = text(tree / "log/audit.log");
  CHECK(lines(all) == 2);
  const auto result = json::parse(all.substr(seen.size()));
  REQUIRE(result.has_value());
  CHECK(json::text_at(*result, "result") == "done");
  CHECK(json::text_at(*result, "id") == json::text_at(*intent, "id"));
}

TEST_CASE("what cannot be written down is not done", "[runtime][audit]") {
  testing::Tree tree;
  Desk desk(tree / "log");
  desk.options.max_disk_bytes = 2;  // each line ends its file
  desk.start();
  desk.server.answer = [](const net::Request&) { return koord::test::json_response(200, "{}"); };
  REQUIRE(desk.patch(R"({"spec":{}})").has_value());
  desk.audit->flush();
  std::filesystem::remove_all(tree / "log");
  tree.write("log", "no folder any more");
  desk.server.requests.clear();
  const auto refused = desk.patch(R"({"spec":{}})");
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code() == Code::unavailable);
  CHECK_THAT(refused.error().message(), Catch::Contains("nothing is modified without a record"));
  CHECK(desk.server.requests.empty());
  CHECK(desk.newest({"result"}) == "notSent");
  std::filesystem::remove(tree / "log");
  CHECK(desk.patch(R"({"spec":{}})").has_value());  // once there is room again

  desk.options.folder = tree / "file";
  tree.write("file", "");
  CHECK_FALSE(Audit::make(desk.loop.executor(), desk.loop.clock, desk.log, desk.options).has_value());
}

TEST_CASE("another process reads back what there is, without a line that was torn", "[runtime][audit]") {
  testing::Tree tree;
  Desk desk(tree.path());
  desk.start();
  desk.server.answer = [](const net::Request&) { return koord::test::json_response(200, "{}"); };
  for (const std::string name : {"n1", "n2"}) (void)desk.patch(R"({"spec":{}})", {}, name);
  desk.client.set_write_log(nullptr);
  desk.audit.reset();
  std::string all = text(tree / "audit.log");
  REQUIRE(lines(all) == 4);
  // The last one's answer was not heard of, and the line after it is torn.
  all.resize(all.rfind('\n', all.size() - 2) + 1);
  std::string torn = GENERATE(as<std::string>(), "", "{", R"({"id":"x-9","time":"2026-01)", "\xff");
  if (torn == "\xff") torn.assign(100'000, 'x');
  tree.write("audit.log", "garbage\n" + all + torn);
  desk.start();
  CHECK(text(tree / "audit.log") == "garbage\n" + all);
  CHECK(desk.names("") == "n2 n1 ");
  CHECK(desk.newest({"result", "message"}) == "unknown|the process ended before it heard");
  (void)desk.patch(R"({"spec":{}})", {}, "n3");
  CHECK(desk.names("") == "n3 n2 n1 ");
  desk.audit->flush();
  const std::string now = text(tree / "audit.log");
  CHECK(now.starts_with("garbage\n" + all));
  CHECK(lines(now) == 6);
  tree.write("audit.log", "no line at all");
  desk.start();
  CHECK(text(tree / "audit.log").empty());
  CHECK(desk.names("").empty());
}

TEST_CASE("records are found by what they are about, page by page", "[runtime][audit]") {
  Desk desk;
  desk.start();
  for (int i = 0; i < 6; ++i) {
    AuditRecord record;
    record.resource = i % 2 == 0 ? "nodes" : "pods";
    record.namespace_ = i % 2 == 0 ? "" : "ns";
    record.name = std::to_string(i);
    record.plugin = i < 3 ? "A" : "B";
    record.user = i == 4 ? "eve" : "";
    record.wanted_by = {"DrainNodeGroup/" + std::to_string(i % 3), "DrainNode/x"};
    desk.audit->note(std::move(record));
    desk.loop.clock.advance(60s);
  }
  const std::string now = api::Time(desk.loop.clock.now() - 150s).to_string();
  struct Row {
    std::string query, found;
  };
  for (const Row& row : std::vector<Row>{{"", "5 4 3 2 1 0 "},
                                         {"object=nodes", "4 2 0 "},
                                         {"object=pods/ns", "5 3 1 "},
                                         {"object=pods/ns/3", "3 "},
                                         {"object=pods/n", ""},
                                         {"object=nodes/2&plugin=A", "2 "},
                                         {"plugin=B", "5 4 3 "},
                                         {"plugin=b", ""},
                                         {"user=eve", "4 "},
                                         {"wantedBy=DrainNodeGroup/1", "4 1 "},
                                         {"since=150s", "5 4 "},
                                         {"since=" + now, "5 4 "},
                                         {"since=0s", ""},
                                         {"limit=2", "5 4 then 5"},
                                         {"limit=2&continue=5", "3 2 then 3"},
                                         {"limit=2&continue=3", "1 0 "},
                                         {"limit=1&object=nodes&continue=5", "2 then 2"},
                                         {"continue=1", ""},
                                         {"continue=99999", "5 4 3 2 1 0 "}}) {
    CAPTURE(row.query);
    CHECK(desk.names(row.query) == row.found);
  }
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"limit=0", "limit: \"0\" is not a number from 1 to 1000"},
      {"limit=1001", "limit: \"1001\" is not a number from 1 to 1000"},
      {"limit=-1", "limit: \"-1\" is not"},
      {"limit=", "limit: \"\" is not"},
      {"since=yesterday", "since: \"yesterday\" is not a time (2026-01-02T03:04:05Z) or how long ago (15m)"},
      {"since=-5m", "since: \"-5m\" is not"},
      {"continue=x", "continue: \"x\" is not what an answer said"},
      {"continue=0", "continue: \"0\" is not"},
      {"pod=x", "\"pod\": there are object, plugin, user, wantedBy, since, limit and continue"},
      {"plugin=A&plugin=B", "\"plugin\": it is there twice"},
      {"object=" + std::string(2000, 'x'), "\"object\": it is longer than 1024 bytes"}};
  for (const auto& [query, why] : bad) {
    const net::Response answer = desk.audit->answer(Desk::asked(query));
    CAPTURE(query);
    CHECK(answer.status == 400);
    CHECK_THAT(answer.body, Catch::StartsWith(why));
    CHECK(answer.body.size() < 400);
  }
  net::Request post;
  post.method = "POST";
  CHECK(desk.audit->answer(post).status == 405);
}

TEST_CASE("neither a line nor the memory grows beyond its bound", "[runtime][audit]") {
  testing::Tree tree;
  Desk desk(tree.path());
  desk.options.max_records = 50;
  desk.options.max_bytes = 200'000;
  desk.options.max_page_bytes = 20'000;
  desk.start();
  AuditRecord record;
  const std::string hostile = std::string(100'000, '\n') + "\"\xff\x01";
  record.user = record.plugin = record.reason = record.message = record.name = hostile;
  // Longer than each may be, and no hundred megabytes to copy.
  record.wanted_by.assign(1000, hostile.substr(hostile.size() - 2000));
  record.changes = record.wanted_by;
  record.wanted_by.front() = record.changes.front() = hostile;
  for (int i = 0; i < 200; ++i) desk.audit->note(record);
  desk.audit->flush();
  const std::string all = text(tree / "audit.log");
  REQUIRE(lines(all) > 100);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    REQUIRE(end != std::string::npos);
    CHECK(end - at < 64 * 1024);
    CHECK(json::parse(all.substr(at, end - at)).has_value());
    at = end + 1;
  }
  const json::Document page = desk.ask("limit=1000");
  CHECK(json::find(page, "records")->size() <= 3);
  CHECK_FALSE(json::text_at(page, "continue").empty());
  std::string next = "1000";
  std::size_t found = 0;
  while (!next.empty()) {
    const json::Document part = desk.ask("limit=1000&continue=" + next);
    found += json::find(part, "records")->size();
    next = json::text_at(part, "continue");
  }
  CHECK(found > 5);
  CHECK(found <= 50);
}

TEST_CASE("flags of the audit are checked", "[runtime][audit]") {
  constexpr auto kFlags = audit_flags("A folder.");
  struct Row {
    std::vector<std::string> arguments;
    std::string error;
  };
  testing::Tree tree{{"file", ""}};
  Desk desk;
  for (const Row& row : std::vector<Row>{
           {{}, ""},
           {{"--audit-log-dir=" + (tree / "a/b")}, ""},
           {{"--audit-max-disk-space-mb=3"}, "--audit-max-disk-space-mb: 3 is not between 4 and 1048576"},
           {{"--audit-max-disk-space-mb=-1"}, "--audit-max-disk-space-mb: -1 is not"},
           {{"--audit-max-events-limit=0"}, "--audit-max-events-limit: 0 is not between 1 and 10000"},
           {{"--audit-max-events-limit=10001"}, "--audit-max-events-limit: 10001 is not"},
           {{"--audit-log-dir=" + (tree / "file")}, "--audit-log-dir: "}}) {
    const FlagOwner process{"", {}}, role{"role", kFlags};
    const auto line = parse_flags(row.arguments, process, std::span(&role, 1));
    REQUIRE(line.has_value());
    const auto made = Audit::make(desk.loop.executor(), desk.loop.clock, desk.log, line->roles.at("role"));
    CAPTURE(row.arguments);
    CHECK(made.has_value() == row.error.empty());
    if (!made) CHECK_THAT(made.error().message(), Catch::StartsWith(row.error));
  }
}

}  // namespace
}  // namespace koord::runtime
