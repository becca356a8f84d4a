package kxtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Explore runs a test of a controller again and again, each time on a new server with the options, and with one thing
// gone wrong at one write. The writes are those of a first run in which nothing goes wrong. For each of them there are
// three runs, by the kind of the trouble:
//
//   - conflict: the write is answered 409, and not stored;
//   - lost: the write is stored, and answered 504, so that the client does not know;
//   - restart: the server is killed while the write is under way and not stored, and it comes up again with its data,
//     as by [Server.Restart].
//
// A run is a subtest with the name of its trouble: conflict:update:widgets.example.com/status:2 is about the second
// update of that subresource. For lost answers, only stored writes count. The first run that fails ends the
// exploration. Its log says how to repeat it alone, by the variable KXTEST_EXPLORE with the name of the run. The runs
// are in a random order, so that a [Limit] does not always leave out the same ones. KXTEST_EXPLORE=seed:N repeats an
// order. A run in which the write does not happen is no failure. It is counted in the log.
//
// Writes of the administrator and of kx's own controllers are left out, so the controller needs a user of its own, such
// as that of [Server.As], or else [Agent]. Left out, too, are leases, events, and questions about tokens and rights.
//
// During a restart, the controller sees an outage: its requests break, connections are refused, and watches end.
// Requests of [Server.Config] and of the methods of [Server] wait instead, so that the assertions of the test need no
// retries. Watches of Config end nevertheless, as do requests with other configurations and with the kubeconfig. The
// requests until the restart are forgotten. So a test that is explored waits for objects; where it waits for requests
// with [Server.MustSee], it needs [WithoutRestarts]. Tests that have faults of their own are run without restarts.
//
// The function must not call t.Parallel; the test around Explore may.
func Explore(t *testing.T, test func(t *testing.T, s *Server), opts ...Option) {
	t.Helper()
	o, err := readOptions(opts)
	switch {
	case err != nil:
	case o.shared || o.space:
		err = errors.New("Explore starts a server for each run: leave Shared and Space out")
	case o.serve != nil && !o.explore.noRestarts:
		err = errors.New("Explore kills servers, which it can't InProcess: add WithoutRestarts")
	}
	if err != nil {
		t.Fatalf("kxtest: %v", err)
	}
	e := &exploration{t: t, test: test, opts: opts, limit: o.explore, seed: uint64(rand.Uint32())}
	only := (*trouble)(nil)
	if value := os.Getenv(exploreVariable); value != "" {
		if only, err = e.read(value); err != nil {
			t.Fatalf("kxtest: %v", err)
		}
	}
	if only != nil {
		e.alone(only)
		return
	}
	e.all(e.troubles())
}

// exploreVariable picks one run, or the order of all.
const exploreVariable = "KXTEST_EXPLORE"

// Explore makes exploreRuns runs beside the first one, and begins none after exploreTime, unless there is a [Limit].
const (
	exploreRuns = 200
	exploreTime = time.Minute
)

// explorer has the options of [Explore].
type explorer struct {
	given      []string // the names of those that were given
	agent      string
	runs       int
	time       time.Duration
	noRestarts bool
}

// Agent has [Explore] disturb the writes of one client alone, the administrator too. name is a part of its User-Agent
// or of its user's name.
func Agent(name string) Option {
	return func(o *options) error {
		if name == "" {
			return errors.New("Agent needs a part of a client's User-Agent or user name")
		}
		o.explore.agent = name
		return o.explore.add("Agent")
	}
}

// Limit has [Explore] make at most a number of runs beside the first one, and begin none after a time. The log has the
// number of those that were left out. Without Limit, there are at most 200 runs, and none begins after a minute.
func Limit(runs int, d time.Duration) Option {
	return func(o *options) error {
		if runs < 1 || d <= 0 {
			return fmt.Errorf("Limit(%d, %v) leaves out all runs", runs, d)
		}
		o.explore.runs, o.explore.time = runs, d
		return o.explore.add("Limit")
	}
}

// WithoutRestarts has [Explore] leave out the runs in which the server restarts.
func WithoutRestarts() Option {
	return func(o *options) error {
		o.explore.noRestarts = true
		return o.explore.add("WithoutRestarts")
	}
}

func (e *explorer) add(name string) error {
	e.given = append(e.given, name)
	return nil
}

// who is the filter of the clients whose writes are disturbed.
func (e *explorer) who() string {
	if e.agent == "" {
		return fmt.Sprintf("!user:%q %s", adminUser, notOfServer)
	}
	return fmt.Sprintf("(agent:%s | user~%s) %s", strconv.Quote(e.agent), strconv.Quote(regexp.QuoteMeta(e.agent)), notOfServer)
}

// trouble is what goes wrong in a run.
type trouble struct {
	kind string
	// The write is the one with the number, from 1, of those with the verb and the resource.
	verb, resource string
	number         int
}

func (d trouble) String() string {
	return fmt.Sprintf("%s:%s:%s:%d", d.kind, d.verb, d.resource, d.number)
}

// The kinds of trouble.
const (
	kindConflict = "conflict"
	kindLost     = "lost"
	kindRestart  = "restart"
	kindNames    = kindConflict + "," + kindLost + "," + kindRestart
)

// effect says what is done to the write.
func (d trouble) effect() string {
	switch d.kind {
	case kindConflict:
		return "was answered 409, and not stored"
	case kindLost:
		return "was stored, and answered 504"
	}
	return "was under way, and not stored, when the server was killed; it came up again with its data"
}

// heldMost limits how long a write waits for a restart.
const heldMost = time.Minute

// fault is the fault that makes the trouble. For a restart, it holds the write until then.
func (d trouble) fault(who string) Fault {
	f := Conflict()
	switch d.kind {
	case kindLost:
		f = Timeout().AfterCommit()
	case kindRestart:
		f = Delay(heldMost)
	}
	if plural, _, _ := strings.Cut(d.resource, "/"); !strings.Contains(plural, ".") {
		f = f.Where("!group:*") // other groups may have that plural too
	}
	return f.On(d.verb, d.resource).Where(who).After(d.number - 1).Times(1).Optional()
}

// troublesOf returns the troubles of the writes of a run, in their order.
func troublesOf(writes []Journey, restarts bool) (all []trouble) {
	sent, stored := map[trouble]int{}, map[trouble]int{}
	for _, j := range writes {
		of := trouble{verb: j.Verb, resource: j.resource()}
		add := func(kind string, number int) { all = append(all, trouble{kind, of.verb, of.resource, number}) }
		sent[of]++
		if j.Revision != 0 {
			stored[of]++
		}
		if j.Code >= 400 {
			continue // it has a trouble already
		}
		add(kindConflict, sent[of])
		if j.Revision != 0 {
			add(kindLost, stored[of])
		}
		if restarts {
			add(kindRestart, sent[of])
		}
	}
	return all
}

// exploration is a call of [Explore].
type exploration struct {
	t     *testing.T
	test  func(t *testing.T, s *Server)
	opts  []Option
	limit explorer
	seed  uint64
}

// read reads the value of the variable: the seed, or the trouble that it returns.
func (e *exploration) read(value string) (_ *trouble, err error) {
	parts := strings.Split(value, ":")
	if len(parts) == 2 && parts[0] == "seed" {
		if e.seed, err = strconv.ParseUint(parts[1], 10, 64); err == nil {
			return nil, nil
		}
	}
	if len(parts) == 4 && isOneOf(kindNames, parts[0]) && isOneOf(writeVerbs, parts[1]) && parts[2] != "" {
		if number, err := strconv.Atoi(parts[3]); err == nil && number > 0 {
			return &trouble{parts[0], parts[1], parts[2], number}, nil
		}
	}
	return nil, fmt.Errorf("%s=%s: expected seed:NUMBER, or KIND:VERB:RESOURCE:NUMBER as in conflict:update:widgets.example.com/status:2; "+
		"the kinds are %s, and the verbs are %s", exploreVariable, value, kindNames, writeVerbs)
}

func isOneOf(names, name string) bool { return slices.Contains(strings.Split(names, ","), name) }

// result is what came of a run.
type result struct {
	began, ended, passed, skipped bool
	came                          bool // the trouble came about
	troubles                      []trouble
}

// run runs the test once, on a server of its own. Without a trouble, it returns those that there can be.
func (e *exploration) run(name string, d *trouble) (r result) {
	r.passed = e.t.Run(name, func(t *testing.T) {
		r.began = true
		t.Cleanup(func() { r.ended, r.skipped = true, t.Skipped() })
		o, err := readOptions(e.opts)
		if err != nil {
			t.Fatalf("kxtest: %v", err)
		}
		s := start(t, o)
		s.explored = &e.limit
		if d != nil {
			e.disturb(t, s, d, &r.came)
		}
		e.test(t, s)
		if d != nil || t.Failed() {
			return
		}
		if begin, since := s.window(); begin != "" && since == 0 {
			s.fatal(t, errors.New("Explore can't number the writes of a test that restarts its server"))
		}
		writes, err := s.of(writesOf(e.limit.who()) + " !resource:events")
		if err != nil {
			s.fatal(t, fmt.Errorf("Explore finds no writes that it could disturb: %w; Agent picks one", err))
		}
		faulty := len(s.allFaults()) > 0
		if faulty && !e.limit.noRestarts {
			t.Log("kxtest: the test has faults of its own, which would end with a restart: Explore makes none")
		}
		r.troubles = troublesOf(writes, !e.limit.noRestarts && !faulty)
	})
	if r.began && !r.ended {
		e.t.Fatal("kxtest: the function that is explored calls t.Parallel: call it in the test around Explore")
	}
	return r
}

// disturb makes a trouble, and notes at the end of the test whether it came about.
func (e *exploration) disturb(t *testing.T, s *Server, d *trouble, came *bool) {
	t.Helper()
	in, err := s.inject(t, d.fault(e.limit.who()), "explore")
	if err != nil {
		s.fatal(t, err)
	}
	restarted := func() string { return "" }
	if d.kind == kindRestart {
		restarted = s.restartAt(t, in)
	}
	t.Cleanup(func() {
		at := restarted()
		if d.kind != kindRestart {
			if now, err := in.status(); err == nil && now.Hits > 0 {
				at = s.hitBy(in, now)
			}
		}
		if *came = at != ""; !*came {
			if err := s.client.checkResource(d.verb, d.resource); err != nil {
				t.Errorf("kxtest: %v did not come about: %v", d, err)
			}
		}
		switch {
		case !t.Failed() && !panicking():
		case !*came:
			t.Logf("kxtest: %v did not come about: this run fails by itself", d)
		default:
			t.Logf("kxtest: this run fails after one trouble: %s %d of %s %s:\n  %s\nThis run alone: %s",
				d.verb, d.number, d.resource, d.effect(), at, e.command(d.String()))
		}
	})
}

// hitBy is the request that a fault hit last, or else the name of the fault.
func (s *Server) hitBy(in *Injected, now status) string {
	ctx, cancel := context.WithTimeout(context.Background(), callMost)
	defer cancel()
	var hit record
	if now.LastHit == nil || s.client.call(ctx, "GET", kxPath+"journeys/"+now.LastHit.Journey, nil, &hit) != nil {
		return in.fault.String()
	}
	j := hit.journey()
	return j.String()
}

// command is the command that runs the test with a value of the variable.
func (e *exploration) command(value string) string {
	var names []string
	for _, name := range strings.Split(e.t.Name(), "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	return fmt.Sprintf("%s=%s go test -run '%s'", exploreVariable, value, strings.Join(names, "/"))
}

// troubles runs the test without trouble, and returns what could go wrong in it, in the order of the seed.
func (e *exploration) troubles() []trouble {
	r := e.run("undisturbed", nil)
	switch {
	case !r.began:
		e.t.Fatalf("kxtest: -run leaves out the run from which Explore knows the others: pick one with %s", exploreVariable)
	case !r.passed:
		e.t.Fatal("kxtest: the test fails already when nothing goes wrong")
	case r.skipped:
		e.t.Skip("kxtest: the function that is explored skips the test")
	}
	// The order of the seed must not hang on the order in which concurrent writes happened.
	slices.SortFunc(r.troubles, func(a, b trouble) int { return cmp.Compare(a.String(), b.String()) })
	rand.New(rand.NewPCG(e.seed, 0)).Shuffle(len(r.troubles), func(i, k int) {
		r.troubles[i], r.troubles[k] = r.troubles[k], r.troubles[i]
	})
	return r.troubles
}

// all makes the runs, until one fails.
func (e *exploration) all(troubles []trouble) {
	began, came, missed := time.Now(), 0, 0
	for i, d := range troubles {
		if i == e.limit.runs || time.Since(began) >= e.limit.time {
			break
		}
		r := e.run(d.String(), &d)
		if !r.passed {
			e.t.Fatalf("kxtest: run %d of %d failed: %v; the same order: %s", i+1, len(troubles), d,
				e.command(fmt.Sprintf("seed:%d", e.seed)))
		}
		switch {
		case r.came:
			came++
		case r.began:
			missed++
		}
	}
	e.t.Logf("kxtest: the test passes after each of %d troubles; %d more did not come about, and %d were left out (seed:%d)",
		came, missed, len(troubles)-came-missed, e.seed)
}

// alone makes the run of one trouble.
func (e *exploration) alone(d *trouble) {
	r := e.run(d.String(), d)
	if r.passed && !r.came {
		e.t.Logf("kxtest: %v did not come about: the test passes without it", d)
	}
}
