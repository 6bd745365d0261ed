// Rules of custom resources (x-kubernetes-validations): kube-apiserver's verdicts in its words.
#include "live_cluster.hpp"
#include "moment.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const std::string kThings = "/apis/e.io/v1/ws";

/// A cluster-wide kind W with this schema of its spec.
std::string definition(const std::string& spec) {
  return R"({"metadata":{"name":"ws.e.io"},"spec":{"group":"e.io","scope":"Cluster","names":{"plural":"ws","kind":"W"},)"
         R"("versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":)" +
         spec + "}}}}]}}";
}
std::string schema(const std::string& rules, const std::string& properties) {
  return R"({"type":"object","x-kubernetes-validations":[)" + rules + R"(],"properties":{)" + properties +
         "}}";
}
const std::string kFields =
    R"("min":{"type":"integer"},"max":{"type":"integer"},"name":{"type":"string"},"when":{"type":"string","format":"date-time"},)"
    R"("port":{"x-kubernetes-int-or-string":true},"namespace":{"type":"string"},)"
    R"("parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["id"],"items":{"type":"object","required":["id"],)"
    R"("properties":{"id":{"type":"string"},"size":{"type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf","message":"parts do not shrink"}]}}}},)"
    R"("labels":{"type":"object","additionalProperties":{"type":"string","x-kubernetes-validations":[{"rule":"self != ''"}]}})";
std::string thing(const std::string& spec) { return R"({"metadata":{"name":"w"},"spec":)" + spec + "}"; }

}  // namespace

TEST_CASE("objects that break rules are refused") {
  struct Row {
    std::string rule, spec, message;  // without a message it is accepted
  };
  const Row rows[] = {
      {R"({"rule":"self.min <= self.max"})", R"({"min":1,"max":2})", ""},
      {R"({"rule":"self.min <= self.max"})", R"({"min":3,"max":2})",
       "W.e.io \"w\" is invalid: spec: Invalid value: failed rule: self.min <= self.max"},
      {R"({"rule":"self.min <= self.max","message":" min must not be over max "})", R"({"min":3,"max":2})",
       "W.e.io \"w\" is invalid: spec: Invalid value: min must not be over max"},
      {R"x({"rule":"self.min <= self.max","messageExpression":"'min is ' + string(self.min)","message":"no"})x",
       R"({"min":3,"max":2})", "W.e.io \"w\" is invalid: spec: Invalid value: min is 3"},
      {R"({"rule":"self.min <= self.max","messageExpression":"'bad' + self.name"})", R"({"min":3,"max":2})",
       "W.e.io \"w\" is invalid: spec: Invalid value: failed rule: self.min <= self.max"},
      {R"({"rule":"self.min <= self.max","reason":"FieldValueForbidden","fieldPath":".max"})",
       R"({"min":3,"max":2})",
       "W.e.io \"w\" is invalid: spec.max: Forbidden: failed rule: self.min <= self.max"},
      {R"({"rule":"self.min <= self.max","reason":"FieldValueRequired"})", R"({"min":3,"max":2})",
       "W.e.io \"w\" is invalid: spec: Required value: failed rule: self.min <= self.max"},
      {R"({"rule":"self.min <= self.max"})", R"({"min":3})",
       "W.e.io \"w\" is invalid: spec: Invalid value: \"object\": no such key: max evaluating rule: self.min "
       "<= self.max"},
      {R"({"rule":"!has(self.min) || self.min > 0"})", "{}", ""},
      {R"({"rule":"self.port == 80 || self.port == 'http'"})", R"({"port":"http"})", ""},
      {R"x({"rule":"self.when < timestamp('2021-01-01T00:00:00Z')"})x", R"({"when":"2020-06-01T00:00:00Z"})",
       ""},
      {R"({"rule":"self.__namespace__ == 'x'"})", R"({"namespace":"y"})",
       "W.e.io \"w\" is invalid: spec: Invalid value: failed rule: self.__namespace__ == 'x'"},
      {R"x({"rule":"self.parts.exists_one(p, p.id == 'a')"})x", R"({"parts":[{"id":"a"},{"id":"b"}]})", ""},
      {R"({"rule":"true"})", R"({"labels":{"a":""}})",
       "W.e.io \"w\" is invalid: spec.labels[a]: Invalid value: \"\": failed rule: self != ''"},
      {R"({"rule":"self.min == 1"},{"rule":"self.max == 1"})", R"({"min":3,"max":2})",
       "W.e.io \"w\" is invalid: [spec: Invalid value: failed rule: self.min == 1, spec: Invalid value: "
       "failed rule: self.max == 1]"},
      {R"({"rule":"self.min == 1"})", R"({"min":"x"})",
       "W.e.io \"w\" is invalid: [spec.min: Invalid value: \"string\": spec.min in body must be of type "
       "integer: \"string\", <nil>: "
       "Invalid value: null: some validation rules were not checked because the object was invalid; correct "
       "the existing errors to "
       "complete validation]"},
      {R"x({"rule":"lists.range(self.max).all(a, lists.range(self.max).all(b, a + b >= 0))"})x",
       R"({"max":1000})",
       "W.e.io \"w\" is invalid: spec: Invalid value: \"object\": 'operation cancelled: actual cost limit "
       "exceeded': no further "
       "validation rules will be run due to call cost exceeds limit for rule: lists.range(self.max).all(a, "
       "lists.range(self.max).all(b, a "
       "+ b >= 0))"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.rule, row.spec);
    LiveCluster cluster;
    const auto made = cluster.call("POST", kDefinitions, definition(schema(row.rule, kFields)));
    CAPTURE(made.text("message"));
    REQUIRE(made.status == 201);
    const auto written = cluster.call("POST", kThings, thing(row.spec));
    CHECK(written.status == (row.message.empty() ? 201 : 422));
    CHECK(written.text("message") == row.message);
  }
}

TEST_CASE("transitions: oldSelf is what was there, and what stays as it was may stay") {
  LiveCluster cluster;
  const auto made = cluster.call(
      "POST", kDefinitions,
      definition(schema(
          R"({"rule":"self.min >= oldSelf.min","message":"min only grows"},)"
          R"({"rule":"oldSelf.hasValue() || self.max == 1","optionalOldSelf":true,"message":"max begins at 1"})",
          kFields)));
  CAPTURE(made.text("message"));
  REQUIRE(made.status == 201);
  CHECK(cluster.call("POST", kThings, thing(R"({"min":2,"max":2})")).text("message") ==
        "W.e.io \"w\" is invalid: spec: Invalid value: max begins at 1");
  REQUIRE(cluster
              .call("POST", kThings,
                    thing(R"({"min":2,"max":1,"parts":[{"id":"a","size":3},{"id":"b","size":1}]})"))
              .status == 201);
  const auto patch = [&](const std::string& spec) {
    return cluster.call("PATCH", kThings + "/w", R"({"spec":)" + spec + "}", "application/merge-patch+json");
  };
  CHECK(patch(R"({"max":7})").status == 200);
  CHECK(patch(R"({"min":1})").text("message") ==
        "W.e.io \"w\" is invalid: spec: Invalid value: min only grows");
  // Elements of a list of type map are found by their key.
  CHECK(patch(R"({"parts":[{"id":"b","size":1},{"id":"c","size":0},{"id":"a","size":3}]})").status == 200);
  CHECK(patch(R"({"parts":[{"id":"b","size":1},{"id":"a","size":2}]})").text("message") ==
        "W.e.io \"w\" is invalid: spec.parts[1].size: Invalid value: 2: parts do not shrink");
}

TEST_CASE("rules that are wrong are refused with the definition") {
  const std::string at = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]";
  struct Row {
    std::string rule, message;
  };
  const Row rows[] = {
      {R"({"rule":""})", at + ".rule: Required value: rule is not specified"},
      {R"({"rule":"true","message":"  "})",
       at + ".message: Invalid value: \"  \": must be non-empty if specified"},
      {R"({"rule":"true","reason":"Because"})",
       at + ".reason: Unsupported value: \"Because\": supported values: \"FieldValueDuplicate\", "
            "\"FieldValueForbidden\", "
            "\"FieldValueInvalid\", \"FieldValueRequired\""},
      {R"({"rule":"true","fieldPath":".zz"})",
       at + ".fieldPath: Invalid value: \".zz\": must be a valid path"},
      {R"({"rule":"self.zz < 1"})",
       at +
           R"(.rule: Invalid value: {"Rule":"self.zz \u003c 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"",)"
           R"("OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined field 'zz')"
           "\n | self.zz < 1\n | ....^"},
      {R"({"rule":"self.min"})",
       at +
           R"(.rule: Invalid value: {"Rule":"self.min","Message":"","MessageExpression":"","Reason":null,"FieldPath":"",)"
           R"("OptionalOldSelf":null}: cel expression must evaluate to a bool)"},
      {R"({"rule":"true","messageExpression":"1"})",
       at +
           R"(.messageExpression: Invalid value: {"Rule":"true","Message":"","MessageExpression":"1","Reason":null,"FieldPath":"",)"
           R"("OptionalOldSelf":null}: messageExpression must evaluate to a string)"},
      {R"({"rule":"true","optionalOldSelf":true})",
       at + ".optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.rule);
    LiveCluster cluster;
    const auto made = cluster.call("POST", kDefinitions, definition(schema(row.rule, kFields)));
    CHECK(made.status == 422);
    CHECK(made.text("message") ==
          "CustomResourceDefinition.apiextensions.k8s.io \"ws.e.io\" is invalid: " + row.message);
  }
  LiveCluster cluster;
  const auto listed = cluster.call(
      "POST", kDefinitions,
      definition(
          R"({"type":"array","items":{"type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf"}]}})"));
  CHECK(listed.text("message") ==
        "CustomResourceDefinition.apiextensions.k8s.io \"ws.e.io\" is invalid: "
        "spec.validation.openAPIV3Schema.properties[spec].items.x-kubernetes-validations[0].rule: Invalid "
        "value: \"self >= oldSelf\": "
        "oldSelf cannot be used on the uncorrelatable portion of the schema within "
        "spec.validation.openAPIV3Schema.properties[spec]");
}

TEST_CASE("definitions with too many rules are refused in time") {
  std::string rules;
  for (int i = 0; i < 20'000; ++i) rules += R"x({"rule":"self.name.matches('(a{100}){10}')"},)x";
  rules += R"({"rule":"true"})";
  LiveCluster cluster;
  const auto made = cluster.call("POST", kDefinitions, definition(schema(rules, kFields)));
  CHECK(made.status == 422);
  CHECK_THAT(made.text("message"), Catch::Contains("the rules of this definition are too many or too large"));
}
