package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// quotaText is a quota. Its limits are large enough for all that a scene has.
func quotaText(name, rest string, names ...string) string {
	var hard strings.Builder
	for _, n := range names {
		fmt.Fprintf(&hard, "    %s: 900Gi\n", n)
	}
	return fmt.Sprintf("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: %s}\nspec:\n  hard:\n%s%s", name, strings.ReplaceAll(hard.String(), "900Gi", "900"), rest)
}

// inBytes makes the limits of memory and storage large enough.
func inBytes(quota string) string {
	for _, name := range []string{"memory", "storage", "hugepages-2Mi"} {
		quota = strings.ReplaceAll(quota, name+": 900\n", name+": 900Ti\n")
	}
	return quota
}

// podText is a pod with a container. spec and resources are in flow style, without braces.
func podText(name, spec, resources string) string {
	if spec != "" {
		spec = ", " + spec
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: main, image: i, resources: {%s}}]%s}", name, resources, spec)
}

func statusText(status string) string { return "\nstatus: {" + status + "}" }

const (
	smallPod  = "requests: {cpu: 100m, memory: 64Mi}"
	largePod  = "requests: {cpu: '1', memory: 1Gi, ephemeral-storage: 2Gi}, limits: {cpu: '2', memory: 2Gi, ephemeral-storage: 3Gi}"
	heldPatch = `{"metadata":{"finalizers":["example.com/held"]}}`
)

var podResources = []string{
	"pods", "count/pods", "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
	"limits.cpu", "limits.memory", "limits.ephemeral-storage", "hugepages-2Mi", "requests.hugepages-2Mi", "requests.example.com/gpu",
	"example.com/gpu", "requests.example.com/none",
}

var quotaScenes = map[string]func(quotaSpace){
	"numbers": func(o quotaSpace) {
		o.apply(quotaText("all", "", "configmaps", "count/configmaps", "secrets", "count/secrets", "resourcequotas", "count/resourcequotas",
			"replicationcontrollers", "count/replicationcontrollers", "count/deployments.apps", "count/jobs.batch", "count/events",
			"count/events.events.k8s.io", "count/leases.coordination.k8s.io", "count/widgets.example.com", "count/nodes",
			"count/deployments.extensions", "count/endpoints", "count/roles.rbac.authorization.k8s.io"))
		for _, name := range []string{"a", "b", "c"} {
			o.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+"}", "apiVersion: v1\nkind: Secret\nmetadata: {name: "+name+"}",
				"apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: "+name+"}",
				"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: "+name+"}",
				"apiVersion: v1\nkind: Event\nmetadata: {name: "+name+"}\ninvolvedObject: {namespace: NS}")
		}
		o.apply("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 0, selector: {matchLabels: {a: b}}, "+
			"template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}",
			"apiVersion: v1\nkind: ReplicationController\nmetadata: {name: r}\nspec: {replicas: 0, selector: {a: b}, "+
				"template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}",
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}")
		o.remove("v1", "ConfigMap", "b")
		o.remove("v1", "Secret", "c")
		o.patch("v1", "ConfigMap", "a", heldPatch)
		o.remove("v1", "ConfigMap", "a")
	},
	"objects before their quota": func(o quotaSpace) {
		for i := range 7 {
			o.apply(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}", i), podText(fmt.Sprintf("p%d", i), "", smallPod))
		}
		o.apply(inBytes(quotaText("late", "", "configmaps", "pods", "requests.cpu", "requests.memory")))
	},
	"pods": func(o quotaSpace) {
		o.apply("apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: NS}\nhandler: h\noverhead: {podFixed: {cpu: 250m, memory: 120Mi}}")
		o.apply(podText("small", "", smallPod), podText("large", "", largePod), podText("nothing", "", ""),
			podText("limited", "", "limits: {cpu: 300m, memory: 100M}"),
			podText("huge", "", "requests: {cpu: 1m, memory: 1Mi, hugepages-2Mi: 4Mi}, limits: {hugepages-2Mi: 4Mi}"),
			podText("gpu", "", "requests: {example.com/gpu: 2}, limits: {example.com/gpu: 2}"),
			podText("overhead", "runtimeClassName: NS, overhead: {cpu: 250m, memory: 120Mi}", smallPod),
			podText("init", "initContainers: [{name: a, image: i, resources: {requests: {cpu: '3', memory: 1Mi}}}]", smallPod),
			podText("sidecar", "initContainers: [{name: a, image: i, restartPolicy: Always, resources: {requests: {cpu: 20m}, limits: {cpu: 50m}}}, "+
				"{name: b, image: i, resources: {requests: {cpu: 90m}}}]", smallPod),
			podText("level", "resources: {requests: {cpu: 700m, memory: 300Mi}, limits: {cpu: 900m}}", smallPod), podText("gone", "", largePod))
		// A quota of limits refuses pods without.
		o.apply(inBytes(quotaText("all", "", podResources...)))
		o.remove("v1", "Pod", "gone")
	},
	"pods that have ended": func(o quotaSpace) {
		o.apply(inBytes(quotaText("all", "", "pods", "count/pods", "requests.cpu", "requests.memory")))
		for _, phase := range []string{"Succeeded", "Failed", "Running", "Pending", "Unknown"} {
			o.apply(podText(strings.ToLower(phase), "", smallPod) + statusText("phase: "+phase))
		}
		o.apply(podText("leaving", "terminationGracePeriodSeconds: 1", smallPod), podText("left", "terminationGracePeriodSeconds: 0", smallPod),
			podText("slow", "terminationGracePeriodSeconds: 500", smallPod))
		for _, name := range []string{"leaving", "left", "slow"} {
			o.patch("v1", "Pod", name, heldPatch)
			o.remove("v1", "Pod", name)
		}
		o.apply(podText("gone", "", smallPod))
		o.remove("v1", "Pod", "gone")
	},
	"pods in several scopes": func(o quotaSpace) {
		o.apply("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: gold-NS}\nvalue: 1000",
			"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: tin-NS}\nvalue: 10")
		for _, scope := range []string{"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"} {
			names := []string{"pods", "count/pods", "count/configmaps", "requests.cpu", "requests.example.com/gpu"}
			if scope == "BestEffort" {
				names = []string{"pods", "count/pods", "requests.example.com/gpu"}
			}
			o.apply(quotaText("scope-"+strings.ToLower(scope), "  scopes: ["+scope+"]", names...))
		}
		for name, expression := range map[string]string{
			"in": "operator: In, values: [gold-NS]", "not-in": "operator: NotIn, values: [gold-NS]", "exists": "operator: Exists",
			"not": "operator: DoesNotExist", "in-two": "operator: In, values: [tin-NS, gold-NS]", "in-other": "operator: In, values: [other]",
		} {
			o.apply(quotaText("class-"+name, "  scopeSelector: {matchExpressions: [{scopeName: PriorityClass, "+expression+"}]}", "pods", "requests.cpu"))
		}
		o.apply(quotaText("both", "  scopes: [NotBestEffort]\n  scopeSelector: {matchExpressions: [{scopeName: Terminating, operator: Exists}, "+
			"{scopeName: PriorityClass, operator: In, values: [gold-NS]}]}", "pods", "requests.cpu"))
		o.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}")
		affinity := func(kind, namespaces string) string {
			return "affinity: {" + kind + ": {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, labelSelector: {}" + namespaces + "}]}}"
		}
		// Only the scopes that require it refuse pods without requests, so each has some.
		o.apply(podText("plain", "", "requests: {cpu: 1m}"), podText("gold", "priorityClassName: gold-NS", "requests: {cpu: 2m}"),
			podText("tin", "priorityClassName: tin-NS, activeDeadlineSeconds: 900", "requests: {cpu: 4m}"),
			podText("gold-dead", "priorityClassName: gold-NS, activeDeadlineSeconds: 900", "requests: {cpu: 8m}"),
			podText("near", affinity("podAffinity", ", namespaces: [other]"), "requests: {cpu: 16m}"),
			podText("far", affinity("podAntiAffinity", ", namespaceSelector: {}"), "requests: {cpu: 32m}"),
			podText("home", affinity("podAffinity", ""), "requests: {cpu: 64m}"),
			podText("weighted", "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: "+
				"{topologyKey: a, namespaces: [other]}}]}}", "requests: {cpu: 128m}"),
			podText("limited", "", "limits: {cpu: 256m}"))
		o.patch("v1", "Pod", "plain", `{"spec":{"activeDeadlineSeconds":900}}`)
	},
	"pods without requests": func(o quotaSpace) {
		o.apply(quotaText("best", "  scopes: [BestEffort]", "pods"), quotaText("others", "  scopes: [NotBestEffort]", "pods"), quotaText("all", "", "pods"))
		o.apply(podText("a", "", ""), podText("b", "", ""), podText("memory", "", "requests: {memory: 1Mi}"), podText("gpu", "", "limits: {example.com/gpu: 1}"),
			podText("zero", "", "requests: {cpu: 0}"), podText("guaranteed", "", "limits: {cpu: 1, memory: 1Mi}"))
	},
	"services": func(o quotaSpace) {
		o.apply(quotaText("all", "", "services", "count/services", "services.nodeports", "services.loadbalancers"))
		o.apply(quotaText("scoped", "  scopes: [NotBestEffort]", "pods", "count/services"))
		service := func(name, spec string) string {
			return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {" + spec + "}"
		}
		two := "ports: [{name: a, port: 80}, {name: b, port: 81}]"
		o.apply(service("plain", two), service("headless", "clusterIP: None, "+two), service("external", "type: ExternalName, externalName: a.example.com"),
			service("ports", "type: NodePort, "+two), service("balanced", "type: LoadBalancer, "+two),
			service("some", "type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{name: a, port: 80, nodePort: 32023}, {name: b, port: 81}]"),
			service("becomes", two), service("was", "type: NodePort, "+two), service("gone", "type: LoadBalancer, "+two))
		o.patch("v1", "Service", "becomes", `{"spec":{"type":"LoadBalancer"}}`)
		o.patch("v1", "Service", "was", `{"spec":{"type":"ClusterIP"}}`)
		o.remove("v1", "Service", "gone")
	},
	"claims": func(o quotaSpace) {
		o.apply(inBytes(quotaText("all", "", "persistentvolumeclaims", "count/persistentvolumeclaims", "requests.storage",
			"gold.storageclass.storage.k8s.io/requests.storage", "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
			"tin.storageclass.storage.k8s.io/requests.storage", "tin.storageclass.storage.k8s.io/persistentvolumeclaims",
			"none.storageclass.storage.k8s.io/requests.storage", "requests.odd.storageclass.storage.k8s.io/requests.storage")))
		for name, expression := range map[string]string{"fast": "operator: In, values: [fast]", "not-fast": "operator: NotIn, values: [fast]",
			"any": "operator: Exists", "not": "operator: DoesNotExist"} {
			o.apply(inBytes(quotaText("volume-"+name, "  scopeSelector: {matchExpressions: [{scopeName: VolumeAttributesClass, "+expression+"}]}",
				"persistentvolumeclaims", "requests.storage")))
		}
		claim := func(name, rest, annotations, storage string) string {
			return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + annotations + "}\nspec: {accessModes: [ReadWriteOnce], " +
				"resources: {requests: {storage: " + storage + "}}" + rest + "}"
		}
		o.apply(claim("plain", ", storageClassName: ''", "", "1Gi"), claim("gold", ", storageClassName: gold", "", "2Gi"), claim("odd", ", storageClassName: requests.odd", "", "32Gi"),
			claim("annotated", "", ", annotations: {volume.beta.kubernetes.io/storage-class: tin}", "4Gi"),
			claim("fast", ", storageClassName: gold, volumeAttributesClassName: fast", "", "8Gi"),
			claim("changing", ", storageClassName: gold, volumeAttributesClassName: slow", "", "16Gi")+
				statusText("phase: Bound, currentVolumeAttributesClassName: slow, modifyVolumeStatus: {targetVolumeAttributesClassName: fast, status: Pending}"),
			claim("given", ", storageClassName: tin", "", "1Mi")+statusText("phase: Bound, allocatedResources: {storage: 64Gi}"),
			claim("part", ", storageClassName: tin", "", "1500m"), claim("gone", ", storageClassName: gold", "", "999Gi"))
		o.patch("v1", "PersistentVolumeClaim", "gone", `{"metadata":{"finalizers":null}}`)
		o.remove("v1", "PersistentVolumeClaim", "gone")
	},
	"devices": func(o quotaSpace) {
		o.apply(quotaText("all", "", "count/resourceclaims.resource.k8s.io", "gold.deviceclass.resource.k8s.io/devices",
			"tin.deviceclass.resource.k8s.io/devices", "none.deviceclass.resource.k8s.io/devices", "requests.deviceclass.resource.kubernetes.io/gold"))
		claim := func(name, requests string) string {
			return "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: " + name + "}\nspec: {devices: {requests: [" + requests + "]}}"
		}
		o.apply(claim("one", "{name: a, exactly: {deviceClassName: gold}}"),
			claim("many", "{name: a, exactly: {deviceClassName: gold, allocationMode: ExactCount, count: 5}}, {name: b, exactly: {deviceClassName: tin, count: 2}}"),
			claim("all", "{name: a, exactly: {deviceClassName: tin, allocationMode: All}}"),
			claim("first", "{name: a, firstAvailable: [{name: i, deviceClassName: gold, count: 3}, {name: j, deviceClassName: tin, count: 4}, {name: k, deviceClassName: gold, count: 7}]}"))
	},
	"custom resources": func(o quotaSpace) {
		o.apply("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.NS.example.com}\n" +
			"spec: {group: NS.example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}, versions: " +
			"[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}")
		for _, name := range []string{"a", "b", "c"} {
			o.eventually("apiVersion: NS.example.com/v1\nkind: Widget\nmetadata: {name: " + name + "}")
		}
		o.apply(quotaText("all", "", "count/widgets.NS.example.com", "count/gadgets.NS.example.com"))
		o.remove(o.namespace+".example.com/v1", "Widget", "b")
	},
	"a quota changes": func(o quotaSpace) {
		o.apply(quotaText("all", "", "configmaps", "pods", "secrets"), quotaText("nothing", "", "count/none"), quotaText("gone", "", "pods"))
		o.apply(podText("a", "", smallPod), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}")
		o.patch("v1", "ResourceQuota", "all", `{"spec":{"hard":{"pods":"0","secrets":null,"requests.cpu":"2","configmaps":"1e3"}}}`)
		o.remove("v1", "ResourceQuota", "gone")
		o.apply(quotaText("gone", "", "requests.memory"))
	},
}

// TestQuotaUpstream plays scenes, and waits for what the quotas say with a kube-apiserver v1.37.1 and its kube-controller-manager.
func TestQuotaUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{
		Answers: "resourcequota.json",
		Play:    map[string]func(*controllertest.Stage){},
		State:   func(s *controllertest.Stage) []string { return quotaSpace{s.Clients, s.T, s.Namespace}.state() },
		// Upstream looks for new resources every 30 s.
		Quiet: 35 * time.Second,
	}
	for name, play := range quotaScenes {
		all.Play[name] = func(s *controllertest.Stage) { play(quotaSpace{s.Clients, s.T, s.Namespace}) }
	}
	all.Compare(t, func(t *testing.T) controllertest.Clients {
		clients, _ := serveQuota(t, "")
		return clients
	})
}
