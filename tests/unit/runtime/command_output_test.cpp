// What commands share: forms, colours, wrapped sentences, the bar, words among flags, errors with their
// server, the loop that a signal ends.
#include "koord/runtime/command_output.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <map>
#include <sstream>

#include "koord/async/system_clock.hpp"
#include "koord/async/timer.hpp"
#include "koord/runtime/command_cluster.hpp"
#include "koord/runtime/command_flags.hpp"
#include "koord/runtime/command_loop.hpp"

namespace koord::runtime {
namespace {

TEST_CASE("--output") {
  CHECK(*parse_output_form("") == OutputForm::text);
  CHECK(*parse_output_form("wide") == OutputForm::wide);
  CHECK(parse_output_form("xml").error().message() == "--output: \"xml\" is not text, wide, json or yaml");
  CHECK(in_form(OutputForm::json, R"({"a":[1]})") == "{\"a\":[1]}\n");
  CHECK(in_form(OutputForm::yaml, R"({"a":[1]})") == "a:\n- 1\n");
}

TEST_CASE("colours are for terminals, unless NO_COLOR says something") {
  struct Row {
    bool terminal;
    std::map<std::string, std::string> variables;
    bool wants;
  };
  for (const Row& row : {Row{true, {}, true},
                         {true, {{"NO_COLOR", "1"}}, false},
                         {true, {{"NO_COLOR", ""}}, true},
                         {true, {{"TERM", "dumb"}}, false},
                         {true, {{"TERM", "xterm"}}, true},
                         {false, {{"TERM", "xterm"}}, false}}) {
    CAPTURE(row.terminal, row.variables);
    CHECK(wants_colours(row.terminal, [&row](const char* name) {
            const auto found = row.variables.find(name);
            return found != row.variables.end() ? std::optional(found->second) : std::nullopt;
          }) == row.wants);
  }
  CHECK(Paint(true)(Colour::bad, "x") == "\x1b[31mx\x1b[0m");
  CHECK(Paint(false)(Colour::bad, "x") == "x");
  CHECK(painted_heads("Why:\n  a:\nb\n", true) == "\x1b[1mWhy:\x1b[0m\n  a:\nb\n");
}

TEST_CASE("what third parties have written moves no cursor and paints nothing") {
  struct Row {
    std::string text, clean;
  };
  for (const Row& row : {Row{"two\nlines\n", "two\nlines\n"},
                         {"\x1b[2J\x1b]0;title\x07", "?[2J?]0;title?"},
                         {"over\rwritten\b\t\x7f", "over?written???"},
                         {"\xc2\x9b"
                          "31m",
                          "?31m"},
                         {"Gr\xc3\xb6\xc3\x9f"
                          "e \xc2\xb5",
                          "Gr\xc3\xb6\xc3\x9f"
                          "e \xc2\xb5"},
                         {"\xc2", "\xc2"},
                         {"", ""}}) {
    CAPTURE(row.text);
    CHECK(cleaned(row.text) == row.clean);
    CHECK(for_people(OutputForm::wide, row.text) == row.clean);
  }
}

TEST_CASE("sentences are wrapped between words, tables are not") {
  struct Row {
    const char* text;
    const char* wrapped;
  };
  for (const Row& row : {Row{"short\n", "short\n"},
                         {"one two three four five six seven eight nine ten eleven\n",
                          "one two three four five six seven eight\n  nine ten eleven\n"},
                         {"  - one two three four five six seven eight nine ten\n",
                          "  - one two three four five six seven\n    eight nine ten\n"},
                         {"NODE  a  b  c  d  e  f  g  h  i  j  k  l  m  n  o  p  q\n",
                          "NODE  a  b  c  d  e  f  g  h  i  j  k  l  m  n  o  p  q\n"},
                         {"averylongwordthatdoesnotfitintothelineatallwhateveriscut off\n",
                          "averylongwordthatdoesnotfitintothelineatallwhateveriscut\n  off\n"},
                         {"", ""}})
    CHECK(wrapped(row.text, 40) == row.wrapped);
}

TEST_CASE("a bar: on a terminal alone, and gone afterwards") {
  CHECK(progress_line("listing pods", 25'000, 100'000) ==
        "listing pods [#####---------------]  25%  25000 of 100000");
  CHECK(progress_line("listing pods", 500, 0) == "listing pods 500");
  CHECK(progress_line("x", 3, 2) == "x [####################] 100%  3 of 2");
  std::ostringstream err;
  {
    ProgressBar bar(err, true);
    bar.show("x", 1, 2);
    bar.show("x", 1, 2);
  }
  CHECK(err.str() == "\r\x1b[Kx [##########----------]  50%  1 of 2\r\x1b[K");
  std::ostringstream silent;
  ProgressBar(silent, false).show("x", 1, 2);
  CHECK(silent.str().empty());
}

TEST_CASE("words and flags in any order") {
  constexpr std::array kTable = {Flag{"output", FlagType::text, "", "", 'o'},
                                 Flag{"quiet", FlagType::boolean, "false", "", 'q'}};
  using Words = std::vector<std::string>;
  struct Row {
    Words given, words, flags;
  };
  for (const Row& row :
       {Row{{"pod", "a/b", "-o", "json"}, {"pod", "a/b"}, {"-o", "json"}},
        {{"--output", "yaml", "pod", "--quiet", "p"}, {"pod", "p"}, {"--output", "yaml", "--quiet"}},
        {{"-q", "p", "--output=wide"}, {"p"}, {"-q", "--output=wide"}},
        {{"-", "--unknown", "p", "-o"}, {"-", "p"}, {"--unknown", "-o"}}}) {
    const WordsAndFlags split = split_words(row.given, kTable);
    CHECK(split.words == row.words);
    CHECK(split.flags == row.flags);
  }
}

TEST_CASE("errors of the way name the server, the file and what to do, others speak for themselves") {
  kube::ClientConfig config;
  config.server = "https://10.0.0.1:6443";
  config.source = "me.kubeconfig";
  struct Row {
    Code code;
    std::string message, told;
  };
  for (const Row& row :
       {Row{Code::unauthorized, "Unauthorized",
            "Unauthorized: the server does not take the credentials of me.kubeconfig"},
        {Code::unavailable, "connecting to 10.0.0.1:6443: Connection refused",
         "connecting to 10.0.0.1:6443: Connection refused: does it run, and is that its address?"},
        {Code::forbidden, "nodes is forbidden",
         "nodes is forbidden: ask for that right, or as another user (--kubeconfig, --context)"},
        {Code::not_found, "HTTP status 404: 404 page not found",
         "HTTP status 404: 404 page not found: is that a Kubernetes API server, and are the kinds installed "
         "(koord crds prints them)?"},
        {Code::parse, "JSON: line 1: no JSON value",
         "JSON: line 1: no JSON value: is that a Kubernetes API server, and are the kinds installed (koord "
         "crds "
         "prints them)?"},
        {Code::server_error, "etcd is full", "etcd is full"},
        {Code::not_found, "pods \"p\" not found", "pods \"p\" not found"}})
    CHECK(at_server(config, Error(row.code, row.message)).message() ==
          fmt::format("https://10.0.0.1:6443 (by me.kubeconfig): {}", row.told));
  CHECK(at_server(config, Error(Code::invalid, "--nodes: not a number")).message() ==
        "--nodes: not a number");
  config.source.clear();
  CHECK(at_server(config, Error(Code::unauthorized, "Unauthorized")).message() ==
        "https://10.0.0.1:6443: Unauthorized: the server does not take these credentials");
}

Task<> interrupted(Clock& clock, bool& ended) {
  ::raise(SIGINT);
  const Result<> slept = co_await sleep(clock, std::chrono::hours(1));
  ended = !slept;
}
Task<> at_once(bool& ended) {
  ended = true;
  co_return;
}

TEST_CASE("a command runs until it has ended, or is asked to by a signal") {
  for (const bool by_itself : {true, false}) {
    boost::asio::io_context loop(1);
    SystemClock clock(loop.get_executor());
    bool ended = false;
    const bool done = run_until_stopped(loop, clock, by_itself ? at_once(ended) : interrupted(clock, ended));
    CHECK(done == by_itself);
    CHECK(ended);
  }
}

}  // namespace
}  // namespace koord::runtime
