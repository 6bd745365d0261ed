// A handler without a server: reviews as JSON in, verdicts and documents out.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/profile/profile.hpp"
#include "framework/webhook/admission.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager::testing {

/// A document over another: a merge patch.
inline std::string over(std::string_view base, std::string_view patch) {
  json::Document document = json::parse(base).value();
  if (!patch.empty()) json::merge_patch(document, json::parse(patch).value(), document.arena());
  return json::to_text(document);
}

template <class T>
std::shared_ptr<const T> read(std::string_view text) {
  return std::make_shared<const T>(api::decode<T>(text).value());
}

/// One review. What it refers to lives as long as it.
struct Asked {
  Operation operation = Operation::create;
  std::string_view resource = "pods", subresource = {};
  std::string_view object = "null", old_object = "null";
  std::string_view name = "a", ns = "default", username = "someone";
  std::string_view user_uid = {}, extra = "null";
  MonoTime until = MonoTime::max();
};

struct Answer {
  Verdict verdict;
  std::string object;  // as it is afterwards
};

class HandlerRig {
 public:
  Answer ask(MutatingHandler& handler, const Asked& asked) {
    json::Document object = json::parse(asked.object).value(), before = json::parse(asked.old_object).value();
    json::Document changed = json::clone(object);
    const AdmissionRequest request = make(asked, object, before);
    Answer answer{handler.handle(request, changed, mutating_), ""};
    answer.object = json::to_text(changed);
    return answer;
  }
  Verdict ask(ValidatingHandler& handler, const Asked& asked) {
    json::Document object = json::parse(asked.object).value(), before = json::parse(asked.old_object).value();
    json::Document extra = json::parse(asked.extra).value();
    AdmissionRequest request = make(asked, object, before);
    request.extra = std::move(static_cast<json::Value&>(extra));
    return handler.handle(request, validating_);
  }

  Logger log() { return Logger(lines, clock); }

  ManualClock clock;
  CapturedLog lines;
  metrics::Registry registry;

 private:
  static AdmissionRequest make(const Asked& asked, json::Document& object, json::Document& before) {
    AdmissionRequest request;
    request.uid = "u";
    request.operation = asked.operation;
    request.version = "v1";
    request.resource = asked.resource;
    request.subresource = asked.subresource;
    request.name = asked.name;
    request.ns = asked.ns;
    request.username = asked.username;
    request.user_uid = asked.user_uid;
    request.until = asked.until;
    request.object = std::move(static_cast<json::Value&>(object));
    request.old_object = std::move(static_cast<json::Value&>(before));
    return request;
  }

  PluginTimes mutating_{registry, clock, WebhookType::mutate, "pod"};
  PluginTimes validating_{registry, clock, WebhookType::validate, "pod"};
};

/// Whether two texts are the same document, whatever the order of members.
inline bool same_document(std::string_view a, std::string_view b) {
  return json::parse(a).value() == json::parse(b).value();
}

}  // namespace koord::manager::testing
