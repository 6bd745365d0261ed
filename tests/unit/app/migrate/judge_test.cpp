// What `koord migrate check` makes of command lines, configurations, webhooks, objects and nodes.
#include "migrate/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "app.hpp"
#include "migrate/programs.hpp"

namespace koord::app::migrate {
namespace {

const Tables kTables{all_roles(), process_flags()};

Program program(std::string role, std::vector<std::string> arguments,
                std::string image = "x/koordlet:v1.8.0") {
  Program made;
  made.role = std::move(role);
  made.program = fmt::format("koord-{}", made.role);
  made.workload = "DaemonSet ns/one";
  made.ns = "ns";
  made.image = std::move(image);
  made.arguments = std::move(arguments);
  return made;
}

bool has(const Findings& findings, Verdict verdict, const std::string& part) {
  return std::ranges::any_of(findings, [&](const Finding& one) {
    return one.verdict == verdict && one.text.find(part) != std::string::npos;
  });
}

TEST_CASE("Flags and gates are judged by the role's tables", "[migrate]") {
  struct Row {
    const char* role;
    std::vector<std::string> line;
    Verdict verdict;
    const char* part;
  };
  const Row row = GENERATE(values<Row>({
      {"koordlet", {"-addr=:9316"}, Verdict::same, "-addr=:9316"},
      {"koordlet", {"-addr", ":9316"}, Verdict::same, "-addr :9316"},
      {"koordlet", {"--logtostderr=true"}, Verdict::not_at_all, "--logtostderr=true"},
      {"koordlet", {"--no-such-flag"}, Verdict::in_the_way, "no-such-flag"},
      {"koordlet", {"--adr=:9316"}, Verdict::in_the_way, "addr"},  // the nearest name
      {"koordlet", {"--kube-api-qps=many"}, Verdict::in_the_way, "--kube-api-qps=many"},
      {"koordlet", {"--kube-api-qps=$(QPS)"}, Verdict::unknown, "is not written"},
      {"koordlet", {"stray"}, Verdict::in_the_way, "stray"},
      {"koordlet", {"-feature-gates=BECPUEvict=true"}, Verdict::same, "BECPUEvict=true"},
      {"koordlet", {"--feature-gates", "BECPUEvict=true"}, Verdict::same, "BECPUEvict=true"},
      {"koordlet", {"--feature-gates=BECPUEvict=maybe"}, Verdict::in_the_way, "BECPUEvict=maybe"},
      {"koordlet", {"--feature-gates=Nonsense=true,BECPUEvict=true"}, Verdict::in_the_way, "Nonsense"},
      {"manager", {"--enable-leader-election"}, Verdict::same, "--enable-leader-election"},
      {"manager", {"--feature-gates="}, Verdict::better, "slo-controller-config"},
      {"manager", {"--addr=:1"}, Verdict::in_the_way, "--addr=:1"},  // another role's
      {"scheduler", {"--feature-gates=BECPUEvict=true"}, Verdict::in_the_way, "BECPUEvict"},
  }));
  CAPTURE(row.role, row.line);
  Findings findings;
  judge_program(program(row.role, row.line), kTables, findings);
  CHECK(has(findings, row.verdict, row.part));
}

TEST_CASE("Versions are those of the image", "[migrate]") {
  struct Row {
    const char* image;
    Verdict verdict;
    const char* part;
  };
  const Row row = GENERATE(values<Row>({{"r:5000/koordlet:v1.8.0", Verdict::same, "v1.8.0"},
                                        {"koordlet:v1.8", Verdict::same, "v1.8"},
                                        {"koordlet:1.6.1", Verdict::better, "1.6.1"},
                                        {"koordlet:v1.9.0", Verdict::unknown, "newer"},
                                        {"koordlet:v2.0", Verdict::unknown, "newer"},
                                        {"koordlet:latest", Verdict::unknown, "does not say"},
                                        {"r:5000/koordlet", Verdict::unknown, "does not say"},
                                        {"koordlet@sha256:00", Verdict::unknown, "does not say"}}));
  CAPTURE(row.image);
  Findings findings;
  judge_program(program("koordlet", {}, row.image), kTables, findings);
  CHECK(has(findings, row.verdict, row.part));
}

TEST_CASE("Programs that koord has none of, that are koord, or that a shell starts", "[migrate]") {
  Findings findings;
  judge_program(program("", {}), kTables, findings);
  CHECK(has(findings, Verdict::not_at_all, "koord has no"));
  Program own = program("koordlet", {"--no-such-flag"});
  own.is_koord = true;
  findings.clear();
  judge_program(own, kTables, findings);
  CHECK(findings.size() == 1);
  CHECK(has(findings, Verdict::same, "already"));
  Program shell = program("koordlet", {"-c", "/koordlet"});
  shell.unreadable = "it is started by /bin/sh";
  findings.clear();
  judge_program(shell, kTables, findings);
  CHECK(has(findings, Verdict::unknown, "/bin/sh"));
  CHECK_FALSE(has(findings, Verdict::in_the_way, ""));
}

TEST_CASE("A workload's containers are Koordinator's by what they call", "[migrate]") {
  const RoleOf role_of = [](std::string_view name, std::span<const std::string>) {
    return fmt::format("<{}>", name);
  };
  const auto read = [&](const std::string& pod) {
    const auto workload = json::parse(fmt::format(
        R"J({{"metadata": {{"namespace": "ns", "name": "w"}}, "spec": {{"template": {{"spec": {}}}}}}})J",
        pod));
    REQUIRE(workload.has_value());
    return programs_of(*workload, "Deployment", role_of);
  };
  struct Row {
    const char* container;
    const char* program;  // nullptr: none
    std::vector<std::string> arguments;
    const char* started_by = "";
  };
  const Row row = GENERATE(values<Row>({
      {R"J({"command": ["/koord-manager"], "args": ["--v=4"]})J", "koord-manager", {"--v=4"}},
      {R"J({"image": "r/koordlet:v1", "args": ["-v=4"]})J", "koordlet", {"-v=4"}},
      {R"J({"command": ["/nginx"], "image": "r/koordlet:v1"})J", nullptr, {}},
      {R"J({"command": ["/koordinate"]})J", nullptr, {}},
      {R"J({"command": ["koordlet", "--addr=$(A):$(B)", "$$(A)"], "env": [{"name": "A", "value": "x"}]})J",
       "koordlet",
       {"--addr=x:$(B)", "$(A)"}},
      {R"J({"command": ["koordlet", "$(A"], "env": [{"name": "A", "valueFrom": {}}]})J", "koordlet", {"$(A"}},
      {R"J({"command": 7, "args": {}, "image": []})J", nullptr, {}},
      {R"J({"image": "r/koordlet:v1", "command": ["/bin/sh", "-c", "/koordlet"]})J",
       "koordlet",
       {"-c", "/koordlet"},
       "/bin/sh"},
      {R"J({"image": "r/koordlet:v1", "command": ["/usr/local/busybox/bin/sh", "/etc/koordlet/start/now.sh"]})J",
       "koordlet",
       {"/etc/koordlet/start/now.sh"},
       "/usr/local/busybox/bin/sh"},
  }));
  CAPTURE(row.container);
  const auto found = read(fmt::format(R"J({{"containers": [{}]}})J", row.container));
  REQUIRE(found.size() == (row.program == nullptr ? 0 : 1));
  if (row.program == nullptr) return;
  CHECK(found[0].program == row.program);
  CHECK(found[0].role == fmt::format("<{}>", row.program));
  CHECK(found[0].arguments == row.arguments);
  CHECK(found[0].workload == "Deployment ns/w");
  CHECK(found[0].unreadable ==
        (*row.started_by == '\0' ? "" : fmt::format("it is started by {}", row.started_by)));
}

TEST_CASE("A long word of variables that nobody closes is read in no time", "[migrate]") {
  std::string word;
  while (word.size() < std::size_t{1} << 20) word += "$(";
  const auto workload = json::parse(fmt::format(
      R"J({{"spec": {{"template": {{"spec": {{"containers": [{{"command": ["koordlet", "{}"]}}]}}}}}}}})J",
      word));
  REQUIRE(workload.has_value());
  const auto found =
      programs_of(*workload, "Deployment", [](std::string_view name, auto) { return std::string(name); });
  REQUIRE(found.size() == 1);
  CHECK(found[0].arguments == std::vector<std::string>{word});
}

Facts with_map(std::string role, std::string name, std::string key, std::string text) {
  Facts facts;
  Program one = program(std::move(role), {"--config=/config/file.yaml", "--config-namespace=ns"});
  one.files["/config/file.yaml"] = {fmt::format("ns/{}", name), key};
  facts.programs.push_back(std::move(one));
  facts.config_maps[fmt::format("ns/{}", name)].data[key] = std::move(text);
  return facts;
}

TEST_CASE("ConfigMaps are read by the parsers of who reads them", "[migrate]") {
  constexpr const char* kSlo = "slo-controller-config";
  struct Row {
    const char *role, *map, *key, *text;
    Verdict verdict;
    const char* part;
  };
  const Row row = GENERATE(values<Row>({
      {"manager", kSlo, "colocation-config", R"({"enable": true})", Verdict::same, "colocation-config"},
      {"manager", kSlo, "colocation-config", "{", Verdict::in_the_way, "put it right first"},
      {"manager", kSlo, "colocation-config", R"({"cpuReclaimThresholdPercent": -1})", Verdict::in_the_way,
       "colocation"},
      {"manager", kSlo, "resource-threshold-config",
       R"({"clusterStrategy": {"cpuSuppressThresholdPercent": 101}})", Verdict::in_the_way,
       "resource-threshold-config"},  // the webhook's rule alone
      {"manager", kSlo, "others", "", Verdict::not_at_all, "others"},
      {"scheduler", "c", "k",
       "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", Verdict::same,
       "profiles: "},
      {"scheduler", "c", "k",
       "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nx: 1\n",
       Verdict::in_the_way, "/config/file.yaml:3"},
      {"scheduler", "c", "k", "{", Verdict::in_the_way, "/config/file.yaml"},
      {"descheduler", "c", "k", "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n",
       Verdict::same, "valid"},
      {"descheduler", "c", "k",
       "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\nprofiles: 1\n", Verdict::in_the_way,
       "/config/file.yaml:3"},
  }));
  CAPTURE(row.role, row.text);
  Findings findings;
  judge_configuration(with_map(row.role, row.map, row.key, row.text), findings);
  CHECK(has(findings, row.verdict, row.part));
}

TEST_CASE("A configuration that is nowhere is not known", "[migrate]") {
  Facts facts = with_map("scheduler", "c", "k", "");
  facts.programs[0].files.clear();
  Findings findings;
  judge_configuration(facts, findings);
  CHECK(has(findings, Verdict::unknown, "/config/file.yaml"));
}

TEST_CASE("Nodes are judged by their runtime and what their kubelet says", "[migrate]") {
  struct Row {
    const char *runtime, *endpoint;
    Verdict verdict;
    const char* part;
  };
  const Row row = GENERATE(values<Row>({
      {"containerd://2.1.4", "", Verdict::same, "by itself"},
      {"containerd://1.7.2", "", Verdict::unknown, "switches it on"},
      {"containerd://1.6.9", "", Verdict::not_at_all, "no NRI"},
      {"cri-o://1.30", "", Verdict::unknown, "containerd alone"},
      {"containerd://1.6.9", "unix:///run/koord-runtimeproxy/runtimeproxy.sock", Verdict::same, "CRI proxy"},
  }));
  CAPTURE(row.runtime);
  Facts facts;
  NodeGroup group;
  group.runtime = row.runtime;
  group.runtime_endpoint = row.endpoint;
  group.os = "linux";
  group.architecture = "amd64";
  facts.nodes.push_back(group);
  Findings findings;
  judge_nodes(facts, findings);
  CHECK(has(findings, row.verdict, row.part));
}

TEST_CASE("Webhooks and objects", "[migrate]") {
  Facts facts;
  facts.webhooks = {{"c", "a", "/mutate-pod", "Fail", 30}, {"c", "b", "/nowhere", "Ignore", 3}};
  Kind odd{.name = "x.analysis.koordinator.sh"},
      known{.name = "reservations", .version = "v1alpha1", .known = true};
  known.bad = {"one: spec: not an object"};
  facts.kinds = {odd, known};
  Findings findings;
  judge_webhooks(facts, findings);
  judge_kinds(facts, findings);
  CHECK(has(findings, Verdict::same, "/mutate-pod is served"));
  CHECK(has(findings, Verdict::better, "Fail and 30 s"));
  CHECK(has(findings, Verdict::not_at_all, "/nowhere"));
  CHECK(has(findings, Verdict::not_at_all, "reads none"));
  CHECK(has(findings, Verdict::in_the_way, "one: spec: not an object"));
}

TEST_CASE("The order names the roles that are there, and two agents for one node stand in the way",
          "[migrate]") {
  Facts facts;
  for (const char* role : {"koordlet", "scheduler"}) facts.programs.push_back(program(role, {}));
  const auto roles = [&] {
    std::string line;
    for (const Step& step : order_of(facts)) line += fmt::format("{},", step.role);
    return line;
  };
  CHECK(roles() == ",scheduler,koordlet,,");
  CHECK_THAT(order_of(facts).back().text, Catch::Contains("manifests/cleanup/10-koordlet.yaml"));
  CHECK_FALSE(judge(facts, kTables).in_the_way());
  Program own = program("koordlet", {});
  own.is_koord = true;
  facts.programs.push_back(own);
  const Report report = judge(facts, kTables);
  CHECK(report.in_the_way());
  CHECK_THAT(render(report, false), Catch::Contains("in the way") && Catch::Contains("two agents on a node"));
  CHECK_THAT(render_json(report), Catch::Contains(R"("inTheWay":true)"));
  CHECK(roles() == ",scheduler,koordlet,,");
  CHECK(judge(Facts{}, kTables).steps.empty());
}

TEST_CASE("Other people's text stays on its line", "[migrate]") {
  Report report;
  report.findings.push_back({Verdict::unknown, "a\x1b[31m\nb", std::string(5000, 'x')});
  const std::string text = render(report, true);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.size() < 1000);
}

}  // namespace
}  // namespace koord::app::migrate
