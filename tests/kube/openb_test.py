#!/usr/bin/env python3
"""The openb trace: every pod bound that can be, on the sandbox and on a real kube-apiserver, judged by the checker.

usage: openb_test.py sandbox | real
"""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(HERE, "..", "support")
sys.path.insert(0, SUPPORT)
import check_placement  # noqa: E402
import kube_api  # noqa: E402
import measure  # noqa: E402
from explain import Explain  # noqa: E402
from sandbox import Sandbox, wait_for  # noqa: E402

STILL_SECONDS = 5  # no pod has been bound for so long: what is pending stays pending
LIMIT_SECONDS = 300


def settle(api):
    """Waits until the number of decided pods (bound, or refused with a condition) is all and stays so."""
    decided, since, end = -1, time.monotonic(), time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < end:
        pods = api.list("/api/v1/namespaces/openb/pods")
        refused = sum(1 for p in pods if any(c["type"] == "PodScheduled" and c["status"] == "False"
                                             for c in p.get("status", {}).get("conditions", [])))
        bound = sum(1 for p in pods if p["spec"].get("nodeName"))
        if bound + refused != decided:
            decided, since = bound + refused, time.monotonic()
        elif decided == len(pods) and time.monotonic() - since >= STILL_SECONDS:
            return bound, len(pods) - bound
        time.sleep(1)
    raise AssertionError(f"{decided} pods decided after {LIMIT_SECONDS} s")


def judge_explanations(kubeconfig, api):
    """koord explain of a pod of the trace, and of one like it that asks for too much; asked for as it says, that fits."""
    explain = Explain(kubeconfig)
    pod = next(p for p in api.list("/api/v1/namespaces/openb/pods") if p["spec"].get("nodeName"))
    name, node = pod["metadata"]["name"], pod["spec"].pop("nodeName")
    text = explain.text("pod", f"openb/{name}")
    assert text.startswith(f"Pod openb/{name} is on node {node}.\n"), text
    asked = pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100000", "memory": "1Mi"}}
    pod["spec"].pop("tolerations", None)
    manifest = {"apiVersion": "v1", "kind": "Pod", **pod}
    text, view = [form("-f", "-", manifest=manifest) for form in (explain.text, explain.view)]
    assert text.startswith(f"Pod openb/{name} fits on none of {view['nodes']} nodes.\n"), text
    assert sum(r["nodes"] for r in view["refused"]) == view["nodes"], view
    first = view["remedies"][0]
    assert [(c["kind"], c["subject"], c["asked"]) for c in first["changes"]] == [("request", "cpu", "100k")], view
    asked["requests"]["cpu"] = first["changes"][0]["atMost"]
    assert f"  - it asked for at most {asked['requests']['cpu']} of cpu (it asks for 100k): " in text, text
    changed = explain.view("-f", "-", manifest=manifest)
    assert changed["outcome"] == "fits" and changed["feasible"] == first["nodes"], changed


def judge(kubeconfig):
    api = kube_api.Api(kubeconfig)
    print(f"openb: {'%d bound, %d pending' % settle(api)}")
    judge_explanations(kubeconfig, api)
    sys.argv = ["check_placement", "--kubeconfig", kubeconfig]
    return check_placement.main()


def on_sandbox(nodes, pods):
    with Sandbox("--nodes=0", "--load", nodes, pods) as sandbox:
        return judge(sandbox.kubeconfig)


def on_real(nodes, pods, scratch):
    kubeconfig = os.environ["KOORD_KUBE_KUBECONFIG"]
    api = kube_api.Api(kubeconfig)
    try:
        api.load([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "koordinator-system"}}])
    except kube_api.ApiError as error:
        if error.status != 409:
            raise
    for path in (nodes, pods):
        subprocess.run([os.path.join(SUPPORT, "kube_api.py"), kubeconfig, "load", path], check=True)
    process = measure.Process("koord", [measure.KOORD, "--role=scheduler", "--kubeconfig", kubeconfig,
                                        "--secure-port=0", "--port=0"], os.path.join(scratch, "koord.log"))
    try:
        return judge(kubeconfig)
    finally:
        process.check()
        process.stop()
        connection = api.connect()
        connection.request("DELETE", "/api/v1/namespaces/openb/pods", {"gracePeriodSeconds": 0})
        wait_for("the pods' end", lambda: not connection.request("GET", "/api/v1/namespaces/openb/pods?limit=1")["items"])
        connection.request("DELETE", "/api/v1/nodes")


def main():
    if sys.argv[1] == "real" and "KOORD_KUBE_KUBECONFIG" not in os.environ:
        print("skipped: no Kubernetes: run packaging/dev test kube")
        return 77
    with tempfile.TemporaryDirectory(prefix="koord-openb.") as scratch:
        subprocess.run([os.path.join(SUPPORT, "openb_manifests.py"), scratch], check=True)
        files = [os.path.join(scratch, name) for name in ("nodes.json", "pods.json")]
        if sys.argv[1] == "sandbox":
            return on_sandbox(*files)
        return on_real(*files, scratch)


if __name__ == "__main__":
    sys.exit(main())
