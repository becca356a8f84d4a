package authz

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/server/authz/rbac"
)

// patience is how long something may take on a slow machine.
const patience = 3 * time.Minute

func newAuthorizer(t *testing.T, c Config) (*Authorizer, error) {
	t.Helper()
	c.RBAC = rbac.New()
	c.RBAC.Replace([]rbac.Change{
		{Kind: rbac.ClusterRole, Name: "view", Rules: []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}}}},
		{Kind: rbac.ClusterRoleBinding, Name: "viewers", To: rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "ann"}}},
	})
	c.Registry, c.Log = prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	return New(c)
}

// counted reads a counter by the values of its labels.
func counted(t *testing.T, a *Authorizer, name string, labels ...string) float64 {
	t.Helper()
	families, err := a.config.Registry.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				if l.GetName() != "apiserver_id_hash" {
					values = append(values, l.GetValue())
				}
			}
			if family.GetName() == name && slices.Equal(values, labels) {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no %s of %v", name, labels)
	return 0
}

func about(who, verb string, groups ...string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{User: &user.DefaultInfo{Name: who, Groups: groups}, Verb: verb, Resource: "pods", ResourceRequest: true}
}

// hook is an authorizer elsewhere, with what it was asked.
type hook struct {
	kubeconfig string
	asked      atomic.Int64
	answer     atomic.Pointer[authorizationv1.SubjectAccessReviewStatus] // nil for an error
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.asked.Add(1)
		review := authorizationv1.SubjectAccessReview{}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &review); err != nil || h.answer.Load() == nil {
			http.Error(w, "out of order", http.StatusForbidden)
			return
		}
		review.Status = *h.answer.Load()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	h.kubeconfig = kubeconfig(t, server.URL)
	return h
}

// kubeconfig writes one for a webhook at an address.
func kubeconfig(t *testing.T, address string) string {
	t.Helper()
	return write(t, "webhook.yaml", `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "`+address+`"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x`)
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestModes has the modes alone and together, with what the Kubernetes API server says of each decision, and what a journey does.
func TestModes(t *testing.T) {
	h := newHook(t)
	for _, test := range []struct {
		modes             string
		webhook           *authorizationv1.SubjectAccessReviewStatus
		ask               authorizer.Attributes
		want              authorizer.Decision
		reason, why, fail string
	}{
		{modes: RBAC, ask: about("root", "delete", user.SystemPrivilegedGroup), want: authorizer.DecisionAllow, why: "system:masters may do all"},
		{modes: alwaysDeny, ask: about("root", "delete", user.SystemPrivilegedGroup), want: authorizer.DecisionAllow, why: "system:masters may do all"},
		{modes: RBAC, ask: about("ann", "get"), want: authorizer.DecisionAllow,
			reason: `RBAC: allowed by ClusterRoleBinding "viewers" of ClusterRole "view" to User "ann"`,
			why:    "ClusterRoleBinding viewers → ClusterRole view: rule 1 allows get,list of pods"},
		{modes: RBAC, ask: about("bob", "get", "g"), want: authorizer.DecisionNoOpinion, why: "no binding of bob, group g reaches get of pods"},
		{modes: RBAC, ask: about("ann", "delete"), want: authorizer.DecisionNoOpinion,
			why: "no binding of ann reaches delete of pods; nearest: ClusterRoleBinding viewers → ClusterRole view: rule 1 allows get,list of pods"},
		{modes: AlwaysAllow, ask: about("bob", "get"), want: authorizer.DecisionAllow, why: "the server allows everybody everything"},
		{modes: alwaysDeny, ask: about("bob", "get"), want: authorizer.DecisionNoOpinion,
			reason: "alwaysdeny: Everything is forbidden.", why: "no authorizer allows it: alwaysdeny: Everything is forbidden."},
		{modes: "RBAC,AlwaysAllow", ask: about("bob", "get"), want: authorizer.DecisionAllow, why: "the server allows everybody everything"},
		{modes: alwaysDeny, ask: authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "x"}, Verb: "get", Path: "/readyz"}, want: authorizer.DecisionAllow, why: "anybody may read this path"},
		{modes: "Webhook,RBAC", ask: about("ann", "get"), webhook: &authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "a\nholiday"},
			want: authorizer.DecisionDeny, reason: "a\nholiday", why: `the authorizer default denies it: a\nholiday`},
		{modes: "Webhook,RBAC", ask: about("ann", "get"), webhook: &authorizationv1.SubjectAccessReviewStatus{Reason: "who knows"},
			want: authorizer.DecisionAllow, reason: `RBAC: allowed by ClusterRoleBinding "viewers" of ClusterRole "view" to User "ann"`,
			why: "ClusterRoleBinding viewers → ClusterRole view: rule 1 allows get,list of pods"},
		{modes: "RBAC,Webhook", ask: about("bob", "get"), webhook: &authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "a friend"},
			want: authorizer.DecisionAllow, reason: "a friend", why: "the authorizer default allows it: a friend"},
		{modes: "RBAC,Webhook", ask: about("bob", "get"), webhook: &authorizationv1.SubjectAccessReviewStatus{Reason: "who knows"},
			want: authorizer.DecisionNoOpinion, reason: "default: who knows", why: "no binding of bob reaches get of pods"},
		{modes: "RBAC,Webhook", ask: about("bob", "get"), want: authorizer.DecisionNoOpinion, fail: "the authorizer default: 403 Forbidden"},
	} {
		h.answer.Store(test.webhook)
		a, err := newAuthorizer(t, Config{Modes: strings.Split(test.modes, ","), Webhook: Webhook{File: h.kubeconfig, Version: "v1"}})
		if err != nil {
			t.Fatal(err)
		}
		got, reason, err := a.Authorize(t.Context(), test.ask)
		if test.fail != "" {
			if err == nil || err.Error() != test.fail || got != test.want {
				t.Errorf("%s of %+v: %v %v, want the error %q", test.modes, test.ask, got, err, test.fail)
			}
			continue
		}
		if got != test.want || reason != test.reason || err != nil {
			t.Errorf("%s of %+v: %v %q %v, want %v %q", test.modes, test.ask, got, reason, err, test.want, test.reason)
		}
		v := a.Decide(t.Context(), test.ask)
		registered, why := v.Why()
		if registered == noBinding {
			why = "no binding of " + why
		}
		if why != test.why {
			t.Errorf("%s of %+v: a journey says %q, want %q", test.modes, test.ask, why, test.why)
		}
	}
}

// TestWebhookCache asks once for the same, while the answer counts.
func TestWebhookCache(t *testing.T) {
	h := newHook(t)
	h.answer.Store(&authorizationv1.SubjectAccessReviewStatus{Allowed: true})
	a, err := newAuthorizer(t, Config{Modes: []string{WebhookMode}, Webhook: Webhook{File: h.kubeconfig, Version: "v1", AuthorizedTTL: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, _, err := a.Authorize(t.Context(), about("bob", "get")); got != authorizer.DecisionAllow || err != nil {
			t.Fatalf("%v %v", got, err)
		}
	}
	if got := h.asked.Load(); got != 1 {
		t.Errorf("it was asked %d times", got)
	}
	if got := counted(t, a, "apiserver_authorization_decisions_total", "allowed", "default", WebhookMode); got != 3 {
		t.Errorf("%v decisions are counted", got)
	}
}

// byFile has one webhook, with the fields that are given.
func byFile(t *testing.T, kubeconfig, timeout, failurePolicy, unauthorizedTTL string) string {
	t.Helper()
	return write(t, "authorization.yaml", fileHead+`- type: Webhook
  name: porter
  webhook:
    timeout: `+timeout+`
    authorizedTTL: 1m
    unauthorizedTTL: `+unauthorizedTTL+`
    subjectAccessReviewVersion: v1
    failurePolicy: `+failurePolicy+`
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: `+kubeconfig+`}
- {type: RBAC, name: rbac}
`)
}

// TestHostileWebhook has a webhook that sends requests elsewhere, answers without an end or packed, or not at all. The next authorizer is
// asked, or the request is denied, as its failure policy says. The error names the webhook, and quotes nothing of what it answered.
func TestHostileWebhook(t *testing.T) {
	var elsewhere atomic.Bool
	quit := make(chan struct{})
	answers := map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			_, err := io.WriteString(w, `{"status":{"allowed":true,"reason":"`)
			for line := strings.Repeat("my secret ", 1000); err == nil; {
				_, err = io.WriteString(w, line)
			}
		},
		"packed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			_, err := io.WriteString(packed, `{"status":{"allowed":true,"reason":"`)
			for n := 0; n < 64<<20 && err == nil; n += 1 << 20 {
				_, err = packed.Write(bytes.Repeat([]byte("x"), 1<<20))
			}
			_, _ = io.WriteString(packed, `"}}`) // whoever asked may be gone
			_ = packed.Close()
		},
		"quoted": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "my secret", http.StatusBadRequest) },
		"both": func(w http.ResponseWriter, r *http.Request) {
			review(w, "SubjectAccessReview", `"allowed":true,"denied":true`)
		},
		"kind": func(w http.ResponseWriter, r *http.Request) {
			review(w, "TokenReview", `"allowed":true,"authenticated":true`)
		},
		"page": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<html>my secret</html>") },
		"years": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "1000000000")
			http.Error(w, "my secret", http.StatusTooManyRequests)
		},
		"slow": func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-quit:
			case <-r.Context().Done():
			}
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			elsewhere.Store(true)
			_, _ = io.WriteString(w, `{"status":{"allowed":true}}`) // nobody should read it
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client went
		w.Header().Set("Content-Type", "application/json")
		answers[strings.TrimPrefix(r.URL.Path, "/")](w, r)
	}))
	defer server.Close()
	defer close(quit)
	for name, test := range map[string]struct{ timeout, want string }{
		"redirect": {"30s", "it answered 307, and redirects are not followed"},
		"endless":  {"30s", "it answered more than 3145728 bytes"},
		"packed":   {"30s", "it answered more than 3145728 bytes"},
		"quoted":   {"30s", "the server rejected our request for an unknown reason"},
		"kind":     {"30s", ""},
		"page":     {"30s", ""},
		"years":    {"100ms", "exceeded"},
		"slow":     {"100ms", "exceeded"},
	} {
		file := kubeconfig(t, server.URL+"/"+name)
		for policy, want := range map[string]authorizer.Decision{"NoOpinion": authorizer.DecisionAllow, "Deny": authorizer.DecisionDeny} {
			a, err := newAuthorizer(t, Config{File: byFile(t, file, test.timeout, policy, "1m")})
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := a.Authorize(t.Context(), about("ann", "get"))
			if got != want {
				t.Errorf("%s, %s: %v, want %v", name, policy, got, want)
			}
			if policy == "NoOpinion" {
				// Nothing of the failure is left where roles allow it; where they do not, it is told.
				got, _, err = a.Authorize(t.Context(), about("bob", "get"))
				if got != authorizer.DecisionNoOpinion {
					t.Errorf("%s: bob: %v", name, got)
				}
			}
			if err == nil || !strings.HasPrefix(err.Error(), "the authorizer porter: ") || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "my secret") {
				t.Errorf("%s, %s: %v, want %s", name, policy, err, test.want)
			}
		}
	}
	if elsewhere.Load() {
		t.Error("a redirect was followed")
	}
}

// review answers with a kind and a status.
func review(w io.Writer, kind, status string) {
	_, _ = fmt.Fprintf(w, `{"apiVersion":"authorization.k8s.io/v1","kind":%q,"status":{%s}}`, kind, status) // whoever asked may be gone
}

// TestTwoMinds: a webhook that both allows and denies, denies.
func TestTwoMinds(t *testing.T) {
	h := newHook(t)
	h.answer.Store(&authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true})
	a, err := newAuthorizer(t, Config{File: byFile(t, h.kubeconfig, "30s", "NoOpinion", "1m")})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := a.Authorize(t.Context(), about("ann", "get")); got != authorizer.DecisionDeny || err == nil || !strings.Contains(err.Error(), "both allow and deny") {
		t.Errorf("%v, %v", got, err)
	}
}

// TestUnauthorizedTTL: a denial counts as long as the file says, and one that counts for no time is asked for anew.
func TestUnauthorizedTTL(t *testing.T) {
	h := newHook(t)
	h.answer.Store(&authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "a holiday"})
	for ttl, want := range map[string]int64{"1h": 1, "1ns": 3} {
		h.asked.Store(0)
		a, err := newAuthorizer(t, Config{File: byFile(t, h.kubeconfig, "30s", "NoOpinion", ttl)})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if got, reason, err := a.Authorize(t.Context(), about("ann", "get")); got != authorizer.DecisionDeny || reason != "a holiday" || err != nil {
				t.Fatalf("%v %q %v", got, reason, err)
			}
		}
		if got := h.asked.Load(); got != want {
			t.Errorf("%s: it was asked %d times, want %d", ttl, got, want)
		}
	}
}

const fileHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n"

// TestBadFiles are refused, by the name of the file and of the field.
func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "authorizers: Required value",
		"{":                                     "error",
		fileHead + "- {type: X, name: x}":       `authorizers[0].type: Unsupported value: "X"`,
		fileHead + "- {type: RBAC, name: x}":    `authorizers[0].name: "x" must be "rbac"`,
		fileHead + "- {type: Node, name: node}": `authorizers[0].type: the mode Node is not available: leave Node out`,
		fileHead + "- {type: RBAC, name: rbac}\n- {type: RBAC, name: rbac}":                    "authorizers[1].type: Duplicate value",
		fileHead + "- {type: RBAC, name: rbac, more: 1}":                                       `unknown field "authorizers[0].more"`,
		fileHead + "- {type: Webhook, name: w}":                                                "authorizers[0].webhook: Required value",
		fileHead + "- {type: Webhook, name: w, webhook: {matchConditions: [{expression: 1}]}}": "matchConditions",
	} {
		file := write(t, "authorization.yaml", text)
		if _, err := newAuthorizer(t, Config{File: file}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
	if _, err := newAuthorizer(t, Config{File: "/nowhere/a.yaml"}); err == nil || !strings.Contains(err.Error(), "--authorization-config") {
		t.Error(err)
	}
}

// TestReload changes the file: what is good is taken over, and what is bad is not, which is told until it is good again.
func TestReload(t *testing.T) {
	h := newHook(t)
	h.answer.Store(&authorizationv1.SubjectAccessReviewStatus{Allowed: true})
	file := write(t, "authorization.yaml", fileHead+"- {type: RBAC, name: rbac}")
	a, err := newAuthorizer(t, Config{File: file})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx)
	}()
	defer func() {
		stop()
		<-ended
	}()
	change := func(text string) {
		t.Helper()
		// Whoever looks meanwhile sees the one or the other, and nothing between.
		beside := file + ".new"
		if err := errors.Join(os.WriteFile(beside, []byte(text), 0o600), os.Rename(beside, file)); err != nil {
			t.Fatal(err)
		}
	}
	await := func(what string, is func() bool) {
		t.Helper()
		for begun := time.Now(); !is(); time.Sleep(10 * time.Millisecond) {
			if time.Since(begun) > patience {
				t.Fatalf("it never came to be that %s", what)
			}
		}
	}
	may := func(verb string) bool {
		got, _, _ := a.Authorize(t.Context(), about("ann", verb))
		return got == authorizer.DecisionAllow
	}
	if may("delete") || !may("get") {
		t.Fatal("it is not as the file says")
	}
	good := fileHead + `- {type: RBAC, name: rbac}
- type: Webhook
  name: w
  webhook:
    timeout: 30s
    authorizedTTL: 1m
    unauthorizedTTL: 1m
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: NoOpinion
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: ` + h.kubeconfig + `}
    matchConditions: [{expression: "request.resourceAttributes.verb == 'delete'"}]
`
	change(good)
	await("the webhook is asked", func() bool { return may("delete") })
	if may("create") {
		t.Error("the webhook is asked only for deletes")
	}
	for _, bad := range []string{"{", fileHead + "- {type: AlwaysDeny, name: alwaysdeny}"} {
		change(bad)
		await("it is told", func() bool { return a.Ready(t.Context()) != nil })
		if !may("delete") || !may("get") {
			t.Error("it is not as it was")
		}
		change(good)
		await("all is well", func() bool { return a.Ready(t.Context()) == nil })
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	await("it is told", func() bool { return a.Ready(t.Context()) != nil })
	if got := counted(t, a, "apiserver_authorization_config_controller_automatic_reloads_total", "failure"); got != 3 {
		t.Errorf("%v failures are counted", got)
	}
	if !may("delete") {
		t.Error("it is not as it was")
	}
}
