package control

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
)

// Control holds and disturbs requests on behalf of the client. Any goroutine may call its methods. mu guards version
// and the fields below it.
type Control struct {
	api     *api.Client
	changed func() // called with mu held
	guard   func() // deferred in every goroutine

	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup
	once sync.Once

	mu      sync.Mutex
	version uint64
	rules   map[Key]Rule // the server's
	own     map[Key]*ownRule
	sent    map[Key]bool // made by the screen Send, each for one request
	held    map[string]*v1alpha1.Journey
	// problem holds, by path, the reason why the server's objects are unknown; refused, by kind, the reason why the
	// server accepts no rules.
	problem map[string]string
	refused map[Kind]string
	// recordings holds the server's recordings, by name; nil if the server has none.
	recordings map[string]v1alpha1.Recording
	// made counts the created rules. A list that was requested before a rule was made does not prove that the rule is
	// gone.
	made uint64
}

// New makes a Control. changed is called when View would return another View. The Control holds mu then, so changed
// must not call it. Every goroutine defers guard, which may recover.
func New(client *api.Client, changed, guard func()) *Control {
	c := &Control{
		api: client, changed: changed, guard: guard,
		rules: map[Key]Rule{}, own: map[Key]*ownRule{}, sent: map[Key]bool{}, held: map[string]*v1alpha1.Journey{},
		problem: map[string]string{}, refused: map[Kind]string{},
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Start starts to follow the server, if there is one. Further calls do nothing.
func (c *Control) Start() {
	c.once.Do(func() {
		if why := c.api.Absent(); why != "" {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.refused[Breakpoint], c.refused[Fault] = why, why
			c.tellChanged()
			return
		}
		c.run(c.followBreakpoints)
		c.run(c.followFaults)
		c.run(c.followRecordings)
		c.run(c.followHeld)
		c.run(c.tick)
	})
}

func (c *Control) run(f func(context.Context)) {
	c.wg.Go(func() {
		defer c.guard()
		f(c.life)
	})
}

// closeWait limits the time that Close spends on deleting the user's rules.
const closeWait = 2 * time.Second

// Close deletes the user's rules on the server, which releases the requests that they hold, and stops following. A
// breakpoint on an unreachable server ends with its lease.
func (c *Control) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	for _, key := range c.ownOn() {
		_ = c.api.Delete(ctx, key.path())
	}
	c.end()
	c.wg.Wait()
}

// ownOn lists the user's rules that are on.
func (c *Control) ownOn() []Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	var on []Key
	for key, own := range c.own {
		if own.on {
			on = append(on, key)
		}
	}
	slices.SortFunc(on, compareKeys)
	return on
}

// tellChanged announces a new View. The caller holds mu.
func (c *Control) tellChanged() {
	c.version++
	c.changed()
}

// View is an immutable copy of the state at one moment.
type View struct {
	// Version differs between different Views.
	Version uint64
	// Rules lists breakpoints and then faults, each sorted by name.
	Rules []Rule
	// Held lists the held requests, without their steps, sorted by their start.
	Held []*v1alpha1.Journey
	// Problem is the reason why the View may be outdated; empty if it is current.
	Problem string
	// Refused holds the reasons why the server accepts no rules of a kind; empty if it accepts them, or has not
	// refused yet.
	Refused map[Kind]string
	// Recording tells what the server records and allows.
	Recording Recording
}

// View returns the present state.
func (c *Control) View() View {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := View{Version: c.version, Refused: maps.Clone(c.refused), Recording: c.recording()}
	for key, r := range c.rules {
		if own := c.own[key]; own != nil && own.on {
			r.Mine, r.Spec = true, own.spec // without the lease that create added
		}
		r.Sent = c.sent[key]
		v.Rules = append(v.Rules, r)
	}
	for key, own := range c.own {
		if _, there := c.rules[key]; !there {
			v.Rules = append(v.Rules, own.rule(key))
		}
	}
	slices.SortFunc(v.Rules, func(a, b Rule) int { return compareKeys(a.Key, b.Key) })
	for _, j := range c.held {
		v.Held = append(v.Held, j)
	}
	slices.SortFunc(v.Held, func(a, b *v1alpha1.Journey) int {
		return cmp.Or(a.Status.Started.Compare(b.Status.Started.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, what := range slices.Sorted(maps.Keys(c.problem)) {
		if v.Problem == "" {
			v.Problem = c.problem[what]
		}
	}
	return v
}

// Version returns the version of the present View.
func (c *Control) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// HeldByOwn counts the requests that the user's own breakpoints hold. Breakpoints and requests come by two watches, and
// either may be ahead, so the larger count is returned.
func (v View) HeldByOwn() int {
	own, counted, listed := map[string]bool{}, 0, 0
	for _, r := range v.Rules {
		if r.Mine {
			own[r.Key.String()] = true
			counted += int(r.Status.Held)
		}
	}
	for _, j := range v.Held {
		if slices.ContainsFunc(j.Status.Held, func(h v1alpha1.HeldStep) bool { return own[h.By] }) {
			listed++
		}
	}
	return max(counted, listed)
}

// Oldest returns the start of the longest hold; false if no request is held.
func (v View) Oldest() (since time.Time, ok bool) {
	for _, j := range v.Held {
		for _, h := range j.Status.Held {
			if !ok || h.Since.Time.Before(since) {
				since, ok = h.Since.Time, true
			}
		}
	}
	return since, ok
}

// tick calls changed once a second while a request is held, since the screen shows how long. The View stays the same.
func (c *Control) tick(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		if len(c.held) > 0 {
			c.changed()
		}
		c.mu.Unlock()
	}
}
