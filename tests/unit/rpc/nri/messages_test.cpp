// NRI's messages against bytes that protoc has made of containerd's own definition.
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "koord/rpc/nri.hpp"

namespace koord::rpc::nri {
namespace {

using koord::testing::from_hex;
using koord::testing::to_hex;

TEST_CASE("CreateContainer as a runtime asks") {
  const auto read = decode_happened(
      Event::create_container,
      from_hex(
          "0a660a0273311201701a017522026e732a1e0a176b6f6f7264696e61746f722e73682f716f73436c61737312034c5352"
          "32060a01611201313a0472756e63421d120712050a030880041a0e2f6b756265706f64732f706f647522022f78480752"
          "07312e322e332e3412b4010a026331120273311a046d61696e20013a0273684203413d314a120a022f64120462696e64"
          "1a022f732202726f5a82010a050a0370696412170a092f6465762f6e756c6c120163180120032a0308b6031a400a060a"
          "0408808040121c0a020802120b08ffffffffffffffffff011a0408a08d063203302d331a070a03324d421001320f0a0a"
          "6d656d6f72792e6d696e120131220b089bf8ffffffffffffff012a112f6b756265706f64732f706f64752f63316009"));
  REQUIRE(read.has_value());
  const Happened expected{.event = Event::create_container,
                          .pod = {.id = "s1",
                                  .name = "p",
                                  .uid = "u",
                                  .ns = "ns",
                                  .labels = {{"koordinator.sh/qosClass", "LSR"}},
                                  .annotations = {{"a", "1"}},
                                  .runtime_handler = "runc",
                                  .cgroup_parent = "/kubepods/podu",
                                  .overhead = {},
                                  .resources = Resources{.cpu_shares = 512}},
                          .container = Container{.id = "c1",
                                                 .pod_id = "s1",
                                                 .name = "main",
                                                 .state = State::created,
                                                 .labels = {},
                                                 .annotations = {},
                                                 .env = {"A=1"},
                                                 .mounts = {{"/s", "/d", "bind", {"ro"}}},
                                                 .devices = {{"/dev/null", "c", 1, 3, 438}},
                                                 .resources = {.memory_limit = 1048576,
                                                               .memory_swap = {},
                                                               .cpu_shares = 2,
                                                               .cpu_period = 100000,
                                                               .cpu_quota = -1,
                                                               .cpuset_cpus = "0-3",
                                                               .cpuset_mems = {},
                                                               .rdt_class = {},
                                                               .unified = {{"memory.min", "1"}}},
                                                 .oom_score_adj = -997,
                                                 .cgroups_path = "/kubepods/podu/c1"},
                          .resources = {}};
  CHECK(*read == expected);
  CHECK(decode_happened(Event::create_container, encode(expected, false)).value() == expected);
}

TEST_CASE("The answer to CreateContainer, of which nothing is said that was not answered") {
  const CreateContainerAnswer answer{.adjust = {.annotations = {{"a", "1"}},
                                                .env = {{"A", "1"}},
                                                .mounts = {{"/s", "/d", "bind", {"ro"}}},
                                                .devices = {{"/dev/null", "c", 1, 3, 438}},
                                                .resources = {.memory_limit = -1,
                                                              .memory_swap = {},
                                                              .cpu_shares = 1024,
                                                              .cpu_period = {},
                                                              .cpu_quota = -1,
                                                              .cpuset_cpus = "1-2",
                                                              .cpuset_mems = {},
                                                              .rdt_class = {},
                                                              .unified = {}},
                                                .oom_score_adj = 0},
                                     .updates = {}};
  const std::string bytes = encode(answer);
  CHECK(to_hex(bytes) ==
        "0a6b12060a01611201311a120a022f64120462696e641a022f732202726f22060a014112013132450a170a092f6465762f6e"
        "756c"
        "6c120163180120032a0308b60312280a0d0a0b08ffffffffffffffffff0112170a03088008120b08ffffffffffffffffff01"
        "3203"
        "312d322200");
  CHECK(decode_create_container_answer(bytes).value() == answer);
  CHECK(encode(CreateContainerAnswer{}).empty());
}

TEST_CASE("complaint 3129: updates always name their container") {
  const std::vector<Update> updates = {
      {.container_id = "c1", .resources = {.cpuset_cpus = "4"}, .ignore_failure = true}};
  CHECK(to_hex(encode(updates)) == "0a0f0a02633112070a0512033201341801");
  CHECK(decode_updates(encode(updates)).value() == updates);
  CHECK(encode(std::vector<Update>{}).empty());
  CHECK(decode_failed(encode_failed(updates)).value() == updates);
}

TEST_CASE("Registering and configuring") {
  CHECK(to_hex(encode(RegisterPlugin{"koordlet_nri", "00"})) == "0a0c6b6f6f72646c65745f6e726912023030");
  CHECK(decode_register_plugin(encode(RegisterPlugin{"a", "07"})).value() == RegisterPlugin{"a", "07"});
  const Configure expected{"", "containerd", "v2.1.4", "v0.8.0", 5000, 2000};
  CHECK(decode_configure(from_hex("120a636f6e7461696e6572641a0676322e312e3420882728d00f320676302e382e30"))
            .value() == expected);
  CHECK(decode_configure(encode(expected)).value() == expected);
  CHECK(to_hex(encode_events(137)) == "108901");
  CHECK(decode_events(from_hex("108901")).value() == 137);
}

TEST_CASE("Synchronize, of whose containers only the little is read that is needed") {
  const auto read = decode_synchronize(from_hex(
      "0a070a0273311a0175122a0a026331120273311a046d61696e20032a060a016b1201764203413d315a0b1a051203320130"
      "220208051801"));
  REQUIRE(read.has_value());
  const Synchronize expected{.pods = {{.id = "s1", .uid = "u"}},
                             .containers = {{.id = "c1",
                                             .pod_id = "s1",
                                             .name = "main",
                                             .state = State::running,
                                             .resources = {.cpuset_cpus = "0"},
                                             .oom_score_adj = 5}},
                             .more = true};
  CHECK(*read == expected);
  CHECK(decode_synchronize(encode(expected)).value() == expected);
  const SynchronizeAnswer answer{{{.container_id = "c1", .resources = {.cpuset_cpus = "4"}}}, false};
  CHECK(to_hex(encode(answer)) == "0a0d0a02633112070a051203320134");
  CHECK(decode_synchronize_answer(encode(answer)).value() == answer);
  CHECK(to_hex(encode(SynchronizeAnswer{{}, true})) == "1001");
}

TEST_CASE("UpdateContainer's resources: what CRI does not say comes as 0") {
  const auto read =
      decode_happened(Event::update_container,
                      from_hex("0a070a0273311a017512040a0263311a140a020a00120e0a0308800412001a003203302d31"));
  REQUIRE(read.has_value());
  CHECK(read->container->id == "c1");
  REQUIRE(read->resources);
  CHECK(*read->resources == Resources{.memory_limit = 0,
                                      .memory_swap = {},
                                      .cpu_shares = 512,
                                      .cpu_period = 0,
                                      .cpu_quota = 0,
                                      .cpuset_cpus = "0-1",
                                      .cpuset_mems = {},
                                      .rdt_class = {},
                                      .unified = {}});
}

TEST_CASE("An event comes as a StateChange or as a call of its own") {
  const auto read = decode_happened(Event::unknown, from_hex("080112070a0273311a0175"));
  REQUIRE(read.has_value());
  CHECK((read->event == Event::run_pod_sandbox && read->pod.id == "s1" && read->pod.uid == "u"));
  CHECK_FALSE(read->container);
  for (int number = 1; number <= 13; ++number) {
    Happened event{.event = static_cast<Event>(number), .pod = {.id = "s", .uid = "u"}};
    const bool of_pod = number <= 3 || number >= 12;
    if (!of_pod) event.container = Container{.id = "c", .pod_id = "s"};
    CHECK(decode_happened(event.event, encode(event, false)).value() == event);
    CHECK(decode_happened(Event::unknown, encode(event, true)).value() == event);
  }
  CHECK(decode_happened(Event::unknown, from_hex("08c801")).value().event == Event::unknown);    // 200
  CHECK(decode_happened(Event::unknown, from_hex("08818004")).value().event == Event::unknown);  // 65537
}

TEST_CASE("Of a key that stands twice the last counts; a text that is no UTF-8 is its field's fault alone") {
  const auto read = decode_happened(Event::run_pod_sandbox, from_hex("0a1b"
                                                                     "0a0173"
                                                                     "2a06"
                                                                     "0a0162"
                                                                     "120131"
                                                                     "2a06"
                                                                     "0a0161"
                                                                     "1201ff"
                                                                     "2a06"
                                                                     "0a0162"
                                                                     "120132"));
  REQUIRE(read.has_value());
  CHECK(read->pod.labels == Map{{"a", "\xff"}, {"b", "2"}});
}

TEST_CASE("Bytes that are no such message are an error that says which") {
  const std::string bad = "\xff\xff";
  CHECK(decode_happened(Event::create_container, bad).error().message() ==
        "2 bytes are no CreateContainer of NRI");
  CHECK(decode_happened(Event::unknown, bad).error().message() == "2 bytes are no StateChangeEvent of NRI");
  CHECK(decode_synchronize(bad).error().code() == Code::parse);
  CHECK(decode_configure(bad).error().code() == Code::parse);
  CHECK(decode_updates(bad).error().code() == Code::parse);
}

}  // namespace
}  // namespace koord::rpc::nri
