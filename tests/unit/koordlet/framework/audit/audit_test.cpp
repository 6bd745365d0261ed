// The audit: lines on the disk and in memory, pages, readers, rotation, a disk that refuses.
#include "framework/audit/auditor.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "koord/base/manual_clock.hpp"
#include "koord/host/file.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using koord::testing::Tree;

struct Desk {
  explicit Desk(const std::string& folder) { options.log_dir = folder; }
  Auditor& start() {
    auditor.reset();
    auditor = std::make_unique<Auditor>(options, clock, Logger(log, clock));
    return *auditor;
  }
  void record(int count, int first = 0) {
    for (int i = first; i < first + count; ++i) {
      const std::string message = "message " + std::to_string(i);
      auditor->record(0, {.type = "node", .message = message});
    }
  }
  ManualClock clock{WallTime{std::chrono::seconds{1'700'000'000}}};
  CapturedLog log;
  Auditor::Options options;
  std::unique_ptr<Auditor> auditor;
};

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::string token_of(const std::string& body) {
  const std::string_view key = "{\"NextPageToken\":\"";
  REQUIRE(body.starts_with(key));
  return body.substr(key.size(), body.find('"', key.size()) - key.size());
}

TEST_CASE("An event is one line of JSON", "[koordlet][audit]") {
  Tree tree;
  Desk desk(tree / "log/koordlet");
  desk.start().record(3, {.type = "group",
                          .name = "kubepods/be\x01\"\\\xff\xc3\xa9",
                          .reason = "UpdateCgroups",
                          .message = "update cpu.max to max"});
  desk.auditor->record(4, {.type = "node", .message = "above --audit-verbose"});
  desk.auditor->flush();
  const std::string line =
      R"({"createdAt":"2023-11-14T22:13:20.000000000Z","type":"group","level":"3","name":"kubepods/be\u0001\"\\)"
      "\xef\xbf\xbd\xc3\xa9"
      R"(","reason":"UpdateCgroups","message":"update cpu.max to max"})"
      "\n";
  CHECK(read_file(tree / "log/koordlet/audit.log").value() == line);
  CHECK(desk.auditor->answer("", "", false).body == line);
}

// Upstream's TestAuditorLogger and TestAuditorLoggerTxtOutput: 26 events.
TEST_CASE("Pages, newest first", "[koordlet][audit][upstream]") {
  Tree tree;
  Desk desk(tree.path());
  desk.start();
  desk.record(26);

  auto page = desk.auditor->answer("10", "", true);
  CHECK(page.status == 200);
  CHECK(page.content_type == "application/json; charset=utf-8");
  CHECK(count(page.body, "createdAt") == 10);
  CHECK(page.body.find("message 25\"") < page.body.find("message 16\""));
  const std::string token = token_of(page.body);
  CHECK_FALSE(token.empty());
  desk.record(5, 100);  // newer ones do not move the page
  page = desk.auditor->answer("1", token, true);
  CHECK_THAT(page.body, Catch::Contains("message 15\""));
  std::size_t rest = 0;
  for (std::size_t got = 5; got == 5; rest += got) {
    page = desk.auditor->answer("5", token, true);
    got = count(page.body, "createdAt");
  }
  CHECK(rest == 15);
  CHECK(token_of(page.body).empty());
  CHECK(desk.auditor->answer("5", token, true).body == R"({"NextPageToken":"","Events":[]})");

  page = desk.auditor->answer("10", "", false);
  CHECK(page.content_type == "text/plain; charset=utf-8");
  CHECK(count(page.body, "\n") == 10);
  CHECK_FALSE(page.next_page.empty());
  CHECK(count(desk.auditor->answer("", page.next_page, false).body, "\n") == 21);
}

TEST_CASE("Sizes and tokens that are no good", "[koordlet][audit][upstream]") {
  Tree tree;
  Desk desk(tree.path());
  desk.start();
  desk.record(300);
  CHECK(desk.auditor->answer("2049", "", true).status == 400);
  CHECK(desk.auditor->answer("-1", "", true).status == 400);
  CHECK(desk.auditor->answer("2048", "", true).status == 200);
  CHECK(count(desk.auditor->answer("abc", "", true).body, "createdAt") == 256);
  CHECK(count(desk.auditor->answer("", "", true).body, "createdAt") == 256);
  CHECK(count(desk.auditor->answer("99999999999999999999", "", true).body, "createdAt") == 256);
  const auto unknown = desk.auditor->answer("1", "not-exists-token", true);
  CHECK(unknown.status == 409);
  CHECK_THAT(unknown.body, Catch::Contains("invalid pageToken not-exists-token"));

  SECTION("a reader that was idle for ten minutes is gone") {
    const std::string token = desk.auditor->answer("10", "", false).next_page;
    desk.clock.advance(std::chrono::minutes(10));
    CHECK(desk.auditor->answer("10", token, false).status == 200);
    desk.clock.advance(std::chrono::minutes(10) + std::chrono::seconds(1));
    CHECK(desk.auditor->answer("10", token, false).status == 409);
  }
  SECTION("a fifth reader takes the oldest one's place") {
    std::vector<std::string> tokens;
    for (int i = 0; i < 5; ++i) tokens.push_back(desk.auditor->answer("10", "", false).next_page);
    CHECK(desk.auditor->answer("10", tokens[0], false).status == 409);
    for (int i = 1; i < 5; ++i)
      CHECK(desk.auditor->answer("10", tokens[static_cast<std::size_t>(i)], false).status == 200);
  }
}

TEST_CASE("Memory is bounded, and a page whose events are gone ends", "[koordlet][audit]") {
  Tree tree;
  Desk desk(tree.path());
  desk.options.max_memory_events = 50;
  desk.start();
  desk.record(60);
  const std::string token = desk.auditor->answer("10", "", false).next_page;
  desk.record(1000, 60);
  CHECK(desk.auditor->answer("10", token, false).body.empty());
  CHECK(count(desk.auditor->answer("2048", "", false).body, "\n") == 50);
  desk.options.max_memory_bytes = 1000;
  desk.start();
  desk.record(1000);
  CHECK(desk.auditor->answer("2048", "", false).body.size() <= 1100);
}

TEST_CASE("Rotation, and the oldest files give way", "[koordlet][audit]") {
  Tree tree;
  Desk desk(tree.path());
  desk.options.max_file_bytes = 300'000;
  desk.options.max_disk_space_mb = 2;
  desk.start();
  tree.write("other.log", "not ours");
  const std::string long_message(1000, 'x');
  for (int i = 0; i < 5000; ++i) {
    desk.auditor->record(1, {.type = "node", .message = long_message});
    if (i % 100 == 0) desk.auditor->flush();
  }
  desk.auditor->flush();
  std::uintmax_t total = 0;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tree.path())) {
    if (entry.path().filename() == "other.log") continue;
    total += entry.file_size();
    ++files;
    CHECK(entry.file_size() <= 302'000);
  }
  CHECK(files >= 5);
  CHECK(total <= 2 << 20);
  CHECK(host::exists(tree / "other.log"));
  CHECK(desk.auditor->dropped() == 0);
}

TEST_CASE("An agent that starts again remembers what the file holds", "[koordlet][audit]") {
  Tree tree;
  Desk desk(tree.path());
  desk.start();
  desk.record(20);
  desk.auditor.reset();
  const std::string text = read_file(tree / "audit.log").value();
  tree.write("audit.log", "garbage\n{\"createdAt\":\"x\x01\"}\n" + text + "{\"createdAt\":\"half a li");
  desk.start();
  CHECK(count(desk.auditor->answer("", "", false).body, "\n") == 20);
}

TEST_CASE("A disk that refuses loses lines on the disk and nothing else", "[koordlet][audit]") {
  Tree tree{{"file", "no folder"}};
  Desk desk(tree / "file/log");
  desk.start();
  desk.record(30);
  desk.auditor->flush();
  CHECK(desk.auditor->dropped() == 30);
  CHECK(desk.log.count(LogLevel::warn) == 1);
  CHECK(count(desk.auditor->answer("", "", false).body, "\n") == 30);

  Desk full("/dev/full");  // a folder that is none
  full.start();
  full.record(3);
  full.auditor->flush();
  CHECK(full.auditor->dropped() == 3);
}

}  // namespace
}  // namespace koord::koordlet
