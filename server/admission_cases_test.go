package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/internal/hooktest"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
	"github.com/kx-apiserver/kx/server/options"
)

// lastReview is what a webhook was asked last.
func lastReview(t *testing.T, w *hooktest.Webhook) *admissionv1.AdmissionRequest {
	t.Helper()
	res, data := ask(t, w.Server.Client(), "GET", w.Server.URL+"/last", nil)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(data, &review); err != nil || review.Request == nil {
		t.Fatalf("%s %s %v", res.Status, data, err)
	}
	return review.Request
}

// TestWebhookOfConnect asks a webhook about exec, which refuses it: no node is asked.
func TestWebhookOfConnect(t *testing.T) {
	t.Parallel()
	r, k, w := start(t), startKubelet(t), hooktest.New(t)
	k.on(t, r)
	_, validating := w.Configurations("deny")
	hook := &validating.Webhooks[0]
	hook.ObjectSelector = nil
	hook.Rules = []registrationv1.RuleWithOperations{{Operations: []registrationv1.OperationType{registrationv1.Connect}, Rule: registrationv1.Rule{
		APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/exec"},
	}}}
	validating.Webhooks = validating.Webhooks[:1]
	_, err := r.admin(t).AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(within(t), validating, metav1.CreateOptions{})
	must(t, err)
	const path = "/api/v1/namespaces/default/pods/p/exec?container=c&stdin=true&stdout=true&command=cat"
	journey := ""
	until(t, "the webhook refuses", func() bool {
		res, data := ask(t, r.httpClient(t), "POST", r.URL+path, nil)
		journey = res.Header.Get("Kx-Journey")
		return res.StatusCode == http.StatusForbidden && strings.Contains(string(data), "not in this house")
	})
	q := lastReview(t, w)
	if q.Operation != admissionv1.Connect || q.Kind.Kind != "PodExecOptions" || q.Resource.Resource != "pods" || q.SubResource != "exec" || q.Name != "p" || !strings.Contains(string(q.Object.Raw), `"command":["cat"]`) {
		t.Errorf("it was asked %+v", q)
	}
	if found := stepsOf(r.journeyOf(t, journey), "handler.webhook"); len(found) != 1 || found[0].Reason.Kind != "webhook-denied" {
		t.Errorf("the journey has %+v", found)
	}
	before := len(k.asked)
	if res, _ := ask(t, r.httpClient(t), "POST", r.URL+path, nil); res.StatusCode != http.StatusForbidden || len(k.asked) != before {
		t.Errorf("%s, and the node was asked", res.Status)
	}
}

// TestNodeBeforeAnUpdate asks a webhook about updates of a node: it sees the node as it is stored, beside what the node is to become.
func TestNodeBeforeAnUpdate(t *testing.T) {
	t.Parallel()
	r, w := start(t), hooktest.New(t)
	const node = "/api/v1/nodes/n"
	client := r.httpClient(t)
	res, body := ask(t, client, "POST", r.URL+"/api/v1/nodes", strings.NewReader(`{"metadata":{"name":"n","labels":{"color":"red"},"annotations":{"color":"yellow"}},
"spec":{"unschedulable":true,"taints":[{"key":"before","effect":"NoSchedule"}]},"status":{"phase":"Pending"}}`))
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("%s %s", res.Status, body)
	}
	_, validating := w.Configurations("deny")
	validating.Webhooks = validating.Webhooks[:1]
	hook, path := &validating.Webhooks[0], w.Server.URL+"/nodes"
	hook.ClientConfig.URL, hook.ObjectSelector = &path, nil
	hook.Rules = []registrationv1.RuleWithOperations{{Operations: []registrationv1.OperationType{registrationv1.Update}, Rule: registrationv1.Rule{
		APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"nodes", "nodes/status"},
	}}}
	_, err := r.admin(t).AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(within(t), validating, metav1.CreateOptions{})
	must(t, err)
	change := func(path, patch string) {
		t.Helper()
		res, body := ask(t, client, "PATCH", r.URL+path, strings.NewReader(patch), "Content-Type: "+asMerge)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", patch, res.Status, body)
		}
	}
	until(t, "the webhook is asked", func() bool {
		change(node, fmt.Sprintf(`{"metadata":{"annotations":{"try":"%p"}}}`, new(int)))
		return w.Calls("/nodes") > 0
	})
	for _, tt := range []struct{ path, patch, was, becomes string }{
		{node, `{"metadata":{"labels":{"color":"blue"}}}`, `"color":"red"`, `"color":"blue"`},
		{node, `{"metadata":{"annotations":{"color":"green"}}}`, `"color":"yellow"`, `"color":"green"`},
		{node, `{"spec":{"taints":[{"key":"after","effect":"NoSchedule"}]}}`, `"key":"before"`, `"key":"after"`},
		{node, `{"spec":{"unschedulable":null,"podCIDR":"10.0.0.0/24"}}`, `"unschedulable":true`, `"podCIDR":"10.0.0.0/24"`},
		{node + "/status", `{"status":{"phase":"Running"}}`, `"phase":"Pending"`, `"phase":"Running"`},
	} {
		change(tt.path, tt.patch)
		q := lastReview(t, w)
		if old := string(q.OldObject.Raw); !strings.Contains(old, tt.was) || strings.Contains(old, tt.becomes) {
			t.Errorf("%s: the webhook was told that it was %s", tt.patch, old)
		}
		if now := string(q.Object.Raw); !strings.Contains(now, tt.becomes) || strings.Contains(now, tt.was) {
			t.Errorf("%s: the webhook was told that it becomes %s", tt.patch, now)
		}
	}
}

// TestDryRunOfWebhooks: a webhook that has no side effects in a dry run is asked about one, and is told that it is one.
func TestDryRunOfWebhooks(t *testing.T) {
	t.Parallel()
	r, w := start(t), hooktest.New(t)
	mutating, _ := w.Configurations("label")
	effects := registrationv1.SideEffectClassNoneOnDryRun
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].SideEffects = &effects
	}
	_, err := r.admin(t).AdmissionregistrationV1().MutatingWebhookConfigurations().Create(within(t), mutating, metav1.CreateOptions{})
	must(t, err)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	until(t, "the webhook is asked", func() bool {
		made, err := maps.Create(within(t), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dry", Labels: map[string]string{"scene": "label"}}}, metav1.CreateOptions{DryRun: []string{"All"}})
		must(t, err)
		return made.Labels["team"] == "blue"
	})
	if q := lastReview(t, w); q.DryRun == nil || !*q.DryRun {
		t.Errorf("it was asked %+v", q)
	}
	if _, err := maps.Get(within(t), "dry", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run: %v", err)
	}
}

// TestSlicesOfNodes has a node write ResourceSlices that exist: those of others stay as they are. A kube-apiserver leaves that to its authorizer of
// nodes, so no answer of one is compared.
func TestSlicesOfNodes(t *testing.T) {
	t.Parallel()
	r := start(t, tokens(t, wiretest.TokenFile()), uncollected, func(o *options.Options) { o.Admission.Enabled = []string{"NodeRestriction"} })
	c := &wiretest.Client{URL: r.URL, Admin: r.httpClient(t), Anyone: r.anyone(t)}
	const slices, rbac, asNode = "/apis/resource.k8s.io/v1/resourceslices", "/apis/rbac.authorization.k8s.io/v1/", "\nAuthorization: Bearer node"
	send := func(line, body, want string) string {
		t.Helper()
		answer := c.Ask(t, line+"\n\n"+body)
		if !strings.HasPrefix(answer, want) {
			t.Errorf("%s: %s, want %s", line, answer, want)
		}
		return answer
	}
	send("POST "+rbac+"clusterroles", `{"metadata":{"name":"nodes"},"rules":[{"apiGroups":["resource.k8s.io"],"resources":["resourceslices"],"verbs":["get","create","update","patch"]}]}`, "201")
	send("POST "+rbac+"clusterrolebindings", `{"metadata":{"name":"nodes"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"nodes"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:nodes"}]}`, "201")
	until(t, "the role is known", func() bool { return strings.HasPrefix(c.Ask(t, "GET "+slices+"/none"+asNode), "404") })
	const spec = `"spec":{"driver":"d.example.com","pool":{"name":"p","generation":1,"resourceSliceCount":1},`
	for name, where := range map[string]string{"own": `"nodeName":"n1"`, "other": `"nodeName":"n2"`, "all": `"allNodes":true`} {
		slice := `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"` + name + `","labels":{"a":"b"}},` + spec + where + `}}`
		send("POST "+slices, slice, "201")
		want := "403"
		if name == "own" {
			want = "200"
		}
		for _, line := range []string{
			"PUT " + slices + "/" + name,
			"PATCH " + slices + "/" + name + "\nContent-Type: application/merge-patch+json",
			"PATCH " + slices + "/" + name + "?fieldManager=m&force=true\nContent-Type: application/apply-patch+yaml",
		} {
			answer := send(line+asNode, strings.Replace(slice, `"a":"b"`, `"a":"c"`, 1), want)
			if want == "403" && !strings.Contains(answer, "can only update ResourceSlice with the same NodeName as the requesting node") {
				t.Errorf("%s: %s", line, answer)
			}
		}
	}
}

// TestAdmissionOfProvidedNamespaces has a write make its namespace, about which policies are asked: they see the server as its user, change it, and
// refuse it, and with it the write. What they warn of is not said to the client.
func TestAdmissionOfProvidedNamespaces(t *testing.T) {
	t.Parallel()
	r := start(t, uncollected, func(o *options.Options) { o.Admission.Enabled = []string{"NamespaceAutoProvision"} })
	c := r.client(t)
	const group = "/apis/admissionregistration.k8s.io/v1/"
	about := `"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["namespaces"]}]}`
	for _, post := range [][2]string{
		{"mutatingadmissionpolicies", `{"metadata":{"name":"by"},"spec":{"reinvocationPolicy":"Never",` + about + `,"mutations":[{"patchType":"ApplyConfiguration",
"applyConfiguration":{"expression":"Object{metadata: Object.metadata{annotations: {'by': request.userInfo.username + ' of ' + request.userInfo.groups.join(',')}}}"}}]}}`},
		{"mutatingadmissionpolicybindings", `{"metadata":{"name":"by"},"spec":{"policyName":"by"}}`},
		{"validatingadmissionpolicies", `{"metadata":{"name":"names"},"spec":{` + about + `,"validations":[{"expression":"!object.metadata.name.startsWith('no')"}]}}`},
		{"validatingadmissionpolicybindings", `{"metadata":{"name":"names"},"spec":{"policyName":"names","validationActions":["Deny"]}}`},
		{"validatingadmissionpolicies", `{"metadata":{"name":"all"},"spec":{` + about + `,"validations":[{"expression":"false"}]}}`},
		{"validatingadmissionpolicybindings", `{"metadata":{"name":"all"},"spec":{"policyName":"all","validationActions":["Warn"]}}`},
	} {
		if answer := c.Ask(t, "POST "+group+post[0]+"\n\n"+post[1]); !strings.HasPrefix(answer, "201") {
			t.Fatal(answer)
		}
	}
	settle(t, c)
	write := func(namespace string) string {
		return c.Ask(t, "POST /api/v1/namespaces/"+namespace+"/configmaps\n\n"+`{"metadata":{"name":"c"}}`)
	}
	if answer := write("no"); !strings.HasPrefix(answer, "403") || !strings.Contains(answer, "ValidatingAdmissionPolicy 'names' with binding 'names' denied request") {
		t.Errorf("a write in a namespace that a policy refuses: %s", answer)
	}
	if answer := c.Ask(t, "GET /api/v1/namespaces/no"); !strings.HasPrefix(answer, "404") {
		t.Errorf("what was refused: %s", answer)
	}
	if answer := write("yes"); !strings.HasPrefix(answer, "201") || strings.Contains(answer, "Warning:") {
		t.Errorf("a write in a new namespace: %s", answer)
	}
	if answer := c.Ask(t, "GET /api/v1/namespaces/yes"); !strings.Contains(answer, `"annotations":{"by":"system:apiserver of system:authenticated,system:masters"}`) {
		t.Errorf("the new namespace: %s", answer)
	}
	if answer := c.Ask(t, "POST /api/v1/namespaces\n\n"+`{"metadata":{"name":"told"}}`); !strings.Contains(answer, "Warning:") {
		t.Errorf("a namespace of a client's own: %s", answer)
	}
}

// TestDearMutation has a mutating policy whose expression costs too much: the write is refused, names the policy, and is not stored.
func TestDearMutation(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := r.client(t)
	expression := "true"
	for i := range 7 {
		expression = fmt.Sprintf("[0,1,2,3,4,5,6,7,8,9].all(v%d, %s)", i, expression)
	}
	policy := marshal(t, map[string]any{"metadata": map[string]any{"name": "dear"}, "spec": map[string]any{
		"reinvocationPolicy": "Never",
		"matchConstraints": map[string]any{
			"objectSelector": map[string]any{"matchLabels": map[string]string{"scene": "dear"}},
			"resourceRules":  []any{map[string]any{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{"configmaps"}}},
		},
		"mutations": []any{map[string]any{"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{
			"expression": "Object{data: {'a': string(" + expression + ")}}",
		}}},
	}})
	for _, post := range [][2]string{{"mutatingadmissionpolicies", string(policy)}, {"mutatingadmissionpolicybindings", `{"metadata":{"name":"dear"},"spec":{"policyName":"dear"}}`}} {
		if answer := c.Ask(t, "POST /apis/admissionregistration.k8s.io/v1/"+post[0]+"\n\n"+post[1]); !strings.HasPrefix(answer, "201") {
			t.Fatal(answer)
		}
	}
	settle(t, c)
	answer := c.Ask(t, fmt.Sprintf(newConfigMap, "", "dear", "dear"))
	if !strings.HasPrefix(answer, "4") || !strings.Contains(answer, "policy 'dear' with binding 'dear' denied request") || !strings.Contains(answer, "cost limit exceeded") {
		t.Errorf("%s", answer)
	}
	if _, err := r.admin(t).CoreV1().ConfigMaps("default").Get(within(t), "dear", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what was refused: %v", err)
	}
	if answer := c.Ask(t, fmt.Sprintf(newConfigMap, "", "cheap", "none")); !strings.HasPrefix(answer, "201") {
		t.Errorf("another write: %s", answer)
	}
}

// TestAuditAnnotations reads from the audit log what webhooks, policies and PodSecurity say of writes that they let pass.
func TestAuditAnnotations(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.log")
	r, stop, err := launch(func(o *options.Options) { o.Audit.Log.Path = file })
	must(t, err)
	r.ready(t)
	c, w := r.client(t), hooktest.New(t)
	w.Configure(t, c, "label", "warn")
	for _, post := range [][2]string{
		{"apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", `{"metadata":{"name":"notes"},"spec":{"validations":[{"expression":"object.metadata.name == 'none'","message":"another name"}],
"auditAnnotations":[{"key":"name","valueExpression":"'it is ' + object.metadata.name"}],"matchConstraints":{"resourceRules":[
{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}}}`},
		{"apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", `{"metadata":{"name":"notes"},"spec":{"policyName":"notes","validationActions":["Audit"]}}`},
		{"api/v1/namespaces", `{"metadata":{"name":"watched","labels":{"pod-security.kubernetes.io/audit":"restricted"}}}`},
	} {
		if answer := c.Ask(t, "POST /"+post[0]+"\n\n"+post[1]); !strings.HasPrefix(answer, "201") {
			t.Fatal(answer)
		}
	}
	settle(t, c)
	for _, scene := range []string{"label", "warn"} {
		if answer := c.Ask(t, fmt.Sprintf(newConfigMap, "", "of-"+scene, scene)); !strings.HasPrefix(answer, "201") {
			t.Fatal(answer)
		}
	}
	until(t, "the namespace has its account", func() bool {
		answer := c.Ask(t, "POST /api/v1/namespaces/watched/pods\n\n"+`{"metadata":{"name":"loose"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		return strings.HasPrefix(answer, "201")
	})
	must(t, stop())
	found := map[string]map[string]string{}
	for _, e := range audited(t, file) {
		if e.ObjectRef != nil && e.Verb == "create" && e.ResponseStatus != nil && e.ResponseStatus.Code == http.StatusCreated {
			found[e.ObjectRef.Resource+"/"+e.ObjectRef.Name] = e.Annotations
		}
	}
	for _, test := range []struct{ object, key, want string }{
		{"configmaps/of-label", "mutation.webhook.admission.k8s.io/round_0_index_0", `{"configuration":"scenes","webhook":"label.label.example.com","mutated":true}`},
		{"configmaps/of-warn", "warn.warn.example.com/seen", "yes"},
		{"configmaps/of-warn", "notes/name", "it is of-warn"},
		{"configmaps/of-warn", "validation.policy.admission.k8s.io/validation_failure", `"message":"another name","policy":"notes","binding":"notes"`},
		{"pods/loose", "pod-security.kubernetes.io/audit-violations", `would violate PodSecurity "restricted:latest"`},
		{"pods/loose", "pod-security.kubernetes.io/enforce-policy", "privileged:latest"},
	} {
		if got := found[test.object][test.key]; !strings.Contains(got, test.want) {
			t.Errorf("%s: %s is %q in %v, want %s", test.object, test.key, got, found[test.object], test.want)
		}
	}
}
