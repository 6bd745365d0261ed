// Custom kinds: definitions, their schemas, and what hostile ones must not do.
#include "live_cluster.hpp"
#include "moment.hpp"
#include "support/sanitized.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const std::string kThings = "/apis/e.io/v1/ws";

/// A cluster-wide kind W with this schema of its spec, and `more` in its version.
std::string definition(const std::string& spec_schema, const std::string& more = "") {
  return fmt::format(
      R"({{"metadata":{{"name":"ws.e.io"}},"spec":{{"group":"e.io","scope":"Cluster","names":{{"plural":"ws","kind":"W"}},)"
      R"("versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object",)"
      R"("properties":{{"spec":{}}}}}}}{}}}]}}}})",
      spec_schema, more);
}
std::string thing(const std::string& spec) {
  return fmt::format(R"({{"metadata":{{"name":"w"}},"spec":{}}})", spec);
}
std::string list_of(std::size_t count, const std::string& item) {
  std::string out = "[";
  for (std::size_t i = 0; i < count; ++i) out.append(i ? "," : "").append(item);
  return out + "]";
}
std::string numbered(std::size_t count, const std::string& open, const std::string& close, std::string item) {
  std::string out = open;
  for (std::size_t i = 0; i < count; ++i) out.append(i ? "," : "").append(fmt::format(fmt::runtime(item), i));
  return out + close;
}

}  // namespace

TEST_CASE("custom kinds: defaults, pruning, validation, status, removal") {
  LiveCluster cluster;
  const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  auto made = cluster.call(
      "POST", crds,
      R"({"metadata":{"name":"ws.e.io"},"spec":{"group":"e.io","scope":"Cluster","names":{"plural":"ws","kind":"W"},"versions":[{"name":"v1","served":true,"storage":true,)"
      R"("subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":1},)"
      R"("c":{"type":"string","default":"red","enum":["red","blue"]}}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}})");
  REQUIRE(made.status == 201);
  CHECK(made.body.find(R"("type":"Established","status":"True")") != std::string::npos);
  auto w = cluster.call(
      "POST", "/apis/e.io/v1/ws",
      R"({"apiVersion":"e.io/v1","kind":"W","metadata":{"name":"w"},"spec":{"n":2,"gone":1},"status":{"x":1}})");
  CHECK(w.text("spec") == R"({"n":2,"c":"red"})");
  CHECK(w.text("status") == "");
  auto bad =
      cluster.call("POST", "/apis/e.io/v1/ws", R"({"metadata":{"name":"b"},"spec":{"n":0,"c":"green"}})");
  CHECK(bad.text("message") ==
        "W.e.io \"b\" is invalid: [spec.n: Invalid value: 0: spec.n in body should be greater than or equal "
        "to 1, spec.c: Unsupported value: \"green\": supported values: "
        "\"red\", \"blue\"]");
  CHECK(
      cluster
          .call("PATCH", "/apis/e.io/v1/ws/w/status", R"({"status":{"x":1}})", "application/merge-patch+json")
          .text("status", "x") == "1");
  CHECK(cluster.call("PATCH", "/apis/e.io/v1/ws/w", "{}", "application/strategic-merge-patch+json").status ==
        415);
  REQUIRE(cluster.call("DELETE", crds + "/ws.e.io").status == 200);
  CHECK(cluster.call("GET", "/apis/e.io/v1/ws").status == 404);
}

TEST_CASE("definitions that are wrong are refused, with the place and Kubernetes' words") {
  const std::string validation = "CustomResourceDefinition.apiextensions.k8s.io \"ws.e.io\" is invalid: ";
  struct Row {
    std::string body, message;
  };
  const std::string at = "spec.validation.openAPIV3Schema.properties[spec]";
  const Row rows[] = {
      {definition(R"({"type":"object","properties":{"foo":{"type":"string","pattern":"+"}}})"),
       at + ".properties[foo].pattern: Invalid value: \"+\": must be a valid regular expression, but isn't: "
            "error "
            "parsing regexp: missing argument to repetition operator: `+`"},
      {definition(R"({"type":"object","allOf":[{"items":{"pattern":"(a"}}]})"),
       at + ".allOf[0].items.pattern: Invalid value: \"(a\": must be a valid regular expression, but isn't: "
            "error "
            "parsing regexp: missing closing ): `(a`"},
      {definition(R"({"type":"string","pattern":"(?=a)b"})"),
       at + ".pattern: Invalid value: \"(?=a)b\": must be a valid regular expression, but isn't: error "
            "parsing "
            "regexp: invalid or unsupported Perl syntax: `(?=`"},
      {definition(R"j({"type":"string","pattern":"(((((a{100}){100}){100}){100}){100})"})j"),
       at + ".pattern: Invalid value: \"(((((a{100}){100}){100}){100}){100})\": must be a valid regular "
            "expression, "
            "but isn't: error parsing regexp: invalid repeat count: `{100}`"},
      {definition(R"({"$ref":"#/definitions/x"})"), at + ".$ref: Forbidden: $ref is not supported"},
      {definition(R"({"type":"array","uniqueItems":true})"),
       at + ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes "
            "quadratic"},
      {definition(R"({"type":"null"})"),
       at + ".type: Forbidden: type cannot be set to null, use nullable as an alternative"},
      {definition("{}", R"(,"additionalPrinterColumns":[{"name":"A","type":"colour","jsonPath":"spec"}])"),
       "[spec.additionalPrinterColumns[0].type: Invalid value: \"colour\": must be one of "
       "boolean,date,integer,number,string, spec.additionalPrinterColumns[0].jsonPath: Invalid value: "
       "\"spec\": "
       "must be a simple json path starting with .]"},
  };
  LiveCluster cluster;
  for (const Row& row : rows) {
    auto answer = cluster.call("POST", kDefinitions, row.body);
    CAPTURE(row.body);
    CHECK(answer.status == 422);
    CHECK(answer.text("message") == validation + row.message);
  }
  auto names = cluster.call(
      "POST", kDefinitions,
      R"({"metadata":{"name":"ws.e.io"},"spec":{"group":"e.io","scope":"Cluster","names":{"plural":"ws","kind":"W\",\"x","shortNames":["A\""]},)"
      R"("versions":[{"name":"v1\"","served":true,"storage":true,"schema":{"openAPIV3Schema":{}}}]}})");
  CHECK(names.status == 422);
  CHECK(names.text("message").find("spec.names.kind: Invalid value: \"W\\\",\\\"x\": may have mixed case") !=
        std::string::npos);
  CHECK(names.text("message").find("spec.versions[0].name: Invalid value:") != std::string::npos);
}

TEST_CASE("patterns match as Go's do, in linear time") {
  LiveCluster cluster;
  REQUIRE(
      cluster
          .call("POST", kDefinitions,
                definition(R"({"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"},)"
                           R"("b":{"type":"string","pattern":"(x+x+)+y"},"c":{"pattern":"\\d\\p{Greek}"}}})"))
          .status == 201);
  const auto refused = [&](const std::string& spec) {
    auto answer = cluster.call("POST", kThings + "?dryRun=All", thing(spec));
    CAPTURE(spec.substr(0, 60));
    CHECK((answer.status == 201 || answer.status == 422));
    return answer.status == 422;
  };
  CHECK_FALSE(refused(R"({"a":"aaaa","b":"xxy","c":"1λ"})"));
  CHECK(refused(R"({"c":"λ1"})"));
  const Moment moment;
  CHECK(refused(fmt::format(R"({{"a":"{}b"}})", std::string(500'000, 'a'))));
  CHECK(refused(fmt::format(R"({{"b":"{}"}})", std::string(500'000, 'x'))));
}

TEST_CASE("the message of a refusal is bounded: twenty errors, the beginning of long values, then a count") {
  LiveCluster cluster;
  REQUIRE(cluster
              .call("POST", kDefinitions,
                    definition(R"({"type":"array","items":{"type":"string","maxLength":1,"pattern":"^y"}})"))
              .status == 201);
  auto many = cluster.call("POST", kThings, thing(list_of(100'000, R"("xx")")));
  CHECK(many.status == 422);
  CHECK(find(many.doc, "details", "causes")->size() == 20);
  CHECK(many.text("message").ends_with(", and 199980 more errors]"));
  auto lengthy = cluster.call("POST", kThings, thing(list_of(3, "\"" + std::string(400'000, 'x') + "\"")));
  CHECK(lengthy.body.size() < 20'000);
}

TEST_CASE("what is hostile in an object costs no more than its size") {
  LiveCluster cluster;
  const std::string kObject = R"({"type":"object","additionalProperties":{"type":"string"}})";
  struct Row {
    std::string schema, spec;
    unsigned status;
  };
  const std::string names = numbered(test::hostile(60'000), "{", "}", R"("name-{}":"v")");
  const std::string properties =
      numbered(test::hostile(30'000), "{", "}", R"("name-{}":{{"type":"string","default":"d"}})");
  const std::string required = numbered(test::hostile(60'000), "[", "]", R"("other-{}")");
  const std::string members = numbered(test::hostile(20'000), "{", "}", R"("n{}":"v")");
  const std::size_t values = test::hostile(50'000);
  const Row rows[] = {
      // duplicates in sets and maps
      {R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"}})",
       numbered(test::hostile(150'000), "[", "]", "{}"), 201},
      {R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"}})",
       numbered(test::hostile(100'000), "[", "]", "{}").insert(1, "7,"), 422},
      {R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],"items":{"type":"object","properties":{"n":{"type":"integer"}}}})",
       numbered(test::hostile(80'000), "[", "]", R"({{"n":{}}})"), 201},
      // unknown fields, required ones, defaults
      {R"({"type":"object"})", names, 201},
      {R"({"type":"object","additionalProperties":true,"required":)" + required + "}", names, 422},
      {R"({"type":"object","properties":)" + properties + "}", names, 201},
      // values of an enumeration
      {R"({"type":"array","items":{"type":"integer","enum":)" + numbered(values, "[", "]", "{}") + "}}",
       list_of(2 * values, fmt::format("{}", values - 1)), 201},
      // an object with many members, twice, in a set
      {R"({"type":"array","x-kubernetes-list-type":"set","items":)" + kObject + "}",
       "[" + members + "," + members + "]", 422},
  };
  for (const Row& row : rows) {
    CAPTURE(row.schema.substr(0, 100));
    REQUIRE(cluster.call("POST", kDefinitions, definition(row.schema)).status == 201);
    {
      const Moment moment;
      auto answer = cluster.call("POST", kThings, thing(row.spec));
      CAPTURE(answer.body.substr(0, 300));
      CHECK(answer.status == row.status);
    }
    REQUIRE(cluster.call("DELETE", kDefinitions + "/ws.e.io").status == 200);
    cluster.settle();
  }
}

TEST_CASE("what multiplies is refused: defaults, branches, columns, versions, patterns") {
  LiveCluster cluster;
  const Moment moment(60);
  // a default of 100 KB in each of many items
  REQUIRE(
      cluster
          .call(
              "POST", kDefinitions,
              definition(
                  R"({"type":"array","items":{"type":"object","properties":{"d":{"type":"string","default":")" +
                  std::string(100'000, 'x') + "\"}}}}"))
          .status == 201);
  CHECK(cluster.call("POST", kThings, thing(list_of(test::hostile(100'000), "{}"))).status == 413);
  REQUIRE(cluster.call("DELETE", kDefinitions + "/ws.e.io").status == 200);
  cluster.settle();
  // thousands of branches for each of many items, the last of which fits
  const std::string branches_schema = list_of(5'000, R"({"maximum":5})").insert(1, R"({"type":"string"},)");
  REQUIRE(cluster
              .call("POST", kDefinitions,
                    definition(R"({"type":"array","items":{"not":{"anyOf":)" + branches_schema + "}}}"))
              .status == 201);
  auto branches = cluster.call("POST", kThings, thing(list_of(test::hostile(100'000), "9")));
  CHECK(branches.status == 422);
  CHECK(branches.text("message").find("takes more than 3000000 steps") != std::string::npos);
  REQUIRE(cluster.call("DELETE", kDefinitions + "/ws.e.io").status == 200);
  cluster.settle();

  std::string deep = R"({"type":"string"})";
  for (int i = 0; i < 450; ++i) deep = R"({"type":"object","properties":{"a":)" + deep + "}}";
  CHECK(cluster.call("POST", kDefinitions, definition(deep)).status == 201);
  std::string inside = "1";
  for (int i = 0; i < 450; ++i) inside = R"({"a":)" + inside + "}";
  CHECK(cluster.call("POST", kThings, thing(inside)).status == 422);
  REQUIRE(cluster.call("DELETE", kDefinitions + "/ws.e.io").status == 200);
  cluster.settle();

  const std::string huge =
      definition(R"({"type":"object","properties":)" + numbered(110'000, "{", "}", R"("{}":{{}})") + "}");
  CHECK(cluster.call("POST", kDefinitions, huge).text("message").find("must have at most 100000 schemas") !=
        std::string::npos);
  const std::string patterns = definition(R"({"type":"object","properties":)" +
                                          numbered(600, "{", "}", R"("n{0}":{{"pattern":"a{0}"}})") + "}");
  CHECK(cluster.call("POST", kDefinitions, patterns).text("message").find("at most 512 different patterns") !=
        std::string::npos);
  const std::string columns =
      R"(,"additionalPrinterColumns":)" + list_of(300, R"({"name":"A","type":"string","jsonPath":".a"})");
  CHECK(cluster.call("POST", kDefinitions, definition("{}", columns)).status == 422);
}

TEST_CASE("columns of custom kinds") {
  LiveCluster cluster;
  const std::string columns =
      R"(,"additionalPrinterColumns":[{"name":"N","type":"integer","jsonPath":".spec.n"},)"
      R"({"name":"Last","type":"string","jsonPath":".spec.l[-1]"},{"name":"Ready","type":"string","jsonPath":".spec.c[?(@.type==\"Ready\")].status"},)"
      R"({"name":"Dotted","type":"string","jsonPath":".spec.m['a\\.b']"},{"name":"Any","type":"string","jsonPath":".spec.l[*]"},)"
      R"({"name":"Wrong","type":"string","jsonPath":".spec.l[x"},{"name":"Object","type":"string","jsonPath":".spec.m"}])";
  REQUIRE(cluster
              .call("POST", kDefinitions,
                    definition(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})", columns))
              .status == 201);
  REQUIRE(cluster
              .call("POST", kThings,
                    thing(R"({"n":7,"l":["a","z"],"c":[{"type":"Ready","status":"yes"}],"m":{"a\\.b":"d"}})"))
              .status == 201);
  auto table =
      cluster.call("GET", kThings, "", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io");
  CHECK(json::to_text(*find((*find(table.doc, "rows"))[0], "cells")) ==
        R"(["w",7,"z","yes","d","a",null,"{\"a\\\\.b\":\"d\"}"])");
}
