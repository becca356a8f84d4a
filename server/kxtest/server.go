package kxtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Server is an API server for one test.
type Server struct {
	// Webhook says where the test has to serve its webhooks, if [Webhooks] were given, or [CRDs] with a conversion
	// webhook.
	Webhook Webhook

	*instance
	t      testing.TB
	shared bool
	// space is the server if it is one of those that serve one test after the other; nil if not.
	space *space
	// explored says that the server is one of [Explore]; nil if not.
	explored *explorer
	// begin is a journey of this package that the server must not forget. The requests with numbers above since are the
	// test's. A restart changes both.
	begin string
	since int
	// faults has all faults of the test, also those that have ended.
	faults struct {
		sync.Mutex
		all []*Injected
	}
}

// instance is a server that runs, with what it was given at its start.
type instance struct {
	flags   []string
	webhook Webhook
	process *process
	client  *client
	// gate is locked while the server restarts, which changes the process. Requests of this package hold it to read.
	gate sync.RWMutex
	// named counts the names that are made up for users and faults.
	named atomic.Int64
}

// Start starts a server for the test, or returns the one that is [Shared], or a [Space]. It ends with the test. What
// can't be started or installed fails the test at once, with one sentence that names the file.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	o, err := optionsOf(opts)
	if err != nil {
		t.Fatalf("kxtest: %v", err)
	}
	return start(t, o)
}

func start(t testing.TB, o *options) *Server {
	t.Helper()
	if o.space {
		return startSpace(t, o)
	}
	i, err := (*instance)(nil), error(nil)
	if o.shared {
		i, err = common.get()
	} else {
		i, err = newInstance(o)
	}
	if err != nil {
		t.Fatalf("kxtest: %v", err)
	}
	return i.serve(t, o.shared)
}

// serve gives an instance to a test, until its end.
func (i *instance) serve(t testing.TB, shared bool) *Server {
	t.Helper()
	s := &Server{Webhook: i.webhook, instance: i, t: t, shared: shared}
	t.Cleanup(s.end)
	var err error
	if s.begin, err = i.client.mark(); err != nil {
		s.fatal(t, err)
	}
	s.since, _ = number(s.begin)
	return s
}

func newInstance(o *options) (_ *instance, err error) {
	users, err := newAuthority("kxtest")
	if err != nil {
		return nil, err
	}
	i := &instance{flags: o.flags}
	if i.process, err = launch(o.flags, users, o.serve); err != nil {
		return nil, err
	}
	if i.client, err = newClient(i.process.admin, &i.gate); err == nil {
		err = i.install(o)
	}
	if err != nil {
		return nil, errors.Join(err, i.stop())
	}
	return i, nil
}

// Install gives a server that runs what [Start] can give it: [CRDs], [Webhooks] and [Objects]. So a test upgrades a
// definition whose objects are stored. What is there already is changed to what the file has.
func (s *Server) Install(t testing.TB, opts ...Option) {
	t.Helper()
	o, err := optionsOf(opts)
	switch {
	case err != nil:
	case s.shared:
		err = errors.New("what is installed on a shared server is there for other tests too: Start without Shared")
	case o.shared || o.space || len(o.flags) > 0:
		err = errors.New("Install is for CRDs, Webhooks and Objects: give flags to Start")
	default:
		err = s.install(o)
	}
	if err != nil {
		s.fatal(t, err)
	}
	s.Webhook = s.webhook
}

// Config returns the administrator's configuration: a new copy for each call.
func (s *Server) Config() *rest.Config {
	config := rest.CopyConfig(s.process.admin)
	if s.explored != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &gated{next, &s.gate, s.explored.agent} })
	}
	return config
}

// Kubeconfig returns the path of the administrator's kubeconfig, for kubectl and other programs.
func (s *Server) Kubeconfig() string { return s.process.kubeconfig }

// end ends the server with its test. What a failed test leaves is written before the server stops, and named last.
func (s *Server) end() {
	failed := s.t.Failed() || panicking()
	page := ""
	if failed {
		page = s.keep()
	}
	log := s.process.log.text() // of a space before the next test has it
	if err := s.leave(); err != nil {
		s.t.Errorf("kxtest: %v", err)
	}
	if s.space == nil {
		log = s.process.log.text()
	}
	if log != "" && (failed || s.t.Failed() || testing.Verbose()) {
		s.t.Logf("the log of kx serve:\n%s", log)
	}
	if page != "" {
		s.t.Log(page)
	}
}

// leave stops the server, or leaves it to the next test.
func (s *Server) leave() error {
	switch {
	case s.shared:
		return nil
	case s.space == nil:
		return s.stop()
	}
	err := common.giveBack(s.space)
	if err == nil {
		return nil
	}
	s.t.Logf("kxtest: the server of this space is not used again: %v", err)
	return s.stop()
}

// panicking reports whether the test ends with a panic. Package testing counts it as failed only after its cleanups.
func panicking() bool {
	callers := make([]uintptr, callersMost)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function == "runtime.gopanic" {
			return true
		}
	}
	return false
}

// callersMost limits the callers of a cleanup.
const callersMost = 64

// fatal fails the test, and says so if the server is gone.
func (s *Server) fatal(t testing.TB, err error) {
	t.Helper()
	s.gate.RLock() // a server that restarts is not gone
	done := s.process.done
	s.gate.RUnlock()
	select {
	case <-done:
		t.Fatalf("kxtest: the server has ended: %s", lastLines(s.process.log.text(), 1))
	default:
		t.Fatalf("kxtest: %v", err)
	}
}

// stop stops the server. The error names what kept it from stopping.
func (i *instance) stop() (err error) {
	defer func() { err = errors.Join(err, i.process.dir.remove()) }()
	select {
	case <-i.process.done:
		return fmt.Errorf("the server ended before its test: %s", lastLines(i.process.log.text(), 1))
	default:
	}
	held := i.release()
	if i.process.end(stopMost) {
		if err := i.process.ended; err != nil {
			return fmt.Errorf("the server ended with %w: %s", err, lastLines(i.process.log.text(), 1))
		}
		return nil
	}
	if held == "" {
		held = "no request; its log ends with: " + lastLines(i.process.log.text(), 1)
	}
	was := "was killed"
	if i.process.kill == nil {
		was = "runs on in the test's process"
	}
	return fmt.Errorf("the server did not stop within %v and %s: under way was %s", stopMost, was, held)
}

// releaseMost limits the preparations of a stop.
const releaseMost = 5 * time.Second

// release deletes what could hold requests, and returns the requests that are under way nevertheless.
func (i *instance) release() (held string) {
	if i.client == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseMost)
	defer cancel()
	for _, path := range []string{
		"/apis/" + webhookGroup + "/v1/mutatingwebhookconfigurations",
		"/apis/" + webhookGroup + "/v1/validatingwebhookconfigurations",
		kxPath + "faults", kxPath + "breakpoints",
	} {
		_ = i.client.call(ctx, "DELETE", path, nil, nil) // the stop has a bound anyway
	}
	held, _ = i.underWay(ctx, "") // it is only said
	return held
}

// underWay returns the requests that are under way, and match a filter.
func (i *instance) underWay(ctx context.Context, filter string) (string, error) {
	running, err := i.client.journeys(ctx, strings.TrimSpace("phase:running,held !verb:watch "+filter))
	var all []string
	for _, j := range running {
		all = append(all, j.String())
	}
	return strings.Join(all, "; "), err
}

// common has the servers that [Main] offers to all tests of the package.
var common shared

// shared starts a server when a test first asks for it, and one for each test that asks for a space when none is idle.
// mu guards all fields.
type shared struct {
	mu       sync.Mutex
	options  []Option
	offered  bool
	instance *instance
	err      error
	idle     []*space
}

func (s *shared) get() (*instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.offered:
		return nil, errors.New("there is no server to share: TestMain has to call kxtest.Main")
	case s.instance == nil && s.err == nil:
		var o *options
		if o, s.err = optionsOf(s.options); s.err == nil {
			s.instance, s.err = newInstance(o)
		}
	}
	return s.instance, s.err
}

// Main runs the tests of a package and ends the process with their exit code. Its options are for the server that tests
// share by [Shared], and for those that they have one after the other by [Space]. They start when a test asks for them.
func Main(m *testing.M, opts ...Option) {
	common.mu.Lock()
	common.options, common.offered = opts, true
	common.mu.Unlock()
	code := m.Run()
	if err := common.stop(); err != nil {
		fmt.Fprintf(os.Stderr, "kxtest: the shared server: %v\n", err)
		code = max(code, 1)
	}
	os.Exit(code)
}
