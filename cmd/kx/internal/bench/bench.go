package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Settings are the parameters of one pass over the operations.
type Settings struct {
	Objects     int           `json:"objects"`
	Size        int           `json:"sizeBytes"`
	Shape       string        `json:"shape"`
	Concurrency int           `json:"concurrency"`
	Watchers    int           `json:"watchers"`
	Rate        int           `json:"writesPerSecond"`
	Duration    time.Duration `json:"durationNanoseconds"`
}

// Options are the parameters of a run.
type Options struct {
	// Config holds the server's address and credentials.
	Config *rest.Config
	// Passes run one after the other, each with its own objects.
	Passes []Settings
	// Only lists the operations to measure. Empty means all. Objects are always created.
	Only []string
	// PIDs lists the server's processes, if they run on this machine.
	PIDs []int
	// Out gets each line of the table after its measurement. Progress gets the state until then. Either may be nil.
	Out      io.Writer
	Progress func(line string)
}

// Validate returns an error for invalid options.
func (o *Options) Validate() error {
	for _, s := range o.Passes {
		switch {
		case s.Objects < 1 || s.Objects > 1_000_000:
			return fmt.Errorf("%d objects: there must be 1 to 1,000,000", s.Objects)
		case s.Concurrency < 1 || s.Concurrency > 1000:
			return fmt.Errorf("%d requests at a time: there must be 1 to 1,000", s.Concurrency)
		case s.Size < 300 || s.Size > 1<<20:
			return fmt.Errorf("objects of %d bytes: they must have 300 to 1,048,576", s.Size)
		case s.Shape != Flat && s.Shape != Nested:
			return fmt.Errorf("shape %q is unknown: use %s or %s", s.Shape, Flat, Nested)
		case s.Shape == Nested && s.Size < 1200:
			return fmt.Errorf("nested objects of %d bytes: they must have 1,200", s.Size)
		case s.Watchers < 1 || s.Watchers > 10_000:
			return fmt.Errorf("%d watchers: there must be 1 to 10,000", s.Watchers)
		case s.Rate < 1 || s.Rate > 1_000_000:
			return fmt.Errorf("%d writes a second: there must be 1 to 1,000,000", s.Rate)
		case s.Duration <= 0:
			return errors.New("the duration must be more than 0")
		}
	}
	for _, name := range o.Only {
		if !slices.ContainsFunc(operations, func(op operation) bool { return op.name == name }) {
			return fmt.Errorf("operation %q is unknown: there are %s", name, strings.Join(Operations(), ", "))
		}
	}
	return nil
}

// cleanUp limits the time to delete the objects of a run.
const cleanUp = 2 * time.Minute

// Run does all passes. With an error it returns the measurements before it.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c, err := newClient(o.Config)
	if err != nil {
		return nil, err
	}
	defer c.close()
	usage, err := newSampler("/proc", o.PIDs)
	if err != nil {
		return nil, err
	}
	version, err := serverVersion(ctx, c)
	if err != nil {
		return nil, err
	}
	result := &Result{Time: time.Now().UTC().Truncate(time.Second), Server: version,
		Machine: fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
	for _, settings := range o.Passes {
		p := &pass{client: c, place: newPlace(), settings: settings, usage: usage, options: &o}
		measured, err := p.run(ctx)
		result.Passes = append(result.Passes, *measured)
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

// pass is one pass over the operations.
type pass struct {
	*client
	*place
	settings Settings
	usage    *sampler
	options  *Options

	template *template
	// left is the number of remaining objects, which have the highest numbers.
	left int
	// rounds numbers writes, so that each has different content.
	rounds atomic.Int64
	// counted is the number of answered requests of the running operation.
	counted atomic.Int64
}

// run sets up and measures, and always cleans up.
func (p *pass) run(ctx context.Context) (measured *Pass, err error) {
	measured = &Pass{Settings: p.settings}
	p.template = newTemplate(p.apiVersion(), p.settings.Shape, p.settings.Size)
	p.progress("setting up")
	defer func() {
		p.progress("cleaning up")
		// Cleaning up matters most after an interrupt, so it does not use ctx.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		err = errors.Join(err, p.tearDown(clean, p.client))
		p.progress("")
	}()
	if err := p.setUp(ctx, p.client); err != nil {
		return measured, err
	}
	p.print(header(p.settings, len(p.usage.pids) > 0))
	for _, op := range operations {
		if !op.always && len(p.options.Only) > 0 && !slices.Contains(p.options.Only, op.name) {
			continue
		}
		m, err := p.measure(ctx, op)
		if err != nil {
			return measured, err
		}
		measured.Operations = append(measured.Operations, *m)
		p.print(m.row(len(p.usage.pids) > 0))
	}
	return measured, nil
}

func (p *pass) print(text string) {
	p.progress("")
	if p.options.Out != nil {
		fmt.Fprint(p.options.Out, text)
	}
}

func (p *pass) progress(line string) {
	if p.options.Progress != nil {
		p.options.Progress(line)
	}
}

// measure does one operation.
func (p *pass) measure(ctx context.Context, op operation) (*Measurement, error) {
	p.counted.Store(0)
	showing, stop := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() { p.show(showing, op) })
	defer shown.Wait()
	defer stop()

	ready, err := op.prepare(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op.name, err)
	}
	before, err := p.usage.now()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	t := ready.load(ctx)
	elapsed := time.Since(start)
	after, err := p.usage.now()
	if err != nil {
		return nil, err
	}
	ready.end(t)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", op.name, context.Cause(ctx))
	}
	if t.successes() == 0 && op.always {
		return nil, fmt.Errorf("%s: nothing succeeded: %w", op.name, t.first)
	}
	return newMeasurement(op, t, elapsed, after.cpu-before.cpu, after.resident), nil
}

// show reports the progress a few times a second.
func (p *pass) show(ctx context.Context, op operation) {
	start, ticker := time.Now(), time.NewTicker(200*time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.progress(fmt.Sprintf("%s: %s done in %.1f s", op.name, thousands(p.counted.Load()), time.Since(start).Seconds()))
		}
	}
}

// worker is one of the concurrent senders of requests.
type worker struct {
	nth, of int
	tally
	buffer []byte
}

// object returns the number of a random object among the worker's own. If there are fewer objects than workers, the
// object may not exist.
func (w *worker) object(random int64, left, all int) int {
	mine := (left - w.nth + w.of - 1) / w.of
	return all - left + w.nth + int(random%int64(max(mine, 1)))*w.of
}

// doer does the ith of a worker's requests.
type doer func(ctx context.Context, w *worker, i int) (answer, error)

// hopeless is the number of failures without a success after which a worker gives up.
const hopeless = 20

// workers runs n workers until the time is up or, if count is not 0, until count requests are done.
func (p *pass) workers(ctx context.Context, n, count int, do doer) *tally {
	var running sync.WaitGroup
	all := make([]*worker, n)
	end := time.Now().Add(p.settings.Duration)
	for nth := range all {
		w := &worker{nth: nth, of: n}
		all[nth] = w
		running.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if count > 0 && nth+i*n >= count || count == 0 && i > 0 && !time.Now().Before(end) {
					return
				}
				start := time.Now()
				a, err := do(ctx, w, i)
				if ctx.Err() != nil {
					return // a request that the end of the run cut off is no failure
				}
				w.count(time.Since(start), a.bytes, err)
				p.counted.Add(1)
				if w.failed >= hopeless && w.took.n == 0 {
					return
				}
			}
		})
	}
	running.Wait()
	sum := &tally{}
	for _, w := range all {
		sum.merge(&w.tally)
	}
	return sum
}

// round returns the number of the next write.
func (p *pass) round() int { return int(p.rounds.Add(1)) }

func (p *pass) path(n int) string { return p.collection() + "/" + nameOf(n) }

func get(path string) *request { return &request{method: http.MethodGet, path: path} }
