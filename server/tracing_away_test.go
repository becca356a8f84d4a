package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/peertest"
)

// tracedCollector is in the environment of the process that is a traced etcd: where its spans go.
const tracedCollector = "KX_TEST_TRACED_ETCD"

// tracedEtcd starts an etcd that exports its own spans of requests that are sampled. It is a process of its own: such an etcd sets a
// variable of its library that each etcd of the process reads.
func tracedEtcd(t *testing.T, to *peertest.Collector) (endpoint string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env, child.Stderr = append(os.Environ(), tracedCollector+"="+to.Address), os.Stderr
	in, err := child.StdinPipe()
	must(t, err)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	t.Cleanup(func() {
		must(t, in.Close())
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	})
	endpoint, err = bufio.NewReader(out).ReadString('\n')
	must(t, err)
	return strings.TrimSpace(endpoint)
}

// beTracedEtcd prints where it listens, and ends with its standard input.
func beTracedEtcd(collector string) error {
	dir, err := os.MkdirTemp("", "kx-traced-etcd")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := embed.NewConfig()
	c.Dir, c.UnsafeNoFsync = dir, true
	c.ListenPeerUrls, c.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}, []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c.TickMs, c.ElectionMs = 10, 100
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	c.EnableDistributedTracing, c.DistributedTracingAddress, c.DistributedTracingServiceName = true, collector, "etcd"
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(stopLimit):
		return errors.New("etcd is not ready")
	}
	fmt.Println("http://" + e.Clients[0].Addr().String())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestTracingStop has what waits be exported before the server has stopped, and a watch when it ends.
func TestTracingStop(t *testing.T) {
	t.Parallel()
	collector := peertest.NewCollector(t)
	r, stop, err := launch(exporting(t, collector, 1_000_000))
	must(t, err)
	client := r.httpClient(t)
	req, err := http.NewRequestWithContext(within(t), "GET", r.URL+tracedMaps+"?watch=true", nil)
	must(t, err)
	res, err := client.Do(req)
	must(t, err)
	defer res.Body.Close()
	watch := res.Header.Get("Kx-Journey")
	_, j := r.traced(t, client, "GET", "/version", "")
	collector.Journey(t, j.Name, len(j.Status.Steps))
	exported := func(name string) bool {
		return slices.ContainsFunc(collector.Spans(), func(s peertest.Span) bool { return s.Attributes["kx.journey"] == name })
	}
	if exported(watch) {
		t.Error("a watch was exported before its end")
	}
	last, _ := ask(t, client, "GET", r.URL+"/version", nil)
	must(t, stop())
	for _, name := range []string{watch, last.Header.Get("Kx-Journey")} {
		if !exported(name) {
			t.Errorf("%s was not exported before the end", name)
		}
	}
}

// TestTracingAway: requests do not wait for a collector that is away or does not answer, and the server stops.
func TestTracingAway(t *testing.T) {
	t.Parallel()
	// The near end of a connection: nobody listens there, and nobody else gets the port.
	far, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, far.Close()) })
	near, err := net.Dial("tcp", far.Addr().String())
	must(t, err)
	t.Cleanup(func() { must(t, near.Close()) })
	away := peertest.File(t, "apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: TracingConfiguration\nendpoint: "+near.LocalAddr().String()+"\nsamplingRatePerMillion: 1000000\n")
	hanging, refusing := peertest.NewCollector(t), peertest.NewCollector(t)
	hung := make(chan struct{}, 1000)
	hanging.Answer(func(ctx context.Context) error {
		hung <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	refusing.Answer(func(context.Context) error { return status.Error(codes.InvalidArgument, "no more spans") })
	for name, file := range map[string]string{"away": away, "hanging": hanging.File(t, 1_000_000), "refusing": refusing.File(t, 1_000_000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := &log{}
			r, stop, err := launchLogging(slog.New(slog.NewTextHandler(text, nil)), nil, func(o *options.Options) { o.TracingConfigFile = file })
			must(t, err)
			client := r.httpClient(t)
			if name == "hanging" {
				ask(t, client, "GET", r.URL+"/version", nil)
				<-hung // from now on what ends has to wait
			}
			const requests = 1200
			for range requests {
				if res, _ := ask(t, client, "GET", r.URL+"/version", nil); res.StatusCode != http.StatusOK {
					t.Fatal(res.Status)
				}
			}
			if name == "hanging" {
				if exports := len(hung); exports > requests/10 {
					t.Errorf("the collector was asked %d times during %d requests: they wait for it", exports, requests)
				}
				if dropped := r.metric(t, "kx_tracing_dropped_journeys_total"); dropped == 0 || dropped > requests {
					t.Errorf("%v journeys of %d were dropped", dropped, requests)
				}
			} else {
				until(t, "lost spans are counted", func() bool { return r.metric(t, `kx_tracing_spans_total{result="failed"}`) > 0 })
			}
			if kept := r.Journeys.Stats(); kept.Journeys > trace.DefaultLimits.Journeys+10 {
				t.Errorf("%d journeys are kept", kept.Journeys)
			}
			must(t, stop())
			if text := text.String(); strings.Count(text, "spans are lost") != 1 || name == "refusing" && !strings.Contains(text, "no more spans") {
				t.Errorf("the log says %s", text)
			}
		})
	}
}

// TestTracingAgain: a collector that comes back gets spans again.
func TestTracingAgain(t *testing.T) {
	t.Parallel()
	collector := peertest.NewCollector(t)
	collector.Answer(func(context.Context) error { return status.Error(codes.Unimplemented, "not yet") })
	text := &log{}
	r, stop, err := launchLogging(slog.New(slog.NewTextHandler(text, nil)), nil, exporting(t, collector, 1_000_000))
	must(t, err)
	client := r.httpClient(t)
	ask(t, client, "GET", r.URL+"/version", nil)
	until(t, "the failure is logged", func() bool { return strings.Contains(text.String(), "spans are lost") })
	collector.Answer(nil)
	_, j := r.traced(t, client, "GET", "/version", "")
	collector.Journey(t, j.Name, len(j.Status.Steps))
	until(t, "the recovery is logged", func() bool { return strings.Contains(text.String(), "takes spans again") })
	must(t, stop())
}

// TestTracingLarge: a journey of many steps comes in messages that a collector takes.
func TestTracingLarge(t *testing.T) {
	t.Parallel()
	collector := peertest.NewCollector(t)
	r := start(t, exporting(t, collector, 1_000_000))
	client := r.httpClient(t)
	for i := range 150 {
		ask(t, client, "POST", r.URL+tracedMaps, strings.NewReader(fmt.Sprintf(newMap, fmt.Sprint("m-", i))), "Content-Type: application/json")
	}
	_, j := r.traced(t, client, "DELETE", tracedMaps, "")
	if len(j.Status.Steps) < 1000 {
		t.Fatalf("only %d steps", len(j.Status.Steps))
	}
	request, steps := collector.Journey(t, j.Name, len(j.Status.Steps))
	sameSteps(t, j, request, steps)
}

// TestTracingConfiguration: what is wrong with the file is said at the start.
func TestTracingConfiguration(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"
	for text, want := range map[string]string{
		"":                                       "it is empty",
		head + "samplingRatePerMillion: -1":      "samplingRatePerMillion: Invalid value: -1: sampling rate must be positive",
		head + "samplingRatePerMillion: 1000001": "samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million",
		head + "endpoint: https://collector:4317":                                `endpoint: Invalid value: "https://collector:4317": unsupported scheme: https`,
		head + "endpoit: collector":                                              `unknown field "endpoit"`,
		head + "endpoint: a\nendpoint: b":                                        "endpoint",
		head + "endpoint: [":                                                     "line 3",
		"apiVersion: apiserver.config.k8s.io/v2\nkind: TracingConfiguration\n":   `no kind "TracingConfiguration" is registered for version "apiserver.config.k8s.io/v2"`,
		"apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n": "kind: it must have a TracingConfiguration",
	} {
		file := peertest.File(t, text)
		_, stop, err := launch(func(o *options.Options) { o.TracingConfigFile = file })
		if err == nil {
			t.Errorf("a server started with %q", text)
			must(t, stop())
			continue
		}
		if !strings.HasPrefix(err.Error(), "--tracing-config-file: "+file+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", text, err, want)
		}
	}
	_, _, err := launch(func(o *options.Options) { o.TracingConfigFile = filepath.Join(t.TempDir(), "none") })
	if err == nil || !strings.HasPrefix(err.Error(), "--tracing-config-file: open ") {
		t.Errorf("without the file: %v", err)
	}
}
