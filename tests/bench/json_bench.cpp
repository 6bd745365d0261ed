// RapidJSON's writer and pointer beside ours, over the same document of the same nodes: what src/README.md
// cites.
#if !__has_feature(address_sanitizer)
#define RAPIDJSON_SSE2  // reads up to 15 bytes behind a text
#endif
#include <emmintrin.h>
#include <fmt/format.h>
// RapidJSON computes with null pointers, as in src/json/node.hpp.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#if defined(__clang__)
#pragma clang attribute pop
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <string>

#include "koord/json/pointer.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace {

using namespace koord;

constexpr const char* kPointer = "/status/conditions/2/status";

/// A pod as an API server prints it: short texts, few numbers, one text that has to be escaped.
std::string pod() {
  std::string conditions;
  for (const char* type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})
    conditions += fmt::format(
        R"({{"type":"{}","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-04T05:06:09Z"}},)",
        type);
  conditions.pop_back();
  return fmt::format(
      R"({{"metadata":{{"name":"service-7-0000001edf-00a2f","namespace":"team-7","uid":"9e3779b1-6f0f-4a3e-9a55-000000000001",)"
      R"("resourceVersion":"1000001","generation":1,"creationTimestamp":"2026-03-04T05:06:07Z","labels":{{"app":"service-7",)"
      R"("pod-template-hash":"0000001edf","koordinator.sh/qosClass":"LS","app.kubernetes.io/version":"1.7.0"}},)"
      R"("annotations":{{"example.com/settings":"{{\"shards\":[1,2,3],\"note\":\"two\nlines, \u00fcber\"}}"}}}},)"
      R"("spec":{{"containers":[{{"name":"main","image":"registry.example.com/team-7/service-7:1.7.0",)"
      R"("ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],"resources":{{"limits":{{"cpu":"2","memory":"4Gi"}},)"
      R"("requests":{{"cpu":"500m","memory":"1Gi"}}}},"imagePullPolicy":"IfNotPresent"}}],"restartPolicy":"Always",)"
      R"("terminationGracePeriodSeconds":30,"nodeName":"node-00007","priority":9000,"enableServiceLinks":true}},)"
      R"("status":{{"phase":"Running","conditions":[{}],"podIP":"10.1.7.8","startTime":"2026-03-04T05:06:08Z"}}}})",
      conditions);
}

/// Nanoseconds of CPU for one run.
template <class Run>
double measure(int times, const Run& run) {
  const std::clock_t began = std::clock();
  for (int i = 0; i < times; ++i) run();
  return static_cast<double>(std::clock() - began) * 1e9 / CLOCKS_PER_SEC / times;
}

}  // namespace

int main(int argc, char** argv) {
  const int times = argc > 1 ? std::atoi(argv[1]) : 100'000;
  if (times < 1) return 2;
  const std::string text = pod();
  const auto ours = json::parse(text);
  rapidjson::Document theirs;
  theirs.Parse(text.c_str());
  if (!ours || theirs.HasParseError()) return 1;

  std::string written;
  rapidjson::StringBuffer buffer;
  const auto write = [&]<unsigned kFlags> {
    buffer.Clear();
    rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::CrtAllocator,
                      kFlags>
        writer(buffer);
    theirs.Accept(writer);
  };
  std::size_t found = 0;
  const rapidjson::Pointer parsed(kPointer);
  // Interleaved, the median of five of each.
  constexpr int kRounds = 5;
  std::array<std::array<double, kRounds>, 6> took{};
  for (int round = 0; round < kRounds; ++round) {
    const auto at = static_cast<std::size_t>(round);
    took[0][at] = measure(times, [&] {
      written.clear();
      json::append(written, *ours);
    });
    // As strict as ours: what is no UTF-8 is not written. (Ours replaces it, as Go does; theirs stops.)
    took[1][at] = measure(times, [&] { write.operator()<rapidjson::kWriteValidateEncodingFlag>(); });
    took[5][at] = measure(times, [&] { write.operator()<rapidjson::kWriteNoFlags>(); });
    took[2][at] = measure(times, [&] { found += json::find_path(*ours, kPointer) != nullptr; });
    took[3][at] = measure(times, [&] { found += rapidjson::Pointer(kPointer).Get(theirs) != nullptr; });
    took[4][at] = measure(times, [&] { found += parsed.Get(theirs) != nullptr; });
  }
  for (auto& each : took) std::ranges::sort(each);
  const auto median = [&](std::size_t which) { return took[which][kRounds / 2]; };
  fmt::print("a pod of {} bytes; CPU nanoseconds, medians of {} interleaved runs of {}\n", text.size(),
             kRounds, times);
  fmt::print("{:<46} {:>9}\n", "", "ns");
  fmt::print("{:<46} {:>9.0f}\n", "written by json::append", median(0));
  fmt::print("{:<46} {:>9.0f}\n", "written by rapidjson::Writer", median(1));
  fmt::print("{:<46} {:>9.0f}\n", "the same, UTF-8 not looked at", median(5));
  fmt::print("{:<46} {:>9.0f}\n", "json::find_path", median(2));
  fmt::print("{:<46} {:>9.0f}\n", "rapidjson::Pointer, parsed each time", median(3));
  fmt::print("{:<46} {:>9.0f}\n", "rapidjson::Pointer, parsed once", median(4));
  const bool same = written == std::string_view(buffer.GetString(), buffer.GetSize());
  if (!same) fmt::print("they wrote different texts\n");
  return same && found == std::size_t(times) * kRounds * 3 ? 0 : 1;
}
