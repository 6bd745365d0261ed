"""What an installation of Koordinator 1.8 looks like to an API server: the workloads with their flags, ConfigMaps and webhooks
that its chart makes with its defaults."""
NS = "koordinator-system"
IMAGES = "registry.cn-beijing.aliyuncs.com/koordinator-sh"
VERSION = "v1.8.0"
MANAGER_GATES = ""
KOORDLET_GATES = "BECPUEvict=true,BEMemoryEvict=true,CgroupReconcile=true,Accelerators=true"
SCHEDULER_CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  resourceLock: leases
  resourceName: koord-scheduler
  resourceNamespace: koordinator-system
profiles:
- schedulerName: koord-scheduler
  pluginConfig:
  - name: LoadAwareScheduling
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: LoadAwareSchedulingArgs
      filterExpiredNodeMetrics: false
      nodeMetricExpirationSeconds: 300
      usageThresholds: {cpu: 65, memory: 95}
  - name: ElasticQuota
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: ElasticQuotaArgs
      quotaGroupNamespace: koordinator-system
  plugins:
    queueSort: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}]}
    filter: {enabled: [{name: Reservation}, {name: LoadAwareScheduling}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: Reservation}, {name: DefaultPreemption}]}
    preScore: {enabled: [{name: Reservation}]}
    score: {enabled: [{name: LoadAwareScheduling, weight: 1}, {name: Reservation, weight: 5000}]}
    reserve: {enabled: [{name: Reservation}, {name: LoadAwareScheduling}]}
    preFilter: {enabled: [{name: Reservation}]}
    preBind: {enabled: [{name: Reservation}, {name: DefaultPreBind}]}
    bind: {disabled: [{name: "*"}], enabled: [{name: Reservation}, {name: DefaultBinder}]}
"""
DESCHEDULER_CONFIG = """apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
leaderElection:
  resourceLock: leases
  resourceName: koord-descheduler
  resourceNamespace: koordinator-system
deschedulingInterval: 60s
profiles:
- name: koord-descheduler
  plugins:
    deschedule: {disabled: [{name: "*"}]}
    balance: {enabled: [{name: LowNodeLoad}]}
    evict: {disabled: [{name: "*"}], enabled: [{name: MigrationController}]}
  pluginConfig:
  - name: MigrationController
    args:
      apiVersion: descheduler/v1alpha2
      kind: MigrationControllerArgs
      evictionPolicy: Eviction
  - name: LowNodeLoad
    args:
      apiVersion: descheduler/v1alpha2
      kind: LowNodeLoadArgs
      lowThresholds: {cpu: 45, memory: 55}
      highThresholds: {cpu: 75, memory: 80}
"""
SLO_CONFIG = {"colocation-config": '{"enable": true}', "resource-threshold-config": '{"clusterStrategy": {"enable": true}}'}


def workload(kind, name, *arguments, image=None, config=None, env=()):
    labels = {"koord-app": name}
    container = {"name": name, "command": [f"/{name}"], "args": list(arguments), "image": image or f"{IMAGES}/{name}:{VERSION}",
                 "env": [{"name": key, "value": value} for key, value in env]}
    pod = {"containers": [container], "serviceAccountName": name}
    if config:
        container["volumeMounts"] = [{"name": "config", "mountPath": "/config"}]
        items = [{"key": config, "path": config.replace("-config", ".config")}]
        pod["volumes"] = [{"name": "config", "configMap": {"name": config, "items": items}}]
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": NS, "labels": labels},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}}


def workloads(koordlet=(), manager=(), **more):
    return [
        workload("Deployment", "koord-manager", "--enable-leader-election", "--metrics-addr=:8080", "--health-probe-addr=:8000",
                 "--logtostderr=true", f"--leader-election-namespace={NS}", "--v=4", f"--feature-gates={MANAGER_GATES}",
                 "--sync-period=0", f"--config-namespace={NS}", *manager, **more),
        workload("Deployment", "koord-scheduler", "--port=10251", "--authentication-skip-lookup=true", "--v=4", "--feature-gates=",
                 "--config=/config/koord-scheduler.config", "--enable-network-topology-manager=true", config="koord-scheduler-config"),
        workload("Deployment", "koord-descheduler", "--v=4", "--config=/config/koord-descheduler.config",
                 config="koord-descheduler-config"),
        workload("DaemonSet", "koordlet", "-addr=:9316", "-cgroup-root-dir=/host-cgroup/", f"-feature-gates={KOORDLET_GATES}",
                 "-runtime-hooks-host-endpoint=/var/run/koordlet//koordlet.sock", "--logtostderr=true", "--v=4", *koordlet),
        workload("DaemonSet", "koord-device-daemon", "--v=4"),
    ]


def config_maps(slo=None, scheduler=SCHEDULER_CONFIG):
    made = {"slo-controller-config": slo or SLO_CONFIG, "koord-scheduler-config": {"koord-scheduler-config": scheduler},
            "koord-descheduler-config": {"koord-descheduler-config": DESCHEDULER_CONFIG}}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NS}, "data": data}
            for name, data in made.items()]


def webhooks():
    def entry(name, path, resource, group="", version="v1"):
        return {"name": name, "admissionReviewVersions": ["v1", "v1beta1"], "sideEffects": "None", "timeoutSeconds": 30,
                "failurePolicy": "Ignore", "clientConfig": {"service": {"name": "koordinator-webhook-service", "namespace": NS, "path": path}},
                "rules": [{"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": [resource]}]}
    sigs = "scheduling.sigs.k8s.io"
    made = {"Mutating": [entry("mpod-create.koordinator.sh", "/mutate-pod", "pods"),
                         entry("melasticquota.koordinator.sh", "/mutate-scheduling-sigs-k8s-io-v1alpha1-elasticquota",
                               "elasticquotas", sigs, "v1alpha1")],
            "Validating": [entry("vpod.koordinator.sh", "/validate-pod", "pods")]}
    return [{"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration",
             "metadata": {"name": f"koordinator-{kind.lower()}-webhook-configuration"}, "webhooks": hooks} for kind, hooks in made.items()]


def definitions_of_others():
    """Definitions of Koordinator's that koord has none of."""
    names = {"kind": "Recommendation", "listKind": "RecommendationList", "plural": "recommendations", "singular": "recommendation"}
    return [{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
             "metadata": {"name": "recommendations.analysis.koordinator.sh"},
             "spec": {"group": "analysis.koordinator.sh", "names": names, "scope": "Namespaced", "versions": [
                 {"name": "v1alpha1", "served": True, "storage": True,
                  "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}]
