// Flags: every way to write one, and the message for every way to get it wrong.
#include "koord/runtime/flags.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

namespace koord::runtime {
namespace {

constexpr std::array kProcess = {
    Flag{"kubeconfig", FlagType::text, "", "Where."},
    Flag{"v", FlagType::integer, "0", "How much.", 'v'},
};
constexpr std::array kScheduler = {
    Flag{"secure-port", FlagType::integer, "10259", "The port."},
    Flag{"leader-elect", FlagType::boolean, "true", "Elect."},
    Flag{"leader-elect-lease-duration", FlagType::duration, "15s", "Lease."},
    Flag{"controller-plugins", FlagType::list, "*", "Plugins."},
    Flag{"ratio", FlagType::real, "0.5", "Ratio."},
    Flag{"labels", FlagType::pairs, "", "Labels."},
    Flag{"debug-scores", FlagType::integer, "0", "Scores.", 's'},
    Flag{"debug-filters", FlagType::boolean, "false", "Filters.", 'f'},
    Flag{"old", FlagType::text, "", "Old.", 0, {}, true, "it does nothing"},
    Flag{"cleanup", FlagType::text, "false", "Set free."},
};
constexpr std::array kManager = {
    Flag{"secure-port", FlagType::integer, "9443", "The port."},
    Flag{"sync-period", FlagType::duration, "0", "Period."},
};
const FlagOwner kProcessOwner{"", kProcess};
const FlagOwner kSchedulerOwner{"scheduler", kScheduler};
const FlagOwner kManagerOwner{"manager", kManager, true};

using Args = std::vector<std::string>;

Result<CommandLine> one(const Args& args) {
  return parse_flags(args, kProcessOwner, std::array{kSchedulerOwner});
}
/// A text with the default "false" is a switch that takes other words, too.
TEST_CASE("A switch that takes words") {
  const auto said = [](const Args& args) {
    const auto line = parse_flags(args, kProcessOwner, std::array{kSchedulerOwner});
    REQUIRE(line.has_value());
    const FlagValues& values = line->roles.at("scheduler");
    return std::pair(values.get_bool("cleanup"), values.get("cleanup"));
  };
  CHECK(said({}) == std::pair(false, std::string("false")));
  CHECK(said({"--cleanup"}) == std::pair(true, std::string("true")));
  CHECK(said({"--cleanup", "--v=2"}) == std::pair(true, std::string("true")));
  CHECK(said({"--cleanup=false"}) == std::pair(false, std::string("false")));
  CHECK(said({"--cleanup=force"}) == std::pair(true, std::string("force")));
}

Result<CommandLine> both(const Args& args) {
  return parse_flags(args, kProcessOwner, std::array{kSchedulerOwner, kManagerOwner});
}

TEST_CASE("defaults come from the table") {
  const auto line = one({});
  REQUIRE(line.has_value());
  const FlagValues& flags = line->roles.at("scheduler");
  CHECK(flags.get_int("secure-port") == 10259);
  CHECK(flags.get_bool("leader-elect"));
  CHECK(flags.get_duration("leader-elect-lease-duration") == std::chrono::seconds{15});
  CHECK(flags.get_list("controller-plugins") == Args{"*"});
  CHECK(flags.get_real("ratio") == 0.5);
  CHECK(flags.get_pairs("labels").empty());
  CHECK(flags.get("kubeconfig").empty());
  CHECK_FALSE(flags.changed("secure-port"));
  CHECK_THROWS_AS(flags.get_int("absent"), std::logic_error);
  CHECK_THROWS_AS(flags.get("secure-port"), std::logic_error);
}

TEST_CASE("a flag can be written in many ways") {
  struct Row {
    Args args;
    std::string_view flag;
    std::string value;
  };
  auto text = [](const FlagValues& flags, std::string_view name) -> std::string {
    if (name == "secure-port" || name == "v" || name == "debug-scores")
      return std::to_string(flags.get_int(name));
    if (name == "leader-elect" || name == "debug-filters") return flags.get_bool(name) ? "true" : "false";
    if (name == "leader-elect-lease-duration") return std::to_string(flags.get_duration(name).count());
    if (name == "kubeconfig") return flags.get(name);
    std::string all;
    if (name == "controller-plugins")
      for (const auto& item : flags.get_list(name)) all += item + ";";
    if (name == "labels")
      for (const auto& [key, value] : flags.get_pairs(name)) all += key + ":" + value + ";";
    return all;
  };
  const Row rows[] = {
      {{"--secure-port=1"}, "secure-port", "1"},
      {{"--secure-port", "2"}, "secure-port", "2"},
      {{"--secure_port=3"}, "secure-port", "3"},
      {{"--secure-port=0x10"}, "secure-port", "16"},
      {{"--secure-port=-1"}, "secure-port", "-1"},
      {{"--scheduler.secure-port=4"}, "secure-port", "4"},
      {{"--secure-port=1", "--secure-port=5"}, "secure-port", "5"},
      {{"--leader-elect=false"}, "leader-elect", "false"},
      {{"--leader-elect=F"}, "leader-elect", "false"},
      {{"--leader-elect=0"}, "leader-elect", "false"},
      {{"--debug-filters"}, "debug-filters", "true"},
      {{"-f"}, "debug-filters", "true"},
      {{"-f=false"}, "debug-filters", "false"},
      {{"-fs3"}, "debug-scores", "3"},
      {{"-s", "4"}, "debug-scores", "4"},
      {{"-v=4"}, "v", "4"},
      {{"--v=5"}, "v", "5"},
      {{"-v", "6"}, "v", "6"},
      {{"--leader-elect-lease-duration=1m30s"}, "leader-elect-lease-duration", "90000000000"},
      {{"--leader-elect-lease-duration=1.5s"}, "leader-elect-lease-duration", "1500000000"},
      {{"--controller-plugins=a,b"}, "controller-plugins", "a;b;"},
      {{"--controller-plugins=a", "--controller-plugins=b,c"}, "controller-plugins", "a;b;c;"},
      {{"--labels=a=1,b=2", "--labels=a=3"}, "labels", "a:3;b:2;"},
      {{"--kubeconfig="}, "kubeconfig", ""},
      {{"--kubeconfig", "a=b"}, "kubeconfig", "a=b"},
      {{"--kubeconfig=x", "--"}, "kubeconfig", "x"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.args);
    const auto line = one(row.args);
    REQUIRE(line.has_value());
    CHECK(text(line->roles.at("scheduler"), row.flag) == row.value);
    CHECK(line->roles.at("scheduler").changed(row.flag));
  }
}

TEST_CASE("with several roles a flag finds its owner") {
  const auto line =
      both({"--sync-period=5s", "--scheduler.secure-port=1", "--manager.secure-port=2", "--v=3"});
  REQUIRE(line.has_value());
  CHECK(line->roles.at("manager").get_duration("sync-period") == std::chrono::seconds{5});
  CHECK(line->roles.at("scheduler").get_int("secure-port") == 1);
  CHECK(line->roles.at("manager").get_int("secure-port") == 2);
  CHECK(line->roles.at("manager").get_int("v") == 3);
  CHECK(line->process.get_int("v") == 3);
}

TEST_CASE("Go's single dash is understood where the original takes it") {
  const auto line = both({"-sync-period", "7s", "-kubeconfig=k", "-v=2", "-manager.secure-port=3"});
  REQUIRE(line.has_value());
  CHECK(line->roles.at("manager").get_duration("sync-period") == std::chrono::seconds{7});
  CHECK(line->process.get("kubeconfig") == "k");
  CHECK(line->process.get_int("v") == 2);
  CHECK(line->roles.at("manager").get_int("secure-port") == 3);
}

TEST_CASE("what is wrong is said in one line") {
  struct Row {
    Args args;
    bool two_roles;
    std::string message;
  };
  const Row rows[] = {
      {{"--secure-prot=1"}, false, "unknown flag --secure-prot: did you mean --secure-port?"},
      {{"--scheduler.secure-prot=1"},
       true,
       "unknown flag --scheduler.secure-prot: did you mean --scheduler.secure-port?"},
      {{"--zzzzzzzzz"}, false, "unknown flag --zzzzzzzzz"},
      {{"--secure-port=1"},
       true,
       "flag --secure-port is ambiguous, it belongs to scheduler and manager: write --scheduler.secure-port "
       "or "
       "--manager.secure-port"},
      {{"--scheduler.kubeconfig=1"},
       true,
       "flag --scheduler.kubeconfig: kubeconfig belongs to the process, not to a role: write --kubeconfig"},
      {{"--secure-port"}, false, "flag --secure-port needs a value"},
      {{"-s"}, false, "flag -s needs a value"},
      {{"-q"}, false, "unknown flag -q"},
      {{"-leader-elect=1"}, false, "unknown flag -leader-elect=1: did you mean --leader-elect=1?"},
      {{"--secure-port=x"}, false, "invalid value \"x\" for --secure-port: not a whole number"},
      {{"--secure-port=1.5"}, false, "invalid value \"1.5\" for --secure-port: not a whole number"},
      {{"--secure-port=--1"}, false, "invalid value \"--1\" for --secure-port: not a whole number"},
      {{"--secure-port=99999999999999999999"},
       false,
       "invalid value \"99999999999999999999\" for --secure-port: the number is out of range"},
      {{"--secure-port="}, false, "invalid value \"\" for --secure-port: not a whole number"},
      {{"--leader-elect=maybe"}, false, "invalid value \"maybe\" for --leader-elect: not true or false"},
      {{"--leader-elect-lease-duration=15"},
       false,
       "invalid value \"15\" for --leader-elect-lease-duration: not a duration such as 1h30m, 10s or 500ms"},
      {{"--ratio=nan"}, false, "invalid value \"nan\" for --ratio: not a number"},
      {{"--labels=a"}, false, "invalid value \"a\" for --labels: \"a\" is not KEY=VALUE"},
      {{"--leader-elect", "false"}, false, "unexpected argument \"false\": flags are written --NAME=VALUE"},
      {{"x"}, false, "unexpected argument \"x\": flags are written --NAME=VALUE"},
      {{"-"}, false, "unexpected argument \"-\": flags are written --NAME=VALUE"},
      {{"--=x"}, false, "bad flag syntax: --=x"},
      {{"---x"}, false, "bad flag syntax: ---x"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.args);
    const auto line = row.two_roles ? both(row.args) : one(row.args);
    REQUIRE_FALSE(line.has_value());
    CHECK(line.error().message() == row.message);
    CHECK(line.error().code() == Code::invalid);
  }
}

TEST_CASE("a deprecated flag warns once") {
  const auto line = one({"--old=1", "--old=2"});
  REQUIRE(line.has_value());
  CHECK(line->warnings == Args{"flag --old is deprecated: it does nothing"});
}

TEST_CASE("a default that does not parse is an error of the table") {
  constexpr std::array kBad = {Flag{"period", FlagType::duration, "soon", ""}};
  const auto values = default_flags(std::array{FlagOwner{"x", kBad}});
  REQUIRE_FALSE(values.has_value());
  CHECK(values.error().message() == "the default of --period: not a duration such as 1h30m, 10s or 500ms");
}

TEST_CASE("help and markdown come from the table") {
  constexpr std::array kFlags = {
      Flag{"long-name", FlagType::duration, "10s", "One two three four five six."},
      Flag{"quiet", FlagType::boolean, "false", "Say little.", 'q', "Output"},
      Flag{"hidden", FlagType::text, "", "Not shown.", 0, {}, true},
  };
  CHECK(flags_help(kFlags, 50) ==
        "      --long-name duration   One two three four\n"
        "                             five six. (default\n"
        "                             10s)\n"
        "\nOutput:\n"
        "  -q, --quiet                Say little.\n");
  CHECK(flags_markdown(kFlags) ==
        "| flag | type | default | meaning |\n|---|---|---|---|\n"
        "| `--long-name` | duration | `10s` | One two three four five six. |\n"
        "| `--quiet`, `-q` | bool | `false` | Say little. |\n");
}

}  // namespace
}  // namespace koord::runtime
