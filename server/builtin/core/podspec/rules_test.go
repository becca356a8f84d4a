package podspec

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestValidateTolerations(t *testing.T) {
	run(t, []specCase{
		{"right", with("tolerations: [{operator: Exists}, {key: a, value: b}, {key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 1}]"), nil},
		{"wrong", with("tolerations: [{}, {key: a, effect: NoSchedule, tolerationSeconds: 1}, {key: a, operator: Exists, value: b}, {key: a, operator: Near}, {key: a, effect: Never}]"), []string{
			"spec.tolerations[0].operator: Invalid value: \"\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
			"spec.tolerations[1].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
			"spec.tolerations[2].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
			`spec.tolerations[3].operator: Unsupported value: "Near": supported values: "Equal", "Exists"`,
			`spec.tolerations[4].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`}},
	})
}

func TestValidateAffinity(t *testing.T) {
	node := func(y string) string { return with("affinity: {nodeAffinity: " + y + "}") }
	const path = `spec.affinity.nodeAffinity.`
	run(t, []specCase{
		{"no terms", node("{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}"), []string{
			path + `requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term`}},
		{"expressions", node("{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}, {key: a, operator: Exists, values: [b]}, {key: a, operator: Gt, values: ['1', '2']}, {key: a, operator: Like}, {key: a, operator: In, values: ['a b']}]}]}}"), []string{
			path + "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
			path + "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
			path + "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[2].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
			path + `requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].operator: Invalid value: "Like": not a valid selector operator`,
			path + `requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[4].values[0]: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}},
		{"fields", node("{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a, b]}, {key: spec.x, operator: Exists}]}]}}"), []string{
			path + "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
			path + `requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1].operator: Invalid value: "Exists": not a valid selector operator`,
			path + `requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1].key: Invalid value: "spec.x": not a valid field selector key`}},
		{"weight", node("{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, preference: {matchExpressions: [{key: a, operator: In, values: ['a b']}]}}]}"), []string{
			path + `preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100`}},
		{"pods", with("affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{namespaces: [A], matchLabelKeys: [x]}]}}"), []string{
			`spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: Invalid value: "A": ` + labelRule,
			`spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
			`spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty`,
			`spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty`,
			`spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{"keys", with("affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: t, matchLabelKeys: [x], mismatchLabelKeys: [x], labelSelector: {matchLabels: {x: z}, matchExpressions: [{key: x, operator: In, values: [z]}]}}}]}}"), []string{
			`spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm[0]: Invalid value: "x": exists in both matchLabelKeys and labelSelector`,
			`spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.matchLabelKeys[0]: Invalid value: "x": exists in both matchLabelKeys and mismatchLabelKeys`}},
		{"spread", with("topologySpreadConstraints: [{minDomains: 0, whenUnsatisfiable: Whatever, nodeTaintsPolicy: Maybe, labelSelector: {}}, {maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [x]}]"), []string{
			`spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero`,
			`spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty`,
			`spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Whatever": supported values: "DoNotSchedule", "ScheduleAnyway"`,
			`spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero`,
			`spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not Whatever`,
			`spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "Maybe": supported values: "Honor", "Ignore"`,
			`spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}: Duplicate value: "{a, DoNotSchedule}"`,
			`spec.topologySpreadConstraints[2].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`}},
	})
}

func TestValidateSecurity(t *testing.T) {
	run(t, []specCase{
		{"ids", with("securityContext: {runAsUser: -1, runAsGroup: -1, fsGroup: -1, supplementalGroups: [0, -1]}"), []string{
			`spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
			`spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
			`spec.securityContext.runAsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
			`spec.securityContext.supplementalGroups[1]: Invalid value: -1: must be between 0 and 2147483647, inclusive`}},
		{"policies", with("securityContext: {fsGroupChangePolicy: A, supplementalGroupsPolicy: B, seLinuxChangePolicy: C}", "hostPID: true", "shareProcessNamespace: true"), []string{
			`spec.securityContext.fsGroupChangePolicy: Unsupported value: "A": supported values: "Always", "OnRootMismatch"`,
			`spec.securityContext.supplementalGroupsPolicy: Unsupported value: "B": supported values: "Merge", "Strict"`,
			`spec.securityContext.seLinuxChangePolicy: Unsupported value: "C": supported values: "MountOption", "Recursive"`,
			`spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled`}},
		{"sysctls", with("securityContext: {sysctls: [{name: kernel.shm}, {name: kernel.shm}, {name: ''}, {name: A}, {name: net/ipv4/x}]}", "hostNetwork: true"), []string{
			`spec.securityContext.sysctls[1].name: Duplicate value: "kernel.shm"`,
			`spec.securityContext.sysctls[2].name: Required value`,
			`spec.securityContext.sysctls[3].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`,
			`spec.securityContext.sysctls[4].name: Invalid value: "net/ipv4/x": may not be specified when 'hostNetwork' is true`}},
		{"profiles", c("securityContext: {seccompProfile: {}, appArmorProfile: {type: Localhost, localhostProfile: ' a'}}") + "\nsecurityContext: {seccompProfile: {type: Unconfined, localhostProfile: a}, appArmorProfile: {type: None}}", []string{
			`spec.containers[0].securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set`,
			`spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid value: " a": must not be padded with whitespace`,
			`spec.securityContext.seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"a"}: can only be set when seccomp type is Localhost`,
			`spec.securityContext.appArmorProfile.type: Unsupported value: "None": supported values: "Localhost", "RuntimeDefault", "Unconfined"`}},
		{"privileges", c("securityContext: {privileged: true, allowPrivilegeEscalation: false, procMount: Unmasked}"), []string{
			"spec.containers[0].securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`",
			"spec.containers[0].securityContext: Invalid value: {\"Capabilities\":null,\"Privileged\":true,\"SELinuxOptions\":null,\"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,\"RunAsNonRoot\":null,\"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\"ProcMount\":\"Unmasked\",\"SeccompProfile\":null,\"AppArmorProfile\":null}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true"}},
		{"windows pod", c("securityContext: {privileged: true}") + "\nos: {name: windows}\nsecurityContext: {fsGroup: 1}\nhostPID: true", []string{
			`spec.hostPID: Forbidden: cannot be set for a windows pod`,
			`spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod`,
			`spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows pod`}},
		{"linux pod", with("os: {name: linux}", "securityContext: {windowsOptions: {}}"), []string{
			`spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod`}},
		{"other pod", with("os: {name: plan9}"), []string{`spec.os: Unsupported value: "plan9": supported values: "linux", "windows"`}},
		{"host process", c("securityContext: {windowsOptions: {hostProcess: true, runAsUserName: 'a\\b\\c'}}") + "\ninitContainers: [{name: d, image: i}]", []string{
			`spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "a\\b\\c": runAsUserName cannot contain more than one backslash`,
			`spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers`,
			`spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers`}},
	})
}

func TestWindowsUserName(t *testing.T) {
	for name, want := range map[string][]string{
		`NT AUTHORITY\SYSTEM`: nil,
		`ContainerUser`:       nil,
		``:                    {"runAsUserName cannot be an empty string"},
		"a\x01":               {"runAsUserName cannot contain control characters"},
		`a:b\c`:               {"runAsUserName's Domain doesn't match the NetBios nor the DNS format"},
		`a\`:                  {"runAsUserName's User cannot be empty"},
		`. .`:                 {"runAsUserName's User cannot contain only periods or spaces"},
		`a@b`:                 {`runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]`},
	} {
		if diff := cmp.Diff(want, windowsUserName(name)); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}

func TestValidateAnnotations(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        []string
	}{
		"mirror": {map[string]string{"kubernetes.io/config.mirror": "x"}, []string{
			`metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set`}},
		"deletion cost": {map[string]string{"controller.kubernetes.io/pod-deletion-cost": "+1"}, []string{
			`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer`}},
		"deletion cost, right": {map[string]string{"controller.kubernetes.io/pod-deletion-cost": "-1"}, nil},
		"seccomp": {map[string]string{"seccomp.security.alpha.kubernetes.io/pod": "x"}, []string{
			`metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": must be a valid seccomp profile`}},
		"apparmor": {map[string]string{"container.apparmor.security.beta.kubernetes.io/d": "x"}, []string{
			`metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: "d": container not found`,
			`metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: "x": invalid AppArmor profile name: "x"`}},
		"tolerations": {map[string]string{"scheduler.alpha.kubernetes.io/tolerations": `[{"key": "a", "operator": "Near"}]`}, []string{
			`metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator: Unsupported value: "Near": supported values: "Equal", "Exists"`}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := parse(t, with())
			got := messages(ValidateAnnotations(tc.annotations, &pod.Spec, field.NewPath("metadata", "annotations"), Options{Pod: true}))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateProfilesMatch(t *testing.T) {
	pod := parse(t, c("securityContext: {seccompProfile: {type: RuntimeDefault}, appArmorProfile: {type: Localhost, localhostProfile: a}}")+
		"\nsecurityContext: {seccompProfile: {type: Unconfined}}")
	meta := &metav1.ObjectMeta{Annotations: map[string]string{
		"seccomp.security.alpha.kubernetes.io/pod":          "runtime/default",
		"container.seccomp.security.alpha.kubernetes.io/c":  "docker/default",
		"container.apparmor.security.beta.kubernetes.io/c":  "localhost/b",
		"container.apparmor.security.beta.kubernetes.io/no": "runtime/default",
	}}
	if diff := cmp.Diff([]string{
		`spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match`,
		`spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: apparmor profile in annotation and field must match`,
	}, messages(ValidateProfilesMatch(meta, &pod.Spec, field.NewPath("spec")))); diff != "" {
		t.Error(diff)
	}
}

// TestMistakes checks that what a stored pod has is let be, and what it has not is refused.
func TestMistakes(t *testing.T) {
	for name, spec := range map[string]string{
		"selector values":      with("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, labelSelector: {matchExpressions: [{key: a, operator: In, values: ['a b']}]}}]}}"),
		"node affinity values": with("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: ['a b']}]}]}}}"),
		"huge pages":           c("resources: {limits: {cpu: 1, hugepages-2Mi: 3Mi}}"),
		"spread selector":      with("topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: a, operator: Like}]}}]"),
		"token path":           with("serviceAccountName: s", "volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: ../a}}]}}]"),
		"host sysctls":         with("hostIPC: true", "securityContext: {sysctls: [{name: kernel.shmmax}]}"),
	} {
		t.Run(name, func(t *testing.T) {
			pod := parse(t, spec)
			SetDefaultsPod(pod)
			path := field.NewPath("spec")
			if errs := ValidatePodSpec(&pod.Spec, &pod.ObjectMeta, path, Options{Pod: true}); len(errs) == 0 {
				t.Error("not refused in a new pod")
			}
			tolerated := Options{Pod: true, Tolerated: MistakesIn(&pod.Spec, nil)}
			if errs := ValidatePodSpec(&pod.Spec, &pod.ObjectMeta, path, tolerated); len(errs) > 0 {
				t.Errorf("refused in a pod that has it: %v", errs)
			}
		})
	}
	if got := MistakesIn(&parse(t, with()).Spec, nil); got != (Mistakes{}) {
		t.Errorf("mistakes in a pod that has none: %+v", got)
	}
}

func TestDropDisabledFields(t *testing.T) {
	const alpha = `containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /a, bindMountOptions: [noexec]}], livenessProbe: {httpGet: {port: 1, protocol: H2C}}, readinessProbe: {grpc: {port: 1, mode: TLS}}}]
volumes: [{name: v, emptyDir: {mode: 511}}, {name: s, secret: {secretName: s, defaultUser: 1, items: [{key: k, path: p, user: 2}]}}]
evictionResponders: [{name: a.b/c, priority: 1}]
schedulingGroup: {podGroupName: g}`
	const plain = `containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /a}], livenessProbe: {httpGet: {port: 1}}, readinessProbe: {grpc: {port: 1}}}]
volumes: [{name: v, emptyDir: {}}, {name: s, secret: {secretName: s, items: [{key: k, path: p}]}}]`
	for name, tc := range map[string]struct {
		old  *corev1.PodSpec
		want string
	}{
		"new":         {nil, plain},
		"not in use":  {&parse(t, plain).Spec, plain},
		"used before": {&parse(t, alpha).Spec, alpha},
	} {
		t.Run(name, func(t *testing.T) {
			pod := parse(t, alpha)
			DropDisabledFields(&pod.Spec, tc.old)
			if diff := cmp.Diff(parse(t, tc.want), pod); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	pod := parse(t, `containers: [{name: c, image: i, env: [{name: A, value: a}, {name: A, value: b}, {name: A, value: $(A)c}], ports: [{containerPort: 80}, {containerPort: 80}], resources: {limits: {memory: 100m}}}]
terminationGracePeriodSeconds: -1
hostAliases: [{ip: 1.1.1.1}, {ip: 1.1.1.1}]
imagePullSecrets: [{name: ''}, {name: a}, {name: a}]
topologySpreadConstraints: [{topologyKey: failure-domain.beta.kubernetes.io/zone}]
nodeSelector: {beta.kubernetes.io/os: linux}
affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: beta.kubernetes.io/arch, operator: Exists}]}}]}, podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: t}}]}}
volumes: [{name: g, gitRepo: {repository: r}}]`)
	pod.Annotations = map[string]string{
		"scheduler.alpha.kubernetes.io/critical-pod":       "",
		"container.seccomp.security.alpha.kubernetes.io/c": "unconfined",
		"container.apparmor.security.beta.kubernetes.io/c": "unconfined",
	}
	setDefaultsPodSpec(&pod.Spec)
	want := []string{
		`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`,
		`spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead`,
		`spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
		`spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod`,
		`metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead`,
		`spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+`,
		`spec.hostAliases[1].ip: duplicate ip "1.1.1.1"`,
		`spec.imagePullSecrets[2].name: duplicate name "a"`,
		`spec.imagePullSecrets[0].name: invalid empty name ""`,
		`metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: non-functional in v1.27+; use the "seccompProfile" field instead`,
		`spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer`,
		`spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`,
		`spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]`,
		`spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
		`spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod`,
	}
	if diff := cmp.Diff(want, PodWarnings(pod)); diff != "" {
		t.Error(diff)
	}
	template := TemplateWarnings(&corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}, field.NewPath("spec", "template"))
	apparmor := `spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead`
	if len(template) != len(want)+1 || template[10] != apparmor {
		t.Errorf("template's warnings: %q", template)
	}
}

// TestWarningsOfManyPairs has specs in which every pair of paths or ports is worth a warning.
func TestWarningsOfManyPairs(t *testing.T) {
	pod := parse(t, c("ports: []"))
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}}}
	files := pod.Spec.Volumes[0].ConfigMap
	for range 4 {
		files.Items = append(files.Items, corev1.KeyToPath{Key: "k", Path: "a"})
	}
	files.Items = append(files.Items, corev1.KeyToPath{Key: "k", Path: "a/b"}, corev1.KeyToPath{Key: "k", Path: "ab"})
	want := []string{
		`volume "v" (ConfigMap ""): overlapping paths: "a" with "a"`,
		`volume "v" (ConfigMap ""): overlapping paths: "a/b" with "a"`,
	}
	if diff := cmp.Diff(want, PodWarnings(pod)); diff != "" {
		t.Error(diff)
	}
	for i := range 3_000 {
		files.Items = append(files.Items, corev1.KeyToPath{Key: "k", Path: fmt.Sprintf("a/%d", i)})
	}
	if n := len(PodWarnings(pod)); n != maxPairsFound {
		t.Errorf("%d warnings about paths, want %d", n, maxPairsFound)
	}
	pod.Spec.Volumes = nil
	for range 3_000 {
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: 80, Protocol: "TCP"})
	}
	if n := len(PodWarnings(pod)); n != maxPairsFound {
		t.Errorf("%d warnings about ports, want %d", n, maxPairsFound)
	}
}
