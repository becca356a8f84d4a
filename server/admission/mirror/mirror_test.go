package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/kx-apiserver/kx/server/admission/mirror"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// lines is a log that may be read while it is written.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.String(), text)
}

// TestKept follows configurations while they are made, changed, damaged and deleted.
func TestKept(t *testing.T) {
	client, prefix, log := embedtest.Shared(t).Client(), embedtest.Prefix(), &lines{}
	t.Cleanup(func() { _ = client.Close() })
	put := func(name, value string) {
		t.Helper()
		if _, err := client.Put(t.Context(), prefix+"/"+name, value); err != nil {
			t.Fatal(err)
		}
	}
	configuration := func(name, label string) (key, value string) {
		return "mutatingwebhookconfigurations/" + name,
			`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"` + name + `","labels":{"is":"` + label + `"}}}`
	}
	put(configuration("b", "old"))
	put("mutatingwebhookconfigurations/broken", "no object")

	keeper := mirror.New(&admin.Live{Client: client}, &admin.Decoder{Prefix: prefix}, slog.New(slog.NewTextHandler(log, nil)))
	type notice struct {
		all        []*registrationv1.MutatingWebhookConfiguration
		unreadable []string
	}
	told := make(chan notice, 100)
	if err := errors.Join(
		mirror.Follow(keeper, registrationv1.Resource("mutatingwebhookconfigurations"), func(all []*registrationv1.MutatingWebhookConfiguration, unreadable []string) {
			told <- notice{all, unreadable}
		}),
		mirror.Follow(keeper, registrationv1.Resource("validatingwebhookconfigurations"), func([]*registrationv1.ValidatingWebhookConfiguration, []string) {}),
	); err != nil {
		t.Fatal(err)
	}
	select {
	case <-keeper.Synced():
		t.Fatal("it knows before it runs")
	default:
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { keeper.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })

	wait := time.After(3 * time.Minute)
	next := func(want string) []*registrationv1.MutatingWebhookConfiguration {
		t.Helper()
		for {
			select {
			case n := <-told:
				got := ""
				for _, c := range n.all {
					got += " " + c.Name + "=" + c.Labels["is"]
				}
				for _, key := range n.unreadable {
					got += " !" + strings.TrimPrefix(key, "mutatingwebhookconfigurations/")
				}
				if strings.TrimSpace(got) == want {
					return n.all
				}
				t.Logf("told of%s", got)
			case <-wait:
				t.Fatalf("it was not told of %q", want)
			}
		}
	}
	before := next("b=old !broken")
	select {
	case <-keeper.Synced():
	case <-wait:
		t.Fatal("it knows nothing")
	}
	if !log.has("mutatingwebhookconfigurations/broken") {
		t.Error("what is damaged is not logged")
	}
	put(configuration("a", "new"))
	if after := next("a=new b=old !broken"); after[1] != before[0] {
		t.Error("an object that did not change is another one")
	}
	put(configuration("b", "changed"))
	next("a=new b=changed !broken")
	put("mutatingwebhookconfigurations/also", "no object")
	next("a=new b=changed !also !broken")
	if _, err := client.Delete(t.Context(), prefix+"/mutatingwebhookconfigurations/also"); err != nil {
		t.Fatal(err)
	}
	next("a=new b=changed !broken")
	put(configuration("broken", "mended"))
	next("a=new b=changed broken=mended")
	put("mutatingwebhookconfigurations/b", "damaged now") // it stays as it was
	if _, err := client.Delete(t.Context(), prefix+"/mutatingwebhookconfigurations/a"); err != nil {
		t.Fatal(err)
	}
	next("b=changed broken=mended")
}
