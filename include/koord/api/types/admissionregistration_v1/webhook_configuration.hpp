// admissionregistration.k8s.io/v1: MutatingWebhookConfiguration and ValidatingWebhookConfiguration.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct WebhookService {
  std::string namespace_;
  std::string name;
  std::string path;
  std::optional<int32_t> port;  // absent: 443
  KOORD_STRUCT(WebhookService);
};

/// Either a URL or a service.
struct WebhookClientConfig {
  std::string url;
  Box<WebhookService> service;
  std::string ca_bundle;  // PEM in base64; empty: the system's roots
  KOORD_STRUCT(WebhookClientConfig);
};

/// Each list may hold "*".
struct WebhookRule {
  std::vector<std::string> operations;  // CREATE, UPDATE, DELETE, CONNECT
  std::vector<std::string> api_groups;
  std::vector<std::string> api_versions;
  std::vector<std::string> resources;  // pods, pods/binding, pods/*, */*
  std::string scope;                   // Cluster, Namespaced; empty: "*"
  KOORD_STRUCT(WebhookRule);
};

struct MatchCondition {
  std::string name;
  std::string expression;  // CEL
  KOORD_STRUCT(MatchCondition);
};

/// Of both kinds. What is empty or absent was never read by an API server, which fills the defaults in.
struct Webhook {
  std::string name;
  WebhookClientConfig client_config;
  std::vector<WebhookRule> rules;
  std::string failure_policy;  // Fail (the default), Ignore
  std::string match_policy;    // Equivalent (the default), Exact
  Box<LabelSelector> namespace_selector;
  Box<LabelSelector> object_selector;
  std::string side_effects;  // None, NoneOnDryRun
  std::optional<int32_t> timeout_seconds;
  std::vector<std::string> admission_review_versions;
  std::string reinvocation_policy;  // of mutating ones: Never (the default), IfNeeded
  std::vector<MatchCondition> match_conditions;
  KOORD_STRUCT(Webhook);
};

struct MutatingWebhookConfiguration {
  ObjectMeta metadata;
  std::vector<Webhook> webhooks;
  KOORD_STRUCT(MutatingWebhookConfiguration);
};

struct ValidatingWebhookConfiguration {
  ObjectMeta metadata;
  std::vector<Webhook> webhooks;
  KOORD_STRUCT(ValidatingWebhookConfiguration);
};

}  // namespace koord::api
