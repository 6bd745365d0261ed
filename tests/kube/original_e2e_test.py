#!/usr/bin/env python3
"""Koordinator's own end-to-end specs of reservations, host ports, memory nodes and quotas (KOORDINATOR_E2E names its binary, made
with `go test -c ./test/e2e`), on sandboxes with koord's scheduler and the profile that Koordinator ships, for quotas with koord's
manager. Specs that are left out are named below."""
import json
import os
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("KOORD_KUBE_KUBECONFIG", "")
import reservations as of
import schedulers

from sandbox import KUBECTL, Kubectl, Sandbox

sys.path.insert(0, os.path.join(schedulers.HERE, "..", "roles", "manager"))
import quota_test as manager  # noqa: E402

PROGRAM = os.environ.get("KOORDINATOR_E2E", "")
SPECS = r"\] Reservation|HostPort|NodeNUMAResource"
# With the same flags koord-scheduler 1.8 fails six of the seven specs of these names on the same sandbox, too: they expect what it
# does not do any more, or see a pod only after it has preempted others. One of the memory nodes stalls, and was not seen to end there.
LEFT_OUT = [
    "Create reservation with Restricted policy",
    "PodTopologySpread Filtering With Reservation",
    "LS pods apply most resources",
    "LSR pods apply most resources",
    "NUMA topology is set on pod",
    "SingleNUMANode with 2 NUMA Nodes",
]
EXPECTED = 25  # as many pass
NODES = 3
SECONDS = 540
QUOTA_SPECS, QUOTAS_EXPECTED, QUOTA_SECONDS = r"\[quota\]", 6, 200


def missing():
    if not os.access(PROGRAM, os.X_OK):
        return "no end-to-end binary of Koordinator's: KOORDINATOR_E2E names it"
    if not os.access(KUBECTL, os.X_OK):
        return "kubectl is missing: run packaging/dev kube-assets"
    return None


def run_specs(kubeconfig, specs, expected, seconds, *flags, scheduler="koord-scheduler"):
    """koord's scheduler and the specs: so many have to pass, and none to fail."""
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(of.configuration("manifest", kubeconfig, scheduler))
        schedulers.KUBECONFIG = kubeconfig
        process = schedulers.koord(f"--config={config}", *flags)
        try:
            done = subprocess.run(
                [PROGRAM, "--ginkgo.no-color", f"--ginkgo.timeout={seconds}s", f"--ginkgo.focus={specs}",
                 *(f"--ginkgo.skip={each}" for each in LEFT_OUT), f"-kubeconfig={kubeconfig}", "-provider=local",
                 "-koordinator-component-namespace=koordinator-system", "-allowed-not-ready-nodes=1",
                 "-system-pods-startup-timeout=10s", "-e2e-verify-service-account=false"],
                cwd=folder, capture_output=True, text=True, errors="replace", timeout=seconds + 30, check=False)
            process.alive()
        finally:
            process.end()
    passed = re.search(r"(\d+) Passed", done.stdout)
    assert done.returncode == 0 and passed and int(passed[1]) == expected, done.stdout[-6000:] + done.stderr[-2000:]
    print(f"{passed[1]} of Koordinator's own specs pass: {specs}")


def reservations_and_nodes():
    with Sandbox("--roles=", f"--nodes={NODES}", "--node-capacity=cpu=16,memory=32Gi,pods=110") as sandbox:
        kubectl = Kubectl(sandbox.kubeconfig)
        kubectl.run("apply", "-f", os.path.join(of.PACKAGING, "manifests", "10-priority-classes.yaml"))
        # Two memory nodes each, as Koordinator's agent would report them.
        topologies = [of.topology(f"node-{i:04}", memory="16Gi") for i in range(NODES)]
        kubectl.run("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": topologies}))
        run_specs(sandbox.kubeconfig, SPECS, EXPECTED, SECONDS)


def quotas():
    """Their pods name no scheduler."""
    os.environ.pop("KOORD_KUBE_KUBECONFIG")  # a sandbox of its own
    manager.GATES = "MultiQuotaTree=true"
    rig = manager.QuotaTest("setUp")
    try:
        rig.setUp()
        run_specs(rig.kubeconfig, QUOTA_SPECS, QUOTAS_EXPECTED, QUOTA_SECONDS, "--feature-gates=MultiQuotaTree=true,ElasticQuotaGuaranteeUsage=true",
                  scheduler="default-scheduler")
    finally:
        rig.doCleanups()


def main():
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 77
    reservations_and_nodes()
    quotas()
    return 0


if __name__ == "__main__":
    sys.exit(main())
