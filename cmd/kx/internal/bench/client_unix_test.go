//go:build unix

package bench

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// BenchmarkClient compares a GET of 1.5 kB by the client of this package with one by net/http's. The server is in the same
// process, so its CPU is in both.
func BenchmarkClient(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 1500)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	own, err := newClient(&rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		b.Fatal(err)
	}
	defer own.close()
	for name, do := range map[string]func() error{
		"own": func() error {
			_, err := own.send(b.Context(), 0, get("/"))
			return err
		},
		"net-http": func() error {
			res, err := s.Client().Get(s.URL)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, res.Body)
			return errors.Join(err, res.Body.Close())
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(8)
			before := cpu(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := do(); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/1e3, "cpu-µs/op")
		})
	}
}

// cpu is what this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
