#!/usr/bin/env python3
"""Checks the Helm chart: it lints, renders what deploy/kubernetes has, renders what Kubernetes' own schemas accept, and refuses
values that mean nothing. Needs helm on the path, PyYAML and kubernetes-validate; ./check installs the three."""

import copy
import pathlib
import subprocess
import sys
import tomllib

import kubernetes_validate
import yaml

HERE = pathlib.Path(__file__).parent
CHART = HERE / "jobbers"
MANIFESTS = HERE.parent / "kubernetes"
# The oldest version that Chart.yaml accepts, and a late one.
VERSIONS = ["1.25.0", "1.32.0"]
# Resources of others, whose schemas Kubernetes does not have.
FOREIGN = ("keda.sh/", "monitoring.coreos.com/", "kustomize.config.k8s.io/")

REFUSED = [
    "manager.replicas=0",
    "manager.replica=2",
    "service.type=Public",
    "service.port=70000",
    "workers[0].name=Mail_1",
    "workers[0].nmae=mail",
    "workers[0].keda.queues={mail}",
    "keeper.storage.size=lots",
    "cleaner.every=sometimes",
    "store.secret=",
    "imagee.tag=1",
]


def helm(*words):
    return subprocess.run(["helm", *words], capture_output=True, text=True)


def rendered(*words):
    done = helm("template", "jobbers", str(CHART), "--namespace", "jobs", *words)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def by_name(documents):
    named = {(it["kind"], it["metadata"]["name"]): it for it in documents}
    assert len(named) == len(documents), "two resources of one name"
    return named


def comparable(resource):
    """A resource without what only a chart, or only a kustomization, says."""
    resource = copy.deepcopy(resource)

    def strip(part):
        if isinstance(part, list):
            return [strip(it) for it in part]
        if not isinstance(part, dict):
            return part
        part = {key: strip(value) for key, value in part.items()}
        if "labels" in part and isinstance(part["labels"], dict):
            labels = {key: value for key, value in part["labels"].items() if key == "app"}
            part["labels"] = labels
            if not labels:
                del part["labels"]
        for key in ("image", "imagePullPolicy", "jobbers-api"):
            part.pop(key, None)
        # What a field is without a word.
        for key, default in (("scheme", "HTTP"), ("type", "ClusterIP")):
            if part.get(key) == default:
                del part[key]
        if "secretName" in part:
            part.pop("items", None)
        return part

    return strip(resource)


def differences(ours, theirs):
    said = [f"only one of both has {key}" for key in sorted(ours.keys() ^ theirs.keys())]
    for key in ours.keys() & theirs.keys():
        one, other = comparable(ours[key]), comparable(theirs[key])
        if one != other:
            said.append(f"{key} differs:\n{yaml.safe_dump(one)}---\n{yaml.safe_dump(other)}")
    return said


def manifests():
    documents = []
    for file in sorted(MANIFESTS.glob("*.yaml")):
        documents += [it for it in yaml.safe_load_all(file.read_text()) if it]
    return documents


def complaints_of_schemas(documents):
    said = []
    for resource in documents:
        if resource["apiVersion"].startswith(FOREIGN):
            continue
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(resource, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                said.append(f"{resource['kind']} {resource['metadata']['name']} in {version}: {error.message}")
    return said


def main():
    said = []
    everything = ["--values", str(CHART / "ci" / "everything-values.yaml")]
    for words in ([], everything):
        linted = helm("lint", "--strict", str(CHART), *words)
        if linted.returncode != 0:
            said.append(linted.stdout + linted.stderr)
    plain, full = rendered(), rendered(*everything)
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    program = tomllib.loads((HERE.parents[1] / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    if {chart["version"], chart["appVersion"]} != {program}:
        said.append(f"Chart.yaml is of {chart['version']} and {chart['appVersion']}, and the program is {program}")

    applied = by_name([it for it in manifests() if not it["apiVersion"].startswith(FOREIGN)])
    said += differences(by_name(plain), applied)
    # The comparison must notice a difference.
    changed = copy.deepcopy(applied)
    changed["Deployment", "jobbers-manager"]["spec"]["template"]["spec"]["containers"][0]["securityContext"] = {}
    assert differences(by_name(plain), changed), "the comparison sees nothing"

    said += complaints_of_schemas(plain + full + manifests())
    unknown = copy.deepcopy(plain[0])
    unknown["specc"] = {}
    assert complaints_of_schemas([unknown]), "the schemas accept anything"

    names = {(it["kind"], it["metadata"]["name"]) for it in full}
    for wanted in [("ScaledObject", "shop-jobs-images"), ("PodMonitor", "shop-jobs-managers"), ("Deployment", "shop-jobs-mail")]:
        if wanted not in names:
            said.append(f"{wanted} is missing among {sorted(names)}")
    mail = by_name(full)["Deployment", "shop-jobs-mail"]["spec"]
    if mail["replicas"] != 0 or mail["template"]["spec"]["containers"][0]["image"] != "registry.example/shop-worker:1.4.0":
        said.append("a worker's own number or image is not taken")

    for value in REFUSED:
        if helm("template", "jobbers", str(CHART), "--set", value).returncode == 0:
            said.append(f"--set {value} is accepted")
    if said:
        sys.exit("\n".join(said))
    print(f"the chart renders {len(plain)} resources as deploy/kubernetes has them, and {len(full)} with every setting")


main()
