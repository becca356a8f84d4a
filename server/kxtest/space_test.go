package kxtest_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// TestSpace: tests that ask for a space one after the other have one server, each in its clean state, whatever the test
// before has done. Those that ask at once have one each.
func TestSpace(t *testing.T) {
	t.Parallel()
	hosts := map[string]int{}
	test := func(name string, do func(t testing.TB, s *kxtest.Server)) {
		var s *kxtest.Server
		said := failing(t, func(t testing.TB) {
			s = kxtest.Start(t, kxtest.Space(), kxtest.Objects("testdata/objects"))
			maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
			_, err := maps.Create(within(t), configMap("mine"), metav1.CreateOptions{})
			must(t, err) // it has nobody else's
			_, err = maps.Patch(within(t), "mine", "application/merge-patch+json", []byte(`{"data":{"a":"`+name+`"}}`), metav1.PatchOptions{})
			must(t, err)
			namespaces := clientOf(t, s.Config()).CoreV1().Namespaces()
			_, err = namespaces.Create(within(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{})
			must(t, err)
			must(t, namespaces.Delete(within(t), "team", metav1.DeleteOptions{}))
			annotate(t, s.Config(), "it has what Main was given")
			if n := s.Count(t, "verb:create resource:configmaps name:mine"); n != 1 {
				t.Errorf("%d requests: those of another test count", n)
			}
			if do != nil {
				do(t, s)
			}
		})
		if said != "" {
			t.Errorf("%s: %s", name, said)
		}
		hosts[s.Config().Host]++
	}
	test("first", nil)
	test("a fault", func(t testing.TB, s *kxtest.Server) {
		s.Fault(t, kxtest.Conflict().On("create", "configmaps")).MustHit(t, 0)
		if _, err := clientOf(t, s.Config()).CoreV1().ConfigMaps("default").Create(within(t), configMap("none"), metav1.CreateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("%v", err)
		}
	})
	test("a definition", func(t testing.TB, s *kxtest.Server) { s.Install(t, kxtest.CRDs("testdata/crd-next")) })
	test("a snapshot", func(t testing.TB, s *kxtest.Server) {
		clean := s.Snapshot(t)
		must(t, clientOf(t, s.Config()).CoreV1().ConfigMaps("default").Delete(within(t), "mine", metav1.DeleteOptions{}))
		s.Rewind(t, clean)
	})
	test("a restart", func(t testing.TB, s *kxtest.Server) { s.Restart(t) })
	test("after a restart", nil)
	if len(hosts) != 2 {
		t.Errorf("all but the one after the restart have one server: %v", hosts)
	}

	first, second := kxtest.Start(t, kxtest.Space()), kxtest.Start(t, kxtest.Space())
	if first.Config().Host == second.Config().Host {
		t.Errorf("two at once are both at %s", first.Config().Host)
	}
	for want, opts := range map[string][]kxtest.Option{
		"kxtest.Main was given": {kxtest.Space(), kxtest.Flags("--controllers=")},
		"use Shared without":    {kxtest.Shared(), kxtest.CRDs("testdata/crd")},
	} {
		if said := failing(t, func(t testing.TB) { kxtest.Start(t, opts...) }); !strings.Contains(said, want) {
			t.Errorf("%q", said)
		}
	}
}

// TestRestartBesideRewind: a restart waits for a rewind of this package, and ends one of another client with its process.
// Neither hangs.
func TestRestartBesideRewind(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t)
	maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
	clean := s.Snapshot(t)
	_, err := maps.Create(within(t), configMap("new"), metav1.CreateOptions{})
	must(t, err)
	client, err := rest.HTTPClientFor(s.Config())
	must(t, err)
	post := func(path, body string) (int, error) {
		url := s.Config().Host + "/apis/kx.dev/v1alpha1/snapshots" + path
		response, err := client.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	if code, err := post("", `{"metadata":{"name":"other"}}`); err != nil || code != http.StatusCreated {
		t.Fatalf("take a snapshot: %d %v", code, err)
	}

	var rewinds sync.WaitGroup
	rewinds.Add(2)
	begun := make(chan struct{})
	go func() {
		defer rewinds.Done()
		for n := 0; ; n++ { // until the server ends, or does not know the snapshot any more
			if code, err := post("/other/rewind", "{}"); err != nil || code == http.StatusNotFound {
				return
			}
			if n == 0 {
				close(begun)
			}
		}
	}()
	<-begun
	go func() {
		defer rewinds.Done()
		said := failing(t, func(t testing.TB) { s.Rewind(t, clean) })
		if said != "" && !strings.Contains(said, "not found") {
			t.Errorf("a rewind of this package: %s", said)
		}
	}()
	s.Restart(t)
	rewinds.Wait()
	if _, err := maps.Create(within(t), configMap("later"), metav1.CreateOptions{}); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}
