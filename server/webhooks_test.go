package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/transport"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/internal/hooktest"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
	"github.com/kx-apiserver/kx/server/options"
)

// TestWebhooks has the server ask admission webhooks. The answers are those that a kube-apiserver gave: see testdata/upstream.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	// The reviews say who writes: that is the user of testdata/upstream.
	r := start(t, tokens(t, "secret,kx-admin,1,\"system:masters\"\n"), uncollected)
	anyone := r.anyone(t)
	admin := &http.Client{Transport: transport.NewBearerAuthRoundTripper("secret", anyone.Transport)}
	c := &wiretest.Client{URL: r.URL, Admin: admin, Anyone: anyone}
	w := hooktest.New(t)
	w.Configure(t, c)
	datadriven.Walk(t, filepath.Join("testdata", "webhooks"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return w.Answer(t, c, d.Cmd, d.Input) })
	})
}

// client is one for transcripts.
func (r *running) client(t testing.TB) *wiretest.Client {
	admin := r.httpClient(t)
	return &wiretest.Client{URL: r.URL, Admin: admin, Anyone: admin}
}

const newConfigMap = "POST /api/v1/namespaces/default/configmaps%s\n\n" + `{"metadata":{"name":%q,"labels":{"scene":%q}}}`

// TestWebhooksThatAttack has webhooks that answer so that it hurts. The write fails, and says how.
func TestWebhooksThatAttack(t *testing.T) {
	t.Parallel()
	r := start(t)
	c, w := r.client(t), hooktest.New(t)
	w.Configure(t, c)
	const failed = `failed calling webhook \"%[1]s.%[1]s.example.com\": failed to call webhook: `
	for scene, want := range map[string]string{
		"redirect": "it answered 307, and redirects are not followed",
		"broken":   `an error on the server (\"500 Internal Server Error\") has prevented the request from succeeding`,
		"endless":  "it answered more than 3145728 bytes, which is the most that is read",
		"bomb":     "it answered more than 3145728 bytes, which is the most that is read",
	} {
		got := c.Ask(t, fmt.Sprintf(newConfigMap, "", scene, scene))
		if !strings.HasPrefix(got, "500") || !strings.Contains(got, fmt.Sprintf(failed, scene)) || !strings.Contains(got, want) || strings.Contains(got, "hidden") {
			t.Errorf("%s: %s", scene, got)
		}
	}
	if n := w.Calls("/label"); n != 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
	if got := c.Ask(t, fmt.Sprintf(newConfigMap, "", "escape", "escape")); !strings.Contains(got, `red \\x1b[31m text`) {
		t.Errorf("what acts on a terminal reached the client: %q", got)
	}
	if got := c.Ask(t, fmt.Sprintf(newConfigMap, "", "large", "deny-large-code")); !strings.HasPrefix(got, "400") {
		t.Errorf("a code that is none: %s", got)
	}
}

// TestWebhookEndsWithTheRequest: who no longer waits for an answer keeps no webhook busy.
func TestWebhookEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	r := start(t)
	c, w := r.client(t), hooktest.New(t)
	w.Configure(t, c, "patient")
	asked := 0
	until(t, "the webhook is asked before the request's time is over", func() bool {
		asked++
		if got := c.Ask(t, fmt.Sprintf(newConfigMap, "?timeout=1s", fmt.Sprint("patient-", asked), "patient")); !strings.HasPrefix(got, "504") {
			t.Fatalf("got %s", got)
		}
		return w.Calls("/slow") > 0
	})
	select {
	case <-w.GaveUp:
	case <-time.After(19 * time.Second): // the webhook's own timeout is 20 seconds
		t.Error("the webhook is still asked")
	}
}

// TestWebhookConnections: many writes need few connections.
func TestWebhookConnections(t *testing.T) {
	t.Parallel()
	r := start(t)
	c, w := r.client(t), hooktest.New(t)
	w.Configure(t, c, "label")
	for i := range 30 {
		if got := c.Ask(t, fmt.Sprintf(newConfigMap, "", fmt.Sprint("m-", i), "label")); !strings.HasPrefix(got, "201") {
			t.Fatal(got)
		}
	}
	if n := w.Connections(); w.Calls("/label") < 30 || n > 8 {
		t.Errorf("%d calls used %d connections", w.Calls("/label"), n)
	}
}

// TestWebhookOfAService finds a service as a cluster does, or where the flag says that it is.
func TestWebhookOfAService(t *testing.T) {
	t.Parallel()
	w := hooktest.New(t)
	host, text, err := net.SplitHostPort(w.Server.Listener.Addr().String())
	must(t, err)
	number, err := strconv.ParseInt(text, 10, 32)
	must(t, err)
	port := int32(number)
	service := func(spec corev1.ServiceSpec) *corev1.Service {
		return &corev1.Service{ObjectMeta: named("hook"), Spec: spec}
	}
	const refused, unreachable = "not in this house", `failed calling webhook "deny.deny.example.com": failed to call webhook: `
	routed := func(o *options.Options) { o.Aggregator.Endpoints = true }
	for _, c := range []struct {
		name    string
		mod     func(*options.Options)
		service *corev1.Service
		ready   bool // an endpoint beside one that is not
		want    string
	}{
		{name: "the flag says where", mod: func(o *options.Options) {
			o.Admission.Services = map[string]string{"default/hook": net.JoinHostPort(host, text)}
		}, want: refused},
		{name: "an external name", service: service(corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: host}), want: refused},
		{name: "endpoints", mod: routed, service: service(corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "tls", Port: port}}}), ready: true, want: refused},
		{name: "no endpoint that is ready", mod: routed, service: service(corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "tls", Port: port}}}),
			want: unreachable + "Post \"https://hook.default.svc:" + text + "/deny?timeout=20s\": no endpoints available for service \"hook\""},
		{name: "another port", service: service(corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}),
			want: unreachable + "Post \"https://hook.default.svc:" + text + "/deny?timeout=20s\": no service port " + text + " found for service \"hook\""},
		{name: "no service", want: unreachable + "Post \"https://hook.default.svc:" + text + "/deny?timeout=20s\": service \"hook\" not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address := ""
			if c.ready {
				address = outerAddress(t)
				forward(t, address, port)
			}
			r := start(t, func(o *options.Options) {
				if c.mod != nil {
					c.mod(o)
				}
			})
			admin := r.admin(t)
			if c.service != nil {
				_, err := admin.CoreV1().Services("default").Create(within(t), c.service.DeepCopy(), metav1.CreateOptions{})
				must(t, err)
				slice := &discoveryv1.EndpointSlice{
					ObjectMeta:  metav1.ObjectMeta{Name: "hook", Labels: map[string]string{discoveryv1.LabelServiceName: "hook"}},
					AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("tls"), Port: &port}},
					Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}}},
				}
				if c.ready {
					slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
				}
				_, err = admin.DiscoveryV1().EndpointSlices("default").Create(within(t), slice, metav1.CreateOptions{})
				must(t, err)
			}
			_, validating := w.Configurations("deny")
			for i := range validating.Webhooks {
				config := &validating.Webhooks[i].ClientConfig
				config.URL, config.Service = nil, &registrationv1.ServiceReference{Namespace: "default", Name: "hook", Path: ptr.To("/deny"), Port: &port}
			}
			_, err := admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(within(t), validating, metav1.CreateOptions{})
			must(t, err)
			var last error
			defer func() {
				if t.Failed() {
					t.Log(last)
				}
			}()
			until(t, "the webhook is asked", func() bool {
				_, last = admin.CoreV1().ConfigMaps("default").Create(within(t), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "a-", Labels: map[string]string{"scene": "deny"}},
				}, metav1.CreateOptions{})
				return last != nil && strings.Contains(last.Error(), c.want)
			})
		})
	}
}

// TestWebhookOfItself: the service kubernetes is the server, which knows nobody who shows it nothing.
func TestWebhookOfItself(t *testing.T) {
	t.Parallel()
	r := start(t)
	w, path := hooktest.New(t), "/apis/admission.example.com/v1/reviews"
	_, validating := w.Configurations("deny")
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig = registrationv1.WebhookClientConfig{
			CABundle: r.config.CAData, Service: &registrationv1.ServiceReference{Namespace: "default", Name: "kubernetes", Path: &path},
		}
	}
	_, err := r.admin(t).AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(within(t), validating, metav1.CreateOptions{})
	must(t, err)
	until(t, "the server asks itself", func() bool {
		_, err := r.admin(t).CoreV1().ConfigMaps("default").Create(within(t), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "a-", Labels: map[string]string{"scene": "deny"}},
		}, metav1.CreateOptions{})
		return err != nil && strings.Contains(err.Error(), "failed to call webhook") && len(r.journeysOf(t, "?filter="+url.QueryEscape("uri:"+path))) > 0
	})
}

// forward leads connections to a port of another address of this machine to the same port of 127.0.0.1.
func forward(t *testing.T, address string, port int32) {
	t.Helper()
	text := strconv.Itoa(int(port))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(address, text))
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", text))
			if err != nil {
				_ = in.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					_, _ = io.Copy(way[0], way[1]) // until one of them ends
					_, _ = in.Close(), out.Close()
				}()
			}
		}
	}()
}

// TestWebhookThatLocksAll is asked about everything, and can't be reached. Whoever may do so can take it away, and look for the reason.
func TestWebhookThatLocksAll(t *testing.T) {
	t.Parallel()
	r := start(t, allow)
	w := hooktest.New(t)
	_, validating := w.Configurations("deny")
	hook := &validating.Webhooks[0]
	hook.ObjectSelector = nil
	hook.Rules = []registrationv1.RuleWithOperations{{Operations: []registrationv1.OperationType{"*"}, Rule: registrationv1.Rule{
		APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"},
	}}}
	w.Server.Close()
	admin := r.admin(t)
	configurations := admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := configurations.Create(t.Context(), validating, metav1.CreateOptions{})
	must(t, err)
	until(t, "nothing can be written", func() bool {
		_, err := admin.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
		return err != nil && strings.Contains(err.Error(), "connection refused")
	})
	_, err = admin.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "x"}}, metav1.CreateOptions{})
	must(t, err)
	r.breakAt(t, "look", v1alpha1.BreakpointSpec{Filter: "step:handler.webhook resource:pods"})
	_, err = configurations.Patch(t.Context(), validating.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	must(t, err)
	must(t, configurations.Delete(t.Context(), validating.Name, metav1.DeleteOptions{}))
	until(t, "it can be written again", func() bool {
		_, err := admin.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
		return err == nil
	})
}

// TestWebhookOfSecrets: what a webhook does to a Secret is in no journey of it, in no form.
func TestWebhookOfSecrets(t *testing.T) {
	t.Parallel()
	r := start(t)
	c, w := r.client(t), hooktest.New(t)
	w.Configure(t, c, "secret")
	const object = `{"metadata":{"name":"s","labels":{"scene":"secret"}},"data":{"password":"c2VjcmV0"}}`
	if got := c.Ask(t, "POST /api/v1/namespaces/default/secrets\nKx-Trace: objects\n\n"+object); !strings.HasPrefix(got, "201") || !strings.Contains(got, "d2ViaG9vaw==") {
		t.Fatal(got)
	}
	journeys := r.journeysOf(t, "?filter=verb:create+resource:secrets")
	if len(journeys) != 1 {
		t.Fatalf("%d journeys", len(journeys))
	}
	var whole json.RawMessage
	r.kx(t, http.MethodGet, "journeys/"+journeys[0].Name, nil, http.StatusOK, &whole)
	text := string(whole)
	for _, want := range []string{"review", "answer"} {
		if !strings.Contains(text, `{"name":"`+want+`","value":"{`) {
			t.Errorf("the %s is not in the journey: %s", want, text)
		}
	}
	if !strings.Contains(text, "handler.webhook") || !strings.Contains(text, "add /data/added (masked)") {
		t.Errorf("the webhook is not in the journey: %s", text)
	}
	for _, secret := range []string{"c2VjcmV0", "d2ViaG9vaw=="} {
		if strings.Contains(text, secret) {
			t.Errorf("the journey has %q", secret)
		}
	}
}

// TestDenialOfSecrets: a policy may quote a Secret in its denial, whatever reason it gives. The client hears it, and no journey has it.
func TestDenialOfSecrets(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := r.client(t)
	for _, post := range [][2]string{
		{"validatingadmissionpolicies", `{"metadata":{"name":"loud"},"spec":{"validations":[{"expression":"false","reason":"Forbidden","messageExpression":"'it is ' + object.metadata.annotations['copy']"}],
"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["secrets"]}]}}}`},
		{"validatingadmissionpolicybindings", `{"metadata":{"name":"loud"},"spec":{"policyName":"loud","validationActions":["Deny"]}}`},
	} {
		if answer := c.Ask(t, "POST /apis/admissionregistration.k8s.io/v1/"+post[0]+"\n\n"+post[1]); !strings.HasPrefix(answer, "201") {
			t.Fatal(answer)
		}
	}
	settle(t, c)
	const quoted = "words-that-nobody-else-may-read"
	answer := c.Ask(t, "POST /api/v1/namespaces/default/secrets\nKx-Trace: objects\n\n"+`{"metadata":{"name":"s","annotations":{"copy":"`+quoted+`"}}}`)
	if !strings.HasPrefix(answer, "403") || !strings.Contains(answer, "it is "+quoted) {
		t.Fatal(answer)
	}
	journeys := r.journeysOf(t, "?filter=verb:create+resource:secrets")
	if len(journeys) != 1 {
		t.Fatalf("%d journeys", len(journeys))
	}
	var whole json.RawMessage
	r.kx(t, http.MethodGet, "journeys/"+journeys[0].Name, nil, http.StatusOK, &whole)
	if text := string(whole); strings.Contains(text, quoted) || !strings.Contains(text, "with which a webhook or a policy denied the request") {
		t.Errorf("the journey has %s", text)
	}
}

// TestReviewsInJourneys: where objects are recorded, the step of a webhook shows what it was asked and what it answered, and the object that
// it judged.
func TestReviewsInJourneys(t *testing.T) {
	t.Parallel()
	r := start(t)
	c, w := r.client(t), hooktest.New(t)
	w.Configure(t, c, "label", "warn", "deny-delete")
	step := func(request, hook string) v1alpha1.Step {
		t.Helper()
		c.Ask(t, request)
		journeys := r.journeysOf(t, "?filter=step:handler.webhook")
		found := slices.DeleteFunc(stepsOf(r.journeyOf(t, journeys[len(journeys)-1].Name), "handler.webhook"), func(s v1alpha1.Step) bool { return s.Subject != hook })
		if len(found) != 1 {
			t.Fatalf("%s was asked %d times", hook, len(found))
		}
		return found[0]
	}
	const create = "POST /api/v1/namespaces/default/configmaps\n%s\n" + `{"metadata":{"name":%q,"labels":{"scene":%q}},"data":{"a":%q}}`
	const objects = "Kx-Trace: objects\n"
	s := step(fmt.Sprintf(create, objects, "a", "label", "b"), "scenes/label.label.example.com")
	for name, want := range map[string][]string{
		"review": {`"operation":"CREATE"`, `"name":"a"`, `"username":"kx-admin"`, `"options":{`}, "answer": {`"allowed":true`, `"patchType":"JSONPatch"`},
	} {
		for _, text := range want {
			if !strings.Contains(s.Attribute(name), text) {
				t.Errorf("%s lacks %s: %s", name, text, s.Attribute(name))
			}
		}
	}
	if strings.Contains(s.Attribute("review"), `"object"`) || s.Before == nil || s.After == nil {
		t.Errorf("the object of %+v", s)
	}
	s = step(fmt.Sprintf(create, objects, "w", "warn", "shown"), "scenes/warn.warn.example.com")
	if s.Before == nil || !strings.Contains(string(s.Before.Raw), "shown") || s.After != nil || !strings.Contains(s.Attribute("answer"), `"warnings":["this will end","badly"]`) {
		t.Errorf("a webhook that judges: %+v", s)
	}
	c.Ask(t, fmt.Sprintf(create, "", "d", "deny-delete", "gone"))
	s = step("DELETE /api/v1/namespaces/default/configmaps/d\n"+objects+"\n", "scenes/deny-delete.deny-delete.example.com")
	if s.Before == nil || !strings.Contains(string(s.Before.Raw), "gone") || !strings.Contains(s.Attribute("answer"), `"allowed":false`) {
		t.Errorf("a webhook that judges a deletion: %+v", s)
	}
	s = step("PUT /api/v1/namespaces/default/configmaps/w\n"+objects+"\n"+`{"metadata":{"name":"w","labels":{"scene":"warn"}},"data":{"a":"`+strings.Repeat("x", 10_000)+`"}}`, "scenes/warn.warn.example.com")
	if old := s.Attribute("oldObject"); !strings.Contains(old, "shown") {
		t.Errorf("the old object: %s", old)
	}
	s = step("PUT /api/v1/namespaces/default/configmaps/w\n"+objects+"\n"+`{"metadata":{"name":"w","labels":{"scene":"warn"}}}`, "scenes/warn.warn.example.com")
	if old := s.Attribute("oldObject"); len(old) < 4000 || len(old) > 4200 || !strings.HasSuffix(old, "…") {
		t.Errorf("a large old object takes %d bytes", len(old))
	}
	s = step(fmt.Sprintf(create, "", "q", "warn", "b"), "scenes/warn.warn.example.com")
	if s.Attribute("review") != "" || s.Attribute("answer") != "" || s.Before != nil {
		t.Errorf("without objects: %+v", s)
	}
}

// TestBlameOfWebhooks: of a field that a webhook gave its value, the journey names the webhook.
func TestBlameOfWebhooks(t *testing.T) {
	t.Parallel()
	r := start(t)
	c, w := r.client(t), hooktest.New(t)
	w.Configure(t, c, "label")
	if got := c.Ask(t, "POST /api/v1/namespaces/default/configmaps\nKx-Trace: objects\n\n"+`{"metadata":{"name":"a","labels":{"scene":"label"}}}`); !strings.HasPrefix(got, "201") {
		t.Fatal(got)
	}
	var j v1alpha1.Journey
	r.kx(t, http.MethodGet, "journeys/"+r.journeysOf(t, "?filter=verb:create+resource:configmaps")[0].Name, nil, http.StatusOK, &j)
	for path, want := range map[string]string{"metadata.labels.team": "a webhook, scenes/label.label.example.com", "metadata.labels.second": "a webhook, scenes/second.label.example.com"} {
		changes, err := blame.FindChanges(&j, path)
		must(t, err)
		var by []string
		for _, change := range changes {
			by = append(by, change.Who)
		}
		if !slices.Equal(by, []string{want}) {
			t.Errorf("%s has its value by %q, want %q", path, by, want)
		}
	}
}
