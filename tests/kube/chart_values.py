"""The values of Koordinator's own chart (1.8.0), and for each of this one's another value than its default."""
import re

# By their names, as that chart has them; where KOORDINATOR_CHART names its folder, chart_test.py compares them.
ORIGINAL = """
crds: managed clustercolocationprofiles devices elasticquotaprofiles elasticquotas nodemetrics nodeslos noderesourcetopologies
crds: recommendations reservations podgroups podmigrationjobs clusternetworktopologies scheduleexplanations
installation: namespace roleListGroups createNamespace
: featureGates imageRepositoryHost imagePullSecrets
koordlet: image.repository image.tag resources.limits.cpu resources.limits.memory resources.requests.cpu resources.requests.memory
koordlet: features log.level runtimeClassName nodeAffinity metrics.port enableServiceMonitor
koordlet.hostDirs: kubeletConfigDir kubeletLibDir koordProxyRegisterDir koordletSockDir predictionCheckpointDir koordletTSDBDir
koordlet.hostDirs: podResourcesProxyPath
manager: log.level replicas image.repository image.tag webhook.port metrics.addr metrics.port healthProbe.port resyncPeriod hostNetwork
manager: resources.limits.cpu resources.limits.memory resources.requests.cpu resources.requests.memory nodeAffinity nodeSelector tolerations
webhookConfiguration: failurePolicy.pods failurePolicy.elasticquotas failurePolicy.nodeStatus failurePolicy.nodes
webhookConfiguration: failurePolicy.reservations timeoutSeconds
serviceAccount: annotations
scheduler: log.level replicas image.repository image.tag port featureGates compatible122FeatureGates compatibleBelow122FeatureGates
scheduler: enableJobPreemption deviceShare.gpuShareUnsupportedModels hostNetwork nodeAffinity nodeSelector tolerations monitorEnabled
scheduler: resources.limits.cpu resources.limits.memory resources.requests.cpu resources.requests.memory
descheduler: log.level replicas image.repository image.tag port featureGates hostNetwork nodeAffinity nodeSelector tolerations
descheduler: monitorEnabled resources.limits.cpu resources.limits.memory resources.requests.cpu resources.requests.memory
deviceDaemon: image.repository image.tag log.level nodeAffinity
deviceDaemon: resources.limits.cpu resources.limits.memory resources.requests.cpu resources.requests.memory
"""
# Those of which its README alone speaks: neither its values.yaml nor a template has them.
DOCUMENTED_ALONE = {"installation.createNamespace"}
# Those that only the notes speak of.
WITHOUT_EFFECT = {
    "crds.recommendations", "crds.scheduleexplanations", "installation.roleListGroups", "koordlet.hostDirs.kubeletConfigDir",
    "manager.resyncPeriod", "scheduler.compatible122FeatureGates", "scheduler.compatibleBelow122FeatureGates",
    "webhookConfiguration.failurePolicy.nodes", "webhookConfiguration.failurePolicy.nodeStatus"}
LINUX = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}]}}
PEERS = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
# What has to be on for a value to count.
BESIDE = {"installation.createNamespace": {"installation.createNamespace": True, "installation.namespace": "fresh"},
          "networkPolicies.apiServers": {"networkPolicies.enabled": True},
          "networkPolicies.monitoring": {"networkPolicies.enabled": True}}
OTHER = {
    "installation.namespace": "elsewhere", "installation.roleListGroups": ["apps"], "imagePullSecrets": [{"name": "one"}],
    "imagePullPolicy": "Always", "featureGates": "EnableQuotaAdmission=true", "koordlet.features": "TerwayQoS=true",
    "scheduler.featureGates": "GangScheduling=true", "descheduler.featureGates": "Drain=true",
    "scheduler.compatible122FeatureGates": "A=true", "scheduler.compatibleBelow122FeatureGates": "A=true",
    "koordlet.hostDirs.koordletTSDBDir": "/other", "serviceAccount.annotations": {"one": "two"},
    "scheduler.deviceShare.gpuShareUnsupportedModels": [], "sloControllerConfig": {"resource-qos-config": "{}"},
    "topologySpreadKeys": ["rack"], "networkPolicies.apiServers": ["192.0.2.1/32"], "networkPolicies.monitoring": PEERS,
    "koordlet.nodeAffinity": {"nodeAffinity": LINUX}, "deviceDaemon.nodeAffinity": {"nodeAffinity": LINUX},
    "manager.resyncPeriod": "1h", "manager.metrics.addr": "127.0.0.1"}
# By the end of the path.
OTHER_ENDS = {
    "nodeAffinity": LINUX, "nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": [{"operator": "Exists"}], "extraArgs": ["--v=3"],
    "log.level": "5", "limits.cpu": "2", "limits.memory": "2Gi", "requests.cpu": "1m", "requests.memory": "1Mi",
    "priorityClassName": "koord-prod", "image.tag": "v9"}


def original():
    """The paths of Koordinator's chart."""
    rows = (line.split(":", 1) for line in ORIGINAL.strip().splitlines())
    return [f"{group}.{key}".lstrip(".") for group, keys in rows for key in keys.split()]


def other(path, value):
    """Something else than this default."""
    if path in OTHER:
        return OTHER[path]
    for end, instead in OTHER_ENDS.items():
        if re.search(rf"(^|\.){re.escape(end)}$", path):
            return instead
    if path.startswith("webhookConfiguration.failurePolicy."):
        return "Fail"
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    assert isinstance(value, str), f"chart_values.py has no other value for {path}: {value!r}"
    return "/other/" if value.startswith("/") else f"{value}other"
