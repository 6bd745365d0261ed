// Core scheduling cookies: who shares one, who keeps his own, and that none stays. The original's rows of its
// helper are among them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "framework/action/cookie_book.hpp"
#include "koord/base/file.hpp"
#include "rigs/fake_processes.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using koord::testing::Tree;
using testing::FakeProcesses;
using testing::Killed;
using Cookies = std::map<pid_t, std::int64_t>;

/// A wish: the processes of `group` have the cookie of `name`.
struct Wish {
  std::string group, name;
};

class Rig {
 public:
  explicit Rig(std::string path = {}, const ProcessKind& kind = kCoreCookieKind)
      : path_(std::move(path)), kind_(kind) {
    start();
  }
  /// A new agent.
  void start() {
    book_.emplace(kind_, BootFile::Place{.path = path_, .boot_id = "boot"}, processes);
    if (!book_->load()) throw std::runtime_error("the file of cookies cannot be read");
  }
  SettingBook::Outcome pass(const std::vector<Wish>& wishes) {
    std::vector<ProcessSetting> settings;
    for (const Wish& wish : wishes)
      settings.push_back({.kind = &kCoreCookieKind,
                          .pod = pod_,
                          .container = wish.group,
                          .group = wish.group,
                          .shared = wish.name});
    return book_->pass(settings);
  }
  FakeProcesses::One& born(pid_t pid, const std::string& group, std::int64_t cookie = 0) {
    FakeProcesses::One& one = processes.born(pid, group, 0);
    one.of(kCoreCookieKind) = cookie;
    return one;
  }
  bool empty() const { return book_->empty(); }

  FakeProcesses processes;

 private:
  std::string path_;
  const ProcessKind& kind_;
  std::shared_ptr<const PodInfo> pod_ = std::make_shared<PodInfo>();
  std::optional<CookieBook> book_;
};

TEST_CASE("Processes of one name share a cookie", "[koordlet][cookies]") {
  Rig rig;
  rig.processes.next_cookie = 7;
  rig.born(12, "a/1");
  rig.born(13, "a/1");
  rig.born(14, "a/2");
  rig.born(15, "b");
  rig.born(16, "c");
  const auto first = rig.pass({{"a/1", "group/a"}, {"b", "pod/b"}, {"a/2", "group/a"}, {"gone", "group/a"}});
  CHECK(rig.processes.cookies() == Cookies{{12, 7}, {13, 7}, {14, 7}, {15, 8}});
  CHECK(first.containers[0].set == 2);
  CHECK(first.containers[0].value == 7);
  CHECK(first.containers[1].value == 8);
  CHECK(first.containers[3].set + first.containers[3].have == 0);
  CHECK_FALSE(first.containers[3].refused);
  // Nothing is to be done any more, and no thread bears anything.
  const std::size_t bearers = rig.processes.bearers, written = rig.processes.written;
  const auto second = rig.pass({{"a/1", "group/a"}, {"b", "pod/b"}, {"a/2", "group/a"}});
  CHECK(second.containers[0].have == 2);
  CHECK(rig.processes.bearers == bearers);
  CHECK(rig.processes.written == written);
}

TEST_CASE("Whom the file has no room for has none, and nobody who has one is forgotten",
          "[koordlet][cookies]") {
  static const ProcessKind kFew = [] {
    ProcessKind kind = kCoreCookieKind;
    kind.book.max_rows = 3;
    return kind;
  }();
  const Tree tree;
  Rig rig(tree / "cookies", kFew);
  rig.born(12, "b");
  rig.born(13, "b");
  (void)rig.pass({{"b", "n"}});
  for (const pid_t pid : {20, 21, 22}) rig.born(pid, "a");
  const auto outcome = rig.pass({{"a", "m"}, {"b", "n"}});
  REQUIRE(outcome.containers[0].refused);
  CHECK(outcome.containers[0].refused->code() == Code::too_large);
  CHECK_FALSE(outcome.containers[1].refused);
  CHECK(rig.processes.cookies() == Cookies{{12, 1}, {13, 1}, {20, 2}});
  rig.start();  // the file can be read
  (void)rig.pass({});
  CHECK(rig.processes.cookies().empty());
  CHECK(rig.empty());
}

TEST_CASE("Who comes later gets the cookie that there is", "[koordlet][cookies]") {
  Rig rig;
  rig.born(12, "a");
  (void)rig.pass({{"a", "n"}});
  SECTION("in the same container") { rig.born(20, "a"); }
  SECTION("and the first has gone after it forked") {
    rig.processes.fork(12, 19);
    rig.processes.all.erase(12);
    rig.born(20, "a");
  }
  rig.born(21, "b");
  (void)rig.pass({{"a", "n"}, {"b", "n"}});
  CHECK(rig.processes.cookies().at(20) == 1);
  CHECK(rig.processes.cookies().at(21) == 1);
  CHECK(rig.processes.next_cookie == 2);
}

TEST_CASE("Where nobody has a name's cookie any more there is a new one", "[koordlet][cookies]") {
  Rig rig;
  rig.born(12, "a");
  (void)rig.pass({{"a", "n"}});
  rig.processes.all.erase(12);
  rig.born(12, "a");  // the number of one that has gone
  (void)rig.pass({{"a", "n"}});
  CHECK(rig.processes.cookies() == Cookies{{12, 2}});
}

TEST_CASE("Who is forked while a cookie is given has it in the same pass", "[koordlet][cookies]") {
  Rig rig;
  rig.born(12, "a");
  pid_t next = 20;
  rig.processes.meanwhile = [&] {
    if (next < 23) rig.processes.fork(12, next++);  // before its parent has it
  };
  const auto outcome = rig.pass({{"a", "n"}});
  CHECK(rig.processes.cookies().size() == rig.processes.all.size());
  CHECK(outcome.containers[0].set + outcome.containers[0].have == rig.processes.all.size());
  SECTION("and none is left when it is taken again") {
    rig.processes.meanwhile = [&] {
      if (next < 26) rig.processes.fork(12, next++);
    };
    (void)rig.pass({});
    CHECK(rig.processes.cookies().empty());
    CHECK(rig.empty());
  }
  SECTION("who forks all the time does not hold the agent up") {
    rig.processes.meanwhile = [&] { rig.processes.fork(12, next++); };
    rig.born(13, "b");
    (void)rig.pass({{"a", "n"}, {"b", "m"}});
    CHECK(next < 60);
  }
}

TEST_CASE("Cookies are added, assigned and cleared, as the original's rows have it", "[koordlet][cookies]") {
  constexpr std::int64_t kHidden = kHiddenCookie;  // the original's "unknown"
  struct Row {
    const char* what;
    std::optional<pid_t> sibling;  // has the group's cookie, 100000, before
    Cookies before;                // of the container; 100000 beside a sibling is the group's
    std::set<pid_t> refuse;
    Cookies after;
  };
  const Row given[] = {
      {"add: no pid to add", {}, {}, {}, {}},
      // The three of these that differ are ours: who has a cookie of somebody else's keeps it, and one
      // process that refuses stops no other.
      {"add: for pids with non-default cookie", {}, {{1000, 1}, {1001, 1}}, {}, {{1000, 1}, {1001, 1}}},
      {"add: failed for beginning pid",
       {},
       {{1000, 0}, {1001, 0}, {1002, 0}},
       {1000, 1002},
       {{1001, 100000}}},
      {"add: correctly", {}, {{1000, 0}, {1001, 0}, {1002, 0}}, {1002}, {{1000, 100000}, {1001, 100000}}},
      {"add: correctly 2",
       {},
       {{1000, 0}, {1001, 0}, {1002, 0}, {1010, 1}},
       {1002},
       {{1000, 100000}, {1001, 100000}, {1010, 1}}},
      {"assign: no pid to assign", 999, {}, {}, {{999, 100000}}},
      {"assign: all pid unknown",
       999,
       {{1001, kHidden}, {1002, kHidden}},
       {},
       {{999, 100000}, {1001, kHidden}, {1002, kHidden}}},
      {"assign: successfully", 999, {{1001, 0}, {1002, 0}}, {1002}, {{999, 100000}, {1001, 100000}}},
      {"assign: successfully 1",
       999,
       {{1001, 0}, {1002, 0}, {1003, 0}, {1010, 100000}},
       {1002},
       {{999, 100000}, {1001, 100000}, {1003, 100000}, {1010, 100000}}},
  };
  for (const Row& row : given) {
    INFO(row.what);
    Rig rig;
    rig.processes.next_cookie = 100000;
    if (row.sibling) {
      rig.born(*row.sibling, "s");
      (void)rig.pass({{"s", "n"}});
    }
    for (const auto& [pid, cookie] : row.before) rig.born(pid, "c", cookie);
    for (const pid_t pid : row.refuse) rig.processes.cookie_refusals.emplace(pid, Error(Code::io, "it"));
    (void)rig.pass({{"s", "n"}, {"c", "n"}});
    CHECK(rig.processes.cookies() == row.after);
  }
  // assign: no valid sibling pid to share: then it is added. clear: no pid, all unknown, correctly.
  Rig rig;
  rig.processes.next_cookie = 100000;
  rig.born(1000, "s");
  rig.born(1001, "c");
  rig.born(1002, "c");
  (void)rig.pass({{"s", "n"}});
  rig.processes.all.at(1000).of(kCoreCookieKind) = kHidden;
  (void)rig.pass({{"s", "n"}, {"c", "n"}});
  CHECK(rig.processes.cookies() == Cookies{{1000, kHidden}, {1001, 100001}, {1002, 100001}});
  for (const pid_t pid : {1001, 1002}) rig.processes.all.at(pid).of(kCoreCookieKind) = kHidden;
  CHECK(rig.pass({}).not_returned);
  for (const pid_t pid : {1001, 1002}) rig.processes.all.at(pid).of(kCoreCookieKind) = 100001;
  rig.processes.all.at(1000).of(kCoreCookieKind) = 100000;
  rig.processes.cookie_refusals.emplace(1002, Error(Code::io, "it"));
  CHECK(rig.pass({}).not_returned);
  CHECK(rig.processes.cookies() == Cookies{{1002, 100001}});
}

TEST_CASE("A name that a container has no more is not its cookie any more", "[koordlet][cookies]") {
  Rig rig;
  rig.born(12, "a");
  rig.born(13, "b");
  (void)rig.pass({{"a", "n"}, {"b", "n"}});
  rig.processes.fork(13, 14);
  SECTION("another name") {
    (void)rig.pass({{"a", "n"}, {"b", "m"}});
    CHECK(rig.processes.cookies() == Cookies{{12, 1}, {13, 2}, {14, 2}});
  }
  SECTION("and back") {
    (void)rig.pass({{"a", "n"}, {"b", "m"}});
    (void)rig.pass({{"a", "n"}, {"b", "n"}});
    CHECK(rig.processes.cookies() == Cookies{{12, 1}, {13, 1}, {14, 1}});
  }
  SECTION("none") {
    const auto outcome = rig.pass({{"a", "n"}});
    CHECK(rig.processes.cookies() == Cookies{{12, 1}});
    REQUIRE(outcome.returned.size() == 1);
    CHECK(outcome.returned[0].processes == 2);
  }
  SECTION("the agent itself is in a group, whose cookie its threads have") {
    rig.processes.own_cookie = 99;
    (void)rig.pass({});
    CHECK(rig.processes.cookies().empty());
  }
}

TEST_CASE("Who has a cookie of somebody else's keeps it, and is named", "[koordlet][cookies]") {
  Rig rig;
  rig.born(12, "a", 500);
  rig.born(13, "a");
  const auto outcome = rig.pass({{"a", "n"}});
  CHECK(rig.processes.cookies() == Cookies{{12, 500}, {13, 1}});
  REQUIRE(outcome.containers[0].refused);
  CHECK(outcome.containers[0].refused->code() == Code::conflict);
  rig.processes.all.at(13).of(kCoreCookieKind) = 501;  // later, too
  (void)rig.pass({{"a", "n"}});
  (void)rig.pass({});
  CHECK(rig.processes.cookies() == Cookies{{12, 500}, {13, 501}});
  CHECK(rig.empty());
}

TEST_CASE("One process that refuses stops no other", "[koordlet][cookies]") {
  Rig rig;
  for (const pid_t pid : {12, 13, 14}) rig.born(pid, "a");
  SECTION("it cannot be given one") {
    rig.processes.cookie_refusals.emplace(12, Error(Code::forbidden, "12"));
    const auto outcome = rig.pass({{"a", "n"}});
    CHECK(rig.processes.cookies() == Cookies{{13, 1}, {14, 1}});
    CHECK(outcome.containers[0].refused->code() == Code::forbidden);
    rig.processes.cookie_refusals.clear();
    (void)rig.pass({{"a", "n"}});
    CHECK(rig.processes.cookies() == Cookies{{12, 1}, {13, 1}, {14, 1}});
  }
  SECTION("it has gone") {
    rig.processes.meanwhile = [&] { rig.processes.all.erase(12); };
    const auto outcome = rig.pass({{"a", "n"}});
    CHECK(rig.processes.cookies() == Cookies{{13, 1}, {14, 1}});
    CHECK_FALSE(outcome.containers[0].refused);
  }
  SECTION("it cannot be asked") {
    rig.processes.all.at(12).of(kCoreCookieKind) = kHiddenCookie;
    const auto outcome = rig.pass({{"a", "n"}});
    CHECK(rig.processes.cookies() == Cookies{{12, kHiddenCookie}, {13, 1}, {14, 1}});
    CHECK(outcome.containers[0].refused->code() == Code::forbidden);
  }
  SECTION("there is no new cookie") {
    rig.processes.no_more_cookies = Error(Code::io, "none");
    const auto outcome = rig.pass({{"a", "n"}});
    CHECK(rig.processes.cookies().empty());
    CHECK(outcome.containers[0].refused->code() == Code::io);
  }
}

TEST_CASE("What cannot be taken back is remembered", "[koordlet][cookies]") {
  Rig rig;
  rig.born(12, "a");
  (void)rig.pass({{"a", "n"}});
  SECTION("it refuses") {
    rig.processes.cookie_refusals.emplace(12, Error(Code::forbidden, "12"));
    CHECK(rig.pass({}).not_returned);
    rig.processes.cookie_refusals.clear();
  }
  SECTION("it cannot be asked") {
    rig.processes.all.at(12).of(kCoreCookieKind) = kHiddenCookie;
    CHECK(rig.pass({}).not_returned);
    rig.processes.all.at(12).of(kCoreCookieKind) = 1;
  }
  SECTION("there is no thread to carry anything") {
    rig.processes.no_thread = Error(Code::unavailable, "no thread");
    CHECK(rig.pass({}).not_returned);
    CHECK(rig.pass({{"a", "m"}}).containers[0].refused);
    rig.processes.no_thread.reset();
  }
  SECTION("the group cannot be looked at") {
    rig.processes.fault = Error(Code::io, "a disk");
    CHECK(rig.pass({}).not_returned);
    CHECK(rig.pass({{"a", "n"}}).containers[0].refused);
    rig.processes.fault.reset();
  }
  SECTION("the machine has no cookies for now") {
    rig.processes.lacking = Error(Code::unsupported, "one thread a core");
    CHECK(rig.pass({}).unavailable);
    CHECK(rig.pass({{"a", "n"}}).unavailable);
    rig.processes.lacking.reset();
  }
  CHECK_FALSE(rig.empty());
  CHECK_FALSE(rig.pass({}).not_returned);
  CHECK(rig.processes.cookies().empty());
  CHECK(rig.empty());
}

TEST_CASE("The next agent goes on with the cookies that there are", "[koordlet][cookies]") {
  Tree tree;
  Rig rig(tree / "cookies");
  rig.born(12, "a");
  (void)rig.pass({{"a", "n"}});
  rig.processes.fork(12, 13);
  rig.start();
  SECTION("and gives them") {
    rig.born(14, "b");
    (void)rig.pass({{"b", "n"}, {"a", "n"}});
    CHECK(rig.processes.cookies() == Cookies{{12, 1}, {13, 1}, {14, 1}});
  }
  SECTION("or takes them, from whom was forked meanwhile, too") {
    (void)rig.pass({});
    CHECK(rig.processes.cookies().empty());
    CHECK(read_file(tree / "cookies").value() == "koord-cookies 1 boot\n");
  }
  SECTION("two names never have one, whatever a file says") {
    const std::uint64_t start = rig.processes.all.at(12).start;
    tree.write("cookies", fmt::format("koord-cookies 1 boot\n12\t{}\t1\t1\tn\ta\n14\t{}\t1\t1\tm\tb\n", start,
                                      start + 2));
    rig.born(14, "b", 1);
    rig.start();
    (void)rig.pass({{"a", "n"}, {"b", "m"}});
    CHECK(rig.processes.cookies().at(12) == 1);
    CHECK(rig.processes.cookies().at(14) == 2);
  }
}

TEST_CASE("A file of cookies is taken whole or not at all", "[koordlet][cookies]") {
  Tree tree;
  const std::string row = GENERATE("12\t1\t0\t1\tn\ta", "12\t1\t1\t1\t\ta", "12\t1\t1\t1\tn",
                                   "1\t1\t1\t1\tn\ta", "12\t1\t1\t1\tn\ta\n12\t1\t1\t1\tn\ta", "x");
  tree.write("cookies", fmt::format("koord-cookies 1 boot\n13\t1\t1\t1\tn\ta\n{}\n", row));
  FakeProcesses processes;
  CookieBook book(kCoreCookieKind, {.path = tree / "cookies", .boot_id = "boot"}, processes);
  CHECK(book.load().error().code() == Code::parse);
  CHECK(book.empty());
}

TEST_CASE("No cookie is left over a kill between any two writes", "[koordlet][cookies][crash]") {
  for (std::size_t killed = 0;; ++killed) {
    Tree tree;
    Rig rig(tree / "cookies");
    rig.born(12, "a");
    rig.born(13, "a");
    rig.born(14, "b");
    rig.born(15, "b", 500);
    rig.processes.die_after = killed;
    bool died = false;
    try {
      (void)rig.pass({{"a", "n"}, {"b", "n"}});
      rig.processes.fork(13, 20);
      (void)rig.pass({{"a", "m"}, {"b", "n"}});
      rig.processes.fork(13, 21);
      (void)rig.pass({{"b", "n"}});
    } catch (const Killed&) {
      died = true;
    }
    rig.processes.die_after.reset();
    rig.start();
    INFO(killed);
    if (killed % 2 == 0) (void)rig.pass({{"a", "m"}, {"b", "m"}});
    (void)rig.pass({});
    CHECK(rig.processes.cookies() == Cookies{{15, 500}});
    CHECK(rig.empty());
    if (!died) break;
    REQUIRE(killed < 100);
  }
}

}  // namespace
}  // namespace koord::koordlet
