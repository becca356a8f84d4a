package podspec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

const (
	labelRule     = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`
	subdomainRule = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	portRule      = `must be between 1 and 65535, inclusive`
	fileModeRule  = `must be a number between 0 and 0777 (octal), both inclusive`
	negative      = `must be greater than or equal to 0`
)

// specCase is a spec in YAML and what is wrong with it.
type specCase struct {
	name string
	spec string
	want []string
}

// c is a spec with one container, whose YAML is given, one line each.
func c(lines ...string) string {
	return "containers: [{name: c, image: i, " + strings.Join(lines, ", ") + "}]"
}

// with is a spec with a container that is right, and more.
func with(lines ...string) string {
	return "containers: [{name: c, image: i}]\n" + strings.Join(lines, "\n")
}

// mounted is a spec with volumes, all of them right, and a container that mounts them as given.
func mounted(mounts string) string {
	return `volumes: [{name: v}, {name: w}, {name: img, image: {reference: r}}, {name: pvc, persistentVolumeClaim: {claimName: p}}]
containers: [{name: c, image: i, ` + mounts + `}]`
}

// volume is a spec with one volume.
func volume(source string) string { return with("volumes: [{name: v, " + source + "}]") }

func parse(t testing.TB, spec string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace = "p", "default"
	if err := yaml.UnmarshalStrict([]byte(spec), &pod.Spec); err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	return pod
}

func run(t *testing.T, cases []specCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			pod := parse(t, tc.spec)
			SetDefaultsPod(pod)
			before := pod.DeepCopy()
			got := messages(ValidatePodSpec(&pod.Spec, &pod.ObjectMeta, field.NewPath("spec"), Options{Pod: true}))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, pod); diff != "" {
				t.Errorf("validation modified the pod: %s", diff)
			}
		})
	}
}

func messages(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

func TestValidateSpec(t *testing.T) {
	run(t, []specCase{
		{"right", with(), nil},
		{"no containers", "{}", []string{`spec.containers: Required value`}},
		{"restart policy", with("restartPolicy: Sometimes"), []string{
			`spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"`}},
		{"dns policy", with("dnsPolicy: Nope"), []string{
			`spec.dnsPolicy: Unsupported value: "Nope": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"`}},
		{"dns none without config", with("dnsPolicy: None"), []string{
			"spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"}},
		{"dns none without servers", with("dnsPolicy: None", "dnsConfig: {}"), []string{
			"spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"}},
		{"dns config", with("dnsConfig: {nameservers: [1.1.1.1, x, 2.2.2.2, 3.3.3.3], searches: [a_b.c., ., 'a b'], options: [{value: '1'}]}"), []string{
			`spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","x","2.2.2.2","3.3.3.3"]: must not have more than 3 nameservers`,
			`spec.dnsConfig.nameservers[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
			`spec.dnsConfig.searches[2]: Invalid value: "a b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')`,
			`spec.dnsConfig.options[0]: Required value: must not be empty`}},
		{"deadline", with("activeDeadlineSeconds: 0"), []string{
			`spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive`}},
		{"names", with("serviceAccountName: A", "nodeName: B", "hostname: C", "subdomain: D", "priorityClassName: E", "runtimeClassName: ''"), []string{
			`spec.serviceAccountName: Invalid value: "A": ` + subdomainRule,
			`spec.nodeName: Invalid value: "B": ` + subdomainRule,
			`spec.hostname: Invalid value: "C": ` + labelRule,
			`spec.subdomain: Invalid value: "D": ` + labelRule,
			`spec.priorityClassName: Invalid value: "E": ` + subdomainRule,
			`spec.runtimeClassName: Invalid value: "": ` + subdomainRule}},
		{"node selector", with("nodeSelector: {'a b': c}"), []string{
			`spec.nodeSelector: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{"host aliases", with("hostAliases: [{ip: 999.1.1.1, hostnames: [A]}]"), []string{
			`spec.hostAliases[0].ip: Invalid value: "999.1.1.1": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
			`spec.hostAliases[0].hostnames[0]: Invalid value: "A": ` + subdomainRule}},
		{"readiness gate", with("readinessGates: [{conditionType: ''}]"), []string{
			`spec.readinessGates[0].conditionType: Invalid value: "": name part must be non-empty`,
			`spec.readinessGates[0].conditionType: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{"scheduling gates", with("schedulingGates: [{name: a}, {name: a}]"), []string{`spec.schedulingGates[1]: Duplicate value: "a"`}},
		{"preemption policy", with("preemptionPolicy: Maybe"), []string{
			`spec.preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"`}},
		{"overhead", with("overhead: {cpu: -1}"), []string{`spec.overhead.limits[cpu]: Invalid value: "-1": ` + negative}},
		{"claims", with("resourceClaims: [{name: A}, {name: b, resourceClaimName: x, resourceClaimTemplateName: z}, {name: b, resourceClaimName: X}]"), []string{
			`spec.resourceClaims[0].name: Invalid value: "A": ` + labelRule,
			"spec.resourceClaims[0]: Invalid value: {\"Name\":\"A\",\"ResourceClaimName\":null,\"ResourceClaimTemplateName\":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
			"spec.resourceClaims[1]: Invalid value: {\"Name\":\"b\",\"ResourceClaimName\":\"x\",\"ResourceClaimTemplateName\":\"z\"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
			`spec.resourceClaims[2].name: Duplicate value: "b"`,
			`spec.resourceClaims[2].resourceClaimName: Invalid value: "X": ` + subdomainRule}},
		{"host users", with("hostUsers: false", "hostNetwork: true", "hostPID: true"), []string{
			"spec.hostNetwork: Forbidden: when `hostUsers` is false",
			"spec.HostPID: Forbidden: when `hostUsers` is false"}},
		{"hostname override", with("hostname: a", "hostNetwork: true", "hostnameOverride: b"), []string{
			`spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true`}},
		{"pod resources", with("resources: {limits: {cpu: 1, example.com/x: 1}, requests: {cpu: 2}}"), []string{
			`spec.resources.limits[example.com/x]: Unsupported value: "example.com/x": supported values: "cpu", "hugepages-", "memory"`,
			`spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`}},
		{"pod resources below containers'", c("resources: {requests: {cpu: 2}, limits: {cpu: 3}}") + "\nresources: {limits: {cpu: 1}, requests: {cpu: 1}}", []string{
			`spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2`,
			`spec.resources.containers[0][cpu].limits: Invalid value: "3": must be less than or equal to pod limits of 1`}},
	})
}

func TestValidateContainers(t *testing.T) {
	run(t, []specCase{
		{"no name, no image", "containers: [{}]", []string{
			`spec.containers[0].name: Required value`, `spec.containers[0].image: Required value`}},
		{"bad name", "containers: [{name: A, image: i}]", []string{`spec.containers[0].name: Invalid value: "A": ` + labelRule}},
		{"same name", "containers: [{name: c, image: i}, {name: c, image: i}]\ninitContainers: [{name: c, image: i}]", []string{
			`spec.containers[1].name: Duplicate value: "c"`, `spec.initContainers[0].name: Duplicate value: "c"`}},
		{"policies", c("imagePullPolicy: Soon", "terminationMessagePolicy: Never"), []string{
			`spec.containers[0].terminationMessagePolicy: Unsupported value: "Never": supported values: "File", "FallbackToLogsOnError"`,
			`spec.containers[0].imagePullPolicy: Unsupported value: "Soon": supported values: "Always", "IfNotPresent", "Never"`}},
		{"ports", c("ports: [{name: a, containerPort: 1}, {name: a, containerPort: 70000, hostPort: -1, protocol: ICMP}, {name: toolongforaportsname}]"), []string{
			`spec.containers[0].ports[1].name: Duplicate value: "a"`,
			`spec.containers[0].ports[1].containerPort: Invalid value: 70000: ` + portRule,
			`spec.containers[0].ports[1].hostPort: Invalid value: -1: ` + portRule,
			`spec.containers[0].ports[1].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"`,
			`spec.containers[0].ports[2].name: Invalid value: "toolongforaportsname": must be no more than 15 characters`,
			`spec.containers[0].ports[2].containerPort: Required value`}},
		{"host port taken", c("ports: [{containerPort: 1, hostPort: 80}, {containerPort: 2, hostPort: 80}, {containerPort: 3, hostPort: 80, protocol: UDP}]"), []string{
			`spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//80"`}},
		{"host network port", c("ports: [{containerPort: 1, hostPort: 2}]") + "\nhostNetwork: true", []string{
			"spec.containers[0].ports[0].hostPort: Invalid value: 2: must match `containerPort` when `hostNetwork` is true"}},
		{"init container with probe", with("initContainers: [{name: i, image: i, livenessProbe: {exec: {command: [a]}}, lifecycle: {}}]"), []string{
			`spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always`,
			`spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always`}},
		{"sidecar with probe", with("initContainers: [{name: i, image: i, restartPolicy: Always, livenessProbe: {exec: {command: [a]}}}]"), nil},
		{"restart rules", c("restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]"), []string{
			`spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used`}},
		{"bad restart rules", c("restartPolicy: Never", "restartPolicyRules: [{action: Stop, exitCodes: {operator: Equals, values: [1]}}]"), []string{
			`spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Stop": supported values: "Restart", "RestartAllContainers"`,
			`spec.containers[0].restartPolicyRules[0].exitCodes.operator: Unsupported value: "Equals": supported values: "In", "NotIn"`}},
		{"ephemeral container", with("ephemeralContainers: [{name: c, image: ' i', ports: [{containerPort: 1}], targetContainerName: x, resources: {limits: {cpu: 1}}}]"), []string{
			`spec.ephemeralContainers[0].image: Invalid value: " i": must not have leading or trailing whitespace`,
			`spec.ephemeralContainers[0].name: Duplicate value: "c"`,
			`spec.ephemeralContainers[0].targetContainerName: Not found: "x"`,
			`spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container`,
			`spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container`}},
		{"resize policy", c("resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}, {resourceName: cpu, restartPolicy: NotRequired}, {resourceName: disk}]") + "\nrestartPolicy: Never", []string{
			"spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when `restartPolicy` is 'Never'",
			`spec.containers[0].resizePolicy[1]: Duplicate value: "cpu"`,
			`spec.containers[0].resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"`,
			`spec.containers[0].resizePolicy: Required value`,
			"spec.containers[0].resizePolicy: Invalid value: \"\": must be 'NotRequired' when `restartPolicy` is 'Never'"}},
	})
}

func TestValidateResources(t *testing.T) {
	const path = `spec.containers[0].resources.`
	run(t, []specCase{
		{"more than the limit", c("resources: {limits: {cpu: 1}, requests: {cpu: 2}}"), []string{
			path + `requests: Invalid value: "2": must be less than or equal to cpu limit of 1`}},
		{"negative", c("resources: {requests: {memory: -1}}"), []string{path + `requests[memory]: Invalid value: "-1": ` + negative}},
		{"unknown", c("resources: {requests: {disk: 1}}"), []string{
			path + `requests[disk]: Invalid value: "disk": must be a standard resource type or fully qualified`,
			path + `requests[disk]: Invalid value: "disk": must be a standard resource for containers`}},
		{"known, not for containers", c("resources: {requests: {pods: 1}}"), []string{
			path + `requests[pods]: Invalid value: "pods": must be a standard resource for containers`}},
		{"extended", c("resources: {limits: {example.com/gpu: 1}}"), nil},
		{"part of an extended one", c("resources: {limits: {example.com/gpu: 500m}}"), []string{
			path + `limits[example.com/gpu]: Invalid value: "500m": must be an integer`,
			path + `requests[example.com/gpu]: Invalid value: "500m": must be an integer`}},
		{"extended, no limit", c("resources: {requests: {example.com/gpu: 1}}"), []string{
			path + `limits: Required value: Limit must be set for non overcommitable resources`}},
		{"extended, less than the limit", c("resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 2}}"), []string{
			path + `requests: Invalid value: "1": must be equal to example.com/gpu limit of 2`}},
		{"huge pages", c("resources: {limits: {hugepages-2Mi: 3Mi}}"), []string{
			path + `limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
			path + `requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
			`spec.containers[0].resources: Forbidden: HugePages require cpu or memory`}},
		{"claim unknown", c("resources: {claims: [{name: x}]}"), []string{
			path + `claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty`}},
		{"claim twice", c("resources: {claims: [{name: x}, {name: x}, {name: z, request: r}, {name: z}]}") + "\nresourceClaims: [{name: x, resourceClaimName: a}, {name: z, resourceClaimName: b}]", []string{
			path + `claims[1]: Duplicate value: "x"`, path + `claims[3]: Duplicate value: "z"`}},
	})
}

func TestValidateEnv(t *testing.T) {
	const path = `spec.containers[0].env[0].`
	run(t, []specCase{
		{"right", c("env: [{name: A, value: b}, {name: 'a b', valueFrom: {fieldRef: {fieldPath: \"metadata.labels['x/y']\"}}}]"), nil},
		{"names", c("env: [{name: ''}, {name: 'a=b'}]"), []string{
			path + `name: Required value`,
			`spec.containers[0].env[1].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='`}},
		{"nothing", c("env: [{name: A, valueFrom: {}}]"), []string{
			path + "valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"}},
		{"value and source", c("env: [{name: A, value: b, valueFrom: {secretKeyRef: {name: s, key: k}}}]"), []string{
			path + "valueFrom: Invalid value: \"\": may not be specified when `value` is not empty"}},
		{"two sources", c("env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}, configMapKeyRef: {name: S, key: ''}}}]"), []string{
			path + `valueFrom.configMapKeyRef.name: Invalid value: "S": ` + subdomainRule,
			path + `valueFrom.configMapKeyRef.key: Required value`,
			path + `valueFrom: Invalid value: "": may not have more than one field specified at a time`}},
		{"field paths", c("env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.x}}}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}, {name: C, valueFrom: {fieldRef: {fieldPath: \"spec.nodeName['x']\"}}}, {name: D, valueFrom: {fieldRef: {fieldPath: spec.host}}}, {name: E, valueFrom: {fieldRef: {}}}, {name: F, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: metadata.name}}}]"), []string{
			path + `valueFrom.fieldRef.fieldPath: Invalid value: "spec.x": error converting fieldPath: field label not supported: spec.x`,
			`spec.containers[0].env[1].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
			`spec.containers[0].env[2].valueFrom.fieldRef.fieldPath: Invalid value: "spec.nodeName['x']": error converting fieldPath: field label does not support subscript: spec.nodeName['x']`,
			`spec.containers[0].env[4].valueFrom.fieldRef.fieldPath: Required value`,
			`spec.containers[0].env[5].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2`}},
		{"resource fields", c("env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.disk}}}, {name: B, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 2}}}, {name: C, valueFrom: {resourceFieldRef: {resource: limits.hugepages-2Mi, divisor: 1Mi}}}]"), []string{
			path + `valueFrom.resourceFieldRef.resource: Unsupported value: "limits.disk": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"`,
			`spec.containers[0].env[1].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`}},
		{"files", c("env: [{name: A, valueFrom: {fileKeyRef: {volumeName: x, path: ../a, key: k}}}]"), []string{
			path + `valueFrom.fileKeyRef.path: Invalid value: "../a": must not contain '..'`,
			path + `valueFrom.fileKeyRef.volumeName: Not found: "x"`}},
		{"envFrom", c("envFrom: [{}, {prefix: 'a=', configMapRef: {name: ''}, secretRef: {name: S}}]"), []string{
			"spec.containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
			`spec.containers[0].envFrom[1].prefix: Invalid value: "a=": a valid environment variable name must consist only of printable ASCII characters other than '='`,
			`spec.containers[0].envFrom[1].configMapRef.name: Required value`,
			`spec.containers[0].envFrom[1].secretRef.name: Invalid value: "S": ` + subdomainRule,
			`spec.containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time`}},
	})
}

func TestValidateProbes(t *testing.T) {
	const path = `spec.containers[0].`
	run(t, []specCase{
		{"right", c("livenessProbe: {httpGet: {port: 80}}", "readinessProbe: {tcpSocket: {port: http}, successThreshold: 2}", "startupProbe: {grpc: {port: 1}}"), nil},
		{"no handler", c("livenessProbe: {}"), []string{path + `livenessProbe: Required value: must specify a handler type`}},
		{"two handlers", c("readinessProbe: {exec: {}, httpGet: {port: 0}}"), []string{
			path + `readinessProbe.exec.command: Required value`,
			path + `readinessProbe.httpGet: Forbidden: may not specify more than 1 handler type`}},
		{"thresholds", c("livenessProbe: {exec: {command: [a]}, successThreshold: 2}", "startupProbe: {exec: {command: [a]}, successThreshold: 2, failureThreshold: -1}"), []string{
			path + `livenessProbe.successThreshold: Invalid value: 2: must be 1`,
			path + `startupProbe.failureThreshold: Invalid value: -1: ` + negative,
			path + `startupProbe.successThreshold: Invalid value: 2: must be 1`}},
		{"http", c("livenessProbe: {httpGet: {port: 0, scheme: ftp, httpHeaders: [{name: 'a b'}]}}"), []string{
			path + `livenessProbe.httpGet.port: Invalid value: 0: ` + portRule,
			path + `livenessProbe.httpGet.scheme: Unsupported value: "ftp": supported values: "HTTP", "HTTPS"`,
			path + `livenessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`}},
		{"grace", c("livenessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 0}", "readinessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 5}"), []string{
			path + `livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
			path + `readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes`}},
		{"hooks", c("lifecycle: {postStart: {}, preStop: {sleep: {seconds: 31}}}"), []string{
			path + `lifecycle.postStart: Required value: must specify a handler type`,
			path + `lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)`}},
		{"stop signal", c("lifecycle: {stopSignal: SIGUSR1}"), []string{
			path + "lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`"}},
	})
}

func TestValidateTemplate(t *testing.T) {
	template := func(spec string) *corev1.PodTemplateSpec {
		pod := parse(t, spec)
		out := &corev1.PodTemplateSpec{Spec: pod.Spec}
		SetDefaultsPodTemplate(out)
		return out
	}
	path := field.NewPath("spec", "template")
	blank := template("containers: [{name: c, image: ' ', ports: [{containerPort: 1}]}]\nhostNetwork: true")
	if errs := ValidatePodTemplateSpec(blank, path, Options{}); len(errs) > 0 {
		t.Errorf("a template may have a blank image and no host ports: %v", errs)
	}
	wrong := template("containers: [{name: c, image: i}]\nephemeralContainers: [{name: e, image: i}]")
	wrong.Labels = map[string]string{"a b": "c"}
	wrong.Annotations = map[string]string{"A B": "c"}
	got := messages(ValidatePodTemplateSpec(wrong, path, Options{}))
	const nameRule = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`
	if diff := cmp.Diff([]string{
		`spec.template.labels: Invalid value: "a b": ` + nameRule,
		`spec.template.annotations: Invalid value: "A B": ` + nameRule,
		`spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template`,
	}, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzPod feeds whatever decodes as a pod to defaulting, validation and the warnings.
func FuzzPod(f *testing.F) {
	for _, spec := range []string{with(), c("ports: [{containerPort: 1}]"), mounted("volumeMounts: [{name: v, mountPath: /}]"),
		volume("projected: {sources: [{serviceAccountToken: {path: a}}]}"), with("affinity: {nodeAffinity: {}}", "os: {name: windows}"),
		c("resources: {limits: {hugepages-2Mi: 1}}"), with("securityContext: {sysctls: [{name: kernel/shm}], windowsOptions: {runAsUserName: 'a\\b'}}")} {
		data, err := json.Marshal(parse(f, spec))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pod := &corev1.Pod{}
		if json.Unmarshal(data, pod) != nil {
			return
		}
		SetDefaultsPod(pod)
		again := pod.DeepCopy()
		SetDefaultsPod(again)
		if diff := cmp.Diff(pod, again); diff != "" {
			t.Errorf("defaulting twice changed something: %s", diff)
		}
		ValidatePodSpec(&pod.Spec, &pod.ObjectMeta, field.NewPath("spec"), Options{Pod: true, Tolerated: MistakesIn(&pod.Spec, pod.Annotations)})
		ValidateAnnotations(pod.Annotations, &pod.Spec, field.NewPath("metadata", "annotations"), Options{})
		ValidateProfilesMatch(&pod.ObjectMeta, &pod.Spec, field.NewPath("spec"))
		PodWarnings(pod)
		DropDisabledFields(&pod.Spec, nil)
	})
}
