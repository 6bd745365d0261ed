#!/usr/bin/env python3
"""The scenarios of admission webhooks on a real kube-apiserver, and each answer beside the sandbox's.

usage: webhooks_test.py SERVE      SERVE is the sandbox program of tests/roles/sandbox
"""
import json
import os
import re
import sys

import schedulers

import kube_version  # noqa: E402
from sandbox import served  # noqa: E402
from webhook_server import WebhookServer  # noqa: E402

# Of objects: what differs from run to run, and what the sandbox does not keep (src/sandbox/api/README.md).
DROPPED = ("uid", "creationTimestamp", "resourceVersion", "managedFields", "generation")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
GENERATED = re.compile(r"\bp-[a-z0-9]{5}\b")


def plain(value):
    """Without what is empty and what differs by nature."""
    if isinstance(value, dict):
        items = {key: plain(each) for key, each in value.items() if key not in DROPPED}
        return {key: each for key, each in items.items() if each not in (None, {}, [], "")}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, str):
        return GENERATED.sub("p-GENERATED", UID.sub("UID", value))
    return value


def comparable(scenario, result):
    """What both must agree on: the answer, warnings, and each review as the webhook got it."""
    answer = plain(result["answer"])
    if scenario.loose and isinstance(answer, dict):
        answer = {"code": answer.get("code"), "reason": answer.get("reason")}
    if isinstance(answer, dict) and answer.get("kind") == "Pod":
        answer.pop("status", None)
    reviews = []
    for path, review in result["reviews"]:
        request = dict(review["request"])
        request.pop("userInfo")
        for which in ("object", "oldObject"):
            if isinstance(request.get(which), dict):
                request[which] = plain({**request[which], "status": None})
        reviews.append((path, review["apiVersion"], plain(request)))
    return {"status": result["status"], "answer": answer, "warnings": result["warnings"], "reviews": reviews}


def compare(name, real, sandbox):
    if real == sandbox:
        return 0
    for part in real:
        if real[part] != sandbox[part]:
            print(f"FAILED: {name}: {part}\n  real:    {json.dumps(real[part], sort_keys=True)[:3000]}\n"
                  f"  sandbox: {json.dumps(sandbox[part], sort_keys=True)[:3000]}", flush=True)
    return 1


def main():
    schedulers.skip_without_cluster()
    kube_version.skip_unless_the_sandbox_s()
    table = schedulers.of_the_sandbox("webhooks_test")
    with served(sys.argv[1]) as kubeconfig:
        folder = os.path.dirname(kubeconfig)
        server = WebhookServer(folder)
        runners = []
        try:
            runners = [table.Runner(path, server, folder) for path in (schedulers.KUBECONFIG, kubeconfig)]
            runners[1].closed, runners[1].other_ca = runners[0].closed, runners[0].other_ca
            for runner in runners:
                runner.prepare()
            failures = 0
            for scenario in table.SCENARIOS:
                results = [runner.run(scenario) for runner in runners]
                for problem in table.check(scenario, results[0]):
                    failures += 1
                    print(f"FAILED: {scenario.name}: the real one: {problem}", flush=True)
                failures += compare(scenario.name, *[comparable(scenario, result) for result in results])
            for wrong, real, sandbox in zip(table.WRONG, *[runner.refuse() for runner in runners]):
                if real != sandbox:
                    failures += 1
                    print(f"FAILED: {wrong}\n  real:    {real}\n  sandbox: {sandbox}", flush=True)
            print(f"{len(table.SCENARIOS)} scenarios and {len(table.WRONG)} wrong configurations on both, "
                  f"{failures} differences")
            return 1 if failures else 0
        finally:
            for runner in runners:
                runner.clean()
            server.close()


if __name__ == "__main__":
    sys.exit(main())
