// v1: Service, as far as its pods are found.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct ServiceSpec {
  SymbolMap selector;  // empty: none of the cluster's pods
  Symbol type;         // ClusterIP, NodePort, LoadBalancer, ExternalName
  KOORD_STRUCT(ServiceSpec);
};

struct Service {
  ObjectMeta metadata;
  ServiceSpec spec;
  KOORD_STRUCT(Service);
};

}  // namespace koord::api
