package pod

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	declaration = builtin.Declare(Resource)

	rules, tables, statusRules = declaration.Strategy(), declaration.Table(), declaration.StatusStrategy()
)

func parse(t testing.TB, manifest string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(manifest), pod); err != nil {
		t.Fatalf("%v in\n%s", err, manifest)
	}
	if pod.Name == "" {
		pod.Name, pod.Namespace, pod.ResourceVersion = "p", "default", "1"
	}
	if len(pod.Spec.Containers) == 0 {
		pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	}
	podspec.SetDefaultsPod(pod)
	return pod
}

func messages(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

func TestValidateCreate(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  string
		want []string
	}{
		"right": {"{}", nil},
		"name":  {"metadata: {name: A_, namespace: default}", []string{`metadata.name: Invalid value: "A_": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		"image with space": {"spec: {containers: [{name: c, image: 'i '}]}", []string{
			`spec.containers[0].image: Invalid value: "i ": must not have leading or trailing whitespace`}},
		"ephemeral containers": {"spec: {ephemeralContainers: [{name: e, image: i}]}", []string{
			`spec.ephemeralContainers: Forbidden: cannot be set on create`}},
		"gated on a node": {"spec: {nodeName: n, schedulingGates: [{name: g}]}", []string{
			`spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared`}},
		"token without account": {"spec: {volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}", []string{
			`spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := messages(rules.Validate(context.Background(), parse(t, tc.pod)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const mayNotChange = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"

func TestValidateUpdate(t *testing.T) {
	gated := "schedulingGates: [{name: g}]"
	required := func(y string) string {
		return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + y + "]}}}"
	}
	for name, tc := range map[string]struct {
		old, new string
		// want are the errors; one that ends in a newline is followed by a difference in the real one.
		want []string
	}{
		"nothing":         {"", "", nil},
		"images":          {"", "containers: [{name: c, image: j}]", nil},
		"no image":        {"", "containers: [{name: c}]", []string{`spec.containers[0].image: Required value`, `spec.containers[0].image: Required value`}},
		"more containers": {"", "containers: [{name: c, image: i}, {name: d, image: i}]", []string{`spec.containers: Forbidden: pod updates may not add or remove containers`}},
		"env":             {"", "containers: [{name: c, image: i, env: [{name: A}]}]", []string{mayNotChange}},
		"node":            {"", "nodeName: n", []string{mayNotChange}},
		"deadline set":    {"", "activeDeadlineSeconds: 5", nil},
		"deadline sooner": {"activeDeadlineSeconds: 5", "activeDeadlineSeconds: 4", nil},
		"deadline later":  {"activeDeadlineSeconds: 5", "activeDeadlineSeconds: 6", []string{`spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value`}},
		"deadline unset":  {"activeDeadlineSeconds: 5", "", []string{`spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value`}},
		"toleration more": {"tolerations: [{key: a}]", "tolerations: [{key: a}, {key: b}]", nil},
		"toleration time": {"tolerations: [{key: a, effect: NoExecute, tolerationSeconds: 1}]", "tolerations: [{key: a, effect: NoExecute, tolerationSeconds: 2}]", nil},
		"toleration less": {"tolerations: [{key: a}]", "", []string{`spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds`}},
		"grace to 1":      {"terminationGracePeriodSeconds: -1", "terminationGracePeriodSeconds: 1", nil},
		"grace":           {"terminationGracePeriodSeconds: 5", "terminationGracePeriodSeconds: 1", []string{mayNotChange}},
		"gate gone":       {gated, "", nil},
		"gate new":        {gated, "schedulingGates: [{name: g}, {name: h}]", []string{`spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'`}},
		"gated, selector": {gated, gated + "\nnodeSelector: {a: b}", nil},
		"gated, selector gone": {gated + "\nnodeSelector: {a: b}", gated, []string{
			`spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed (no mutations or deletions)`}},
		"selector":              {"", "nodeSelector: {a: b}", []string{mayNotChange}},
		"gated, affinity":       {gated, gated + "\n" + required("{matchExpressions: [{key: a, operator: Exists}]}"), nil},
		"gated, affinity added": {gated + "\n" + required("{matchExpressions: [{key: a, operator: Exists}]}"), gated + "\n" + required("{matchExpressions: [{key: a, operator: Exists}, {key: b, operator: Exists}]}"), nil},
		"gated, affinity changed": {gated + "\n" + required("{matchExpressions: [{key: a, operator: Exists}]}"), gated + "\n" + required("{matchExpressions: [{key: b, operator: Exists}]}"), []string{
			`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: {"matchExpressions":[{"key":"b","operator":"Exists"}]}: only additions are allowed (no mutations or deletions)`}},
		"gated, affinity gone": {gated + "\n" + required("{matchExpressions: [{key: a, operator: Exists}]}"), gated, []string{
			`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed`}},
	} {
		t.Run(name, func(t *testing.T) {
			old, pod := &corev1.Pod{}, &corev1.Pod{}
			for _, p := range []struct {
				pod  *corev1.Pod
				spec string
			}{{old, tc.old}, {pod, tc.new}} {
				p.pod.Name, p.pod.Namespace, p.pod.ResourceVersion = "p", "default", "1"
				if err := yaml.UnmarshalStrict([]byte(p.spec), &p.pod.Spec); err != nil {
					t.Fatal(err)
				}
				if len(p.pod.Spec.Containers) == 0 {
					p.pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
				}
				podspec.SetDefaultsPod(p.pod)
			}
			pod.Spec.Containers[0].ImagePullPolicy = old.Spec.Containers[0].ImagePullPolicy
			got := messages(rules.ValidateUpdate(context.Background(), pod, old))
			for i := range got {
				if i < len(tc.want) && strings.HasSuffix(tc.want[i], "\n") && len(got[i]) > len(tc.want[i]) {
					got[i] = got[i][:len(tc.want[i])]
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateAnnotationUpdate(t *testing.T) {
	old := parse(t, "metadata: {name: p, namespace: default, resourceVersion: '1', annotations: {kubernetes.io/config.mirror: a, container.apparmor.security.beta.kubernetes.io/c: runtime/default, x: z}}\nspec: {nodeName: n}")
	pod := old.DeepCopy()
	delete(pod.Annotations, "kubernetes.io/config.mirror")
	pod.Annotations["x"] = "other"
	if diff := cmp.Diff([]string{`metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation`},
		messages(rules.ValidateUpdate(context.Background(), pod, old))); diff != "" {
		t.Error(diff)
	}
	old.Annotations = map[string]string{}
	pod.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/c": "runtime/default"}
	if diff := cmp.Diff([]string{`metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Forbidden: may not add AppArmor annotations`},
		messages(rules.ValidateUpdate(context.Background(), pod, old))); diff != "" {
		t.Error(diff)
	}
}

func TestValidateStatusUpdate(t *testing.T) {
	for name, tc := range map[string]struct {
		spec, old, new string
		want           []string
	}{
		"right": {"{}", "{}", "{phase: Running, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: 'fd00::1'}], hostIP: 1.1.1.1, hostIPs: [{ip: 1.1.1.1}]}", nil},
		"ips": {"{}", "{}", "{podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.1}], hostIP: 1.1.1.1, hostIPs: [{ip: 1.1.1.2}]}", []string{
			`status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.1"}]: may specify no more than one IP for each IP family`,
			"status.hostIPs[0].ip: Invalid value: \"1.1.1.2\": must be equal to `hostIP`"}},
		"qos":       {"{}", "{qosClass: BestEffort}", "{qosClass: Burstable}", []string{`status.qosClass: Invalid value: "Burstable": field is immutable`}},
		"nominated": {"{}", "{}", "{nominatedNodeName: A_}", []string{`status.nominatedNodeName: Invalid value: "A_": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		"condition": {"{}", "{}", "{conditions: [{type: '', status: 'True'}]}", []string{
			`status.conditions[0].Type: Invalid value: "": name part must be non-empty`,
			`status.conditions[0].Type: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		"runs again": {"{restartPolicy: Never}", "{containerStatuses: [{name: c, state: {terminated: {exitCode: 1}}}]}", "{containerStatuses: [{name: c, state: {running: {}}}]}", []string{
			`status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`}},
		"runs again, as it may": {"{restartPolicy: OnFailure}", "{containerStatuses: [{name: c, state: {terminated: {exitCode: 1}}}]}", "{containerStatuses: [{name: c, state: {running: {}}}]}", nil},
		"claims": {"{resourceClaims: [{name: a, resourceClaimName: x}]}", "{}", "{resourceClaimStatuses: [{name: a}, {name: a}, {name: b}]}", []string{
			`status.resourceClaimStatuses[1].name: Duplicate value: "a"`,
			"status.resourceClaimStatuses[2].name: Invalid value: \"b\": must match the name of an entry in `spec.resourceClaims`"}},
		"nominated, on a node": {"{nodeName: n}", "{}", "{nominatedNodeName: n}", []string{
			`status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node`}},
		"user": {"{}", "{}", "{containerStatuses: [{name: c, user: {linux: {uid: 4294967295, gid: -1, supplementalGroups: [1]}}}]}", []string{
			`status.containerStatuses[0].user.linux.gid: Invalid value: -1: must be between 0 and 2147483647, inclusive`}},
		"user of Windows": {"{os: {name: windows}}", "{}", "{initContainerStatuses: [{name: c, user: {linux: {uid: 0, gid: 0}}}]}", []string{
			`status.initContainerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod`}},
		"devices": {"{containers: [{name: c, resources: {claims: [{name: a}, {name: b, request: r}], requests: {example.com/gpu: 1}}}]}", "{}",
			"{containerStatuses: [{name: c, allocatedResourcesStatus: [{name: 'claim:a'}, {name: 'claim:b/r'}, {name: example.com/gpu}, {name: 'claim:b'}, {name: cpu, resources: [{resourceID: x, health: Healthy}, {resourceID: x, health: Ill, message: ''}]}]}]}", []string{
				`status.containerStatuses[0].allocatedResourcesStatus[3].name: Invalid value: "claim:b": must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty`,
				`status.containerStatuses[0].allocatedResourcesStatus[4].name: Invalid value: "cpu": must match one of the container's resource requests`,
				`status.containerStatuses[0].allocatedResourcesStatus[4].resources[1].health: Unsupported value: "Ill": supported values: "Healthy", "Unhealthy", "Unknown"`,
				`status.containerStatuses[0].allocatedResourcesStatus[4].resources[1].message: Required value: must be non-empty if specified`,
				`status.containerStatuses[0].allocatedResourcesStatus[4].resources[1].resourceID: Duplicate value: "x"`}},
		"device of an extended resource": {"{containers: [{name: c, resources: {requests: {example.com/gpu: 1}}}]}", "{}",
			"{extendedResourceClaimStatus: {resourceClaimName: x, requestMappings: [{containerName: c, resourceName: example.com/gpu, requestName: r}]}, containerStatuses: [{name: c, allocatedResourcesStatus: [{name: 'claim:x/r'}]}]}", nil},
		"extended resources": {"{containers: [{name: c}]}", "{}",
			"{extendedResourceClaimStatus: {resourceClaimName: '', requestMappings: [{containerName: d, resourceName: a, requestName: R}, {containerName: c, resourceName: a, requestName: r}, {containerName: c, resourceName: a, requestName: r}]}}", []string{
				`status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "d": must match the name of an entry in spec.initContainers.name or spec.containers.name`,
				`status.extendedResourceClaimStatus.requestName: Invalid value: "R": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
				`status.extendedResourceClaimStatus.requestMappings[1].resourceName: Invalid value: "a": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests`,
				`status.extendedResourceClaimStatus.requestMappings[2].resourceName: Invalid value: "a": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests`,
				`status.extendedResourceClaimStatus.requestMappings[2].containerName: Duplicate value: "c"`,
				`status.extendedResourceClaimStatus.requestMappings[2].resourceName: Duplicate value: "a"`,
				`status.extendedResourceClaimStatus.requestMappings[2].requestName: Duplicate value: "r"`,
				`status.extendedResourceClaimStatus.resourceClaimName: Required value`}},
	} {
		t.Run(name, func(t *testing.T) {
			old := parse(t, "spec: "+tc.spec+"\nstatus: "+tc.old)
			pod := parse(t, "spec: "+tc.spec+"\nstatus: "+tc.new)
			got := messages(statusRules.ValidateUpdate(context.Background(), pod, old))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQOSClass(t *testing.T) {
	for spec, want := range map[string]corev1.PodQOSClass{
		"{}": corev1.PodQOSBestEffort,
		"{containers: [{name: c, image: i, resources: {requests: {example.com/x: 1}}}]}":                                                                      corev1.PodQOSBestEffort,
		"{containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}":                                                                                corev1.PodQOSBurstable,
		"{containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1}}}]}":                                                                       corev1.PodQOSGuaranteed,
		"{containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1}, requests: {cpu: 500m}}}]}":                                                corev1.PodQOSBurstable,
		"{containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1}}}, {name: d, image: i}]}":                                                  corev1.PodQOSBurstable,
		"{resources: {limits: {cpu: 1, memory: 1}}}":                                                                                                          corev1.PodQOSGuaranteed,
		"{resources: {requests: {cpu: 1}}}":                                                                                                                   corev1.PodQOSBurstable,
		"{initContainers: [{name: j, image: i}], containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1}}}]}":                                corev1.PodQOSBurstable,
		"{initContainers: [{name: j, image: i, resources: {limits: {cpu: 1, memory: 1}}}], containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}": corev1.PodQOSBurstable,
	} {
		pod := parse(t, "spec: "+spec)
		podspec.CompletePodResources(&pod.Spec)
		if got := QOSClass(&pod.Spec); got != want {
			t.Errorf("%s: got %s, want %s", spec, got, want)
		}
	}
}

func TestPrepareForCreate(t *testing.T) {
	pod := parse(t, `metadata: {name: p, namespace: default, labels: {app: a, tier: b}, annotations: {container.apparmor.security.beta.kubernetes.io/d: localhost/x}}
spec:
  containers: [{name: c, image: i, securityContext: {appArmorProfile: {type: Unconfined}}}, {name: d, image: i}]
  schedulingGates: [{name: g}]
  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t, matchLabelKeys: [app, none], mismatchLabelKeys: [tier], labelSelector: {}}]}}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: t, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [app], labelSelector: {}}]`)
	recorder := &recorder{}
	rules.PrepareForCreate(warning.WithWarningRecorder(context.Background(), recorder), pod)

	if c := pod.Status.Conditions; len(c) != 1 || c[0].Type != corev1.PodScheduled || c[0].Reason != "SchedulingGated" {
		t.Errorf("conditions of a gated pod: %+v", c)
	}
	in := metav1.LabelSelectorRequirement{Key: "app", Operator: "In", Values: []string{"a"}}
	notIn := metav1.LabelSelectorRequirement{Key: "tier", Operator: "NotIn", Values: []string{"b"}}
	term := pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	if diff := cmp.Diff([]metav1.LabelSelectorRequirement{in, notIn}, term.LabelSelector.MatchExpressions); diff != "" {
		t.Errorf("affinity: %s", diff)
	}
	if diff := cmp.Diff([]metav1.LabelSelectorRequirement{in}, pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions); diff != "" {
		t.Errorf("topology spread: %s", diff)
	}
	if got, ok := pod.Annotations["container.apparmor.security.beta.kubernetes.io/c"]; ok {
		t.Errorf("annotation of a profile in a field: %q", got)
	}
	if got := pod.Spec.Containers[1].SecurityContext.AppArmorProfile; got == nil || *got.LocalhostProfile != "x" {
		t.Errorf("field of a profile in an annotation: %+v", got)
	}
	want := []string{`metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: deprecated since v1.30; use the "appArmorProfile" field instead`}
	if diff := cmp.Diff(want, recorder.texts); diff != "" {
		t.Error(diff)
	}
	if errs := rules.Validate(context.Background(), pod); len(errs) > 0 {
		t.Errorf("no longer valid: %v", errs)
	}
}

type recorder struct{ texts []string }

func (r *recorder) AddWarning(_, text string) { r.texts = append(r.texts, text) }

func TestWarningsOnCreate(t *testing.T) {
	pod := parse(t, "metadata: {name: a.b, namespace: default}")
	got := rules.WarningsOnCreate(context.Background(), pod)
	if len(got) != 1 || !strings.HasPrefix(got[0], "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [") {
		t.Errorf("got %q", got)
	}
}

func TestKeepObservedGenerations(t *testing.T) {
	old := corev1.PodStatus{ObservedGeneration: 3, Conditions: []corev1.PodCondition{{Type: "a", ObservedGeneration: 1}, {Type: "a", ObservedGeneration: 2}}}
	status := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "a"}, {Type: "b"}, {Type: "a", ObservedGeneration: 5}}}
	keepObservedGenerations(&status, &old)
	want := corev1.PodStatus{ObservedGeneration: 3, Conditions: []corev1.PodCondition{{Type: "a", ObservedGeneration: 1}, {Type: "b"}, {Type: "a", ObservedGeneration: 5}}}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Error(diff)
	}
}

// TestUpdateQuotesWhatChanged has the difference in the words of the Kubernetes API server: lines of the JSON of its own type.
func TestUpdateQuotesWhatChanged(t *testing.T) {
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", ResourceVersion: "1"}}
	old.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	podspec.SetDefaultsPod(old)
	pod := old.DeepCopy()
	pod.Spec.NodeName = "n"
	const want = mayNotChange + `@@ -43,7 +43,7 @@
  "ServiceAccountName": "",
  "DeprecatedServiceAccount": "",
  "AutomountServiceAccountToken": null,
- "NodeName": "",
+ "NodeName": "n",
  "HostNetwork": false,
  "HostPID": false,
  "HostIPC": false,
`
	if diff := cmp.Diff([]string{want}, messages(rules.ValidateUpdate(context.Background(), pod, old))); diff != "" {
		t.Error(diff)
	}
}
