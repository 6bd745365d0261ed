"""What the originals' service accounts may do, as far as koord asks for it, and where koord asks for more."""

READ = "get list watch"
EVERYTHING = "create delete get list patch update watch"
# (group, resource): verbs, of Koordinator v1.8's chart; for the scheduler system:kube-scheduler's, too, which it is bound to.
ORIGINALS = {
    "koord-manager": {
        ("", "configmaps"): READ, ("", "namespaces"): READ, ("", "pods"): READ, ("", "nodes"): READ + " patch",
        ("", "nodes/status"): "get patch update", ("", "secrets"): EVERYTHING,
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): READ + " patch update",
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): READ + " patch update",
        ("config.koordinator.sh", "clustercolocationprofiles"): READ, ("coordination.k8s.io", "leases"): EVERYTHING,
        ("quota.koordinator.sh", "elasticquotaprofiles"): EVERYTHING, ("scheduling.k8s.io", "priorityclasses"): READ,
        ("scheduling.koordinator.sh", "devices"): READ, ("scheduling.koordinator.sh", "reservations"): EVERYTHING,
        ("scheduling.sigs.k8s.io", "elasticquotas"): EVERYTHING, ("slo.koordinator.sh", "nodemetrics"): EVERYTHING,
        ("slo.koordinator.sh", "nodemetrics/status"): "get patch update", ("slo.koordinator.sh", "nodeslos"): EVERYTHING,
        ("slo.koordinator.sh", "nodeslos/status"): "get patch update",
        ("topology.node.k8s.io", "noderesourcetopologies"): EVERYTHING,
    },
    "koord-scheduler": {
        ("", "configmaps"): READ, ("", "nodes"): READ + " patch", ("", "pods"): READ + " delete patch",
        ("", "pods/binding"): "create", ("", "pods/status"): "patch update", ("", "namespaces"): READ,
        ("", "replicationcontrollers"): READ, ("", "services"): READ, ("apps", "replicasets"): READ,
        ("apps", "statefulsets"): READ, ("policy", "poddisruptionbudgets"): READ,
        ("", "persistentvolumeclaims"): READ + " patch update", ("", "persistentvolumes"): READ + " patch update",
        ("storage.k8s.io", "csidrivers"): READ, ("storage.k8s.io", "csinodes"): READ,
        ("storage.k8s.io", "csistoragecapacities"): READ, ("storage.k8s.io", "storageclasses"): READ,
        ("slo.koordinator.sh", "nodemetrics"): READ, ("topology.node.k8s.io", "noderesourcetopologies"): EVERYTHING,
        ("scheduling.koordinator.sh", "devices"): EVERYTHING,
        ("scheduling.koordinator.sh", "reservations"): EVERYTHING, ("scheduling.koordinator.sh", "reservations/status"): EVERYTHING,
        ("scheduling.sigs.k8s.io", "elasticquotas"): EVERYTHING, ("scheduling.sigs.k8s.io", "podgroups"): EVERYTHING,
        ("storage.k8s.io", "volumeattachments"): READ,
        ("resource.k8s.io", "deviceclasses"): READ, ("resource.k8s.io", "resourceslices"): READ,
        ("resource.k8s.io", "devicetaintrules"): READ,  # with the gate DRADeviceTaintRules
        ("resource.k8s.io", "resourceclaims"): READ + " create delete patch update", ("resource.k8s.io", "resourceclaims/status"): READ + " patch update",
        ("resource.k8s.io", "resourceclaims/binding"): "patch update",  # from 1.36 on
        ("scheduling.k8s.io", "workloads"): READ,  # with the gate GenericWorkload
        ("authentication.k8s.io", "tokenreviews"): "create", ("authorization.k8s.io", "subjectaccessreviews"): "create",
        ("coordination.k8s.io", "leases"): "create get update", ("events.k8s.io", "events"): "create patch update",
    },
    "koord-descheduler": {
        ("", "namespaces"): READ, ("", "nodes"): READ + " patch update", ("", "pods"): EVERYTHING, ("", "pods/eviction"): "create",
        ("apps", "deployments"): READ, ("apps", "replicasets"): READ, ("apps", "statefulsets"): READ,
        ("apps.kruise.io", "clonesets/scale"): READ, ("apps.kruise.io", "statefulsets/scale"): READ,
        ("coordination.k8s.io", "leases"): "create get update", ("events.k8s.io", "events"): EVERYTHING,
        ("scheduling.k8s.io", "priorityclasses"): READ, ("scheduling.koordinator.sh", "podmigrationjobs"): EVERYTHING,
        ("scheduling.koordinator.sh", "podmigrationjobs/status"): EVERYTHING, ("scheduling.koordinator.sh", "reservations"): EVERYTHING,
        ("slo.koordinator.sh", "nodemetrics"): EVERYTHING,
    },
    "koordlet": {
        ("", "events"): EVERYTHING, ("", "nodes"): READ + " patch update", ("", "nodes/proxy"): READ + " patch update",
        ("", "pods"): READ + " patch update", ("", "pods/eviction"): "create", ("slo.koordinator.sh", "nodemetrics"): EVERYTHING,
        ("slo.koordinator.sh", "nodemetrics/status"): EVERYTHING, ("slo.koordinator.sh", "nodeslos"): EVERYTHING,
        ("topology.node.k8s.io", "noderesourcetopologies"): EVERYTHING,
    },
}
MORE = {
    ("koord-manager", "events.k8s.io", "events"): "its events stand beside what they are about; upstream may write them in "
                                                  "its own namespace alone",
    ("koord-manager", "authorization.k8s.io", "subjectaccessreviews"): "who may bind pods, and so say which devices they are given",
    ("koord-manager", "", "configmaps"): "what slo-controller-config said last, by its name",
    ("koord-scheduler", "", "pods/eviction"): "what is over its quota is evicted, as disruption budgets allow; upstream deletes it",
    ("koord-descheduler", "policy", "poddisruptionbudgets"): "which pods a budget keeps is known before they are asked to go",
    ("koord-descheduler", "", "persistentvolumeclaims"): "DefaultEvictor: whose storage classes are protected; the original's role forgets them",
    ("koord-descheduler", "", "replicationcontrollers"): "how many pods of theirs there are; the original's role forgets them",
    ("koord-descheduler", "authentication.k8s.io", "tokenreviews"): "its secure port asks who calls; the original's asks nobody",
    ("koord-descheduler", "authorization.k8s.io", "subjectaccessreviews"): "and what they may do",
    ("koord-descheduler", "", "configmaps"): "the CAs of the cluster's clients, by their name",
    ("koordlet", "events.k8s.io", "events"): "the group that events are written in today",
    ("koordlet", "", "nodes/configz"): "what nodes/proxy is narrowed to",
    ("koordlet", "", "nodes/pods"): "what nodes/proxy is narrowed to",
}
MORE.update({("koord-descheduler", *kind): "what the scheduler's filters read, which say where a pod would fit (--node-fit)" for kind in (
    ("", "persistentvolumes"), ("", "services"), ("resource.k8s.io", "deviceclasses"), ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceslices"), ("scheduling.koordinator.sh", "devices"), ("scheduling.sigs.k8s.io", "elasticquotas"),
    ("scheduling.sigs.k8s.io", "podgroups"), ("storage.k8s.io", "csidrivers"), ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "csistoragecapacities"), ("storage.k8s.io", "storageclasses"), ("storage.k8s.io", "volumeattachments"),
    ("topology.node.k8s.io", "noderesourcetopologies"))})
# Rights that the default gates need, and an ordinary run seldom uses.
RARE = {
    ("koord-scheduler", "scheduling.sigs.k8s.io", "podgroups", "patch"): "a PodGroup's phase, where there are PodGroups",
    ("koord-scheduler", "", "pods/eviction", "create"): "a quota that uses more than it may (monitorAllQuotas)",
    ("koord-scheduler", "resource.k8s.io", "resourceclaims", "get"): "after a write that conflicted: what it is by now",
    ("koord-scheduler", "resource.k8s.io", "resourceclaims/status", "patch"): "a pod is taken out of a claim when its binding failed",
    ("koord-scheduler", "resource.k8s.io", "resourceclaims/binding", "patch"): "no request names it: whether it is granted is asked about a status",
    ("koord-scheduler", "resource.k8s.io", "resourceclaims/binding", "update"): "no request names it: whether it is granted is asked about a status",
    ("koord-scheduler", "", "pods", "get"): "after a binding that was refused: is it there by an earlier try?",
    ("koord-scheduler", "scheduling.koordinator.sh", "reservations", "get"): "after a write that conflicted: what it is by now",
    ("koord-manager", "events.k8s.io", "events", "patch"): "an event that comes again",
    ("koord-manager", "authorization.k8s.io", "subjectaccessreviews", "create"): "the devices of a pod that is there are changed",
    ("koord-scheduler", "events.k8s.io", "events", "patch"): "an event that comes again",
    ("koord-descheduler", "events.k8s.io", "events", "patch"): "an event that comes again",
    ("koord-descheduler", "apps.kruise.io", "clonesets/scale", "get"): "a pod of a CloneSet, where there are some",
    ("koord-descheduler", "apps.kruise.io", "statefulsets/scale", "get"): "a pod of Kruise's StatefulSet",
    ("koord-descheduler", "scheduling.koordinator.sh", "podmigrationjobs", "create"): "a pod that a plugin chooses",
    ("koord-descheduler", "scheduling.koordinator.sh", "podmigrationjobs", "delete"): "a job that is over for long enough",
    ("koord-descheduler", "", "nodes", "patch"): "CustomPriority with autoCordon",
    ("koord-descheduler", "", "pods", "delete"): "the evictionPolicy Delete",
    ("koord-descheduler", "", "pods", "patch"): "the evictionPolicy SoftEviction",
    ("koord-descheduler", "scheduling.koordinator.sh", "podmigrationjobs", "get"): "after a write that conflicted: what it is by now",
    ("koord-descheduler", "scheduling.koordinator.sh", "reservations", "patch"): "a user's reservation that has no place in the order",
    ("koord-descheduler", "scheduling.koordinator.sh", "reservations", "get"): "a reservation that is there already: is it the job's?",
    ("koordlet", "events.k8s.io", "events", "patch"): "an event that comes again",
}
