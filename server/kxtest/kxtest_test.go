package kxtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/server/kxtest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within is a context for requests that must be answered.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func clientOf(t testing.TB, config *rest.Config) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	must(t, err)
	return c
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "b"}}
}

// scratch is a test that may fail: what it says is kept.
type scratch struct {
	testing.TB
	mu       sync.Mutex
	said     []string
	cleanups []func()
}

func (s *scratch) Helper()                   {}
func (s *scratch) Failed() bool              { return s.text() != "" }
func (s *scratch) Log(...any)                {}
func (s *scratch) Logf(string, ...any)       {}
func (s *scratch) Cleanup(f func())          { s.cleanups = append(s.cleanups, f) }
func (s *scratch) Errorf(f string, a ...any) { s.say(fmt.Sprintf(f, a...)) }
func (s *scratch) Fatalf(f string, a ...any) {
	s.say(fmt.Sprintf(f, a...))
	runtime.Goexit()
}

func (s *scratch) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, text)
}

func (s *scratch) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.said, "\n")
}

// failing runs a test with its cleanups and returns what it failed with.
func failing(t testing.TB, test func(t testing.TB)) string {
	s := &scratch{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(s)
	}()
	<-done
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
	return s.text()
}

// TestBadInput: a test whose server can't have what it asks for fails at once, in one sentence with the file.
func TestBadInput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options []kxtest.Option
		want    []string
	}{
		"a directory that is missing":  {[]kxtest.Option{kxtest.CRDs("testdata/nowhere")}, []string{"testdata/nowhere", "no such file"}},
		"a directory without any":      {[]kxtest.Option{kxtest.CRDs("testdata/rbac")}, []string{"testdata/rbac has no CustomResourceDefinition"}},
		"a definition that is invalid": {[]kxtest.Option{kxtest.CRDs("testdata/bad/definition.yaml")}, []string{"testdata/bad/definition.yaml", `"gadgets.example.com"`, "spec.scope", "Everywhere"}},
		"a file that is no YAML":       {[]kxtest.Option{kxtest.Objects("testdata/bad/broken.yaml")}, []string{"testdata/bad/broken.yaml"}},
		"a misspelt apiVersion":        {[]kxtest.Option{kxtest.Objects("testdata/bad/apiversion.yaml")}, []string{"testdata/bad/apiversion.yaml", `"misspelt"`, "no apiVersion"}},
		"no objects":                   {[]kxtest.Option{kxtest.Objects("testdata/crd")}, []string{"testdata/crd has no objects"}},
		"an object of no kind":         {[]kxtest.Option{kxtest.Objects("testdata/bad/object.yaml")}, []string{"testdata/bad/object.yaml", "Gadget"}},
		"a webhook elsewhere":          {[]kxtest.Option{kxtest.Webhooks("testdata/bad/webhook.yaml")}, []string{"testdata/bad/webhook.yaml", `"elsewhere.example.com"`, "url", "no service"}},
		"no webhooks":                  {[]kxtest.Option{kxtest.Webhooks("testdata/crd/bases")}, []string{"testdata/crd/bases has no MutatingWebhookConfiguration and no Validating"}},
		"a flag":                       {[]kxtest.Option{kxtest.Flags("--no-such-flag")}, []string{"serve ended", "no-such-flag"}},
		"a conversion of no service":   {[]kxtest.Option{kxtest.CRDs("testdata/bad/conversion.yaml")}, []string{"testdata/bad/conversion.yaml", `"gizmos.example.com"`, "url"}},
		"a shared one with more":       {[]kxtest.Option{kxtest.Shared(), kxtest.CRDs("testdata/crd")}, []string{"kxtest.Main"}},
	} {
		t.Run(name, func(t *testing.T) {
			said := failing(t, func(t testing.TB) { kxtest.Start(t, test.options...) })
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q lacks %q", said, want)
				}
			}
			if strings.Contains(said, "\n") || !strings.HasPrefix(said, "kxtest: ") {
				t.Errorf("it is not one sentence: %q", said)
			}
		})
	}
}

// TestRefusedFaults: a fault that could hit nothing is refused, by the server or with what the server has.
func TestRefusedFaults(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Webhooks("testdata/webhook"))
	for name, test := range map[string]struct {
		fault kxtest.Fault
		want  string
	}{
		"a verb":        {kxtest.Conflict().On("updat", "widgets"), `there is no verb "updat"`},
		"a resource":    {kxtest.Conflict().On("update", "widgest"), `no resource "widgest"; near are widgets.example.com`},
		"a kind":        {kxtest.Conflict().On("update", "ConfigMap"), `no resource "ConfigMap"; near are configmaps`},
		"a subresource": {kxtest.Conflict().On("update", "widgets/scale"), `no resource "widgets/scale"`},
		"another verb":  {kxtest.Conflict().On("delete", "widgets/status"), `"widgets/status" has no verb "delete": it has get, patch, update`},
		"nowhere":       {kxtest.Conflict(), "needs On"},
		"a status":      {kxtest.Status(200).On("get", "widgets"), "from 400 to 599"},
		"a delay":       {kxtest.Delay(0).On("get", "widgets"), "more than 0"},
		"no timeout":    {kxtest.Forbidden().AfterCommit().On("create", "widgets"), "AfterCommit goes with Timeout"},
		"a read":        {kxtest.Timeout().AfterCommit().On("create,get", "widgets"), "get commits nothing"},
		"no watch":      {kxtest.Gone().On("list", "widgets"), `On("watch"`},
		"a condition":   {kxtest.Conflict().On("update", "widgets").Where("nmae:web"), `"nmae"`},
		"a webhook":     {kxtest.WebhookDown("widget.example.com", kxtest.Refused), `no admission webhook "widget.example.com"; near are widgets.example.com`},
		"no webhook":    {kxtest.WebhookDown("", kxtest.Refused), "needs the name"},
		"an outage":     {kxtest.WebhookDown("widgets.example.com", "Asleep"), `"Asleep": supported values: `},
		"no client":     {kxtest.Lag("", time.Second), "Lag needs a client"},
		"lagging lists": {kxtest.Lag("slow", time.Second).On("list", "widgets"), `it is about watches: On("watch", …)`},
		"a long lag":    {kxtest.Lag("slow", time.Hour), "at most 10m0s"},
		"never":         {kxtest.Conflict().On("update", "widgets").Times(0), "Times(0)"},
	} {
		said := failing(t, func(t testing.TB) { s.Fault(t, test.fault) })
		if !strings.Contains(said, test.want) || strings.Contains(said, "\n") {
			t.Errorf("%s: %q lacks %q", name, said, test.want)
		}
	}
	if said := failing(t, func(t testing.TB) { s.Journeys(t, "code:409 vreb:update") }); !strings.Contains(said, "column") || !strings.Contains(said, `"vreb"`) {
		t.Errorf("a filter: %q", said)
	}
	for filter, want := range map[string]string{
		"code:403 resource:widgest":             `no resource "widgest"; near are widgets.example.com`,
		"!resource:configmaps,widgest code:418": `no resource "widgest"`, // the server's own controllers write
		"resource:widgets.example.com":          "resource:widgets group:example.com",
		"resource:widgets,config* verb:list":    "",
	} {
		if said := failing(t, func(t testing.TB) { s.MustNotSee(t, filter) }); !strings.Contains(said, want) || (want == "") != (said == "") {
			t.Errorf("%s: %q lacks %q", filter, said, want)
		}
	}
	said := failing(t, func(t testing.TB) { s.MustSee(t, "resource:widgest") })
	if !strings.Contains(said, `no resource "widgest"`) {
		t.Errorf("what can't come: %q", said)
	}
	said = failing(t, func(t testing.TB) {
		s.Fault(t, kxtest.Conflict().On("update", "widgets").Times(2).Optional()).MustHit(t, 3)
	})
	if !strings.Contains(said, "can't hit 3 requests") {
		t.Errorf("more hits than it may have: %q", said)
	}
	said = failing(t, func(t testing.TB) { s.Fault(t, kxtest.Conflict().On("update", "widgets")) })
	if !strings.Contains(said, "conflict on update widgets hit no request") {
		t.Errorf("a fault that hit nothing: %q", said)
	}
	if said := failing(t, func(t testing.TB) { s.Fault(t, kxtest.Conflict().On("update", "widgets").Optional()) }); said != "" {
		t.Errorf("an optional fault that hit nothing: %q", said)
	}
}

// TestFaults meets each fault as a client does.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t)
	maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
	create := func(name string) error {
		_, err := maps.Create(within(t), configMap(name), metav1.CreateOptions{})
		return err
	}
	read := func(name string) error {
		_, err := maps.Get(within(t), name, metav1.GetOptions{})
		return err
	}

	lost := s.Fault(t, kxtest.Timeout().On("create", "configmaps").Where("name:lost|ns:default").Times(1))
	if err := create("lost"); !apierrors.IsTimeout(err) {
		t.Errorf("a timeout: %v", err)
	}
	if err := read("lost"); !apierrors.IsNotFound(err) {
		t.Errorf("it was done all the same: %v", err)
	}
	lost.MustHit(t, 1)
	committed := s.Fault(t, kxtest.Timeout().AfterCommit().On("create", "configmaps").Times(1))
	if err := create("committed"); !apierrors.IsTimeout(err) {
		t.Errorf("a timeout after the commit: %v", err)
	}
	must(t, read("committed"))
	committed.MustHit(t, 1)

	s.Fault(t, kxtest.Forbidden().Message("not today").On("get", "configmaps").After(1).Times(1))
	must(t, read("committed"))
	if err := read("committed"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "not today") {
		t.Errorf("the second read: %v", err)
	}
	must(t, read("committed"))

	delay := s.Fault(t, kxtest.Delay(time.Millisecond).On("get", "configmaps").ForUser("alice"))
	must(t, read("committed"))
	_, err := clientOf(t, s.User("alice", "system:masters")).CoreV1().ConfigMaps("default").Get(within(t), "committed", metav1.GetOptions{})
	must(t, err)
	if n := delay.Hits(); n != 1 {
		t.Errorf("the delay hit %d requests", n)
	}
	slow := s.MustSee(t, "user:alice verb:get !phase:running")
	if len(slow) != 1 || len(slow[0].Faults) != 1 || slow[0].Faults[0] != "Delayed" || slow[0].Took < time.Millisecond {
		t.Errorf("%+v", slow)
	}

	for what, fault := range map[string]kxtest.Fault{"gone": kxtest.Gone(), "drop": kxtest.DropWatch()} {
		list, err := maps.List(within(t), metav1.ListOptions{})
		must(t, err)
		s.Fault(t, fault.On("watch", "configmaps").Times(1))
		w, err := maps.Watch(within(t), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		must(t, err)
		must(t, create("seen-"+what))
		event, open := <-w.ResultChan()
		if want := what == "gone"; open != want || open && event.Type != watch.Error {
			t.Errorf("%s: %+v %v", what, event, open)
		}
		w.Stop()
	}
}

// TestLag: the events of one client come later, each by the same time, in their order, and those of others as ever.
func TestLag(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.Flags("--controllers=")) // no other config map comes
	maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
	list, err := maps.List(within(t), metav1.ListOptions{})
	must(t, err)
	slow, quick := s.User("alice", "system:masters"), s.User("bob", "system:masters")
	slow.UserAgent = "slow-manager/v1"
	watchAs := func(config *rest.Config) watch.Interface {
		w, err := clientOf(t, config).CoreV1().ConfigMaps("default").Watch(within(t), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		must(t, err)
		t.Cleanup(w.Stop)
		return w
	}
	late, prompt := watchAs(slow), watchAs(quick)
	nextIs := func(w watch.Interface, name string) {
		t.Helper()
		event := <-w.ResultChan()
		if m, ok := event.Object.(*corev1.ConfigMap); !ok || m.Name != name {
			t.Fatalf("%+v comes, and not %s", event, name)
		}
	}
	for round, client := range []string{"alice", "slow-manager"} {
		lag := s.Fault(t, kxtest.Lag(client, 10*time.Minute).On("watch", "configmaps").Times(20))
		names := make([]string, 21) // the last one has no lag of its own
		for n := range names {
			names[n] = fmt.Sprintf("m-%d-%02d", round, n)
			_, err := maps.Create(within(t), configMap(names[n]), metav1.CreateOptions{})
			must(t, err)
			nextIs(prompt, names[n])
		}
		lag.MustHit(t, 20) // also if the first one still waits
		select {
		case event := <-late.ResultChan():
			t.Fatalf("%+v comes too early", event)
		default:
		}
		lag.Lift(t)
		for _, name := range names {
			nextIs(late, name)
		}
	}
	s.Fault(t, kxtest.Lag("alice", time.Millisecond))
	_, err = maps.Create(within(t), configMap("last"), metav1.CreateOptions{})
	must(t, err)
	nextIs(late, "last")
	if watches := s.Journeys(t, "user:alice verb:watch"); len(watches) != 1 || len(watches[0].Faults) != 1 || watches[0].Faults[0] != "Delayed" {
		t.Errorf("%+v", watches)
	}
}

// TestAs: a user has the rights of the roles and no others, and what was refused is there to see.
func TestAs(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"))
	manager := clientOf(t, s.As("testdata/rbac"))
	_, err := manager.CoreV1().ConfigMaps("settings").Get(within(t), "none", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("what the Role allows: %v", err)
	}
	must(t, manager.CoreV1().RESTClient().Get().AbsPath("/apis/example.com/v1/namespaces/default/widgets").Do(within(t)).Error())
	s.MustNotSee(t, "code:403")
	if err := manager.CoreV1().ConfigMaps("default").Delete(within(t), "any", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("what no role allows: %v", err)
	}
	refused := s.MustSee(t, "code:403")
	if len(refused) != 1 || !strings.HasPrefix(refused[0].User, "widget-manager-") || refused[0].Verb != "delete" || refused[0].Name != "any" ||
		!strings.Contains(refused[0].Reason, "cannot delete resource") {
		t.Errorf("%+v", refused)
	}
	said := failing(t, func(t testing.TB) { s.MustNotSee(t, "code:403") })
	if !strings.Contains(said, "1 requests matched") || !strings.Contains(said, "DELETE /api/v1/namespaces/default/configmaps/any 403 by widget-manager-") {
		t.Errorf("%q", said)
	}
	if s.As("testdata/rbac").CertData == nil || s.Count(t, "user:widget-manager-* !code:403") != 2 {
		t.Errorf("%v", s.Journeys(t, "user:widget-manager-*"))
	}
	// Roles of one name in other files are other roles.
	reader := clientOf(t, s.As("testdata/rbac-of-reader/role.yaml"))
	_, err = reader.CoreV1().ConfigMaps("default").List(within(t), metav1.ListOptions{})
	must(t, err)
	if err := reader.CoreV1().RESTClient().Get().AbsPath("/apis/example.com/v1/widgets").Do(within(t)).Error(); !apierrors.IsForbidden(err) {
		t.Errorf("what the role of another file allows: %v", err)
	}
	must(t, manager.CoreV1().RESTClient().Get().AbsPath("/apis/example.com/v1/widgets").Do(within(t)).Error())
	first := s.Config()
	first.Host = "changed"
	if config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig()); err != nil || config.Host != s.Config().Host {
		t.Errorf("%+v, %v", config, err)
	}
}

// TestForgotten: nobody can say what was not there of what is forgotten.
func TestForgotten(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.Flags("--max-journeys=4"))
	s.MustNotSee(t, "verb:list")
	maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
	for range 6 {
		_, err := maps.List(within(t), metav1.ListOptions{})
		must(t, err)
	}
	if said := failing(t, func(t testing.TB) { s.MustNotSee(t, "verb:delete") }); !strings.Contains(said, "forgotten") {
		t.Errorf("%q", said)
	}
}

// TestShared: tests that share a server see their own requests, and can't hurt each other.
func TestShared(t *testing.T) {
	t.Parallel()
	first, second := kxtest.Start(t, kxtest.Shared()), kxtest.Start(t, kxtest.Shared())
	if first.Config().Host != second.Config().Host {
		t.Fatalf("%s is not %s", first.Config().Host, second.Config().Host)
	}
	if _, err := clientOf(t, second.Config()).CoreV1().ConfigMaps("default").List(within(t), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	third := kxtest.Start(t, kxtest.Shared())
	first.MustSee(t, "verb:list resource:configmaps")
	third.MustNotSee(t, "verb:list resource:configmaps")
	said := failing(t, func(t testing.TB) { first.Fault(t, kxtest.Conflict().On("update", "widgets")) })
	if !strings.Contains(said, "a server of its own") {
		t.Errorf("%q", said)
	}
	said = failing(t, func(t testing.TB) { first.Install(t, kxtest.Objects("testdata/objects")) })
	if !strings.Contains(said, "other tests") {
		t.Errorf("%q", said)
	}
	if _, err := os.Stat(first.Kubeconfig()); errors.Is(err, os.ErrNotExist) {
		t.Error("the server stopped with a test")
	}
}
