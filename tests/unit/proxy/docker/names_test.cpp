// Names of containers, annotations among labels, slices, variables: upstream's rows, and what they leave out.
#include "docker/names.hpp"

#include <catch2/catch.hpp>

namespace koord::proxy::docker {
namespace {

using rpc::hooks::Map;

TEST_CASE("a container's name tells whose it is") {
  struct Row {
    std::string name;
    std::optional<Identity> identity;
  };
  const Identity web{
      .container = "main", .pod = {.name = "web-0", .uid = "u-1", .ns = "default"}, .attempt = 3};
  Identity none = web;
  none.attempt = 0;
  const Identity xx{.container = "xx", .pod = {.name = "xx", .uid = "xx", .ns = "xx"}};
  const Row rows[] = {
      {"k8s_main_web-0_default_u-1_3", web},
      {"/k8s_main_web-0_default_u-1_3", web},
      {"k8s_main_web-0_default_u-1_3_5ca1ab1e", web},  // a kubelet's second try
      {"k8s_main_web-0_default_u-1_x", none},
      {"xx_xx_xx_xx_xx_xx", xx},  // Koordinator's tests have such
      {"k8s_main_web-0_default_u-1", {}},
      {"k8s_main_web-0_default_u-1_3_a_b", {}},
      {"quizzical_hopper", {}},
      {"", {}},
      {std::string(100'000, '_'), {}},
  };
  for (const Row& row : rows) {
    INFO(row.name.substr(0, 100));
    CHECK(identity_of_name(row.name) == row.identity);
  }
}

TEST_CASE("its labels tell it, too") {
  const Map labels = {{"io.kubernetes.container.name", "main"},
                      {"io.kubernetes.pod.name", "web-0"},
                      {"io.kubernetes.pod.namespace", "default"},
                      {"io.kubernetes.pod.uid", "u-1"}};
  const Identity web{.container = "main", .pod = {.name = "web-0", .uid = "u-1", .ns = "default"}};
  CHECK(identity_of_labels(labels) == web);
  for (std::size_t without = 1; without < labels.size(); ++without) {
    Map fewer = labels;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(without));
    CHECK_FALSE(identity_of_labels(fewer).has_value());
  }
}

// utils_test.go, Test_splitLabelsAndAnnotations: 1 row.
TEST_CASE("labels and annotations") {
  const Split split =
      split_labels({{"annotation.dummy.koordinator.sh/test_splitLabelsAndAnnotations", "true"},
                    {"annotation.x", ""},
                    {"io.kubernetes.docker.type", "podsandbox"}});
  CHECK(split.labels == Map{{"io.kubernetes.docker.type", "podsandbox"}});
  CHECK(split.annotations == Map{{"dummy.koordinator.sh/test_splitLabelsAndAnnotations", "true"}, {"x", ""}});
  CHECK(label_of_annotation("x") == "annotation.x");
}

TEST_CASE("a slice's name becomes its path") {
  struct Row {
    bool systemd;
    std::string parent, path;
  };
  const Row rows[] = {
      // utils_test.go, Test_toCriCgroupPath: 6 rows.
      {true, "kubepods-burstable-djfklsjdf98.slice",
       "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-djfklsjdf98.slice"},
      {false, "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-djfklsjdf98.slice",
       "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-djfklsjdf98.slice"},
      {true, "kubepods-besteffort-fsdfsdf.slice",
       "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-fsdfsdf.slice"},
      {true, "kubepods-dfsdfsdf.slice", "/kubepods.slice/kubepods-dfsdfsdf.slice"},
      {true, "koordinator-dfsdfsdf.slice", "/koordinator.slice/koordinator-dfsdfsdf.slice"},
      {true, "dfsdfsdf.slice", "/dfsdfsdf.slice"},
      // Nothing, and what is no slice's name: upstream makes "/" and "/system" of these.
      {true, "", ""},
      {true, "system", "system"},
      {true, ".slice", ".slice"},
      {true, "/kubepods.slice/kubepods-x.slice", "/kubepods.slice/kubepods-x.slice"},
      {true, std::string(100, '-') + ".slice", std::string(100, '-') + ".slice"},
      {false, "kubepods-x.slice", "kubepods-x.slice"},
  };
  for (const Row& row : rows) {
    INFO(row.parent);
    CHECK(path_of_parent(row.systemd, row.parent) == row.path);
  }
}

TEST_CASE("a path becomes its slice's name") {
  struct Row {
    bool systemd;
    std::string path, parent;
  };
  const Row rows[] = {
      // utils_test.go, Test_generateExpectedCgroupParent: 5 rows.
      {false, "/kubepods/besteffort/poddjfklsjdf98", "/kubepods/besteffort/poddjfklsjdf98"},
      {true, "/kubepods.slice/kubepods-dfsdfsdf.slice", "kubepods-dfsdfsdf.slice"},
      {true, "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-fsdfsdf.slice",
       "kubepods-burstable-fsdfsdf.slice"},
      {true, "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-fsdfsdf.slice",
       "kubepods-besteffort-fsdfsdf.slice"},
      {true, "/koordinator.slice/koordinator-fsdfsdf.slice", "koordinator-fsdfsdf.slice"},
      {true, "kubepods-x.slice", "kubepods-x.slice"},
      {true, "/a.slice/a-b.slice/", "a-b.slice"},
      {true, "/", "/"},
      {true, "", ""},
  };
  for (const Row& row : rows) {
    INFO(row.path);
    CHECK(parent_of_path(row.systemd, row.path) == row.parent);
  }
}

// utils_test.go, Test_splitDockerEnv: 3 rows.
TEST_CASE("variables") {
  using Pair = std::pair<std::string_view, std::string_view>;
  CHECK(split_variable("a=b") == Pair("a", "b"));
  CHECK(split_variable("b=c") == Pair("b", "c"));
  CHECK(split_variable("a=b=c") == Pair("a", "b=c"));
  CHECK(split_variable("a=") == Pair("a", ""));
  CHECK_FALSE(split_variable("b").has_value());
  CHECK(sorted({{"b", "1"}, {"a", "2"}, {"b", "3"}}) == Map{{"a", "2"}, {"b", "3"}});
}

}  // namespace
}  // namespace koord::proxy::docker
