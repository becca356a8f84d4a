package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kx-apiserver/kx/server/coverage"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/admin"
)

// Config configures a check.
type Config struct {
	Inputs Inputs
	// Against has the objects that exist before the set. It may be nil.
	Against *Base
	// Server has the options of the server, as [Options] returns them.
	Server *options.Options
	Log    *slog.Logger
	// Strict counts warnings as refusals.
	Strict bool
	// Changes compares documents with what the server made of them.
	Changes bool
	// Update writes into rows what the server answers, if they expect something else.
	Update bool
}

// checker is a check while it runs.
type checker struct {
	config Config
	client *client
	// documents lists the documents of the base, of which there are base, and then those of the set.
	documents []*document
	base      int
	// there and stages have the documents of the base and of the set by the stage in which they are created.
	there, stages [stages][]int
	// bindings lists the bindings of policies. paramKinds has the kinds of their params, by the kind of the binding, a
	// slash and the name of the policy: a validating and a mutating policy may have the same name.
	bindings   []*document
	paramKinds map[string]schema.GroupVersionKind
	// rows are the rows of all tables in the set, and problems the mistakes in tables. tables is true if there is one.
	rows     []*row
	tables   bool
	problems []*Result
	// unpermitted says why the users of rows have no rights.
	unpermitted error
	tally       tally
	// editor stores the old objects of rows.
	editor *admin.Editor
	// quotas are the namespaces that have one.
	quotas map[string]bool

	// results has an entry for each document of the set whose channel in ready is closed.
	results []*Result
	ready   []chan struct{}

	// lock guards what follows.
	lock    sync.Mutex
	summary Summary
	// made has the place of the document that created an object, by identity.
	made map[string]Position
	// loaded has the identities of the objects of the base.
	loaded map[string]bool
}

// Run checks the inputs and calls emit with each result, in the order of the documents. The error says why there is no
// summary.
func Run(ctx context.Context, config Config, emit func(*Result) error) (*Summary, error) {
	c := &checker{config: config, paramKinds: map[string]schema.GroupVersionKind{},
		quotas: map[string]bool{}, made: map[string]Position{}, loaded: map[string]bool{}}
	c.tally.counts = map[coverage.Expression]*Counts{}
	config.Server.Observe = c.tally.observe
	reading := make(chan *reader, 1)
	go func() { reading <- read(config.Inputs) }() // standard input may come late, or never
	s, err := start(ctx, config.Server, config.Log)
	if err != nil {
		return nil, err
	}
	var in *reader
	select {
	case in = <-reading:
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), s.stop())
	}
	c.documents, c.summary.LeftOut = c.readTables(in.documents), in.leftOut
	if config.Against != nil {
		there, notes, err := config.Against.documents(ctx, config.Log, append(c.rowDocuments(), c.documents...))
		if err != nil {
			return nil, errors.Join(err, s.stop())
		}
		c.documents, c.base, c.summary.NotTaken = append(there, c.documents...), len(there), notes
	}
	return &c.summary, errors.Join(c.run(ctx, s, emit), s.stop())
}

func (c *checker) run(ctx context.Context, s *localServer, emit func(*Result) error) (err error) {
	if c.client, err = newClient(s.config, c.config.Changes); err != nil {
		return err
	}
	defer utilnet.CloseIdleConnectionsFor(c.client.http.Transport) // else the stop waits for them
	if err := c.client.discover(ctx); err != nil {
		return err
	}
	c.results, c.ready = make([]*Result, len(c.documents)), make([]chan struct{}, len(c.documents))
	for i, d := range c.documents {
		c.ready[i] = make(chan struct{})
		if d.failure != nil {
			r := d.result()
			r.Outcome, r.Findings = Unchecked, []Finding{*d.failure}
			c.results[i] = r
			c.finish(i)
		}
	}
	c.plan()
	c.missingClasses()
	working, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	work.Go(func() { c.work(working) })
	for i := c.base; i < len(c.documents); i++ {
		select {
		case <-c.ready[i]:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.summary.count(c.results[i])
		if err := emit(c.results[i]); err != nil {
			return err
		}
	}
	work.Wait()
	if err := c.runRows(ctx, s, emit); err != nil {
		return err
	}
	if c.tables {
		c.summary.Expressions = c.cover()
	}
	c.summary.sort()
	return nil
}

// work submits the documents, stage by stage.
func (c *checker) work(ctx context.Context) {
	c.load(ctx)
	submit := func(ctx context.Context, i int) { c.results[i] = c.submit(ctx, c.documents[i]) }
	before := []stage{namespaces, definitions, params}
	for _, at := range before {
		c.each(ctx, c.stages[at], func(ctx context.Context, i int) {
			submit(ctx, i)
			if at == definitions && c.results[i].stored {
				c.serve(ctx, c.documents[i], c.results[i])
				c.keepsStored(ctx, c.documents[i], c.results[i])
			}
		})
		if at == namespaces {
			c.assume(ctx, append(c.rowDocuments(), c.documents[c.base:]...), c.stages[namespaces])
		}
	}
	c.equip(ctx, append(c.rowDocuments(), c.documents[c.base:]...))
	if err := c.permit(ctx); err != nil {
		c.unpermitted = fmt.Errorf("the users of rows get no rights: %w", err)
	}
	if len(c.stages[policies]) > 0 {
		err := c.prepareProbe(ctx, probe)
		c.each(ctx, c.stages[policies], submit)
		if err == nil {
			err = c.enforce(ctx, probe)
		}
		for _, i := range c.stages[policies] {
			if err != nil {
				c.dropVerdict(c.results[i], err)
			}
			c.finish(i)
		}
		for _, at := range before {
			c.each(ctx, c.stages[at], c.reconsider)
		}
	}
	for _, at := range before {
		for _, i := range c.stages[at] {
			c.finish(i)
		}
	}
	for at := classes; at < stages; at++ {
		c.each(ctx, c.stages[at], func(ctx context.Context, i int) {
			submit(ctx, i)
			if at == limits {
				c.limit(ctx, c.documents[i])
			}
			c.finish(i)
		})
	}
}

// finish publishes the result of a document, with its findings in the order of the file.
func (c *checker) finish(i int) {
	slices.SortStableFunc(c.results[i].Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	close(c.ready[i])
}

// dropVerdict turns the result of a policy into one without a verdict: whether it lets the set in is not known.
func (c *checker) dropVerdict(r *Result, err error) {
	if r.Outcome == Accepted {
		r.Outcome = Unchecked
		r.Findings = append(r.Findings, Finding{Level: Failure, Position: r.Position,
			Message: "the policies of the set are not in force: " + err.Error()})
	}
}
