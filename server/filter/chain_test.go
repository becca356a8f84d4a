package filter

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/audit"
	"github.com/kx-apiserver/kx/server/authn"
	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/authz/policy"
	"github.com/kx-apiserver/kx/server/authz/rbac"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/metrics"
)

// door is a server whose handler is behind the chain, and an administrator's and a stranger's way to it.
type door struct {
	*httptest.Server
	config          *Config
	log             *lockedBuffer
	admin, stranger *http.Client
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const userToken = "user-token"

func newDoor(t testing.TB, handler http.HandlerFunc, change func(*Config)) *door {
	t.Helper()
	return openDoor(t, true, handler, change)
}

// openDoor lets requests without credentials in, or not.
func openDoor(t testing.TB, anonymous bool, handler http.HandlerFunc, change func(*Config)) *door {
	t.Helper()
	dir, err := identity.OpenDataDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	authority, err := identity.LoadAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	tokens := dir.File("tokens.csv")
	if err := os.WriteFile(tokens, []byte(userToken+",alice,1,\"readers\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	serving, err := identity.NewTLS(authority, identity.Files{}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	authenticator, err := authn.New(t.Context(), authn.Config{ClientCAs: serving.ClientCAs, TokenFile: tokens, Anonymous: anonymous})
	if err != nil {
		t.Fatal(err)
	}
	roles := rbac.New()
	roles.Replace(defaultRoles(t))
	authorizer, err := authz.New(authz.Config{Modes: []string{authz.RBAC}, RBAC: roles, Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	config := &Config{
		RequestInfo: &request.RequestInfoFactory{
			APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
		},
		LongRunning:                 func(_ *http.Request, info *request.RequestInfo) bool { return info.Verb == "watch" },
		Counted:                     func(*request.RequestInfo) bool { return true },
		Authenticator:               authenticator,
		Authorizer:                  authorizer,
		Serializer:                  scheme.Codecs,
		Journeys:                    trace.NewRecorder("t", trace.DefaultLimits),
		Metrics:                     metrics.New(),
		Drain:                       NewDrain(),
		Logger:                      slog.New(slog.NewTextHandler(log, nil)),
		RequestTimeout:              time.Minute,
		MaxRequestsInFlight:         10,
		MaxMutatingRequestsInFlight: 10,
	}
	if change != nil {
		change(config)
	}
	server := httptest.NewUnstartedServer(BuildHandlerChain(handler, config))
	cert, err := authority.ServingCert(nil)
	if err != nil {
		t.Fatal(err)
	}
	server.TLS = serving.Config.Clone()
	server.TLS.Certificates = []tls.Certificate{cert} // else httptest adds its own
	server.Config.ErrorLog = slog.NewLogLogger(config.Logger.Handler(), slog.LevelInfo)
	server.StartTLS()
	t.Cleanup(server.Close)
	certPEM, keyPEM, err := authority.ClientCert(identity.AdminUser, identity.AdminGroup)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	client := func(certs ...tls.Certificate) *http.Client {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: serving.ClientCAs(), Certificates: certs}}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	return &door{Server: server, config: config, log: log, admin: client(pair), stranger: client()}
}

// ask sends a request and returns the answer with its body. Headers are pairs.
func (d *door) ask(t testing.TB, client *http.Client, method, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, d.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// defaultRoles are the roles that every cluster has.
func defaultRoles(t testing.TB) (all []rbac.Change) {
	t.Helper()
	p, err := policy.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range p.ClusterRoles {
		all = append(all, rbac.Change{Kind: rbac.ClusterRole, Name: r.Name, Rules: r.Rules})
	}
	for _, b := range p.ClusterRoleBindings {
		all = append(all, rbac.Change{Kind: rbac.ClusterRoleBinding, Name: b.Name, To: b.RoleRef, Subjects: b.Subjects})
	}
	return all
}

func statusOf(t *testing.T, body string) metav1.Status {
	t.Helper()
	var s metav1.Status
	if err := json.Unmarshal([]byte(body), &s); err != nil || s.Kind != "Status" {
		t.Fatalf("%q is not a Status: %v", body, err)
	}
	return s
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }

func TestWhoMayComeIn(t *testing.T) {
	d := newDoor(t, hello, nil)
	bearer := []string{"Authorization", "Bearer " + userToken}
	tests := []struct {
		name    string
		client  *http.Client
		path    string
		headers []string
		code    int
		message string
	}{
		{"admin", d.admin, "/api/v1/namespaces/default/configmaps", nil, 200, ""},
		{"anonymous at a door", d.stranger, "/api/v1/configmaps", nil, 403,
			`configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" at the cluster scope`},
		{"anonymous asks for health", d.stranger, "/healthz", nil, 200, ""},
		{"anonymous asks for one check", d.stranger, "/readyz/etcd", nil, 403,
			`forbidden: User "system:anonymous" cannot get path "/readyz/etcd"`},
		{"anonymous asks for the version", d.stranger, "/version", nil, 200, ""},
		{"anonymous beside the path", d.stranger, "/healthzz", nil, 403, `forbidden: User "system:anonymous" cannot get path "/healthzz"`},
		{"anonymous asks what there is", d.stranger, "/api", nil, 403, `forbidden: User "system:anonymous" cannot get path "/api"`},
		{"anonymous asks for metrics", d.stranger, "/metrics", nil, 403, `forbidden: User "system:anonymous" cannot get path "/metrics"`},
		{"anonymous would act as somebody", d.stranger, "/version", []string{"Impersonate-User", "alice"}, 403,
			`forbidden: User "system:anonymous" cannot impersonate-on:user-info:get path "/version"`},
		{"a password, which nobody knows", d.stranger, "/version", []string{"Authorization", "Basic YTpi"}, 200, ""},
		{"a user asks what there is", d.stranger, "/api", bearer, 200, ""},
		{"a wrong token, even where anybody may", d.stranger, "/healthz", []string{"Authorization", "Bearer x"}, 401, "Unauthorized"},
		{"a user without roles", d.stranger, "/api/v1/namespaces/default/configmaps", bearer, 403,
			`configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "default"`},
		{"the same, of a cluster", d.stranger, "/apis/apps/v1/deployments/x/scale", bearer, 403,
			`deployments.apps "x" is forbidden: User "alice" cannot get resource "deployments/scale" in API group "apps" at the cluster scope`},
		{"the same, of a path", d.stranger, "/metrics", bearer, 403,
			`forbidden: User "alice" cannot get path "/metrics"`},
		{"markup in a name", d.stranger, "/<b>", bearer, 403,
			`forbidden: User "alice" cannot get path "/&lt;b&gt;"`},
		{"acting as somebody who may not", d.admin, "/api/v1/namespaces", []string{"Impersonate-User", "bob"}, 403,
			`namespaces is forbidden: User "bob" cannot list resource "namespaces" in API group "" at the cluster scope`},
		{"acting as somebody, without the right to", d.stranger, "/api/v1/namespaces", append([]string{"Impersonate-User", "bob"}, bearer...), 403,
			`namespaces is forbidden: User "alice" cannot impersonate-on:user-info:list resource "namespaces" in API group "" at the cluster scope`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			res, body := d.ask(t, test.client, "GET", test.path, test.headers...)
			if res.StatusCode != test.code {
				t.Fatalf("%d %s, want %d", res.StatusCode, body, test.code)
			}
			if res.Header.Get("Audit-Id") == "" {
				t.Error("no audit ID")
			}
			if test.code == 200 {
				return
			}
			s := statusOf(t, body)
			if int(s.Code) != test.code || test.message != "" && s.Message != test.message {
				t.Errorf("%+v, want %q", s, test.message)
			}
		})
	}
	if strings.Contains(d.log.String(), userToken) {
		t.Error("a token is in the log")
	}
	closed := openDoor(t, false, hello, nil)
	if res, body := closed.ask(t, closed.stranger, "GET", "/healthz"); res.StatusCode != 401 || statusOf(t, body).Message != "Unauthorized" {
		t.Errorf("where nobody is anonymous: %d %s", res.StatusCode, body)
	}
}

func TestErrorsComeInTheAskedForm(t *testing.T) {
	d := newDoor(t, hello, nil)
	res, body := d.ask(t, d.stranger, "GET", "/api/v1/pods", "Accept", "application/vnd.kubernetes.protobuf")
	if res.StatusCode != 403 || !strings.HasPrefix(body, "k8s\x00") {
		t.Errorf("%d %q is not a Status in protobuf", res.StatusCode, body)
	}
}

func TestPanic(t *testing.T) {
	d := newDoor(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/begun":
			io.WriteString(w, "half of ")
			w.(http.Flusher).Flush()
			panic("late")
		case "/api/v1/cut":
			panic(http.ErrAbortHandler)
		}
		panic("sudden")
	}, nil)
	res, body := d.ask(t, d.admin, "GET", "/api/v1/pods")
	if s := statusOf(t, body); res.StatusCode != 500 || s.Reason != metav1.StatusReasonInternalError {
		t.Errorf("%d %+v", res.StatusCode, s)
	}
	if log := d.log.String(); !strings.Contains(log, "sudden") || !strings.Contains(log, "chain_test.go") {
		t.Errorf("the log has no panic with its stack: %s", log)
	}
	for _, path := range []string{"/api/v1/begun", "/api/v1/cut"} {
		res, err := d.admin.Get(d.URL + path)
		if err == nil {
			_, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
		if err == nil {
			t.Errorf("%s ended as if all were well", path)
		}
	}
	if res, _ := d.ask(t, d.admin, "GET", "/api/v1/pods"); res.StatusCode != 500 {
		t.Errorf("the server did not go on: %d", res.StatusCode)
	}
}

func TestDeadlines(t *testing.T) {
	d := newDoor(t, func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if strings.Contains(r.URL.RawQuery, "wait") {
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
			io.WriteString(w, ctx.Err().Error()+"; "+context.Cause(child).Error())
			return
		}
		until, ok := ctx.Deadline()
		json.NewEncoder(w).Encode(map[string]any{"ok": ok, "seconds": int(time.Until(until).Seconds() + 0.5)})
	}, func(c *Config) { c.RequestTimeout = 30 * time.Second })
	tests := []struct{ query, want string }{
		{"", `{"ok":true,"seconds":30}`},
		{"?timeout=10s", `{"ok":true,"seconds":10}`},
		{"?timeout=0s", `{"ok":true,"seconds":30}`},
		{"?timeout=2h", `{"ok":true,"seconds":30}`},
		{"?timeout=1ms&wait", "context deadline exceeded; context deadline exceeded"},
	}
	for _, test := range tests {
		if _, body := d.ask(t, d.admin, "GET", "/api/v1/pods"+test.query); strings.TrimSpace(body) != test.want {
			t.Errorf("%s: %s, want %s", test.query, body, test.want)
		}
	}
	res, body := d.ask(t, d.admin, "GET", "/api/v1/pods?timeout=soon")
	if s := statusOf(t, body); res.StatusCode != 400 || !strings.Contains(s.Message, "invalid timeout specified in the request URL") {
		t.Errorf("%+v", s)
	}
	if _, body := d.ask(t, d.admin, "GET", "/api/v1/pods?watch=true"); !strings.Contains(body, `"ok":false`) {
		t.Errorf("a watch has a deadline: %s", body)
	}
}

func TestDeadlinePauses(t *testing.T) {
	d := newDeadline(context.Background(), time.Now().Add(time.Minute), func() {})
	defer d.stop()
	d.Pause()
	d.Pause()
	if _, ok := d.Deadline(); ok {
		t.Error("a paused deadline is still one")
	}
	d.Resume()
	d.Resume()
	if until, ok := d.Deadline(); !ok || time.Until(until) > time.Minute {
		t.Errorf("after the pause it ends at %v, %v", until, ok)
	}
	short := newDeadline(context.Background(), time.Now().Add(time.Nanosecond), func() {})
	<-short.Done()
	short.Pause() // too late
	if !errors.Is(short.Err(), context.DeadlineExceeded) {
		t.Errorf("Err = %v", short.Err())
	}
}

func TestSeats(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	d := newDoor(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Slow") != "" {
			entered <- struct{}{}
			<-leave
		}
	}, func(c *Config) {
		c.MaxRequestsInFlight, c.MaxMutatingRequestsInFlight = 1, 1
	})
	slow := func(method, path string) chan int {
		code := make(chan int, 1)
		req, _ := http.NewRequest(method, d.URL+path, nil)
		req.Header.Set("Slow", "yes")
		go func() {
			res, err := d.admin.Do(req)
			if err != nil {
				t.Error(err)
				code <- 0
				return
			}
			res.Body.Close()
			code <- res.StatusCode
		}()
		<-entered
		return code
	}
	first := slow("GET", "/api/v1/pods")
	token := []string{"Authorization", "Bearer " + userToken}
	res, body := d.ask(t, d.stranger, "GET", "/api/v1/pods", token...)
	if res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" || body != "Too many requests, please try again later.\n" {
		t.Errorf("no seat: %d %v %q", res.StatusCode, res.Header, body)
	}
	if res, _ := d.ask(t, d.admin, "GET", "/api/v1/pods"); res.StatusCode != 200 {
		t.Errorf("an administrator stands outside: %d", res.StatusCode)
	}
	if res, _ := d.ask(t, d.stranger, "GET", "/api/v1/pods?watch=true", token...); res.StatusCode != 403 {
		t.Errorf("a watch needs a seat: %d", res.StatusCode)
	}
	if res, _ := d.ask(t, d.stranger, "POST", "/api/v1/namespaces/x/pods", token...); res.StatusCode != 403 {
		t.Errorf("a write needs a read's seat: %d", res.StatusCode)
	}
	second := slow("DELETE", "/api/v1/namespaces/x/pods/y")
	if res, _ := d.ask(t, d.stranger, "PUT", "/api/v1/namespaces/x/pods/y", token...); res.StatusCode != 429 {
		t.Errorf("a write found a seat: %d", res.StatusCode)
	}
	close(leave)
	if a, b := <-first, <-second; a != 200 || b != 200 {
		t.Errorf("the seated ended with %d and %d", a, b)
	}
	if res, _ := d.ask(t, d.stranger, "GET", "/api/v1/pods", token...); res.StatusCode != 403 {
		t.Errorf("the seat was not given back: %d", res.StatusCode)
	}
}

func TestDrain(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	d := newDoor(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			entered <- struct{}{}
			<-request.ServerShutdownSignalFrom(r.Context()).ShuttingDown()
			return
		}
		if r.Header.Get("Slow") != "" {
			entered <- struct{}{}
			<-leave
		}
	}, nil)
	var wg sync.WaitGroup
	for _, path := range []string{"/api/v1/pods?watch=true", "/api/v1/pods"} {
		wg.Go(func() {
			if res, _ := d.ask(t, d.admin, "GET", path, "Slow", "yes"); res.StatusCode != 200 {
				t.Errorf("%s ended with %d", path, res.StatusCode)
			}
		})
		<-entered
	}
	d.config.Drain.Close()
	res, body := d.ask(t, d.admin, "GET", "/api/v1/pods")
	if s := statusOf(t, body); res.StatusCode != 503 || s.Reason != metav1.StatusReasonServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("a late request: %d %+v", res.StatusCode, s)
	}
	gaveUp, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.config.Drain.Wait(gaveUp); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait with a request under way: %v", err)
	}
	close(leave)
	if err := d.config.Drain.Wait(context.Background()); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func TestWarnings(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	d := newDoor(t, func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		warning.AddWarning(ctx, "", "mind \"the\" gap")
		warning.AddWarning(ctx, "", "mind \"the\" gap")
		warning.AddWarning(ctx, "", "")
		warning.AddWarning(ctx, "", long)
		warning.AddWarning(ctx, "", long+"2")
		warning.AddWarning(ctx, "", long+"3")
		w.WriteHeader(200)
		warning.AddWarning(ctx, "", "too late")
	}, nil)
	res, _ := d.ask(t, d.admin, "GET", "/api/v1/pods")
	got := res.Header.Values("Warning")
	if len(got) != 4 || got[0] != `299 - "mind \"the\" gap"` {
		t.Fatalf("%d warnings, the first %s", len(got), got[0])
	}
	if len(got[1]) < 5000 || len(got[2]) > 2*warningCutRunes+50 {
		t.Errorf("warnings of %d and %d bytes: only what is beyond the limit is cut", len(got[1]), len(got[2]))
	}
}

func TestCORS(t *testing.T) {
	d := newDoor(t, hello, func(c *Config) {
		c.CORSAllowedOrigins = []*regexp.Regexp{regexp.MustCompile(`^https://ok\.test$`)}
	})
	res, _ := d.ask(t, d.stranger, "OPTIONS", "/api/v1/pods", "Origin", "https://ok.test")
	if res.StatusCode != 204 || res.Header.Get("Access-Control-Allow-Origin") != "https://ok.test" {
		t.Errorf("preflight: %d %v", res.StatusCode, res.Header)
	}
	res, _ = d.ask(t, d.admin, "GET", "/api/v1/pods", "Origin", "https://ok.test.evil.test")
	if res.StatusCode != 200 || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin: %d %v", res.StatusCode, res.Header)
	}
}

func TestAuditLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	log, err := audit.Open(audit.Config{Log: audit.LogFile{Path: file}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d := openDoor(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "DELETE" {
			panic("no")
		}
		w.WriteHeader(http.StatusCreated)
	}, func(c *Config) { c.AuditSink, c.AuditPolicy = log, log.Policy })
	d.ask(t, d.admin, "GET", "/api/v1/namespaces/x/pods/read")
	d.ask(t, d.admin, "POST", "/api/v1/namespaces/x/pods", "Audit-ID", "mine")
	d.ask(t, d.admin, "DELETE", "/api/v1/namespaces/x/pods/y")
	d.ask(t, d.stranger, "PUT", "/api/v1/namespaces/x/pods/y", "Authorization", "Bearer not-a-token")
	d.ask(t, d.stranger, "PUT", "/api/v1/namespaces/x/pods/y")
	d.ask(t, d.admin, "POST", "/api/v1/namespaces/x/pods", "Impersonate-User", "bob")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type event struct {
		AuditID, Stage, Verb, Level string
		User, ImpersonatedUser      struct{ Username string }
		ResponseStatus              struct {
			Code    int
			Message string
		}
	}
	var events []event
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if len(events) != 5 || bytes.Contains(data, []byte("not-a-token")) {
		t.Fatalf("%d events, want the five writes, without their tokens:\n%s", len(events), data)
	}
	if e := events[0]; e.AuditID != "mine" || e.Verb != "create" || e.Stage != "ResponseComplete" || e.ResponseStatus.Code != 201 || e.User.Username != identity.AdminUser {
		t.Errorf("the create: %+v", e)
	}
	if e := events[4]; e.User.Username != identity.AdminUser || e.ImpersonatedUser.Username != "bob" || e.ResponseStatus.Code != 403 {
		t.Errorf("the create as somebody else: %+v", e)
	}
	if e := events[1]; e.Stage != "Panic" || e.ResponseStatus.Code != 500 {
		t.Errorf("the panic: %+v", e)
	}
	for i, how := range []string{"attempted: bearer", "no credentials provided"} {
		e := events[2+i]
		if e.Stage != "ResponseStarted" || e.Verb != "update" || e.ResponseStatus.Code != 401 || e.ResponseStatus.Message != "Authentication failed, "+how {
			t.Errorf("a write by nobody known: %+v", e)
		}
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("the audit log's mode is %v", info.Mode())
	}
}

func TestJourneys(t *testing.T) {
	d := newDoor(t, hello, nil)
	res, _ := d.ask(t, d.admin, "GET", "/api/v1/namespaces/x/pods/y?pretty=1")
	j := d.config.Journeys.Get(res.Header.Get(JourneyHeader))
	if j == nil {
		t.Fatalf("the response's journey %q is not kept", res.Header.Get(JourneyHeader))
	}
	j.Wait(context.Background())
	rec := j.Record()
	var want []steps.ID
	for _, f := range Chain(false) {
		want = append(want, f.Step)
	}
	want = append(want, steps.HandlerMetrics)
	if len(rec.Steps) != len(want) {
		t.Fatalf("%d steps, want one a filter, and one behind them", len(rec.Steps))
	}
	for i, s := range rec.Steps {
		if s.ID != want[i] || s.Parent != -1 || s.Took < 0 {
			t.Errorf("step %d is %s (parent %d), want %s", i, s.ID, s.Parent, want[i])
		}
	}
	q := rec.Request
	if q.Verb != "get" || q.Resource != "pods" || q.Namespace != "x" || q.Name != "y" || q.User != identity.AdminUser || rec.Response.Code != 200 || rec.Response.Bytes != 5 {
		t.Errorf("%+v %+v", q, rec.Response)
	}
	for _, test := range []struct {
		client *http.Client
		path   string
		level  string
		header bool
		want   trace.Level
	}{
		{d.admin, "/api/v1/pods", "objects", true, trace.Objects},
		{d.admin, "/api/v1/pods", "", true, trace.Steps},
		{d.admin, "/api/v1/pods", "off", false, 0},
		{d.stranger, "/version", "objects", true, trace.Steps},
		{d.stranger, "/healthz", "", false, 0},
		{d.stranger, "/api/v1/pods", "", true, trace.Steps},
		{d.admin, "/apis/kx.dev/v1alpha1/journeys", "objects", false, 0},
	} {
		res, _ := d.ask(t, test.client, "GET", test.path, LevelHeader, test.level)
		id := res.Header.Get(JourneyHeader)
		if (id != "") != test.header {
			t.Errorf("%s at %q: journey %q, want one: %v", test.path, test.level, id, test.header)
		} else if id != "" && d.config.Journeys.Get(id).Summary().Level != test.want {
			t.Errorf("%s at %q: level %v, want %v", test.path, test.level, d.config.Journeys.Get(id).Summary().Level, test.want)
		}
	}
}

func TestNoCacheKeepsAnswersUnlessTheyAreForAll(t *testing.T) {
	d := newDoor(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi/v2" {
			w.Header().Set("Cache-Control", "public")
		}
	}, nil)
	for path, want := range map[string]string{
		"/api/v1/pods": "no-cache, private", "/healthz": "no-cache, private", "/nothing": "no-cache, private", "/openapi/v2": "public",
	} {
		if res, _ := d.ask(t, d.admin, "GET", path); res.Header.Get("Cache-Control") != want {
			t.Errorf("%s: Cache-Control: %q, want %q", path, res.Header.Get("Cache-Control"), want)
		}
	}
	if res, _ := d.ask(t, d.stranger, "GET", "/api/v1/pods"); res.Header.Get("Cache-Control") != "no-cache, private" {
		t.Errorf("a 401: Cache-Control: %q", res.Header.Get("Cache-Control"))
	}
}

// TestPastDeadline asks for less time than it takes to ask: the request finds its time up, not soon to be.
func TestPastDeadline(t *testing.T) {
	expired := 0
	d := newDeadline(context.Background(), time.Now().Add(-time.Nanosecond), func() { expired++ })
	defer d.stop()
	if !errors.Is(d.Err(), context.DeadlineExceeded) || expired != 1 {
		t.Errorf("Err = %v, expired %d times", d.Err(), expired)
	}
}
