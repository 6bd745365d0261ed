// AdmissionReviews from outside. One that is read is answered with its uid, and the patch of what was changed
// in its object leads there.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "framework/webhook/review.hpp"
#include "koord/base/base64.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/reader.hpp"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace koord;
  using namespace koord::manager;
  const auto review = read_review({reinterpret_cast<const char*>(data), size});
  if (!review) {
    check(json::parse(write_refusal(400, review.error().message())).has_value());
    return 0;
  }
  const AdmissionRequest& request = review->request;
  json::Document changed = json::clone(request.object);
  json::remove(changed, "spec");
  if (json::depth(changed, json::kMaxDepth) < json::kMaxDepth - 10)
    json::set_text(
        json::object_at(json::object_at(changed, "metadata", changed.arena()), "labels", changed.arena()),
        "a/~b", request.name, changed.arena());
  const auto answer =
      json::parse(write_answer(*review, Verdict::allow(), json::json_diff(request.object, changed)));
  check(answer.has_value());
  check(json::text_at(*answer, "response", "uid") == request.uid);
  check(json::text_at(*answer, "apiVersion") == review->api_version);
  const auto text = decode_base64(json::text_at(*answer, "response", "patch"));
  check(text.has_value());
  json::Document reached = json::clone(request.object);
  if (!text->empty()) check(json::json_patch(reached, *json::parse(*text), reached.arena()).has_value());
  check(reached == changed);
  return 0;
}
