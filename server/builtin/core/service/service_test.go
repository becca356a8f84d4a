package service

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	services = builtin.Declare(Resource)

	rules, tables, statusRules = services.Strategy(), services.Table(), services.StatusStrategy()
)

func messages(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

// valid is a service as it is when it is validated: defaulted, and with what was allocated.
func valid() *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", ResourceVersion: "1"},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.1.1", ClusterIPs: []string{"10.96.1.1"},
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, IPFamilyPolicy: new(corev1.IPFamilyPolicySingleStack),
			Selector: map[string]string{"app": "web"},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
	setDefaults(svc)
	return svc
}

func balanced(svc *corev1.Service) {
	svc.Spec.Type = corev1.ServiceTypeLoadBalancer
	setDefaults(svc)
}

func TestDefaults(t *testing.T) {
	cluster := new(corev1.ServiceInternalTrafficPolicyCluster)
	for name, tc := range map[string]struct{ in, want corev1.ServiceSpec }{
		"nothing": {corev1.ServiceSpec{}, corev1.ServiceSpec{Type: "ClusterIP", SessionAffinity: "None", InternalTrafficPolicy: cluster}},
		"ports": {
			corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}, {Port: 53, Protocol: "UDP", TargetPort: intstr.FromString("dns")}}},
			corev1.ServiceSpec{Type: "ClusterIP", SessionAffinity: "None", InternalTrafficPolicy: cluster, Ports: []corev1.ServicePort{
				{Port: 80, Protocol: "TCP", TargetPort: intstr.FromInt32(80)}, {Port: 53, Protocol: "UDP", TargetPort: intstr.FromString("dns")},
			}},
		},
		"client IP": {
			corev1.ServiceSpec{SessionAffinity: "ClientIP"},
			corev1.ServiceSpec{Type: "ClusterIP", SessionAffinity: "ClientIP", InternalTrafficPolicy: cluster,
				SessionAffinityConfig: &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(10800))}}},
		},
		"node port": {
			corev1.ServiceSpec{Type: "NodePort"},
			corev1.ServiceSpec{Type: "NodePort", SessionAffinity: "None", InternalTrafficPolicy: cluster, ExternalTrafficPolicy: "Cluster"},
		},
		"load balancer": {
			corev1.ServiceSpec{Type: "LoadBalancer", ExternalTrafficPolicy: "Local"},
			corev1.ServiceSpec{Type: "LoadBalancer", SessionAffinity: "None", InternalTrafficPolicy: cluster, ExternalTrafficPolicy: "Local",
				AllocateLoadBalancerNodePorts: new(true)},
		},
		"external name": {
			corev1.ServiceSpec{Type: "ExternalName", ExternalName: "example.com"},
			corev1.ServiceSpec{Type: "ExternalName", ExternalName: "example.com", SessionAffinity: "None"},
		},
		"external IPs": {
			corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}},
			corev1.ServiceSpec{Type: "ClusterIP", SessionAffinity: "None", InternalTrafficPolicy: cluster, ExternalTrafficPolicy: "Cluster",
				ExternalIPs: []string{"192.0.2.1"}},
		},
	} {
		svc := &corev1.Service{Spec: tc.in}
		setDefaults(svc)
		if diff := cmp.Diff(tc.want, svc.Spec); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

var validateCases = map[string]struct {
	change func(*corev1.Service)
	want   []string
}{
	"valid": {func(*corev1.Service) {}, nil},
	"name": {func(svc *corev1.Service) { svc.Name = "Web" }, []string{
		`metadata.name: Invalid value: "Web": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
	}},
	"no ports": {func(svc *corev1.Service) { svc.Spec.Ports = nil }, []string{`spec.ports: Required value`}},
	"headless, no port": {func(svc *corev1.Service) {
		svc.Spec.ClusterIP, svc.Spec.ClusterIPs, svc.Spec.Ports = "None", []string{"None"}, nil
	}, nil},
	"port": {func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 0 }, []string{
		`spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive`,
	}},
	"protocol": {func(svc *corev1.Service) { svc.Spec.Ports[0].Protocol = "ICMP" }, []string{
		`spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"`,
	}},
	"target port": {func(svc *corev1.Service) { svc.Spec.Ports[0].TargetPort = intstr.FromInt32(70000) }, []string{
		`spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
	}},
	"unnamed of two": {func(svc *corev1.Service) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Port: 81, Protocol: "TCP", TargetPort: intstr.FromInt32(81)})
	}, []string{`spec.ports[1].name: Required value`}},
	"twice the same": {func(svc *corev1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, svc.Spec.Ports[0]) }, []string{
		`spec.ports[1].name: Duplicate value: "http"`,
		`spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}`,
	}},
	"node port of a cluster IP": {func(svc *corev1.Service) { svc.Spec.Ports[0].NodePort = 30000 }, []string{
		"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
	}},
	"type": {func(svc *corev1.Service) { svc.Spec.Type, svc.Spec.InternalTrafficPolicy = "Magic", nil }, []string{
		`spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"`,
	}},
	"headless node port": {func(svc *corev1.Service) {
		svc.Spec.Type, svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "NodePort", "None", []string{"None"}
		setDefaults(svc)
	}, []string{`spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`}},
	"external name": {func(svc *corev1.Service) { svc.Spec.Type = "ExternalName" }, []string{
		`spec.clusterIPs: Forbidden: may not be set for ExternalName services`,
		`spec.ipFamilies: Forbidden: may not be set for ExternalName services`,
		`spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services`,
		`spec.externalName: Required value`,
	}},
	"affinity": {func(svc *corev1.Service) { svc.Spec.SessionAffinity = "Sticky" }, []string{
		`spec.sessionAffinity: Unsupported value: "Sticky": supported values: "ClientIP", "None"`,
	}},
	"affinity's timeout": {func(svc *corev1.Service) {
		svc.Spec.SessionAffinity = "ClientIP"
		setDefaults(svc)
		*svc.Spec.SessionAffinityConfig.ClientIP.TimeoutSeconds = 86401
	}, []string{`spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400`}},
	"cluster IPs differ": {func(svc *corev1.Service) { svc.Spec.ClusterIP = "10.96.1.2" }, []string{
		`spec.clusterIPs: Invalid value: ["10.96.1.1"]: first value must match ` + "`clusterIP`",
	}},
	"no address": {func(svc *corev1.Service) { svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "x", []string{"x"} }, []string{
		`spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
	}},
	"wrong family": {func(svc *corev1.Service) { svc.Spec.IPFamilies[0] = "IPv6" }, []string{
		`spec.clusterIPs[0]: Invalid value: "10.96.1.1": expected an IPv6 value as indicated by ` + "`ipFamilies[0]`",
	}},
	"family": {func(svc *corev1.Service) { svc.Spec.IPFamilies[0] = "IPv5" }, []string{
		`spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"`,
	}},
	"external IP": {func(svc *corev1.Service) { svc.Spec.ExternalIPs = []string{"127.0.0.1"}; setDefaults(svc) }, []string{
		`spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
	}},
	"external policy": {func(svc *corev1.Service) { svc.Spec.ExternalTrafficPolicy = "Local" }, []string{
		`spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services`,
	}},
	"no internal policy": {func(svc *corev1.Service) { svc.Spec.InternalTrafficPolicy = nil }, []string{`spec.internalTrafficPolicy: Required value`}},
	"health check port": {func(svc *corev1.Service) {
		balanced(svc)
		svc.Spec.ExternalTrafficPolicy = "Local"
	}, []string{`spec.healthCheckNodePort: Required value`}},
	"health check port without need": {func(svc *corev1.Service) { svc.Spec.HealthCheckNodePort = 30000 }, []string{
		`spec.healthCheckNodePort: Invalid value: 30000: may only be set when ` + "`type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
	}},
	"class": {func(svc *corev1.Service) { svc.Spec.LoadBalancerClass = new("example.com/lb") }, []string{
		"spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
	}},
	"source ranges": {func(svc *corev1.Service) {
		balanced(svc)
		svc.Spec.LoadBalancerSourceRanges = []string{" 10.0.0.0/8 ", "10.1.2.3/8", "x"}
	}, []string{
		`spec.LoadBalancerSourceRanges[1]: Invalid value: "10.1.2.3/8": must not have bits set beyond the prefix length`,
		`spec.LoadBalancerSourceRanges[2]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
	}},
	"traffic distribution": {func(svc *corev1.Service) { svc.Spec.TrafficDistribution = new("Far") }, []string{
		`spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"`,
	}},
}

func TestValidate(t *testing.T) {
	for name, tc := range validateCases {
		t.Run(name, func(t *testing.T) {
			svc := valid()
			tc.change(svc)
			if diff := cmp.Diff(tc.want, messages(rules.Validate(context.Background(), svc))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateUpdate(t *testing.T) {
	for name, tc := range map[string]struct {
		old, change func(*corev1.Service)
		want        []string
	}{
		"ports": {nil, func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 81 }, nil},
		"cluster IP": {nil, func(svc *corev1.Service) {
			svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "10.96.1.2", []string{"10.96.1.2"}
		}, []string{
			`spec.clusterIPs[0]: Invalid value: ["10.96.1.2"]: may not change once set`,
		}},
		"cluster IP unset": {nil, func(svc *corev1.Service) { svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "", nil }, []string{
			`spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset`,
		}},
		"class": {balanced, func(svc *corev1.Service) { balanced(svc); svc.Spec.LoadBalancerClass = new("example.com/lb") }, []string{
			`spec.loadBalancerClass: Invalid value: "example.com/lb": may not change once set`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			svc, old := valid(), valid()
			if tc.old != nil {
				tc.old(old)
			}
			tc.change(svc)
			if diff := cmp.Diff(tc.want, messages(rules.ValidateUpdate(context.Background(), svc, old))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStatusStrategy(t *testing.T) {
	ctx := context.Background()
	old := valid()
	svc := valid()
	svc.Spec.Ports, svc.Status.LoadBalancer.Ingress = nil, []corev1.LoadBalancerIngress{{Hostname: "192.0.2.1"}}
	statusRules.PrepareForUpdate(ctx, svc, old)
	if len(svc.Spec.Ports) != 1 {
		t.Error("a status update changed the spec")
	}
	want := []string{`status.loadBalancer.ingress: Forbidden: may only be used when ` + "`spec.type` is 'LoadBalancer'"}
	if diff := cmp.Diff(want, messages(statusRules.ValidateUpdate(ctx, svc, old))); diff != "" {
		t.Error(diff)
	}
	balanced(svc)
	svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress,
		corev1.LoadBalancerIngress{IP: "x"}, corev1.LoadBalancerIngress{IPMode: new(corev1.LoadBalancerIPModeVIP)})
	want = []string{
		`status.loadBalancer.ingress[0].hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address`,
		`status.loadBalancer.ingress[1].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
		`status.loadBalancer.ingress[1].ipMode: Required value: must be specified when ` + "`ip` is set",
		`status.loadBalancer.ingress[2].ipMode: Forbidden: may not be specified when ` + "`ip` is not set",
	}
	if diff := cmp.Diff(want, messages(statusRules.ValidateUpdate(ctx, svc, old))); diff != "" {
		t.Error(diff)
	}
}

func TestDropTypeDependentFields(t *testing.T) {
	old := valid()
	balanced(old)
	old.Spec.Ports[0].NodePort, old.Spec.ExternalTrafficPolicy, old.Spec.HealthCheckNodePort = 30000, "Local", 30001
	old.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}

	svc := old.DeepCopy()
	svc.Spec.Type, svc.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
	rules.PrepareForUpdate(context.Background(), svc, old)
	want := corev1.ServiceSpec{
		Type: "ExternalName", ExternalName: "example.com", SessionAffinity: "None", Selector: old.Spec.Selector,
		InternalTrafficPolicy: old.Spec.InternalTrafficPolicy,
		Ports:                 []corev1.ServicePort{{Name: "http", Port: 80, Protocol: "TCP", TargetPort: intstr.FromInt32(80)}},
	}
	if diff := cmp.Diff(want, svc.Spec); diff != "" {
		t.Error(diff)
	}
	if svc.Status.LoadBalancer.Ingress != nil {
		t.Error("the load balancer's status is still there")
	}

	// What the client changed too stays, for validation to refuse.
	svc = old.DeepCopy()
	svc.Spec.Type, svc.Spec.Ports[0].NodePort = corev1.ServiceTypeClusterIP, 30002
	rules.PrepareForUpdate(context.Background(), svc, old)
	if svc.Spec.Ports[0].NodePort != 30002 {
		t.Error("dropped a node port that the client asked for")
	}
}

func TestWarnings(t *testing.T) {
	svc := valid()
	svc.Annotations = map[string]string{corev1.DeprecatedAnnotationTopologyAwareHints: "auto"}
	svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "None", []string{"None"}
	svc.Spec.LoadBalancerIP, svc.Spec.ExternalIPs, svc.Spec.SessionAffinity = "192.0.2.1", []string{"192.0.2.1"}, "ClientIP"
	want := []string{
		"annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead",
		"spec.loadBalancerIP is ignored for headless services",
		"spec.externalIPs is ignored for headless services",
		"spec.SessionAffinity is ignored for headless services",
	}
	if diff := cmp.Diff(want, rules.WarningsOnCreate(context.Background(), svc)); diff != "" {
		t.Error(diff)
	}
	if w := rules.WarningsOnCreate(context.Background(), valid()); w != nil {
		t.Error(w)
	}

	svc = valid()
	balanced(svc)
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "10.1.2.3/8", " 10.1.2.3/8"}
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "a.example"}, {IP: "2001:DB8::1"}}
	want = []string{
		`spec.loadBalancerSourceRanges[1]: CIDR value "10.1.2.3/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.2.3/32"?)`,
	}
	if diff := cmp.Diff(want, rules.WarningsOnUpdate(context.Background(), svc, valid())); diff != "" {
		t.Error(diff)
	}
	want = []string{
		`status.loadBalancer.ingress[1]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`,
	}
	if diff := cmp.Diff(want, statusRules.WarningsOnUpdate(context.Background(), svc, valid())); diff != "" {
		t.Error(diff)
	}
}

func TestTable(t *testing.T) {
	age := metav1.NewTime(time.Now().Add(-72 * time.Hour))
	plain := valid()
	headless := valid()
	headless.Spec.ClusterIP, headless.Spec.ClusterIPs, headless.Spec.Ports, headless.Spec.Selector = "None", []string{"None"}, nil, nil
	pending := valid()
	balanced(pending)
	pending.Spec.Ports[0].NodePort = 30080
	pending.Spec.Ports = append(pending.Spec.Ports, corev1.ServicePort{Port: 53, Protocol: "UDP"})
	answered := pending.DeepCopy()
	answered.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}, {IP: "192.0.2.2"}, {IP: "192.0.2.2"}}
	answered.Spec.ExternalIPs = []string{"192.0.2.9"}
	name := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Type: "ExternalName", ExternalName: "example.com"}}
	for _, tc := range []struct {
		svc  *corev1.Service
		want []any
	}{
		{plain, []any{"web", "ClusterIP", "10.96.1.1", "<none>", "80/TCP", "3d", "app=web"}},
		{headless, []any{"web", "ClusterIP", "None", "<none>", "<none>", "3d", "<none>"}},
		{pending, []any{"web", "LoadBalancer", "10.96.1.1", "<pending>", "80:30080/TCP,53/UDP", "3d", "app=web"}},
		{answered, []any{"web", "LoadBalancer", "10.96.1.1", "192.0.2.2,lb.example.com,192.0.2.9", "80:30080/TCP,53/UDP", "3d", "app=web"}},
		{name, []any{"web", "ExternalName", "<none>", "example.com", "<none>", "3d", "<none>"}},
	} {
		tc.svc.CreationTimestamp = age
		got, err := tables.ConvertToTable(context.Background(), tc.svc, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got.Rows[0].Cells); diff != "" {
			t.Error(diff)
		}
	}
}

// TestAmbiguousAddresses has addresses that programs read differently. A new service can't have them, and a stored one
// may keep them.
func TestAmbiguousAddresses(t *testing.T) {
	ambiguous := func() *corev1.Service {
		svc := valid()
		balanced(svc)
		svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "010.96.1.1", []string{"010.96.1.1"}
		svc.Spec.ExternalIPs = []string{"::ffff:1.2.3.4"}
		svc.Spec.LoadBalancerSourceRanges = []string{" 10.1.2.3/8"}
		svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "010.1.1.1", IPMode: new(corev1.LoadBalancerIPModeVIP)}}
		return svc
	}
	annotated := valid()
	balanced(annotated)
	annotated.Annotations = map[string]string{corev1.AnnotationLoadBalancerSourceRangesKey: "10.0.0.0/8, 10.1.2.3/8"}
	ctx := context.Background()
	for _, tc := range []struct {
		name string
		got  field.ErrorList
		want []string
	}{
		{"new", rules.Validate(ctx, ambiguous()), []string{
			`spec.clusterIPs[0]: Invalid value: "010.96.1.1": must not have leading 0s`,
			`spec.externalIPs[0]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address`,
			`spec.LoadBalancerSourceRanges[0]: Invalid value: "10.1.2.3/8": must not have bits set beyond the prefix length`,
		}},
		{"new annotation", rules.Validate(ctx, annotated), []string{`metadata.annotations[service.beta.kubernetes.io/` +
			`load-balancer-source-ranges]: Invalid value: "10.1.2.3/8": must not have bits set beyond the prefix length`}},
		{"new status", statusRules.ValidateUpdate(ctx, ambiguous(), valid()), []string{
			`status.loadBalancer.ingress[0].ip: Invalid value: "010.1.1.1": must not have leading 0s`}},
		{"stored", rules.ValidateUpdate(ctx, ambiguous(), ambiguous()), nil},
		{"stored annotation", rules.ValidateUpdate(ctx, annotated, annotated), nil},
		{"stored status", statusRules.ValidateUpdate(ctx, ambiguous(), ambiguous()), nil},
	} {
		if diff := cmp.Diff(tc.want, messages(tc.got)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}
