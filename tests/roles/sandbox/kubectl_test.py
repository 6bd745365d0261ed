#!/usr/bin/env python3
"""What kubectl users do, as a table of commands and what they print; the same on the sandbox and on a real API server.

usage: kubectl_test.py SERVE      starts the sandbox program SERVE for itself
       kubectl_test.py            uses the cluster that KUBECONFIG names
KUBECTL names kubectl; without it the test is skipped (exit code 77).
"""
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from sandbox import KUBECTL, served  # noqa: E402


POD = """apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers: [{name: c, image: busybox:1.36, resources: {limits: {cpu: 100m, memory: 64Mi}}}]
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: front, labels: {app: front}}
spec:
  replicas: 2
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec: {containers: [{name: c, image: busybox:1.36, ports: [{containerPort: 80}]}]}
"""
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: work}
spec:
  completions: 3
  parallelism: 2
  template:
    metadata: {annotations: {sandbox.koordinator.sh/run-seconds: "0.2"}}
    spec: {restartPolicy: Never, nodeName: "{n}", containers: [{name: c, image: busybox:1.36}]}
"""
STORAGE = """apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: example.com/disk
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: shelf}
spec: {capacity: {storage: 2048Mi}, accessModes: [ReadWriteMany, ReadWriteOnce], hostPath: {path: /shelf}, storageClassName: none}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
STATEFUL_SET = """apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {nodeName: "{n}", containers: [{name: c, image: busybox:1.36}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: quick, resources: {requests: {storage: 1Gi}}}
"""
QUICK = """apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: quick}
provisioner: example.com/disk
"""
CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties: {size: {type: integer, minimum: 1}, colour: {type: string, default: red}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: %s, unknown: 1}\n"

# Command, input, exit code, what the output (of both streams) must match. {n}: the node to use.
TABLE = [
    ("version", "", 0, r"Server Version: v1\.3"),
    ("api-resources", "", 0, r"pods +po +v1 +true +Pod"),
    ("api-resources --api-group=apps -o wide", "", 0, r"deployments +deploy +apps/v1 +true +Deployment +create,delete.* +all"),
    ("api-versions", "", 0, r"(?s)apps/v1.*scheduling\.k8s\.io/v1"),
    ("get ns", "", 0, r"(?sm)NAME +STATUS +AGE\n.*^default +Active.*^kube-system +Active"),
    ("get pods", "", 0, r"No resources found in default namespace\."),
    ("get nodes -o wide", "", 0, r"NAME +STATUS +ROLES +AGE +VERSION +INTERNAL-IP +EXTERNAL-IP +OS-IMAGE +KERNEL-VERSION +CONTAINER-RUNTIME"),
    ("explain pod.spec.nodeName", "", 0, r"(?s)KIND: +Pod.*FIELD: nodeName <string>"),
    ("explain deployment", "", 0, r"GROUP: +apps"),
    # pods
    ("create -f -", POD, 0, r"pod/web created"),
    ("create -f -", POD, 1, r'Error from server \(AlreadyExists\): error when creating "STDIN": pods "web" already exists'),
    ("get pod web", "", 0, r"NAME +READY +STATUS +RESTARTS +AGE\nweb +0/1 +Pending"),
    ("get pod web -o wide", "", 0, r"NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES"),
    ("get pod web -o jsonpath={.status.qosClass}", "", 0, r"^Guaranteed$"),
    ("get pod web -o yaml", "", 0, r"schedulerName: default-scheduler"),
    ("get pod web -o json", "", 0, r'"terminationGracePeriodSeconds": 30'),
    ("get pods -l app=web -o name", "", 0, r"^pod/web$"),
    ("get pods -l app=no", "", 0, r"No resources found"),
    ("get pods --field-selector status.phase=Pending -o name", "", 0, r"^pod/web$"),
    ("get pod none", "", 1, r'Error from server \(NotFound\): pods "none" not found'),
    ("describe pod web", "", 0, r"(?s)Name: +web.*Status: +Pending.*Tolerations: +node\.kubernetes\.io/not-ready:NoExecute op=Exists for 300s"),
    ("label pod web tier=front", "", 0, r"pod/web labeled"),
    ("label pod web tier=back", "", 1, r"'tier' already has a value \(front\), and --overwrite is false"),
    ("annotate pod web note=hello", "", 0, r"pod/web annotated"),
    ("get pod web -L tier", "", 0, r"web .* front"),
    ('patch pod web --type=merge -p {"metadata":{"labels":{"tier":"back"}}}', "", 0, r"pod/web patched"),
    ('patch pod web --type=json -p [{"op":"remove","path":"/metadata/labels/tier"}]', "", 0, r"pod/web patched"),
    ('patch pod web --type=strategic -p {"spec":{"containers":[{"name":"c","image":"busybox:1.37"}]}}', "", 0, r"pod/web patched"),
    ("patch pod web --type=json -p [{\"op\":\"test\",\"path\":\"/metadata/name\",\"value\":\"x\"}]", "", 1, r"(?i)the server rejected our request|test"),
    ("get pod web -o jsonpath={.spec.containers[0].image}", "", 0, r"^busybox:1\.37$"),
    ("delete pod web --wait", "", 0, r'pod "web" deleted'),
    # refusals
    ("create -f -", POD.replace("name: web", "name: Web"), 1, r'The Pod "Web" is invalid: metadata.name: Invalid value: "Web": a lowercase RFC 1123 subdomain'),
    ("create -n nowhere -f -", POD, 1, r'Error from server \(NotFound\): error when creating "STDIN": namespaces "nowhere" not found'),
    ("create -f -", POD.replace("containers: [{name: c, image: busybox:1.36, resources: {limits: {cpu: 100m, memory: 64Mi}}}]", "restartPolicy: Never"), 1,
     r'The Pod "web" is invalid: spec.containers: Required value'),
    # apply, both ways
    ("apply -f -", POD, 0, r"pod/web created"),
    ("apply -f -", POD, 0, r"pod/web unchanged"),
    ("apply -f -", POD.replace("{app: web}", "{app: web, more: x}"), 0, r"pod/web configured"),
    ("apply -f -", POD, 0, r"pod/web configured"),
    ("get pod web -o jsonpath={.metadata.labels}", "", 0, r'^\{"app":"web"\}$'),
    ("delete pod web --now", "", 0, r'pod "web" deleted'),
    ("apply --server-side -f -", POD, 0, r"pod/web serverside-applied"),
    ("apply --server-side -f -", POD.replace("{app: web}", "{app: web, more: x}"), 0, r"pod/web serverside-applied"),
    ("apply --server-side -f -", POD, 0, r"pod/web serverside-applied"),
    ("get pod web -o jsonpath={.metadata.labels}", "", 0, r'^\{"app":"web"\}$'),
    ("get pod web --show-managed-fields -o yaml", "", 0, r"(?s)manager: kubectl\n.*operation: Apply"),
    ("delete pods --all --wait", "", 0, r'pod "web" deleted'),
    # config maps, secrets, namespaces
    ("create configmap cm --from-literal=a=1", "", 0, r"configmap/cm created"),
    ("get cm cm", "", 0, r"NAME +DATA +AGE\ncm +1 "),
    ("create secret generic s --from-literal=k=v", "", 0, r"secret/s created"),
    ("get secret s -o jsonpath={.data.k}", "", 0, r"^dg==$"),
    ("delete cm/cm secret/s", "", 0, r'(?s)configmap "cm" deleted.*secret "s" deleted'),
    ("create ns team", "", 0, r"namespace/team created"),
    ("create -n team configmap inside", "", 0, r"configmap/inside created"),
    # custom resources
    ("apply -f -", CRD, 0, r"customresourcedefinition.apiextensions.k8s.io/widgets.example.com created"),
    ("wait --for=condition=Established crd/widgets.example.com --timeout=20s", "", 0, r"condition met"),
    ("apply --validate=false -f -", WIDGET % 3, 0, r"widget.example.com/w created"),
    ("get wd", "", 0, r"NAME +SIZE\nw +3"),
    ("get wd w -o jsonpath={.spec}", "", 0, r'^\{"colour":"red","size":3\}$'),
    ("apply --validate=false -f -", WIDGET % 0, 1, r'The Widget "w" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1'),
    ("explain widget.spec.colour", "", 0, r"FIELD: colour <string>"),
    ("delete crd widgets.example.com", "", 0, r"deleted"),
    # jobs
    ("create job once --image=busybox:1.36 -- true", "", 0, r"job.batch/once created"),
    ("get job once -o jsonpath={.spec.completions}/{.spec.parallelism}/{.spec.backoffLimit}/{.spec.completionMode}/{.spec.suspend}/{.spec.podReplacementPolicy}/{.spec.manualSelector}", "", 0, r"1/1/6/NonIndexed/false/TerminatingOrFailed"),
    ("create -f -", JOB.replace("restartPolicy: Never, ", ""), 1, r'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'),
    ("delete job once", "", 0, r'job.batch "once" deleted'),
    # storage
    ("create -f -", STORAGE, 0, r"(?s)storageclass.storage.k8s.io/disks created.*persistentvolume/shelf created.*persistentvolumeclaim/data created"),
    ("get sc disks", "", 0, r"disks \(default\) +example.com/disk +Delete +WaitForFirstConsumer +false"),
    ("get pv -o wide", "", 0, r"NAME +CAPACITY +ACCESS MODES +RECLAIM POLICY +STATUS +CLAIM +STORAGECLASS +VOLUMEATTRIBUTESCLASS +REASON +AGE +VOLUMEMODE\nshelf +2Gi +RWO,RWX +Retain +(Available|Pending) +none +<unset> +\S+ +Filesystem"),
    ("get pvc -o wide", "", 0, r"NAME +STATUS +VOLUME +CAPACITY +ACCESS MODES +STORAGECLASS +VOLUMEATTRIBUTESCLASS +AGE +VOLUMEMODE\ndata +Pending +disks +<unset> +\S+ +Filesystem"),
    ("get pvc data -o jsonpath={.metadata.finalizers}{.spec}{.status}", "", 0, r'^\["kubernetes.io/pvc-protection"\]\{"accessModes":\["ReadWriteOnce"\],"resources":\{"requests":\{"storage":"1Gi"\}\},"storageClassName":"disks","volumeMode":"Filesystem"\}\{"phase":"Pending"\}$'),
    ('patch pvc data --type=merge -p {"spec":{"accessModes":["ReadWriteMany"]}}', "", 1, r"spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"),
    ("create -f -", STORAGE.split("---")[2].replace("name: data", "name: none").replace(", resources: {requests: {storage: 1Gi}}", ""), 1, r'The PersistentVolumeClaim "none" is invalid: spec.resources\[storage\]: Required value'),
    ("create -f -", STORAGE.split("---")[1].replace("shelf", "none").replace(" hostPath: {path: /none},", ""), 1, r'The PersistentVolume "none" is invalid: spec: Required value: must specify a volume type'),
    ("describe sc disks", "", 0, r"(?s)IsDefaultClass: +Yes.*VolumeBindingMode: +WaitForFirstConsumer"),
    ('patch pvc/data pv/shelf --type=merge -p {"metadata":{"finalizers":null}}', "", 0, r"(?s)data patched.*shelf patched"),
    ("delete pvc/data pv/shelf sc/disks", "", 0, r"deleted"),
    ("get csidrivers,csinodes,volumeattachments", "", 0, r"No resources found"),
    ("create -f -", STATEFUL_SET.replace("replicas: 2", "replicas: 0"), 0, r"statefulset.apps/db created"),
    ("get sts db -o wide", "", 0, r"NAME +READY +AGE +CONTAINERS +IMAGES\ndb +0/0 +\S+ +c +busybox:1.36"),
    ("get sts db -o jsonpath={.spec.podManagementPolicy}{.spec.updateStrategy}{.spec.persistentVolumeClaimRetentionPolicy}", "", 0, r'^OrderedReady\{"rollingUpdate":\{"partition":0\},"type":"RollingUpdate"\}\{"whenDeleted":"Retain","whenScaled":"Retain"\}$'),
    ('patch sts db --type=merge -p {"spec":{"serviceName":"other"}}', "", 1, r"updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"),
    ("delete sts db", "", 0, r'statefulset.apps "db" deleted'),
    # nodes
    ("label node {n} disk=ssd", "", 0, r"node/{n} labeled"),
    ("taint node {n} k=v:NoSchedule", "", 0, r"node/{n} tainted"),
    ("taint node {n} k=v:NoSchedule-", "", 0, r"node/{n} untainted"),
    ("cordon {n}", "", 0, r"node/{n} cordoned"),
    ("get node {n}", "", 0, r"{n} +\S*SchedulingDisabled"),
    ("uncordon {n}", "", 0, r"node/{n} uncordoned"),
    ("describe node {n}", "", 0, r"(?s)Name: +{n}.*Capacity:.*Allocatable:"),
    ("get leases -A", "", 0, r"NAMESPACE +NAME +HOLDER +AGE"),
    ("get events", "", 0, r"(?i)no resources found|LAST SEEN"),
    ("events", "", 0, r"(?i)no events found|LAST SEEN"),
    ("get priorityclass", "", 0, r"system-node-critical +2000001000 +false"),
    ("auth can-i create pods", "", 0, r"^yes$"),
    ("get --raw /readyz", "", 0, r"^ok"),
]

# With simulated kubelets and controllers only.
RUNNING = [
    ("apply -f -", DEPLOYMENT, 0, r"deployment.apps/front created"),
    ("create deployment made --image=busybox:1.36 --replicas=1", "", 0, r"deployment.apps/made created"),
    ("wait --for=jsonpath={.status.replicas}=2 deployment/front --timeout=20s", "", 0, r"condition met"),
    ("get deploy front", "", 0, r"NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nfront +0/2 +2 +0"),
    ("get rs -l app=front -o wide", "", 0, r"NAME +DESIRED +CURRENT +READY +AGE +CONTAINERS +IMAGES +SELECTOR\nfront-\w+ +2 +2 +0"),
    ("describe deployment front", "", 0, r"(?s)Replicas: +2 desired.*NewReplicaSet: +front-"),
    ("scale deployment front --replicas=3", "", 0, r"deployment.apps/front scaled"),
    ("wait --for=jsonpath={.status.replicas}=3 deployment/front --timeout=20s", "", 0, r"condition met"),
    ("delete deployment front made", "", 0, r'deployment.apps "front" deleted'),
    ("wait --for=delete pod -l app=front --timeout=20s", "", 0, r""),
    ("apply -f -", POD.replace("spec:\n", "spec:\n  nodeName: {n}\n"), 0, r"pod/web created"),
    ("wait --for=condition=Ready pod/web --timeout=20s", "", 0, r"condition met"),
    ("get pod web", "", 0, r"web +1/1 +Running +0"),
    ("logs web", "", 0, r"^Container c of pod default/web is simulated by koord's sandbox on node {n}: no process runs"),
    ("logs web -c none", "", 1, r"container none is not valid for pod web"),
    ("exec web -- ls", "", 1, r"pod web is simulated"),
    ("top nodes", "", 0, r"{n} +690m +2% +5274Mi +4%"),
    ("top pods", "", 0, r"NAME +CPU\(cores\) +MEMORY\(bytes\)\s+\n?web +50m +32Mi"),
    ("top pod web --containers", "", 0, r"POD +NAME +CPU\(cores\) +MEMORY\(bytes\)\s+\n?web +c +50m +32Mi"),
    ("top pod none", "", 1, r'podmetrics.metrics.k8s.io "default/none" not found'),
    ("drain {n} --force --ignore-daemonsets", "", 0, r"(?s)evicting pod default/web.*node/{n} drained"),
    ("get pod web", "", 1, r"NotFound"),
    ("uncordon {n}", "", 0, r"uncordoned"),
    ("create -f -", JOB, 0, r"job.batch/work created"),
    ("wait --for=condition=complete job/work --timeout=120s", "", 0, r"condition met"),
    ("get job work", "", 0, r"NAME +STATUS +COMPLETIONS +DURATION +AGE\nwork +Complete +3/3 +\S+ +\S+"),
    ("get pods -l job-name=work --no-headers", "", 0, r"(?s)(work-\w+ +0/1 +Completed.*){3}"),
    ("delete job work", "", 0, r'job.batch "work" deleted'),
    # A StatefulSet with claims
    ("create -f -", QUICK, 0, r"created"),
    ("create -f -", STATEFUL_SET, 0, r"statefulset.apps/db created"),
    ("rollout status statefulset/db --timeout=30s", "", 0, r"partitioned roll out complete|statefulset rolling update complete 2 pods"),
    ("get sts db", "", 0, r"NAME +READY +AGE\ndb +2/2 "),
    ("get pods -l app=db -o name", "", 0, r"pod/db-0\npod/db-1\n"),
    ("get pvc -l app=db", "", 0, r"data-db-0 +Bound +pvc-\S+ +1Gi +RWO +quick"),
    ("rollout history statefulset/db", "", 0, r"(?s)REVISION +CHANGE-CAUSE\n1 "),
    ("set image statefulset/db c=busybox:1.37", "", 0, r"image updated"),
    ("rollout status statefulset/db --timeout=30s", "", 0, r"complete 2 pods|roll out complete"),
    ("rollout history statefulset/db", "", 0, r"(?s)^1 .*^2 "),
    ("rollout undo statefulset/db", "", 0, r"rolled back"),
    ("rollout status statefulset/db --timeout=30s", "", 0, r"complete 2 pods|roll out complete"),
    ("get pods -l app=db -o jsonpath={.items[*].spec.containers[0].image}", "", 0, r"^busybox:1.36 busybox:1.36$"),
    ("scale statefulset/db --replicas=1", "", 0, r"scaled"),
    ("wait --for=delete pod/db-1 --timeout=20s", "", 0, r""),
    ("delete sts db", "", 0, r"deleted"),
    ("delete pvc --all --wait", "", 0, r"data-db-1"),
    ("wait --for=delete pv --all --timeout=20s", "", 0, r""),
    ("delete ns team --wait", "", 0, r'namespace "team" deleted'),
    ("get ns team", "", 1, r"NotFound"),
]


def run(command, stdin, node):
    # Words are separated by spaces; JSON has none.
    words = command.replace("{n}", node).split()
    done = subprocess.run([KUBECTL, *words], input=stdin.replace("{n}", node), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return done.returncode, done.stdout


def check(table, node):
    failures = 0
    for command, stdin, code, pattern in table:
        got, output = run(command, stdin, node)
        good = got == code and re.search(pattern.replace("{n}", node), output, re.M)
        if not good:
            failures += 1
            print(f"FAILED: kubectl {command}\n  exit code {got}, expected {code}; expected to match: {pattern}\n{output[:2000]}", flush=True)
    return failures


def main():
    if not shutil.which(KUBECTL):
        print("skipped: no kubectl (KUBECTL or KUBEBUILDER_ASSETS names it; packaging/dev kube-assets builds it)")
        return 77
    if len(sys.argv) < 2:
        node = run("get nodes -o jsonpath={.items[0].metadata.name}", "", "")[1]
        return 1 if check(TABLE, node) else 0
    with served(sys.argv[1], "--nodes=3") as kubeconfig:
        os.environ["KUBECONFIG"] = kubeconfig
        os.environ["HOME"] = os.path.dirname(kubeconfig)  # its caches
        started = time.monotonic()
        failures = check(TABLE + RUNNING, "node-0001")
        print(f"{len(TABLE) + len(RUNNING)} commands, {failures} failed, {time.monotonic() - started:.1f} s")
        return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
