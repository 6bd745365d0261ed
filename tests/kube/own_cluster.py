"""A cluster of a test's own, for what installs, attacks, restarts or removes things that others share."""
import atexit
import json
import os
import subprocess
import tempfile

CLUSTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster")
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}


def audited():
    """(a log with a line for each answered request, the API server's flags that have it written); it ends with the process."""
    folder = tempfile.TemporaryDirectory(prefix="koord-audit.")
    atexit.register(folder.cleanup)  # after the cluster that writes there has ended, which is made later
    log, policy = (os.path.join(folder.name, name) for name in ("audit.log", "policy.json"))
    with open(policy, "w", encoding="utf-8") as file:
        json.dump(AUDIT, file)
    return log, f"--audit-policy-file={policy} --audit-log-path={log}"


def own_cluster(name, flags="", controllers=None):
    """(a folder, the cluster in it, its kubeconfig); all of them end with the process.

    `flags` are the API server's. `controllers` are kube-controller-manager's that run, "" for those of every test;
    None: there is no controller manager.
    """
    folder = tempfile.TemporaryDirectory(prefix=f"koord-{name}.")
    atexit.register(folder.cleanup)  # after the cluster in it has ended
    cluster = os.path.join(folder.name, "cluster")
    atexit.register(subprocess.run, [CLUSTER, "down", cluster], check=True)
    run(cluster, "up", **({"KOORD_APISERVER_FLAGS": flags} if flags else {}))
    if controllers is not None:
        run(cluster, "start-controllers", **({"KOORD_CONTROLLERS": controllers} if controllers else {}))
    return folder.name, cluster, os.path.join(cluster, "kubeconfig")


def run(cluster, verb, **env):
    subprocess.run([CLUSTER, verb, cluster], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **env})
