// Hook servers' files: read strictly, and kept while they cannot be read.
#include "hooks/hook_file.hpp"

#include <catch2/catch.hpp>

#include "hooks/hook_servers.hpp"

using namespace koord;
using namespace koord::proxy;
using rpc::hooks::Stage;

namespace {

const char* kKoordlet =
    R"({"remote-endpoint":"/var/run/koordlet/koordlet.sock","failure-policy":"Fail","runtime-hooks":["PreRunPodSandbox","PostStopContainer"]})";

HookServers::News update(HookServers& servers, std::vector<FoundFile> files) {
  return servers.update(FoundFiles(std::move(files)));
}

}  // namespace

TEST_CASE("A file as the agent writes it", "[hook_file]") {
  std::vector<std::string> notes;
  const auto server = parse_hook_file("koordlet.json", kKoordlet, notes);
  REQUIRE(server.has_value());
  CHECK(notes.empty());
  CHECK(server->endpoint == "/var/run/koordlet/koordlet.sock");
  CHECK(server->fail);
  CHECK(server->has(Stage::pre_run_pod_sandbox));
  CHECK(server->has(Stage::post_stop_container));
  CHECK_FALSE(server->has(Stage::pre_create_container));
}

TEST_CASE("What a file may say, and what it may not", "[hook_file]") {
  struct Row {
    const char *text, *error, *note;
  };
  const Row rows[] = {
      {R"({"remote-endpoint":"unix:///a.sock"})", "", "runtime-hooks: none"},
      {R"({"remote-endpoint":"/a.sock","failure-policy":"","runtime-hooks":["PreStartContainer"]})", "", ""},
      {R"({"remote-endpoint":"/a.sock","failure-policy":"Ignore","runtime-hooks":["PreRemoveRunPodSandbox"]})",
       "", "never asked"},
      {R"({"remote-endpoint":"/a.sock","colour":"red","runtime-hooks":["PreStartContainer"]})", "",
       "\"colour\""},
      {R"({"remote-endpoint":"/a.sock","failure-policy":"fail"})",
       "x.json: failure-policy: \"fail\" is neither", ""},
      {R"({"remote-endpoint":"/a.sock","failure-policy":3})", "x.json: failure-policy: what is no text", ""},
      {R"({"remote-endpoint":"/a.sock","runtime-hooks":["PreStartContainers"]})",
       "x.json: runtime-hooks[0]: \"PreStartContainers\" is no hook; did you mean \"PreStartContainer\"?",
       ""},
      {R"({"remote-endpoint":"/a.sock","runtime-hooks":["PreStartContainer",7]})",
       "x.json: runtime-hooks[1]: what is no text", ""},
      {R"({"remote-endpoint":"/a.sock","runtime-hooks":"PreStartContainer"})",
       "x.json: runtime-hooks: not a list", ""},
      {R"({"remote-endpoint":"a.sock"})", "x.json: remote-endpoint: \"a.sock\" is not the absolute path", ""},
      {R"({"remote-endpoint":7})", "x.json: remote-endpoint: not a text", ""},
      {R"({})", "x.json: remote-endpoint: missing", ""},
      {R"([])", "x.json: not an object", ""},
      {R"({"remote-endpoint":)", "x.json: ", ""},
      {"", "x.json: ", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    std::vector<std::string> notes;
    const auto server = parse_hook_file("x.json", row.text, notes);
    CHECK(server.has_value() == (*row.error == 0));
    if (!server) CHECK_THAT(server.error().message(), Catch::StartsWith(row.error));
    CHECK(notes.empty() == (*row.note == 0));
    if (!notes.empty()) CHECK_THAT(notes.front(), Catch::Contains(row.note));
  }
}

TEST_CASE("Names of files: upstream's rule", "[hook_file]") {
  CHECK(is_hook_file("koordlet.json"));
  CHECK(is_hook_file("koordletjson"));
  CHECK_FALSE(is_hook_file("koordlet.json.new"));
  CHECK_FALSE(is_hook_file("README"));
}

TEST_CASE("Files come, change, break and go", "[hook_servers]") {
  HookServers servers;
  const std::string other = R"({"remote-endpoint":"/b.sock","runtime-hooks":["PreStartContainer"]})";
  CHECK(update(servers, {{"b.json", other}, {"a.json", std::string(kKoordlet)}}).changed);
  REQUIRE(servers.all().size() == 2);
  CHECK(servers.all()[0].file == "a.json");
  CHECK(servers.all()[1].file == "b.json");
  CHECK(servers.bad() == 0);

  // As they were: nothing is said.
  auto news = update(servers, {{"a.json", std::string(kKoordlet)}, {"b.json", other}});
  CHECK_FALSE(news.changed);
  CHECK(news.told.empty());

  // Broken: the last good one stays, and that is said once.
  for (const bool first : {true, false}) {
    news = update(servers, {{"a.json", std::string("{")}, {"b.json", other}});
    CHECK_FALSE(news.changed);
    CHECK(news.problems.size() == (first ? 1 : 0));
    CHECK(servers.bad() == 1);
    CHECK(servers.all().size() == 2);
  }
  // Unreadable: the same.
  news = update(servers, {{"a.json", Error(Code::forbidden, "a.json: not read")}, {"b.json", other}});
  CHECK(news.problems.size() == 1);
  CHECK(servers.all().size() == 2);
  // The whole folder.
  news = servers.update(FoundFiles(Error(Code::forbidden, "/etc: not read")));
  CHECK(news.problems.size() == 1);
  CHECK(servers.all().size() == 2);
  CHECK(servers.bad() == 2);
  CHECK(servers.update(FoundFiles(Error(Code::forbidden, "/etc: not read"))).problems.empty());

  // As before again.
  news = update(servers, {{"a.json", std::string(kKoordlet)}, {"b.json", other}});
  CHECK(servers.bad() == 0);
  CHECK_FALSE(news.changed);

  news = update(servers, {{"b.json", other}});
  CHECK(news.changed);
  REQUIRE(servers.all().size() == 1);
  CHECK(servers.all()[0].file == "b.json");
}

TEST_CASE("A file that never was right is no server", "[hook_servers]") {
  HookServers servers;
  CHECK(update(servers, {{"a.json", std::string()}}).problems.size() == 1);
  CHECK(servers.all().empty());
  CHECK(servers.bad() == 1);
}

TEST_CASE("What an earlier process knew stands for a file that cannot be read", "[hook_servers]") {
  const HookTexts kept = {
      {"a.json", std::string(kKoordlet)}, {"b.json", "{"}, {"gone.json", std::string(kKoordlet)}};
  struct Row {
    const char* what;
    Result<std::string> text;
  };
  const Row rows[] = {{"nothing in it", std::string()},
                      {"half of it", std::string("{\"remote-endpoint\":")},
                      {"not to be read", Error(Code::forbidden, "a.json: not used")}};
  for (const Row& row : rows) {
    INFO(row.what);
    HookServers servers(kept);
    const auto news = update(servers, {{"a.json", row.text}, {"b.json", std::string("{")}});
    CHECK(news.changed);
    REQUIRE(servers.all().size() == 1);  // and who has gone meanwhile is asked no more
    CHECK(servers.all()[0].file == "a.json");
    CHECK(servers.bad() == 2);
    REQUIRE(news.problems.size() == 2);
    CHECK_THAT(news.problems[0], Catch::EndsWith("; what it said last stays"));
    CHECK(servers.good() == HookTexts{{"a.json", std::string(kKoordlet)}});
    // Said once; and what is right again counts, and is told.
    CHECK(update(servers, {{"a.json", row.text}, {"b.json", std::string("{")}}).problems.empty());
    const auto mended = update(servers, {{"a.json", std::string(kKoordlet)}});
    CHECK(mended.told.size() == 1);
    CHECK(servers.bad() == 0);
    CHECK(update(servers, {}).changed);
    CHECK(servers.all().empty());
    CHECK(servers.good().empty());
  }
}

TEST_CASE("The whole folder cannot be read from the start", "[hook_servers]") {
  HookServers servers({{"a.json", std::string(kKoordlet)}});
  const auto news = servers.update(FoundFiles(Error(Code::forbidden, "/etc: not used")));
  CHECK(news.changed);
  CHECK(servers.all().size() == 1);
  CHECK(servers.bad() == 1);
  CHECK(servers.good().size() == 1);
  CHECK_FALSE(servers.update(FoundFiles(Error(Code::forbidden, "/etc: not used"))).changed);
  CHECK(update(servers, {}).changed);  // it can be read, and the file is not there
  CHECK(servers.all().empty());
}
