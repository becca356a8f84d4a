package kxtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fault makes requests fail: it says how, which, and how often. Its methods return a changed copy.
type Fault struct {
	name, effect string
	code         int
	message      string
	outage       Outage
	webhook      string // what is down
	delay        time.Duration
	verb         string
	resource     string
	terms        []string
	times, after int64
	optional     bool
	problem      error
}

const (
	effectFail    = "Fail"
	effectTimeout = "TimeoutAfterCommit"
	effectDrop    = "DropWatch"
	effectDelay   = "Delay"
	effectLag     = "Lag"
	effectDown    = "WebhookDown"
	watchVerb     = "watch"
)

// Conflict answers 409, as if another client had written first.
func Conflict() Fault { return Status(http.StatusConflict).named("conflict") }

// Forbidden answers 403.
func Forbidden() Fault { return Status(http.StatusForbidden).named("forbidden") }

// Timeout answers 504, and nothing is done. [Fault.AfterCommit] answers the same of a write that is done.
func Timeout() Fault { return Status(http.StatusGatewayTimeout).named("timeout") }

// Status answers with an HTTP status, from 400 to 599. 429 and 503 tell the client to try again after a second.
func Status(code int) Fault {
	return Fault{name: fmt.Sprintf("status-%d", code), effect: effectFail, code: code}
}

// Delay has requests wait, before they are answered as ever.
func Delay(d time.Duration) Fault { return Fault{name: "delay", effect: effectDelay, delay: d} }

// Lag has a client's watches get each event d later than they would, ten minutes at most. The events of a watch keep
// their order. A bookmark or an error waits only for the events before it. client is the user, or a part of the
// User-Agent. Without On, it is about all resources. Each event counts as a hit when it begins to wait. [Injected.Lift]
// lets go the events that wait.
func Lag(client string, d time.Duration) Fault {
	f := Fault{name: "lag", effect: effectLag, delay: d, verb: watchVerb, resource: "*"}
	if client == "" {
		f.problem = errors.New("Lag needs a client: its user, or a part of its User-Agent")
	}
	return f.where(fmt.Sprintf("(user:%[1]s | agent:%[1]s)", strconv.Quote(client)))
}

// Gone ends watches with an ERROR event of code 410 in place of the next event, so that the client has to list again.
// It goes with the verb watch. A list or the start of a watch is answered so by Status(410).
func Gone() Fault {
	f := Status(http.StatusGone).named("gone")
	f.terms = []string{"step:handler.watch-event"}
	return f
}

// DropWatch ends watches in place of the next event, without a word, as a proxy does. It goes with the verb watch.
func DropWatch() Fault { return Fault{name: "drop-watch", effect: effectDrop} }

// Outage is the way in which a webhook is down.
type Outage string

const (
	// Refused: nothing listens at its address.
	Refused Outage = "Refused"
	// Silent: it takes the request and never answers, so that its timeoutSeconds pass.
	Silent Outage = "Silent"
	// ServerError: it answers 500.
	ServerError Outage = "Error"
	// BadCertificate: its certificate is of an authority that the caBundle does not have.
	BadCertificate Outage = "Certificate"
)

// WebhookDown makes calls of an admission webhook go wrong as if it were down: clients get the error that they would
// get then, and its failurePolicy decides. name is the webhook's in its configuration, such as
// validate.widgets.example.com. Without On, it is down for all requests.
func WebhookDown(name string, how Outage) Fault {
	f := Fault{name: "webhook-down", effect: effectDown, outage: how, webhook: name, verb: "*", resource: "*"}
	if name == "" {
		f.problem = errors.New("WebhookDown needs the name of a webhook")
	}
	return f.where("step:handler.webhook", "key~"+strconv.Quote("/"+regexp.QuoteMeta(name)+"$"))
}

func (f Fault) named(name string) Fault {
	f.name = name
	return f
}

// where adds conditions. The copy shares no memory with f.
func (f Fault) where(terms ...string) Fault {
	f.terms = append(append([]string(nil), f.terms...), terms...)
	return f
}

// On says which requests: by their verb, or several with commas between them, and their resource. A resource is a
// plural name, also with its group (widgets.example.com) or a subresource (widgets/status). Requests to subresources
// are others than those to the resource. The verb * and the resource * mean all.
func (f Fault) On(verb, resource string) Fault {
	f.verb, f.resource = verb, resource
	return f
}

// ForUser limits the fault to the requests of a user.
func (f Fault) ForUser(name string) Fault { return f.where("user:" + strconv.Quote(name)) }

// ForAgent limits the fault to the requests of a client program, by a part of its User-Agent.
func (f Fault) ForAgent(part string) Fault { return f.where("agent:" + strconv.Quote(part)) }

// Where adds a condition in kx's filter language, such as name:web or ns:default.
func (f Fault) Where(filter string) Fault { return f.where("(" + filter + ")") }

// Times limits how many requests it hits. Without it, all are hit.
func (f Fault) Times(n int) Fault {
	if n < 1 {
		f.problem = fmt.Errorf("Times(%d): a fault that hits no request needs not be made", n)
	}
	f.times = int64(n)
	return f
}

// After lets the first n requests pass.
func (f Fault) After(n int) Fault {
	f.after = int64(n)
	return f
}

// AfterCommit has a [Timeout] come when the write is done: the client does not know that it was.
func (f Fault) AfterCommit() Fault {
	if f.name != "timeout" {
		f.problem = errors.New("AfterCommit goes with Timeout, and with no other fault")
	}
	f.name, f.effect, f.code = "timeout-after-commit", effectTimeout, 0
	return f
}

// Message is the text of the answer. Without it, the answer says which fault it is.
func (f Fault) Message(text string) Fault {
	f.message = text
	return f
}

// Optional says that the test does not fail if the fault hits nothing.
func (f Fault) Optional() Fault {
	f.optional = true
	return f
}

func (f Fault) String() string {
	if f.webhook != "" {
		return fmt.Sprintf("%s of %s on %s %s", f.name, f.webhook, f.verb, f.resource)
	}
	return fmt.Sprintf("%s on %s %s", f.name, f.verb, f.resource)
}

// check finds what no server need be asked for.
func (f Fault) check() error {
	watches := f.effect == effectDrop || f.effect == effectLag || f.name == "gone"
	reads := ""
	for _, verb := range []string{"get", "list", watchVerb} {
		if slices.Contains(strings.Split(f.verb, ","), verb) {
			reads = verb
		}
	}
	switch {
	case f.problem != nil:
		return f.problem
	case f.verb == "" || f.resource == "":
		return errors.New("a fault needs On(verb, resource)")
	case watches && f.verb != watchVerb:
		return fmt.Errorf("it is about watches: On(%q, …)", watchVerb)
	case f.effect == effectTimeout && reads != "":
		return fmt.Errorf("%s commits nothing: AfterCommit is about writes", reads)
	}
	return nil
}

// filter returns the filter of the fault's requests.
func (f Fault) filter() string {
	var terms []string
	if f.verb != "*" {
		terms = append(terms, "verb:"+f.verb)
	}
	if f.resource != "*" {
		name, sub, _ := strings.Cut(f.resource, "/")
		plural, group, _ := strings.Cut(name, ".")
		terms = append(terms, "resource:"+plural)
		if group != "" {
			terms = append(terms, "group:"+group)
		}
		if sub != "" {
			terms = append(terms, "sub:"+sub)
		} else {
			terms = append(terms, "!sub:*")
		}
	}
	return strings.Join(append(terms, f.terms...), " ")
}

// object returns the fault as an object of kx's API.
func (f Fault) object(name string) map[string]any {
	spec := map[string]any{"effect": f.effect, "filter": f.filter(), "skip": f.after, "count": f.times}
	if f.code != 0 {
		spec["code"] = f.code
	}
	if f.message != "" {
		spec["message"] = f.message
	}
	if f.outage != "" {
		spec["outage"] = string(f.outage)
	}
	if f.effect == effectDelay || f.effect == effectLag {
		spec["delay"] = f.delay.String()
	}
	return map[string]any{
		"apiVersion": "kx.dev/v1alpha1", "kind": "Fault", "metadata": map[string]any{"name": name}, "spec": spec,
	}
}

// Injected is a fault that a server has.
type Injected struct {
	s     *Server
	fault Fault
	name  string

	mu    sync.Mutex
	last  status // what the server said last
	ended bool   // the server has forgotten the fault
}

// Fault has requests go wrong until the end of the test. The verb, the resource and the filter have to exist. A fault
// that hit nothing by then fails the test, unless it is [Fault.Optional].
func (s *Server) Fault(t testing.TB, f Fault) *Injected {
	t.Helper()
	if err := f.check(); err != nil {
		s.fatal(t, fmt.Errorf("the fault %v: %w", f, err))
	}
	if s.shared {
		s.fatal(t, fmt.Errorf("the fault %v would hit other tests too: it needs a server of its own, so Start without Shared", f))
	}
	in, err := s.inject(t, f, fmt.Sprintf("%s-%d", f.name, s.named.Add(1)))
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), callMost)
		defer cancel()
		err = errors.Join(s.client.checkResource(f.verb, f.resource), s.client.checkWebhook(ctx, f.webhook))
		in.fault.optional = in.fault.optional || err != nil // it can't hit anything
	}
	if err != nil {
		s.fatal(t, fmt.Errorf("the fault %v: %w", f, err))
	}
	return in
}

// inject creates a fault of a name. Its resource may come later.
func (s *Server) inject(t testing.TB, f Fault, name string) (*Injected, error) {
	in := &Injected{s: s, fault: f, name: name}
	ctx, cancel := context.WithTimeout(context.Background(), callMost)
	defer cancel()
	if err := s.client.call(ctx, "POST", kxPath+"faults", f.object(name), nil); err != nil {
		return nil, err
	}
	s.faults.Lock()
	s.faults.all = append(s.faults.all, in)
	s.faults.Unlock()
	t.Cleanup(func() { in.end(t) })
	return in, nil
}

// allFaults returns the faults of the test until now.
func (s *Server) allFaults() []*Injected {
	s.faults.Lock()
	defer s.faults.Unlock()
	return s.faults.all
}

// status is the count of a fault's matches and hits.
type status struct {
	Matches int `json:"matches"`
	Hits    int `json:"hits"`
	LastHit *struct {
		Journey string `json:"journey"`
	} `json:"lastHit"`
}

func (in *Injected) status() (status, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return in.last, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callMost)
	defer cancel()
	var answer struct {
		Status status `json:"status"`
	}
	err := in.s.client.call(ctx, "GET", kxPath+"faults/"+in.name, nil, &answer)
	if err == nil {
		in.last = answer.Status
	}
	return answer.Status, err
}

// Hits returns how many requests the fault has hit so far.
func (in *Injected) Hits() int {
	in.s.t.Helper()
	now, err := in.status()
	if err != nil {
		in.s.fatal(in.s.t, err)
	}
	return now.Hits
}

// MustHit waits until the fault has hit n requests or more, and fails the test if that takes too long.
func (in *Injected) MustHit(t testing.TB, n int) {
	t.Helper()
	if most := in.fault.times; most > 0 && int64(n) > most {
		t.Fatalf("kxtest: the fault %v can't hit %d requests: it has Times(%d)", in.fault, n, most)
	}
	for deadline := time.Now().Add(waitMost); ; time.Sleep(lookEvery) {
		now, err := in.status()
		if err != nil {
			in.s.fatal(t, err)
		}
		if now.Hits >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("kxtest: the fault %v hit %d requests in %v, and not %d; its filter is %s",
				in.fault, now.Hits, waitMost, n, in.fault.filter())
		}
	}
}

// Lift ends the fault before the end of the test: requests pass again, and those that it delays go on at once. A test
// can hold something back with a long [Delay] or [Lag], and let it go at the right moment.
func (in *Injected) Lift(t testing.TB) {
	t.Helper()
	in.end(t)
}

// forget leaves the fault to the end of the server's process.
func (in *Injected) forget() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
}

// end deletes the fault, which lets go on what it delays.
func (in *Injected) end(t testing.TB) {
	t.Helper()
	now, err := in.status()
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return
	}
	in.ended = true
	if err == nil && now.Hits == 0 && !in.fault.optional {
		t.Errorf("kxtest: the fault %v hit no request; its filter is %s (with Optional, that is no failure)",
			in.fault, in.fault.filter())
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseMost)
	defer cancel()
	_ = in.s.client.call(ctx, "DELETE", kxPath+"faults/"+in.name, nil, nil) // it ends with the server anyway
}
