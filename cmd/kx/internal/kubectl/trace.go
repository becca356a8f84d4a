package kubectl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/tui/session"
)

// levelHeader of a request selects a journey with objects. journeyHeader of a response names the journey.
const (
	levelHeader   = "Kx-Trace"
	journeyHeader = "Kx-Journey"
)

// The forms of --trace.
const (
	traceTree  = "tree"
	traceBrief = "brief"
	traceJSON  = "json"
)

var traceForms = []string{traceTree, traceBrief, traceJSON}

const (
	// journeysMost limits the requests of a command that are shown: a server keeps 512 journeys.
	journeysMost = 512
	// fetchWait limits the time to fetch all journeys.
	fetchWait = 30 * time.Second
)

// traceFlag is --trace, with the journeys of the command's requests. mu guards the fields after it.
type traceFlag struct {
	form string

	mu       sync.Mutex
	config   *rest.Config // of the server, without this package's transport
	journeys []string
	more     int // requests beyond journeysMost
	without  int // answers without a journey
}

func (w *wiring) addTrace(flags *pflag.FlagSet) {
	flags.StringVar(&w.trace.form, "trace", "",
		"After the output, show on stderr which way each request went through kx: tree, brief (one line a request) or json")
	flags.Lookup("trace").NoOptDefVal = traceTree
}

func (f *traceFlag) check() error {
	if f.form == "" || slices.Contains(traceForms, f.form) {
		return nil
	}
	return fmt.Errorf("--trace: %q is none of %s", f.form, strings.Join(traceForms, ", "))
}

func (f *traceFlag) serverIs(c *rest.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.config == nil {
		f.config = rest.CopyConfig(c)
	}
}

// ask sets the header that requests a journey with objects.
func (f *traceFlag) ask(req **http.Request) {
	if f.form != "" {
		*req = (*req).Clone((*req).Context())
		(*req).Header.Set(levelHeader, "objects")
	}
}

// took records the journey of an answered request.
func (f *traceFlag) took(_ *http.Request, res *http.Response) {
	if f.form == "" {
		return
	}
	id := res.Header.Get(journeyHeader)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case id == "":
		f.without++
	case len(f.journeys) == journeysMost:
		f.more++
	default:
		f.journeys = append(f.journeys, id)
	}
}

// show fetches the journeys and shows them.
func (f *traceFlag) show(w *wiring) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.form == "" || f.config == nil {
		return
	}
	s, err := session.New(f.config, server.Reasons(), 1, func() {})
	if err != nil {
		w.say(err.Error())
		return
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), fetchWait)
	defer cancel()
	forgotten, failed := 0, ""
	var fetched []*v1alpha1.Journey
	for _, id := range f.journeys {
		j, err := s.Get(ctx, id)
		if errors.Is(err, session.ErrForgotten) {
			forgotten++
			continue
		}
		if err != nil {
			failed = "fetch the journey " + id + ": " + err.Error()
			break
		}
		fetched = append(fetched, j)
	}
	shown := f.shown(fetched)
	for i, j := range shown {
		if err := f.print(ctx, s, w, i == 0, j); err != nil {
			failed = err.Error()
		}
	}
	if failed != "" {
		w.say(failed)
		return
	}
	for _, note := range []struct {
		n    int
		text string
	}{
		{len(fetched) - len(shown), "%d requests of discovery are not shown: --trace=json has them"},
		{forgotten, "the server has forgotten %d of the journeys: it keeps the latest ones"},
		{f.more, "%d more requests are not shown"},
		{f.without, "%d of the answers name no journey: those of kx's own group, of health checks and of servers that are no kx don't"},
	} {
		if note.n > 0 {
			w.say(fmt.Sprintf(note.text, note.n))
		}
	}
}

// shown drops the requests of discovery, as the screen does, unless there are no others. JSON output for programs
// keeps all.
func (f *traceFlag) shown(all []*v1alpha1.Journey) []*v1alpha1.Journey {
	own := slices.DeleteFunc(slices.Clone(all), (*v1alpha1.Journey).IsDiscovery)
	if f.form == traceJSON || len(own) == 0 {
		return all
	}
	return own
}

// print shows a journey. A tree also names the requests over which this one was refused: an error says that they can't
// be fetched, and the tree is without them.
func (f *traceFlag) print(ctx context.Context, s *session.Session, w *wiring, first bool, j *v1alpha1.Journey) error {
	out := w.streams.ErrOut
	paint := journey.PaintFor(out).WithLanguage(lang.FromEnvironment(os.Getenv))
	switch f.form {
	case traceJSON:
		_ = render.JSONLine(out, j)
	case traceBrief:
		journey.Brief(out, j, paint)
	default:
		if !first {
			fmt.Fprintln(out)
		}
		others, err := s.Related(ctx, j)
		journey.Tree(out, j, others, paint)
		if err != nil {
			return fmt.Errorf("fetch the requests over which %s was refused: %w", j.Name, err)
		}
	}
	return nil
}
