// Claims and volumes: which get bound to which, what is provisioned where, what is protected and reclaimed.
#include <catch2/catch.hpp>

#include "live_cluster.hpp"
#include "sandbox/controllers/claim_guard.hpp"
#include "sandbox/controllers/provisioner.hpp"
#include "sandbox/controllers/volume_binder.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

const std::string kClaims = "/api/v1/namespaces/default/persistentvolumeclaims";
const std::string kVolumes = "/api/v1/persistentvolumes";
const std::string kClasses = "/apis/storage.k8s.io/v1/storageclasses";
const std::string kMerge = "application/merge-patch+json";

struct VolumeCluster : LiveCluster {
  VolumeBinder binder{verbs};
  Provisioner provisioner{verbs};
  ClaimGuard guard{verbs};

  using LiveCluster::LiveCluster;

  /// `spec`: members beside the defaults, which they replace.
  Answer claim(const std::string& name, const std::string& spec = "", const std::string& meta = "") {
    return call(
        "POST", kClaims,
        R"({"metadata":{"name":")" + name + "\"" + meta +
            R"(},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}})" + spec +
            "}}");
  }
  Answer volume(const std::string& name, const std::string& size, const std::string& spec = "",
                const std::string& meta = "", const std::string& modes = R"("ReadWriteOnce")") {
    return call("POST", kVolumes,
                R"({"metadata":{"name":")" + name + "\"" + meta + R"(},"spec":{"capacity":{"storage":")" +
                    size + R"("},"accessModes":[)" + modes + R"(],"hostPath":{"path":"/x"})" + spec + "}}");
  }
  Answer storage_class(const std::string& name, const std::string& more = "", const std::string& meta = "") {
    return call("POST", kClasses,
                R"({"metadata":{"name":")" + name + "\"" + meta + R"(},"provisioner":"example.com/disk")" +
                    more + "}");
  }
  Answer get_claim(const std::string& name) { return call("GET", kClaims + "/" + name); }
  /// "Bound v1".
  std::string state(const std::string& claim) {
    const Answer answer = get_claim(claim);
    return fmt::format("{} {}", answer.text("status", "phase"), answer.text("spec", "volumeName"));
  }
  std::string phase(const std::string& volume) {
    return call("GET", kVolumes + "/" + volume).text("status", "phase");
  }
  /// The one volume's node affinity, "zone-a" or "zone-a disk-1", or what it is else.
  std::string place() {
    const Answer answer = call("GET", kVolumes);
    const auto items = find(answer.doc, "items")->elements();
    if (items.size() != 1) return fmt::format("{} volumes", items.size());
    const json::Value* terms = find(items[0], "spec", "nodeAffinity", "required", "nodeSelectorTerms");
    if (!terms) return "anywhere";
    std::string out;
    for (const json::Value& each : find((*terms)[0], "matchExpressions")->elements())
      out += fmt::format("{}{}", out.empty() ? "" : " ", (*find(each, "values"))[0].text());
    return out;
  }
  std::string row(const std::string& path, std::size_t index = 0) {
    const Answer table =
        call("GET", path, "", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io");
    const json::Value* rows = find(table.doc, "rows");
    return json::to_text(*find((*rows)[index], "cells"));
  }
};

const std::string kNoClass = R"(,"storageClassName":"")";

}  // namespace

TEST_CASE("a claim gets the smallest volume that fits it") {
  struct Row {
    const char* what;
    std::string claim;     // members of the claim's spec
    std::string meta;      // of its metadata
    std::string expected;  // the volume, or empty
  };
  const Row rows[] = {
      {"few access modes before a small size", "", "", "v5"},
      {"a size", R"(,"resources":{"requests":{"storage":"6Gi"}})", "", "v9"},
      {"too much", R"(,"resources":{"requests":{"storage":"60Gi"}})", "", ""},
      {"another class", R"(,"storageClassName":"gold")", "", "gold"},
      {"the class of old", R"(,"storageClassName":"")",
       R"(,"annotations":{"volume.beta.kubernetes.io/storage-class":"gold"})", "gold"},
      {"no such class", R"(,"storageClassName":"silver")", "", ""},
      {"modes", R"(,"accessModes":["ReadWriteMany"])", "", "many"},
      {"more modes", R"(,"accessModes":["ReadWriteMany","ReadOnlyMany"])", "", ""},
      {"a block device", R"(,"volumeMode":"Block")", "", "block"},
      {"a selector", R"(,"selector":{"matchLabels":{"tier":"fast"}})", "", "v9"},
      {"a selector that nothing has", R"(,"selector":{"matchLabels":{"tier":"slow"}})", "", ""},
      {"a volume by name", R"(,"volumeName":"v9")", "", "v9"},
      {"a volume by name that is too small", R"(,"volumeName":"v1")", "", ""},
      {"a volume by name that is not there", R"(,"volumeName":"v2")", "", ""},
      {"a volume that is somebody else's", R"(,"volumeName":"theirs")", "", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    VolumeCluster cluster;
    REQUIRE(cluster.volume("v1", "1Gi").status == 201);
    REQUIRE(cluster.volume("v9", "9Gi", "", R"(,"labels":{"tier":"fast"})").status == 201);
    REQUIRE(cluster.volume("v5", "5Gi").status == 201);
    REQUIRE(cluster.volume("many", "3Gi", "", "", R"("ReadWriteOnce","ReadWriteMany")").status == 201);
    REQUIRE(cluster.volume("gold", "5Gi", R"(,"storageClassName":"gold")").status == 201);
    REQUIRE(cluster.volume("block", "5Gi", R"(,"volumeMode":"Block")").status == 201);
    REQUIRE(cluster.volume("theirs", "2Gi", R"(,"claimRef":{"namespace":"default","name":"other"})").status ==
            201);
    cluster.settle();
    const std::string spec =
        row.claim.find("storageClassName") == std::string::npos ? kNoClass + row.claim : row.claim;
    REQUIRE(cluster.claim("c", spec, row.meta).status == 201);
    cluster.settle();
    if (row.expected.empty()) {
      CHECK(cluster.get_claim("c").text("status", "phase") == "Pending");
      continue;
    }
    CHECK(cluster.state("c") == "Bound " + row.expected);
    CHECK(cluster.phase(row.expected) == "Bound");
    const auto volume = cluster.call("GET", kVolumes + "/" + row.expected);
    CHECK(volume.text("spec", "claimRef", "uid") == cluster.get_claim("c").text("metadata", "uid"));
    CHECK(cluster.get_claim("c").text("status", "capacity") == volume.text("spec", "capacity"));
  }
}

TEST_CASE("a volume that names its claim is for it alone, and a claim waits for a volume") {
  VolumeCluster cluster;
  REQUIRE(cluster.volume("mine", "9Gi", R"(,"claimRef":{"namespace":"default","name":"c"})").status == 201);
  cluster.settle();
  CHECK(cluster.phase("mine") == "Available");
  REQUIRE(cluster.claim("other", kNoClass).status == 201);
  REQUIRE(cluster.claim("c", kNoClass).status == 201);
  cluster.settle();
  CHECK(cluster.state("c") == "Bound mine");
  CHECK(cluster.state("other") == "Pending ");
  const auto annotation = [&](const char* name) {
    return std::string(text_at(cluster.get_claim("c").doc, "metadata", "annotations", name));
  };
  CHECK(annotation(kBindCompleted) == "yes");
  CHECK(annotation(kBoundByController) == "yes");
  REQUIRE(cluster.volume("late", "2Gi").status == 201);
  cluster.settle();
  CHECK(cluster.state("other") == "Bound late");
}

TEST_CASE("two claims never share a volume") {
  VolumeCluster cluster;
  for (int i = 0; i < 20; ++i) REQUIRE(cluster.claim(fmt::format("c{}", i), kNoClass).status == 201);
  for (int i = 0; i < 15; ++i) REQUIRE(cluster.volume(fmt::format("v{}", i), "2Gi").status == 201);
  cluster.settle();
  std::set<std::string> used;
  int waiting = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string state = cluster.state(fmt::format("c{}", i));
    if (state == "Pending ")
      ++waiting;
    else
      CHECK(used.insert(state).second);
  }
  CHECK(waiting == 5);
  CHECK(used.size() == 15);
}

TEST_CASE("what becomes of a volume whose claim goes, and of a claim whose volume goes") {
  struct Row {
    const char *policy, *after;
  };
  for (const Row& row : {Row{"Retain", "Released"}, Row{"Delete", ""}, Row{"Recycle", "Available"}}) {
    CAPTURE(row.policy);
    VolumeCluster cluster;
    const std::string policy = fmt::format(R"(,"persistentVolumeReclaimPolicy":"{}")", row.policy);
    REQUIRE(cluster.volume("v", "2Gi", policy).status == 201);
    REQUIRE(cluster.claim("c", kNoClass).status == 201);
    cluster.settle();
    REQUIRE(cluster.state("c") == "Bound v");
    // A bound volume waits for its claim.
    CHECK(cluster.call("DELETE", kVolumes + "/v").status == 200);
    cluster.settle();
    CHECK(cluster.state("c") == "Bound v");
    CHECK(cluster.phase("v") == "Bound");
    CHECK_THAT(cluster.row(kVolumes), Catch::Contains("Terminating"));
    CHECK(cluster.call("DELETE", kClaims + "/c").status == 200);
    cluster.settle();
    CHECK(cluster.call("GET", kVolumes + "/v").status == 404);

    REQUIRE(cluster.volume("v", "2Gi", policy).status == 201);
    REQUIRE(cluster.claim("c", kNoClass).status == 201);
    cluster.settle();
    CHECK(cluster.call("DELETE", kClaims + "/c").status == 200);
    cluster.settle();
    CHECK(cluster.phase("v") == row.after);
    // The same name is another claim: a released volume is not its.
    REQUIRE(cluster.claim("c", kNoClass).status == 201);
    cluster.settle();
    CHECK(cluster.state("c") == (std::string(row.after) == "Available" ? "Bound v" : "Pending "));
  }
  VolumeCluster cluster;
  REQUIRE(cluster.volume("v", "2Gi").status == 201);
  REQUIRE(cluster.claim("c", kNoClass).status == 201);
  cluster.settle();
  cluster.call("PATCH", kVolumes + "/v", R"({"metadata":{"finalizers":null}})", kMerge);
  CHECK(cluster.call("DELETE", kVolumes + "/v").status == 200);
  cluster.settle();
  CHECK(cluster.state("c") == "Lost v");
}

TEST_CASE("claims in use wait for their pods; a pod waits for its claims") {
  VolumeCluster cluster;
  REQUIRE(cluster.claim("c", kNoClass).status == 201);
  REQUIRE(cluster
              .call("POST", kPods,
                    TestCluster::pod("p", R"(,"nodeName":"node-0000","volumes":[{"name":"d",)"
                                          R"("persistentVolumeClaim":{"claimName":"c"}}])"))
              .status == 201);
  cluster.settle();
  CHECK(cluster.call("GET", kPods + "/p").text("status", "phase") == "Pending");
  REQUIRE(cluster.volume("v", "2Gi").status == 201);
  cluster.settle();
  CHECK(cluster.call("GET", kPods + "/p").text("status", "phase") == "Running");
  CHECK(cluster.call("DELETE", kClaims + "/c").status == 200);
  cluster.settle();
  CHECK_THAT(cluster.row(kClaims), Catch::Contains("Terminating"));
  CHECK(cluster.call("DELETE", kPods + "/p").status == 200);
  cluster.settle();
  CHECK(cluster.get_claim("c").status == 404);
  CHECK(cluster.phase("v") == "Released");
}

TEST_CASE("an ephemeral volume's claim comes and goes with its pod") {
  VolumeCluster cluster;
  REQUIRE(cluster.storage_class("disks").status == 201);
  REQUIRE(
      cluster
          .call("POST", kPods,
                TestCluster::pod("p", R"(,"nodeName":"node-0000","volumes":[{"name":"scratch","ephemeral":)"
                                      R"({"volumeClaimTemplate":{"metadata":{"labels":{"a":"b"}},"spec":)"
                                      R"({"accessModes":["ReadWriteOnce"],"storageClassName":"disks",)"
                                      R"("resources":{"requests":{"storage":"1Gi"}}}}}}])"))
          .status == 201);
  cluster.settle();
  CHECK(cluster.get_claim("p-scratch").text("status", "phase") == "Bound");
  CHECK(cluster.get_claim("p-scratch").text("metadata", "labels", "a") == "b");
  CHECK(cluster.call("GET", kPods + "/p").text("status", "phase") == "Running");
  CHECK(cluster.call("DELETE", kPods + "/p").status == 200);
  cluster.settle();
  CHECK(cluster.get_claim("p-scratch").status == 404);
  CHECK(cluster.place() == "0 volumes");
}

TEST_CASE("claims of a class are provisioned where they can be used") {
  const std::string kWaits = R"(,"volumeBindingMode":"WaitForFirstConsumer")";
  const auto allowed = [](const std::string& zones) {
    return R"(,"allowedTopologies":[{"matchLabelExpressions":[{"key":"topology.kubernetes.io/zone","values":[)" +
           zones + "]}]}]";
  };
  struct Row {
    const char* what;
    std::string settings, selected;  // members of the class; the node that a scheduler chose
    std::string place;
    bool chosen_again = false;  // the scheduler is asked to
  };
  const Row rows[] = {
      {"at once, in some zone", "", "", "zone-b"},
      {"at once, in an allowed zone", allowed(R"("zone-c")"), "", "zone-c"},
      {"only when a node has been chosen", kWaits, "", "0 volumes"},
      {"in the node's zone", kWaits, "node-0002", "zone-c"},
      {"in the node's zone, which is allowed", kWaits + allowed(R"("zone-a","zone-c")"), "node-0002",
       "zone-c"},
      {"not in a zone that is not allowed", kWaits + allowed(R"("zone-a")"), "node-0002", "0 volumes", true},
      {"not on a node that is not there", kWaits, "node-0009", "0 volumes", true},
      {"on a node whose driver says where", kWaits, "node-0001", "node-0001"},
      {"not where somebody else does it", R"(,"metadata":null)", "", "0 volumes"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    VolumeCluster cluster(3);
    REQUIRE(cluster
                .call("POST", "/apis/storage.k8s.io/v1/csinodes",
                      R"({"metadata":{"name":"node-0001"},"spec":{"drivers":[{"name":"example.com/disk",)"
                      R"("nodeID":"n","topologyKeys":["kubernetes.io/hostname"]}]}})")
                .status == 201);
    const bool theirs = row.settings.find("metadata") != std::string::npos;
    REQUIRE(cluster
                .storage_class("disks", theirs ? "" : row.settings,
                               theirs ? R"(,"annotations":{"sandbox.koordinator.sh/provision":"false"})" : "")
                .status == 201);
    REQUIRE(cluster.claim("c-1", R"(,"storageClassName":"disks")").status == 201);
    cluster.settle();
    if (!row.selected.empty()) {
      REQUIRE(cluster
                  .call("PATCH", kClaims + "/c-1",
                        R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":")" +
                            row.selected + R"("}}})",
                        kMerge)
                  .status == 200);
      cluster.settle();
    }
    if (row.place == "zone-b")
      CHECK_THAT(cluster.place(), Catch::StartsWith("zone-"));
    else
      CHECK(cluster.place() == row.place);
    const auto claim = cluster.get_claim("c-1");
    CHECK(claim.text("status", "phase") == (row.place == "0 volumes" ? "Pending" : "Bound"));
    CHECK(text_at(claim.doc, "metadata", "annotations", kSelectedNode) ==
          (row.chosen_again ? std::string() : row.selected));
    if (row.place == "0 volumes") continue;
    CHECK(cluster.call("DELETE", kClaims + "/c-1").status == 200);
    cluster.settle();
    CHECK(cluster.place() == "0 volumes");  // reclaimed
  }
}

TEST_CASE("of a class that waits, a claim gets what a scheduler has chosen") {
  VolumeCluster cluster;
  REQUIRE(cluster
              .call("POST", kClasses,
                    R"({"metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner",)"
                    R"("volumeBindingMode":"WaitForFirstConsumer"})")
              .status == 201);
  REQUIRE(cluster.volume("v1", "2Gi", R"(,"storageClassName":"local")").status == 201);
  REQUIRE(cluster.volume("v2", "9Gi", R"(,"storageClassName":"local")").status == 201);
  REQUIRE(cluster.claim("c", R"(,"storageClassName":"local")").status == 201);
  cluster.settle();
  CHECK(cluster.state("c") == "Pending ");
  REQUIRE(cluster
              .call("PATCH", kVolumes + "/v2",
                    R"({"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},"spec":)"
                    R"({"claimRef":{"namespace":"default","name":"c","uid":")" +
                        cluster.get_claim("c").text("metadata", "uid") + R"("}}})",
                    kMerge)
              .status == 200);
  cluster.settle();
  CHECK(cluster.state("c") == "Bound v2");
  CHECK(cluster.phase("v1") == "Available");
}

TEST_CASE("claims without a class get the default one, also when it comes later") {
  const std::string kDefault = R"(,"annotations":{"storageclass.kubernetes.io/is-default-class":"true"})";
  VolumeCluster cluster;
  REQUIRE(cluster.claim("early").status == 201);
  REQUIRE(cluster.claim("none", kNoClass).status == 201);
  cluster.settle();
  CHECK(cluster.state("early") == "Pending ");
  REQUIRE(cluster.storage_class("old", "", kDefault).status == 201);
  cluster.settle();
  CHECK(cluster.get_claim("early").text("spec", "storageClassName") == "old");
  CHECK(cluster.get_claim("early").text("status", "phase") == "Bound");
  CHECK(cluster.state("none") == "Pending ");
  REQUIRE(cluster.storage_class("new", "", kDefault).status == 201);
  CHECK(cluster.claim("late").text("spec", "storageClassName") == "new");
  CHECK(cluster.row(kClasses) == R"-(["new (default)","example.com/disk","Delete","Immediate",false,"0s"])-");
}

TEST_CASE("storage: what is refused, and what is shown") {
  VolumeCluster cluster;
  const std::string kClaim = R"(PersistentVolumeClaim "c" is invalid: )",
                    kVolume = R"(PersistentVolume "v" is invalid: )";
  CHECK(cluster.call("POST", kClaims, R"({"metadata":{"name":"c"},"spec":{}})").text("message") ==
        kClaim +
            "[spec.accessModes: Required value: at least 1 access mode is required, "
            "spec.resources[storage]: Required value]");
  CHECK(cluster.claim("c", R"(,"accessModes":["ReadWriteOnce","ReadWriteOncePod"])").text("message") ==
        kClaim + "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes");
  CHECK(cluster.claim("c", R"(,"resources":{"requests":{"storage":"0"}})").text("message") ==
        kClaim + R"(spec.resources[storage]: Invalid value: "0": must be greater than zero)");
  CHECK(
      cluster.call("POST", kVolumes, R"({"metadata":{"name":"v"},"spec":{"local":{"path":"/x"}}})").status ==
      422);
  CHECK(cluster.volume("v", "1Gi", R"(,"nfs":{"server":"s","path":"/"})").text("message") ==
        kVolume + "spec.nfs: Forbidden: may not specify more than 1 volume type");
  CHECK(cluster.call("POST", kClasses, R"({"metadata":{"name":"s"}})").text("message") ==
        R"(StorageClass.storage.k8s.io "s" is invalid: provisioner: Required value)");

  REQUIRE(cluster.storage_class("s").status == 201);
  CHECK(
      cluster.call("PATCH", kClasses + "/s", R"({"provisioner":"other"})", kMerge).text("message") ==
      R"(StorageClass.storage.k8s.io "s" is invalid: provisioner: Forbidden: updates to provisioner are forbidden.)");
  REQUIRE(cluster.volume("v", "2048Mi", "", "", R"("ReadWriteMany","ReadWriteOnce")").status == 201);
  cluster.settle();
  CHECK(cluster.row(kVolumes) ==
        R"(["v","2Gi","RWO,RWX","Retain","Available","","","<unset>","","2s","Filesystem"])");
  REQUIRE(cluster.claim("c", kNoClass).status == 201);
  CHECK(cluster.row(kClaims) == R"(["c","Pending","","","","","<unset>","0s","Filesystem"])");
  cluster.settle();
  CHECK(cluster.row(kClaims) == R"(["c","Bound","v","2Gi","RWO,RWX","","<unset>","2s","Filesystem"])");
  CHECK(cluster.row(kVolumes) ==
        R"(["v","2Gi","RWO,RWX","Retain","Bound","default/c","","<unset>","","4s","Filesystem"])");
  CHECK(cluster.call("PATCH", kClaims + "/c", R"({"spec":{"volumeName":"w"}})", kMerge).status == 422);
  CHECK(cluster
            .call("PATCH", kClaims + "/c", R"({"spec":{"resources":{"requests":{"storage":"3Gi"}}}})", kMerge)
            .status == 200);
  REQUIRE(cluster.call("POST", "/apis/storage.k8s.io/v1/csidrivers", R"({"metadata":{"name":"d"},"spec":{}})")
              .status == 201);
  CHECK(cluster.row("/apis/storage.k8s.io/v1/csidrivers") ==
        R"(["d",true,false,false,"<unset>",false,"Persistent","0s"])");
}
