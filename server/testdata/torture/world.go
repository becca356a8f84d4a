//go:build linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/testdata/torture/system"
)

// startPatience is how long a start may take until it serves and its caches are full.
const startPatience = 60 * time.Second

// world is what is tortured in a round: servers, etcds, and what asks them.
type world struct {
	kxs []*server
	// etcds are empty if the one server has its own.
	etcds []*system.Etcd
	// etcd is a client of etcd itself.
	etcd       *clientv3.Client
	witness    *witness
	encryption *encryption
	round      *round
	// hook is asked about writes in the guarded namespace.
	hook *hook

	mu sync.Mutex
	// log says what is done, as it is done.
	log    func(format string, args ...any)
	counts map[string]int
	memory map[string]int64
}

// server is one kx and clients of it.
type server struct {
	*system.KX
	// down is set while somebody ends it on purpose.
	down    atomic.Bool
	typed   kubernetes.Interface
	dynamic dynamic.Interface
	raw     *http.Client
	dialer  *websocket.Dialer
	config  *rest.Config
}

// plan is what a world is made of. No members are a server with its own etcd.
type plan struct {
	kxs, members int
	encrypted    bool
}

// newWorld starts it all below a directory and creates what the clients need.
func newWorld(ctx context.Context, program, dir string, plan plan, log func(string, ...any)) (w *world, err error) {
	w = &world{log: log, counts: map[string]int{}, memory: map[string]int64{}}
	defer func() {
		if err != nil {
			w.end()
		}
	}()
	var endpoints []string
	if plan.encrypted {
		if w.encryption, err = newEncryption(filepath.Join(dir, "encryption.yaml")); err != nil {
			return w, err
		}
	}
	if plan.members > 0 {
		if w.etcds, err = system.StartCluster(ctx, dir, plan.members); err != nil {
			return w, err
		}
		for _, e := range w.etcds {
			endpoints = append(endpoints, e.Client)
		}
	}
	for i := range plan.kxs {
		k, err := system.NewKX(program, dir, fmt.Sprintf("kx-%d", i), w.etcds)
		if err != nil {
			return w, err
		}
		k.CheckCaches()
		if plan.encrypted {
			k.Args("--encryption-provider-config", w.encryption.file)
		}
		s := &server{KX: k}
		w.kxs = append(w.kxs, s)
		if err := w.start(ctx, s); err != nil {
			return w, err
		}
	}
	if plan.members == 0 {
		endpoints = []string{w.kxs[0].Socket()}
	}
	if w.etcd, err = system.Connect(endpoints...); err != nil {
		return w, err
	}
	if err := w.furnish(ctx); err != nil {
		return w, err
	}
	if err := w.guardNamespace(ctx); err != nil {
		return w, err
	}
	if w.witness, err = newWitness(ctx, w.etcd, w.encryption); err != nil {
		return w, err
	}
	w.round = newRound(w.witness.begin)
	return w, nil
}

// count notes that something happened.
func (w *world) count(what string) { w.add(what, 1) }

func (w *world) add(what string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what] += n
}

// start starts a server and waits until it serves from full caches.
func (w *world) start(ctx context.Context, s *server) error {
	w.count("starts")
	if err := s.Start(ctx); err != nil {
		return err
	}
	s.down.Store(false)
	if s.config == nil {
		if err := s.connect(); err != nil {
			return err
		}
	}
	return s.ready(ctx)
}

func (s *server) connect() (err error) {
	if s.config, err = s.Config(); err != nil {
		return err
	}
	// client-go sends again what was answered with Retry-After: then nobody knows how often a write was made.
	s.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return onceOnly{next} })
	binary := rest.CopyConfig(s.config)
	binary.ContentType = runtime.ContentTypeProtobuf
	if s.typed, err = kubernetes.NewForConfig(binary); err != nil {
		return err
	}
	if s.dynamic, err = dynamic.NewForConfig(s.config); err != nil {
		return err
	}
	if s.raw, err = rest.HTTPClientFor(s.config); err != nil {
		return err
	}
	s.dialer, err = newDialer(s.config)
	return err
}

// onceOnly takes from answers what says when to ask again.
type onceOnly struct{ http.RoundTripper }

func (o onceOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := o.RoundTripper.RoundTrip(req)
	if err == nil {
		res.Header.Del("Retry-After")
	}
	return res, err
}

// ready waits until /readyz says yes.
func (s *server) ready(ctx context.Context) error {
	return within(ctx, s.Name+" becomes ready", func(ctx context.Context) error {
		if s.Process.Ended() {
			return fatal{fmt.Errorf("%s ended", s.Name)}
		}
		return s.typed.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// fatal is an error that does not go away.
type fatal struct{ error }

// within tries until it works, for as long as a start may take.
func within(ctx context.Context, what string, try func(context.Context) error) error {
	return withinTime(ctx, startPatience, what, try)
}

func withinTime(ctx context.Context, patience time.Duration, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		trying, stop := context.WithTimeout(ctx, requestPatience)
		err := try(trying)
		stop()
		if err == nil {
			return nil
		}
		if f, ok := errors.AsType[fatal](err); ok {
			return fmt.Errorf("%s: %w", what, f.error)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not in time: %w", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func widgetDefinition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets.torture.kx.dev"},
		"spec": map[string]any{
			"group": "torture.kx.dev", "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": map[string]any{
					"type": "object", "properties": map[string]any{"v": map[string]any{"type": "string"}},
				}}},
			}}},
		},
	}}
}

// furnish creates namespaces and a custom resource, and waits until every server has them.
func (w *world) furnish(ctx context.Context) error {
	first := w.kxs[0]
	exists := func(err error) error {
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	for _, ns := range append(slices.Clone(namespaces), livesNamespace) {
		_, err := first.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
		if exists(err) != nil {
			return err
		}
	}
	_, err := first.dynamic.Resource(definitions).Create(ctx, widgetDefinition(), metav1.CreateOptions{})
	if exists(err) != nil {
		return err
	}
	for _, s := range w.kxs {
		err := within(ctx, s.Name+" serves widgets", func(ctx context.Context) error {
			_, err := s.dynamic.Resource(widgets.resource).List(ctx, metav1.ListOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// alive says which process ended that nobody ended, of those that a lane is about.
func (w *world) alive(l lane) error {
	if l == servers {
		for _, s := range w.kxs {
			if !s.down.Load() && s.Process.Ended() {
				return fmt.Errorf("%s ended by itself", s.Name)
			}
		}
		return nil
	}
	for _, e := range w.etcds {
		if !e.Down.Load() && e.Process.Ended() {
			return fmt.Errorf("%s ended by itself", e.Name)
		}
	}
	return nil
}

// look notes how much memory a server had at most.
func (w *world) look(s *server) {
	peak := s.Process.Look()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.memory[s.Name] = max(w.memory[s.Name], peak)
}

// kill kills a server.
func (w *world) kill(s *server) {
	w.count("kills of kx")
	w.look(s)
	s.down.Store(true)
	s.Kill()
}

// stop stops a server in good order.
func (w *world) stop(s *server, sig syscall.Signal) error {
	w.count("stops")
	w.look(s)
	s.down.Store(true)
	return s.Stop(sig)
}

// end ends all processes, whatever they do.
func (w *world) end() {
	if w.witness != nil {
		_ = w.witness.stop()
	}
	if w.etcd != nil {
		_ = w.etcd.Close()
	}
	if w.hook != nil && w.hook.server != nil {
		w.hook.end()
	}
	for _, s := range w.kxs {
		if s.Process != nil {
			s.Kill()
		}
		s.Close()
	}
	for _, e := range w.etcds {
		if e.Process != nil {
			e.Kill()
		}
		e.Close()
	}
}
