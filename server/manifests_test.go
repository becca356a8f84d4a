package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/internal/hooktest"
	"github.com/kx-apiserver/kx/server/options"
)

// manifests are the directories of the plugins, and the file that names them.
type manifests struct {
	dir string
}

// pluginsOfManifests are the plugins that read manifests, with the kind of their configuration.
var pluginsOfManifests = map[string]string{
	"MutatingAdmissionPolicy": "MutatingAdmissionPolicyConfiguration", "MutatingAdmissionWebhook": "WebhookAdmissionConfiguration",
	"ValidatingAdmissionPolicy": "ValidatingAdmissionPolicyConfiguration", "ValidatingAdmissionWebhook": "WebhookAdmissionConfiguration",
}

func newManifests(t *testing.T) *manifests {
	t.Helper()
	m := &manifests{t.TempDir()}
	var b strings.Builder
	b.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n")
	for plugin, kind := range pluginsOfManifests {
		must(t, os.Mkdir(filepath.Join(m.dir, plugin), 0o700))
		fmt.Fprintf(&b, "- name: %s\n  configuration:\n    apiVersion: apiserver.config.k8s.io/v1\n    kind: %s\n    staticManifestsDir: %s\n", plugin, kind, filepath.Join(m.dir, plugin))
		if plugin == "ValidatingAdmissionWebhook" {
			fmt.Fprintf(&b, "    kubeConfigFile: %s\n", filepath.Join(m.dir, "kubeconfig"))
		}
	}
	must(t, os.WriteFile(filepath.Join(m.dir, "kubeconfig"), []byte("apiVersion: v1\nkind: Config\nusers: [{name: '*', user: {token: of-the-server}}]\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(m.dir, "admission.yaml"), []byte(b.String()), 0o600))
	return m
}

func (m *manifests) write(t *testing.T, plugin, name, text string) string {
	t.Helper()
	path := filepath.Join(m.dir, plugin, name)
	must(t, os.WriteFile(path+".new", []byte(text), 0o600))
	must(t, os.Rename(path+".new", path))
	return path
}

func (m *manifests) on(o *options.Options) { o.Admission.File = filepath.Join(m.dir, "admission.yaml") }

// policyOf is a policy of a file, with its binding: it refuses what has not the expression.
func policyOf(name, rules, expression, message string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s.static.k8s.io}
spec:
  matchConstraints: {resourceRules: [%[2]s]}
  validations: [{expression: %[3]q, message: %[4]q}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s.static.k8s.io}
spec: {policyName: %[1]s.static.k8s.io, validationActions: [Deny]}
`, name, rules, expression, message)
}

const (
	ofMaps     = `{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}`
	ofPolicies = `{operations: [CREATE, UPDATE, DELETE], apiGroups: [admissionregistration.k8s.io], apiVersions: ["*"], resources: [validatingadmissionpolicies, validatingwebhookconfigurations]}`
)

const labelsMaps = `apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingAdmissionPolicy
  metadata: {name: label.static.k8s.io}
  spec:
    matchConstraints: {resourceRules: [` + ofMaps + `]}
    reinvocationPolicy: Never
    mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"by": "static"}}}'}}]
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingAdmissionPolicyBinding
  metadata: {name: label.static.k8s.io}
  spec: {policyName: label.static.k8s.io}
`

// denied says whether an error is the refusal of a policy or webhook with this message.
func denied(err error, message string) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status) && (status.ErrStatus.Code == http.StatusUnprocessableEntity || status.ErrStatus.Code == http.StatusForbidden) && strings.Contains(err.Error(), message)
}

// TestManifests has policies and webhooks of files, which count from the first request and cannot be seen or changed over the API.
func TestManifests(t *testing.T) {
	t.Parallel()
	ctx, m, w := within(t), newManifests(t), hooktest.New(t)
	m.write(t, "ValidatingAdmissionPolicy", "guard.yaml",
		policyOf("guard", ofPolicies, `request.operation != 'DELETE' && !object.metadata.name.startsWith('no-')`, "not over the API")+"---\n"+
			policyOf("maps", ofMaps, "!object.metadata.name.startsWith('bad-')", "a bad name"))
	m.write(t, "ValidatingAdmissionPolicy", "notes.txt", "this is no manifest")
	m.write(t, "MutatingAdmissionPolicy", "label.yml", labelsMaps)
	mutating, validating := w.Configurations("label", "deny")
	mutating.TypeMeta = metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"}
	validating.TypeMeta = metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"}
	mutating.Name, validating.Name = "hooks.static.k8s.io", "hooks.static.k8s.io"
	// One that is asked about configurations of webhooks, of which those of the API are never asked.
	guard := *validating.Webhooks[slices.IndexFunc(validating.Webhooks, func(w registrationv1.ValidatingWebhook) bool {
		return strings.HasPrefix(w.Name, "deny.")
	})].DeepCopy()
	guard.Name, guard.ObjectSelector = "guard.example.com", &metav1.LabelSelector{MatchLabels: map[string]string{"guard": "webhook"}}
	guard.Rules = []registrationv1.RuleWithOperations{{Operations: []registrationv1.OperationType{"*"}, Rule: registrationv1.Rule{
		APIGroups: []string{"admissionregistration.k8s.io"}, APIVersions: []string{"*"}, Resources: []string{"mutatingwebhookconfigurations"},
	}}}
	validating.Webhooks = append(validating.Webhooks, guard)
	for plugin, obj := range map[string]any{"MutatingAdmissionWebhook": mutating, "ValidatingAdmissionWebhook": validating} {
		text, err := json.Marshal(obj)
		must(t, err)
		m.write(t, plugin, "hooks.json", string(text))
	}
	r := start(t, m.on)
	client := r.admin(t)
	maps := client.CoreV1().ConfigMaps("default")
	create := func(name string, labels map[string]string) (*corev1.ConfigMap, error) {
		return maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	}

	// The first request is judged.
	if _, err := create("bad-one", nil); !denied(err, "ValidatingAdmissionPolicy 'maps.static.k8s.io' with binding 'maps.static.k8s.io' denied request: a bad name") {
		t.Errorf("the policy of a file: %v", err)
	}
	good, err := create("good", map[string]string{"scene": "label"})
	must(t, err)
	if good.Labels["by"] != "static" || w.Calls("/label") == 0 {
		t.Errorf("the labels are %v, after %d calls of the webhook", good.Labels, w.Calls("/label"))
	}
	if _, err := create("denied", map[string]string{"scene": "deny"}); !denied(err, `admission webhook "deny.deny.example.com" denied the request`) {
		t.Errorf("the webhook of a file: %v", err)
	}
	if mutating, validating := w.Shown("/label"), w.Shown("/deny"); mutating != "" || validating != "Bearer of-the-server" {
		t.Errorf("the webhooks were shown %q and %q", mutating, validating)
	}
	steps := map[string]int{}
	list := r.journeysOf(t, "?filter=resource%3Dconfigmaps")
	for _, j := range list {
		var whole v1alpha1.Journey
		r.read(t, journeysPath+"/"+j.Name, &whole)
		for _, s := range whole.Status.Steps {
			steps[s.ID+" "+s.Subject]++
		}
	}
	for _, want := range []string{"handler.policy maps.static.k8s.io/maps.static.k8s.io", "handler.policy label.static.k8s.io/label.static.k8s.io", "handler.webhook hooks.static.k8s.io/label.label.example.com"} {
		if steps[want] == 0 {
			t.Errorf("no journey has the step %s: %v", want, steps)
		}
	}

	// They judge what configures admission, of which nothing of the API is asked.
	policies, hooks := client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	policy := func(name string) *registrationv1.ValidatingAdmissionPolicy {
		return &registrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(name), Spec: registrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &registrationv1.MatchResources{ResourceRules: []registrationv1.NamedRuleWithOperations{{RuleWithOperations: registrationv1.RuleWithOperations{
				Operations: []registrationv1.OperationType{"CREATE"}, Rule: registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
			}}}},
			Validations: []registrationv1.Validation{{Expression: "false"}},
		}}
	}
	if _, err := policies.Create(ctx, policy("no-such"), metav1.CreateOptions{}); !denied(err, "not over the API") {
		t.Errorf("a policy that the file's refuses: %v", err)
	}
	_, err = policies.Create(ctx, policy("yes"), metav1.CreateOptions{})
	must(t, err)
	if err := policies.Delete(ctx, "yes", metav1.DeleteOptions{}); !denied(err, "not over the API") {
		t.Errorf("a deletion that the file's policy refuses: %v", err)
	}
	for name, label := range map[string]string{"free": "", "guarded": "webhook"} {
		c := &registrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"guard": label}}}
		if _, err := hooks.Create(ctx, c, metav1.CreateOptions{}); (err != nil) != (label != "") || err != nil && !denied(err, `"guard.example.com" denied the request`) {
			t.Errorf("the configuration %s: %v", name, err)
		}
	}

	// The API neither shows nor makes them.
	if _, err := policies.Get(ctx, "maps.static.k8s.io", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the API has a policy of a file: %v", err)
	}
	const reserved = `names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API`
	if _, err := policies.Create(ctx, policy("mine.static.k8s.io"), metav1.CreateOptions{}); !apierrors.IsInvalid(err) && !denied(err, reserved) || !strings.Contains(err.Error(), reserved) {
		t.Errorf("a reserved name: %v", err)
	}
	if code, body := readBody(t, r, "/readyz?verbose"); code != http.StatusOK || !strings.Contains(body, "[+]admission ok") {
		t.Errorf("%d %s", code, body)
	}
}

func readBody(t *testing.T, r *running, path string) (int, string) {
	t.Helper()
	res, body := ask(t, r.httpClient(t), "GET", r.URL+path, nil)
	return res.StatusCode, string(body)
}

// TestManifestsReload: what changes in a directory counts, and what is of no use does not, which is told until it is mended.
func TestManifestsReload(t *testing.T) {
	t.Parallel()
	ctx, m, log := within(t), newManifests(t), &syncBuffer{}
	const plugin = "ValidatingAdmissionPolicy"
	first, second := policyOf("maps", ofMaps, "false", "the first"), policyOf("maps", ofMaps, "false", "the second")
	file := m.write(t, plugin, "a.yaml", first)
	r, stop, err := launchLogging(slog.New(slog.NewTextHandler(log, nil)), nil, m.on)
	must(t, err)
	defer func() { must(t, stop()) }()
	client := r.admin(t)
	says := func() string { return whyRefused(t, client) }
	if got := says(); !strings.Contains(got, "the first") {
		t.Fatalf("at the start: %s", got)
	}
	m.write(t, plugin, "a.yaml", second)
	until(t, "the second policy counts", func() bool { return strings.Contains(says(), "the second") })
	failures := 0
	for _, broken := range []struct{ text, want string }{
		{strings.Replace(second, `"false"`, `"fals"`, 1), "spec.validations[0].expression"},
		{strings.ReplaceAll(second, "maps.static.k8s.io", "maps"), `must have a name ending with \".static.k8s.io\"`},
		{second + "---\n" + second, "is in"},
		{second[:strings.Index(second, "---")] + "---\n" + strings.ReplaceAll(second[strings.Index(second, "---\n")+4:], "policyName: maps", "policyName: cats"), "references policy"},
		{strings.Replace(second, "validations:", "validation:", 1), `unknown field \"spec.validation\"`},
		{strings.Replace(second, "matchConstraints:", "paramKind: {apiVersion: v1, kind: ConfigMap}\n  matchConstraints:", 1), "spec.paramKind is not supported for static manifests"},
		{strings.ReplaceAll(second, "Validating", "Mutating"), ""},
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x.static.k8s.io}\n", "no kind"},
	} {
		m.write(t, plugin, "a.yaml", broken.text)
		until(t, "the server says so", func() bool {
			code, body := readBody(t, r, "/readyz/admission")
			return code == http.StatusInternalServerError && strings.Contains(body, "the manifests of ValidatingAdmissionPolicy are not as their directory says: see the log")
		})
		if failures++; !strings.Contains(log.String(), broken.want) || strings.Count(log.String(), file) < failures {
			t.Errorf("the log has no %q: %s", broken.want, log.String())
		}
		if got := says(); !strings.Contains(got, "the second") {
			t.Errorf("with a directory of no use: %s", got)
		}
		m.write(t, plugin, "a.yaml", second)
		until(t, "all is well", func() bool { code, _ := readBody(t, r, "/readyz"); return code == http.StatusOK })
	}
	if _, body := readBody(t, r, "/metrics"); !strings.Contains(body, fmt.Sprintf(`plugin="ValidatingAdmissionPolicy",status="failure"} %d`, failures)) ||
		!strings.Contains(body, `apiserver_manifest_admission_config_controller_last_config_info{apiserver_id_hash="sha256:`) {
		t.Error("what was of no use is not counted")
	}
	must(t, os.Remove(file))
	until(t, "no policy counts", func() bool { return says() == "" })
	_, err = client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: named("c")}, metav1.CreateOptions{})
	must(t, err)
}

// whyRefused is why no config map can be made, empty if one can.
func whyRefused(t *testing.T, client *kubernetes.Clientset) string {
	t.Helper()
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("try")}, metav1.CreateOptions{DryRun: []string{"All"}})
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestManifestsOfNoUse end the start, by file and field.
func TestManifestsOfNoUse(t *testing.T) {
	t.Parallel()
	hooks := func(kind, config string) string {
		return fmt.Sprintf("apiVersion: admissionregistration.k8s.io/v1\nkind: %s\nmetadata: {name: h.static.k8s.io}\nwebhooks: [{name: h.example.com, admissionReviewVersions: [v1], sideEffects: None, clientConfig: %s}]\n", kind, config)
	}
	for _, c := range []struct{ plugin, text, want string }{
		{"ValidatingAdmissionPolicy", policyOf("a", ofMaps, "size(", "x"), `a.yaml: document 1: ValidatingAdmissionPolicy "a.static.k8s.io": line 6: spec.validations[0].expression: Invalid value`},
		{"ValidatingAdmissionPolicy", strings.Replace(policyOf("a", ofMaps, "true", "x"), "policyName: a.static.k8s.io", "policyName: a", 1), `document 2: ValidatingAdmissionPolicyBinding "a.static.k8s.io": line 11: spec.policyName: Invalid value: "a": spec.policyName must end with ".static.k8s.io"`},
		{"MutatingAdmissionPolicy", policyOf("a", ofMaps, "true", "x"), "kind: a ValidatingAdmissionPolicy does not belong into this directory"},
		{"MutatingAdmissionPolicy", strings.Replace(labelsMaps, "reinvocationPolicy: Never", "reinvocationPolicy: Sometimes", 1), `a.yaml: document 1: items[0]: MutatingAdmissionPolicy "label.static.k8s.io": line 9: spec.reinvocationPolicy`},
		{"MutatingAdmissionWebhook", hooks("MutatingWebhookConfiguration", "{service: {name: s, namespace: d}}"), "webhooks[0].clientConfig.service: Forbidden: clientConfig.service is not supported for static manifests; use clientConfig.url instead"},
		{"ValidatingAdmissionWebhook", hooks("ValidatingWebhookConfiguration", `{url: "http://x.example"}`), "webhooks[0].clientConfig.url: Invalid value"},
		{"ValidatingAdmissionWebhook", hooks("MutatingWebhookConfiguration", `{url: "https://x.example"}`), "kind: a MutatingWebhookConfiguration does not belong into this directory"},
	} {
		m := newManifests(t)
		m.write(t, c.plugin, "a.yaml", c.text)
		_, stop, err := launch(m.on)
		if err == nil {
			must(t, stop())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--admission-control-config-file: ") || !strings.Contains(err.Error(), filepath.Join(m.dir, c.plugin, "a.yaml")) {
			t.Errorf("%s: %v, want %s", c.plugin, err, c.want)
		}
	}
	m := newManifests(t)
	must(t, os.RemoveAll(filepath.Join(m.dir, "MutatingAdmissionPolicy")))
	if _, _, err := launch(m.on); err == nil || !strings.Contains(err.Error(), "staticManifestsDir") {
		t.Errorf("without the directory: %v", err)
	}
}
