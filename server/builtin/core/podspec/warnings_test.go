package podspec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestTemplateWarnings has the texts of a kube-apiserver v1.37.
func TestTemplateWarnings(t *testing.T) {
	const containers = "containers: [{name: c, image: i}]\n"
	apparmor := map[string]string{"container.apparmor.security.beta.kubernetes.io/c": "localhost/p"}
	const deprecated = `spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: ` +
		`deprecated since v1.30; use the "appArmorProfile" field instead`
	for name, tc := range map[string]struct {
		spec        string
		annotations map[string]string
		want        []string
	}{
		"port names": {spec: `
initContainers: [{name: s, image: i, restartPolicy: Always, ports: [{name: web, containerPort: 80}]}]
containers:
- {name: c, image: i, ports: [{name: web, containerPort: 81}, {containerPort: 82}, {containerPort: 83}]}
- {name: d, image: i, ports: [{name: web, containerPort: 84}]}`, want: []string{
			`spec.template.spec.containers[0].ports[0]: duplicate port name "web" with spec.template.spec.initContainers[0].ports[0], ` +
				`services and probes that select ports by name will use spec.template.spec.initContainers[0].ports[0]`,
			`spec.template.spec.containers[1].ports[0]: duplicate port name "web" with spec.template.spec.initContainers[0].ports[0], ` +
				`services and probes that select ports by name will use spec.template.spec.initContainers[0].ports[0]`,
		}},
		"preferred values": {spec: containers + `
affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
  {weight: 1, preference: {matchExpressions: [{key: a, operator: In, values: [b, 'c d']}]}}]}}`, want: []string{
			`spec.template.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.` +
				`matchExpressions[0].values[1]: c d is invalid, a valid label must be an empty string or consist of alphanumeric ` +
				`characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  ` +
				`or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
		}},
		"claims": {spec: containers + `
volumes:
- {name: v, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1500m}, limits: {storage: 2500m}}}}}}`,
			want: []string{
				`spec.template.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: ` +
					`fractional byte value "1500m" is invalid, must be an integer`,
				`spec.template.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.limits[storage]: ` +
					`fractional byte value "2500m" is invalid, must be an integer`,
			}},
		"addresses": {spec: containers + `
dnsConfig: {nameservers: [10.0.0.1, 010.0.0.1]}
hostAliases: [{ip: '2001:DB8::1'}]`, want: []string{
			`spec.template.spec.dnsConfig.nameservers[1]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"`,
			`spec.template.spec.hostAliases[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`,
		}},
		"profile of the pod": {annotations: apparmor,
			spec: containers + "securityContext: {appArmorProfile: {type: Localhost, localhostProfile: p}}"},
		"profile of the container": {annotations: apparmor,
			spec: "containers: [{name: c, image: i, securityContext: {appArmorProfile: {type: Unconfined}}}]"},
		"another profile of the pod": {annotations: apparmor, want: []string{deprecated},
			spec: containers + "securityContext: {appArmorProfile: {type: Localhost, localhostProfile: q}}"},
		"no profile": {annotations: apparmor, want: []string{deprecated}, spec: containers},
	} {
		t.Run(name, func(t *testing.T) {
			template := &corev1.PodTemplateSpec{Spec: parse(t, tc.spec).Spec}
			template.Annotations = tc.annotations
			if diff := cmp.Diff(tc.want, TemplateWarnings(template, field.NewPath("spec", "template"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWarningsOfManyNames has as many ports with one name as fit into a request. Comparing each pair would take too long.
func TestWarningsOfManyNames(t *testing.T) {
	pod := parse(t, c("ports: []"))
	for i := range 60_000 {
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports,
			corev1.ContainerPort{Name: fmt.Sprint(i % 50_000), ContainerPort: int32(i % 65_536), Protocol: "TCP"})
	}
	texts := PodWarnings(pod)
	named := slices.DeleteFunc(texts, func(text string) bool { return !strings.Contains(text, "duplicate port name") })
	if len(named) != 10_000 {
		t.Errorf("%d warnings about names of ports, want 10000", len(named))
	}
}
