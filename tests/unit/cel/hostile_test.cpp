// Expressions that mean harm end in a limit: nesting, cost, memory, steps, types.
#include <catch2/catch.hpp>
#include <string>

#include "koord/cel/environment.hpp"

namespace koord::cel {
namespace {

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

const Environment& environment() {
  static const Environment kEnvironment = [] {
    Environment::Options options;
    options.bind = true;
    options.authorizer = "there is no authorizer here";
    return Environment(
        {{"l", list_type(simple_type(TypeKind::integer))}, {"s", simple_type(TypeKind::string)}}, options);
  }();
  return kEnvironment;
}

struct Ended {
  std::string refusal;  // by the compiler
  std::string fault;    // of the run
  Fault::Code code = Fault::Code::evaluation;
  std::uint64_t cost = 0;
  std::size_t bytes = 0;
};

Ended run(std::string_view expression) {
  Ended ended;
  const auto program = environment().compile(expression);
  if (!program) {
    ended.refusal = program.error().message();
    return ended;
  }
  Memory memory;
  Meter meter;
  const std::string text(100'000, 'a');
  Value list = Value::null();
  const auto numbers = json::parse("[" + repeated("1,", 9'999) + "1]");
  list = Value::json(*numbers, memory);
  const Value variables[] = {list, Value::string(text)};
  const Value value = program->run(variables, memory, meter);
  ended.cost = meter.used;
  ended.bytes = memory.used();
  if (!value.is_error()) return ended;
  ended.fault = value.fault().message;
  ended.code = value.fault().code;
  return ended;
}

TEST_CASE("what nests too deeply is refused") {
  for (const std::string& text :
       {repeated("(", 300) + "1" + repeated(")", 300), repeated("[", 300) + repeated("]", 300),
        repeated("1+", 300) + "1", "s" + repeated(".x", 300), "l" + repeated("[0]", 300),
        repeated("true?1:", 300) + "1", repeated("{1:", 300) + "1" + repeated("}", 300)}) {
    CAPTURE(text);
    CHECK(run(text).refusal == "ERROR: <input>:-1:0: expression recursion limit exceeded: 250");
  }
  CHECK(run(repeated("!", 90'000) + "true").refusal.empty());
  CHECK(run(repeated("true||", 15'000) + "true").refusal.empty());
  CHECK(run(repeated("a", 100'001)).refusal ==
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000");
}

TEST_CASE("what costs too much ends with the limit") {
  const std::string nested = "l.all(a, l.all(b, l.all(c, l.all(d, a + b + c + d > 0))))";
  const Ended loops = run(nested);
  CHECK(loops.code == Fault::Code::cost);
  CHECK(loops.fault == "operation cancelled: actual cost limit exceeded");
  CHECK(loops.cost <= kCostOfExpression + 100'000);
  // Each of these would double with every step.
  std::string doubled = "l", optional = "optional.of(1)";
  for (int i = 0; i < 40; ++i) optional += ".optMap(x, x)";
  CHECK(run(optional).code == Fault::Code::cost);
  const Ended texts = run("l.map(x, s + s + s + s).size() > 0");
  CHECK(texts.code != Fault::Code::evaluation);
  CHECK(texts.bytes <= 2 * Memory::kMaxBytes);
}

TEST_CASE("what takes too much memory or time, which costs little, ends too") {
  for (const std::string_view text : {
           "s.replace('a', s).size() > 0",
           "lists.range(9000000000).size() > 0",
           "lists.range(100000000).size() > 0",
           "l.map(x, l + l + [x]).size() > 0",
           "cel.bind(a, lists.range(1000), cel.bind(b, a.map(x, a), cel.bind(c, b.map(x, b), cel.bind(d, "
           "c.map(x, c), d == d))))",
           "cel.bind(a, lists.range(1000), cel.bind(b, a.map(x, a), cel.bind(c, b.map(x, b), "
           "'%s'.format([c.map(x, c)]) == '')))",
       }) {
    CAPTURE(text);
    const Ended ended = run(text);
    CHECK(ended.refusal == "");
    CHECK(ended.code != Fault::Code::evaluation);
    CHECK(ended.bytes <= 2 * Memory::kMaxBytes);
  }
}

TEST_CASE("patterns are bounded, those of literals when they are compiled") {
  CHECK(run("s.matches('(((a{100}){100}){100}){100}')").refusal.find("invalid matches argument") !=
        std::string::npos);
  CHECK(run(repeated("s.matches('(a{100}){10}')||", 3'000) + "true")
            .refusal.find("the patterns of this expression are too large") != std::string::npos);
  CHECK(run("s.matches('(a*)*b')").fault.empty());
  CHECK(!run("s.find('((a{1000}){1000}){1000}' + 'x') == ''").fault.empty());
}

TEST_CASE("types that double with each level are refused") {
  std::string text = "{}";
  for (int i = 0; i < 30; ++i) text = "cel.bind(x" + std::to_string(i) + ", {l: l}, " + text + ")";
  CHECK(run(text).refusal.empty());
  std::string grown = "x29";
  for (int i = 29; i > 0; --i)
    grown = "cel.bind(x" + std::to_string(i) + ", {x" + std::to_string(i - 1) + ": x" +
            std::to_string(i - 1) + "}, " + grown + ")";
  grown = "cel.bind(x0, 1, " + grown + " == 1)";
  CHECK(run(grown).refusal.find("the type of this expression is too large") != std::string::npos);
}

TEST_CASE("calls that no value fits are refused as they run, whatever they would cost") {
  for (const std::string_view function :
       {"distinct()", "sort()", "flatten()", "flatten(1)", "reverse()", "slice(0, 1)", "first()", "sum()",
        "min()", "isSorted()", "join()", "unwrapOpt()", "sortBy(x, x)"})
    for (const std::string_view value :
         {"dyn({1: 2})", "dyn(1)", "dyn('text')", "dyn(null)", "dyn(type(1))", "dyn(optional.of(1))"}) {
      CAPTURE(function, value);
      CHECK(run(std::string(value) + "." + std::string(function)).fault.empty() == false);
    }
}

TEST_CASE("time zones are UTC or offsets") {
  CHECK(run("timestamp(0).getHours('UTC') == 0 && timestamp(0).getHours('') == 0 && "
            "timestamp(0).getHours('02:00') == 2")
            .fault == "");
  CHECK(run("timestamp(0).getHours('Europe/Berlin') == 1").fault == "unknown time zone Europe/Berlin");
}

TEST_CASE("the authorizer is refused by name") {
  CHECK(run("authorizer.group('').resource('pods').check('get').allowed()")
            .refusal.starts_with("ERROR: <input>:1:1: there is no authorizer here\n"));
}

}  // namespace
}  // namespace koord::cel
