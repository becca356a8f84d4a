//go:build unix

package server_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/options"
)

// BenchmarkRights sends the same requests as an administrator and as a user who is bound by one of 1,000 bindings, both known by a token,
// in turns against one server, sixteen at a time, and reports the CPU of this process for each, the client's included.
func BenchmarkRights(b *testing.B) {
	file := filepath.Join(b.TempDir(), "tokens.csv")
	if err := os.WriteFile(file, []byte("boss,boss,1,\"system:masters\"\nann,user-500,2,\"staff\"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	s := newBench(b, func(o *options.Options) { o.Access.TokenAuthFile, o.InitialObjects = file, true })
	s.fill(b, 500)
	bound(b, s)
	clients := map[string]*http.Client{}
	for _, token := range []string{"boss", "ann"} {
		config := rest.AnonymousClientConfig(s.config)
		config.BearerToken = token
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			b.Fatal(err)
		}
		clients[token] = client
	}
	for _, one := range []struct {
		name, method, query string
	}{{"get", "GET", ""}, {"cached-get", "GET", "?resourceVersion=0"}, {"list-100", "GET", "?limit=100"}, {"list-500", "GET", "?limit=500"}, {"create", "POST", ""}} {
		b.Run(one.name, func(b *testing.B) {
			const inTurn, atOnce = 2000, 16
			used, n := map[string]time.Duration{}, 0
			send := func(client *http.Client, n int) {
				path, body, code := fmt.Sprint(configMaps, "/o-", n%100, one.query), []byte(nil), 200
				switch {
				case one.method == "POST":
					path, body, code = configMaps, object(fmt.Sprint(one.name, b.N, "-", n)), 201
				case strings.HasPrefix(one.name, "list"):
					path = configMaps + one.query
				}
				(&bench{Server: s.Server, http: client}).do(b, one.method, path, body, code)
			}
			turns := 0
			for b.Loop() {
				for _, token := range []string{"boss", "ann", "ann", "boss"} {
					before := processTime(b)
					var running sync.WaitGroup
					for i := range atOnce {
						running.Go(func() {
							for k := range inTurn / atOnce {
								send(clients[token], n+k*atOnce+i)
							}
						})
					}
					running.Wait()
					n += inTurn
					used[token] += processTime(b) - before
				}
				turns += 2
			}
			for token, name := range map[string]string{"boss": "admin-µs", "ann": "user-µs"} {
				b.ReportMetric(float64(used[token].Microseconds())/float64(turns*inTurn), name)
			}
			b.ReportMetric(0, "ns/op") // of both together: it says nothing
		})
	}
}

// bound makes a role, and a binding of it for each of 1,000 users.
func bound(b *testing.B, s *bench) {
	b.Helper()
	c, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	_, err = c.RbacV1().Roles("default").Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "writer"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
	}}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		body := fmt.Appendf(nil, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"b-%d"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"user-%d"}],"roleRef":{"kind":"Role","apiGroup":"rbac.authorization.k8s.io","name":"writer"}}`, i, i)
		s.do(b, "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", body, 201)
	}
	config := rest.AnonymousClientConfig(s.config)
	config.BearerToken = "ann"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		b.Fatal(err)
	}
	for {
		res, err := client.Get(s.URL + configMaps + "?limit=1")
		if err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
	}
}

// processTime is the CPU that this process has used.
func processTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
