package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

// performer runs the commands of one transcript.
type performer struct {
	drawing
	t      *testing.T
	server *running
	rival  *rival // nil if the server has none
	admin  *http.Client
	alice  *http.Client
	more   string // the continue token of the last list
	uid    string // of the object that the last setup wrote
}

const (
	encryptSecrets = `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox: {keys: [{name: first, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}
  - identity: {}
`
	tokenOfAlice = "token-of-alice"
)

func newPerformer(t *testing.T, d *datadriven.TestData) *performer {
	t.Helper()
	p := &performer{t: t}
	p.server = start(t, prefilled, tokens(t, tokenOfAlice+",alice,1\n"), func(o *options.Options) {
		o.Limits.RequestTimeout = options.New().Limits.RequestTimeout // the transcripts tell it
		if d.HasArg("encrypted") {
			o.Etcd.EncryptionProviderConfig = filepath.Join(t.TempDir(), "encryption.yaml")
			must(t, os.WriteFile(o.Etcd.EncryptionProviderConfig, []byte(encryptSecrets), 0o600))
		}
		if d.HasArg("uncached") {
			o.WatchCache.Enabled = false
		}
		if d.HasArg("rival") {
			p.rival = &rival{}
			o.Etcd.Servers = []string{p.rival.startEtcd(t)}
			o.Controllers = controller.Selection{"-*"} // their Lease would be written in between
		}
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "runtime-config":
				o.RuntimeConfig = map[string]string{a.Vals[0]: "true"}
			case "watch-cache-sizes":
				o.WatchCache.Sizes = a.Vals
			}
		}
	})
	p.admin = p.server.httpClient(t)
	config := rest.AnonymousClientConfig(p.server.config)
	config.BearerToken, config.DisableCompression = tokenOfAlice, true
	var err error
	p.alice, err = rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(p.alice.Transport) })
	// The system's namespaces are made in no certain order: r comes after all of them.
	a, err := p.send("POST /api/v1/namespaces\n\n"+`{"metadata":{"name":"r"}}`, &datadriven.TestData{})
	must(t, err)
	p.start = a.revision
	return p
}

// answer is what came back of a request, and its journey.
type answer struct {
	method, path string
	code         int
	journey      *trace.Journey
	body         io.ReadCloser
	revision     int64 // of what was answered, if it has one
	uid          string
	numbers      bool // the request held revisions
}

// open sends a request and returns when the head of the answer is there.
func (p *performer) open(text string, d *datadriven.TestData) (*answer, error) {
	filled := strings.NewReplacer("{continue}", url.QueryEscape(p.more), "{uid}", p.uid).Replace(p.insertRevisions(text))
	head, body, _ := strings.Cut(strings.TrimSpace(filled), "\n\n")
	lines := bufio.NewScanner(strings.NewReader(head))
	lines.Scan()
	method, path, _ := strings.Cut(lines.Text(), " ")
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.server.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "test")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if d.HasArg("objects") {
		req.Header.Set("Kx-Trace", "objects")
	}
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		req.Header.Set(name, value)
	}
	c := p.admin
	if d.HasArg("as") {
		c = p.alice
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	a := &answer{method: method, path: req.URL.Path, code: res.StatusCode, body: res.Body, numbers: filled != text}
	id := res.Header.Get("Kx-Journey")
	if a.journey = p.server.Journeys.Get(id); a.journey == nil {
		res.Body.Close()
		return nil, fmt.Errorf("%s %s: there is no journey %q", method, path, id)
	}
	return a, nil
}

// send sends a request and waits for its journey's end.
func (p *performer) send(text string, d *datadriven.TestData) (*answer, error) {
	a, err := p.open(text, d)
	if err != nil {
		return nil, err
	}
	defer a.body.Close()
	body, err := io.ReadAll(a.body)
	if err != nil {
		return nil, err
	}
	var o struct {
		Metadata struct{ Continue, ResourceVersion, UID string }
	}
	if err := json.Unmarshal(body, &o); err != nil && a.code != http.StatusNotFound { // a path that nobody has is answered in plain text
		return nil, fmt.Errorf("%s %s: %w: %s", a.method, a.path, err, body)
	}
	if o.Metadata.Continue != "" {
		p.more = o.Metadata.Continue
	}
	a.uid = o.Metadata.UID
	a.revision, _ = strconv.ParseInt(o.Metadata.ResourceVersion, 10, 64) // a Status has none
	if err := a.end(); err != nil || a.method == http.MethodGet {
		return a, err
	}
	return a, p.settle(a.path)
}

// settle waits until the cache of the resource that path is of has what etcd has, by a list that must be no older: what
// later requests find there would depend on the moment otherwise.
func (p *performer) settle(path string) error {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	root := 2 // api, v1
	if segments[0] == "apis" {
		root = 3
	}
	if len(segments) > root+2 && segments[root] == "namespaces" && !strings.Contains("status finalize", segments[root+2]) {
		segments = append(segments[:root:root], segments[root+2:]...)
	}
	res, err := p.admin.Get(p.server.URL + "/" + strings.Join(segments[:min(root+1, len(segments))], "/"))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// end ends what is left of the answer, and waits for the journey's end.
func (a *answer) end() error {
	a.body.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if !a.journey.Wait(ctx) {
		return fmt.Errorf("the journey of %s %s did not end in three minutes", a.method, a.path)
	}
	return nil
}

// rival is somebody who writes at the worst moment: between the read and the write of somebody else. It waits at etcd's
// door.
type rival struct{ write atomic.Pointer[func()] }

// beforeNextWrite has write run when the next transaction has come to etcd.
func (r *rival) beforeNextWrite(write func()) { r.write.Store(&write) }

// startEtcd starts an etcd with the rival at its door.
func (r *rival) startEtcd(t *testing.T) string {
	t.Helper()
	socket := url.URL{Scheme: "unix", Path: filepath.Join(t.TempDir(), "s")}
	config := embed.NewConfig()
	config.Dir = t.TempDir()
	config.ListenPeerUrls = nil
	config.ListenClientUrls = []url.URL{socket}
	config.AdvertiseClientUrls = config.ListenClientUrls
	config.TickMs, config.ElectionMs = 20, 100
	config.UnsafeNoFsync = true
	config.EnableGRPCGateway = false
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	config.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainUnaryInterceptor(r.intercept)}
	etcd, err := embed.StartEtcd(config)
	must(t, err)
	t.Cleanup(etcd.Close)
	<-etcd.Server.ReadyNotify()
	return socket.String()
}

func (r *rival) intercept(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if _, ok := req.(*etcdserverpb.TxnRequest); ok {
		if write := r.write.Swap(nil); write != nil {
			(*write)()
		}
	}
	return handler(ctx, req)
}
