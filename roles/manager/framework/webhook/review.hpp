// AdmissionReview (admission.k8s.io v1 and v1beta1): the request's body read once, the answer written.
#pragma once

#include <string>
#include <string_view>

#include "framework/webhook/admission.hpp"
#include "koord/base/result.hpp"

namespace koord::manager {

struct Review {
  json::Document document;       // what the texts and values of `request` lie in
  std::string_view api_version;  // "admission.k8s.io/v1", which the answer repeats
  AdmissionRequest request;
};

/// An error says what is wrong with the body. One without apiVersion and kind is taken for v1, as upstream
/// does.
Result<Review> read_review(std::string_view body);

/// The answer: `patch` is a JSON patch as text, empty if nothing changes; it is left out unless the verdict
/// allows.
std::string write_answer(const Review& review, const Verdict& verdict, std::string_view patch = {});
/// The answer to what is no review: without version and uid, as upstream has it.
std::string write_refusal(int code, std::string_view message);

}  // namespace koord::manager
