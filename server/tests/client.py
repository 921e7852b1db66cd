"""What programs with the `kubernetes` package do: typed and dynamic clients, patches, apply, watches, custom resources."""

import sys
import threading
import time

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

config.load_kube_config(sys.argv[1])
core, apps, custom = client.CoreV1Api(), client.AppsV1Api(), client.CustomObjectsApi()


def refused(code, reason, call, *arguments, **named):
    """The call has to be refused in this way."""
    try:
        call(*arguments, **named)
    except ApiException as error:
        assert (error.status, error.reason) == (code, reason), (error.status, error.reason, error.body)
        return error
    raise AssertionError(f"{call.__name__} {arguments} was not refused")


def typed():
    assert client.VersionApi().get_code().minor == "36"
    labels = {"app": "web"}
    web = client.V1Deployment(
        metadata=client.V1ObjectMeta(name="web", labels=labels),
        spec=client.V1DeploymentSpec(
            replicas=2,
            selector=client.V1LabelSelector(match_labels=labels),
            template=client.V1PodTemplateSpec(
                metadata=client.V1ObjectMeta(labels=labels),
                spec=client.V1PodSpec(containers=[client.V1Container(name="web", image="registry.example.com/web")]),
            ),
        ),
    )
    made = apps.create_namespaced_deployment("default", web)
    assert made.spec.strategy.rolling_update.max_surge == "25%", made.spec.strategy
    refused(409, "Conflict", apps.create_namespaced_deployment, "default", web)
    refused(422, "Unprocessable Entity", apps.patch_namespaced_deployment, "web", "default", {"spec": {"replicas": -1}})
    patched = apps.patch_namespaced_deployment("web", "default", {"spec": {"replicas": 3}})
    assert patched.spec.replicas == 3 and patched.metadata.generation == 2
    scale = apps.read_namespaced_deployment_scale("web", "default")
    scale.spec.replicas = 4
    apps.replace_namespaced_deployment_scale("web", "default", scale)
    read = apps.read_namespaced_deployment("web", "default")
    read.spec.paused = True
    read.metadata.resource_version = made.metadata.resource_version
    refused(409, "Conflict", apps.replace_namespaced_deployment, "web", "default", read)
    listed = apps.list_deployment_for_all_namespaces(label_selector="app=web", limit=1)
    assert [one.spec.replicas for one in listed.items] == [4]
    gone = apps.delete_namespaced_deployment("web", "default", propagation_policy="Background")
    assert gone.status == "Success", gone
    refused(404, "Not Found", apps.read_namespaced_deployment, "web", "default")


def watched():
    def write():
        time.sleep(0.2)
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="seen", labels={"a": "b"}), data={"n": "1"})
        core.create_namespaced_config_map("default", body)
        core.patch_namespaced_config_map("seen", "default", {"data": {"n": "2"}})
        core.delete_namespaced_config_map("seen", "default")

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    follower = watch.Watch()
    for event in follower.stream(core.list_namespaced_config_map, "default", label_selector="a=b", timeout_seconds=30):
        seen.append((event["type"], event["object"].data["n"]))
        if event["type"] == "DELETED":
            follower.stop()
    writer.join()
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")], seen


def customs():
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "mugs.kitchen.example.com"},
        "spec": {
            "group": "kitchen.example.com",
            "scope": "Namespaced",
            "names": {"plural": "mugs", "singular": "mug", "kind": "Mug"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "required": ["colour"],
                                    "properties": {"colour": {"type": "string"}, "size": {"type": "integer", "default": 3}},
                                },
                                "status": {"type": "object", "properties": {"washed": {"type": "boolean"}}},
                            },
                        }
                    },
                }
            ],
        },
    }
    client.ApiextensionsV1Api().create_custom_resource_definition(definition)
    at = ("kitchen.example.com", "v1", "default", "mugs")
    mug = {"apiVersion": "kitchen.example.com/v1", "kind": "Mug", "metadata": {"name": "one"}, "spec": {"colour": "red"}}
    made = custom.create_namespaced_custom_object(*at, mug)
    assert made["spec"] == {"colour": "red", "size": 3}, made
    refused(422, "Unprocessable Entity", custom.create_namespaced_custom_object, *at, {**mug, "spec": {}})
    custom.patch_namespaced_custom_object_status(*at, "one", {"status": {"washed": True}})
    assert custom.get_namespaced_custom_object(*at, "one")["status"] == {"washed": True}
    assert len(custom.list_namespaced_custom_object(*at)["items"]) == 1


def dynamically():
    live = dynamic.DynamicClient(client.ApiClient())
    maps = live.resources.get(api_version="v1", kind="ConfigMap")
    mugs = live.resources.get(api_version="kitchen.example.com/v1", kind="Mug")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"a": "1"}}
    applied = maps.server_side_apply(body=body, namespace="default", field_manager="one")
    assert applied.metadata.managedFields[0].manager == "one"
    body["data"]["a"] = "2"
    try:
        maps.server_side_apply(body=body, namespace="default", field_manager="two")
        raise AssertionError("no conflict")
    except dynamic.exceptions.ConflictError as error:
        assert 'conflict with \\"one\\": .data.a' in str(error.body), error.body
    forced = maps.server_side_apply(body=body, namespace="default", field_manager="two", force_conflicts=True)
    assert forced.data.a == "2"
    json_patch = [{"op": "add", "path": "/data/b", "value": "3"}]
    patched = maps.patch(
        body=json_patch, name="mine", namespace="default", content_type="application/json-patch+json"
    )
    assert patched.data.to_dict() == {"a": "2", "b": "3"}
    assert [one.metadata.name for one in mugs.get(namespace="default").items] == ["one"]
    for event in maps.watch(namespace="default", name="mine", timeout=10):
        assert (event["type"], event["object"].data.b) == ("ADDED", "3")
        break
    mugs.delete(name="one", namespace="default")
    maps.delete(name="mine", namespace="default")


for part in (typed, watched, customs, dynamically):
    part()
    print(part.__name__, "is well")
print("all is well")
