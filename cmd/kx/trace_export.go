package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/export"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/core/subject"
	"github.com/kx-apiserver/kx/server"
	screen "github.com/kx-apiserver/kx/tui/capture"
	"github.com/kx-apiserver/kx/tui/session"
)

// traceExport holds the options of kx trace export.
type traceExport struct {
	journeySource
	out string
}

func newTraceExportCommand(o *traceOptions) *cobra.Command {
	e := &traceExport{journeySource: journeySource{traceOptions: o}}
	cmd := &cobra.Command{
		Use:   "export ID|FILTER [OTHER]",
		Short: "Write requests as a document that others can open: Markdown, an HTML page, a drawing",
		Long: `Write the way of one request, or of those that a filter wants, as a document that others can open without kx:

  md    for an issue: the story in sentences, a diagram of the layers in Mermaid, and what changed in the object
  html  one page that any browser opens, without scripts: the picture of the layers to walk, why a request was refused,
        what changed, story, steps that fold, reasons and code. It holds the capture too: kx tui -r FILE.html and
        kx trace show --file FILE.html open it again.
  svg   a drawing of the steps, as kx trace show has them on the screen

Of two requests, such as a read from the cache and one from etcd, or a write that was done and one that was refused, the
document says first where the two part, and why: the page opens on both pictures, one above the other, and walks them in
step. Each is an ID, or a filter that wants one request. Watches and requests that have not ended can't be compared.

Secrets are masked in it, as they are in the server. A document has at most 20 MB; it says what was left out for that.`,
		Example: `  kx trace export 3f2a1c-17 > issue.md
  kx trace export 3f2a1c-17 -o html --out way.html       # and later: kx tui -r way.html
  kx trace export 3f2a1c-17 3f2a1c-19 -o html --out both.html
  kx trace export 'code:409 resource:crontabs' --out conflicts.md
  kx trace export --file slow.kxtrace 3f2a1c-17 -o svg > way.svg`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: o.completeID(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.export(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&e.file, "file", "",
		"a capture of kx trace save, or a page of this command, instead of a server; - for standard input")
	outVar(cmd, &e.out)
	languageVar(cmd, &e.language)
	formatVar(cmd, cmd.Flags(), &e.format, "md, html or svg", export.Markdown, export.HTML, export.SVG)
	return cmd
}

func (e *traceExport) export(ctx context.Context, which []string, in io.Reader, out io.Writer) error {
	d := &export.Document{Saved: time.Now(), Language: e.language, Both: len(which) == 2}
	if err := e.addJourneys(ctx, d, which, in); err != nil {
		return err
	}
	if err := e.addOthers(ctx, d); err != nil {
		return err
	}
	if e.format == export.HTML {
		done, err := e.addCode(ctx, d)
		if err != nil {
			return err
		}
		defer done()
	}
	var b bytes.Buffer
	if err := d.Write(&b, e.format); err != nil {
		return fmt.Errorf("trace export: %w", err)
	}
	if err := writeOut(e.out, out, b.Bytes()); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}

// addJourneys adds the journeys that match an ID or a filter, or two that are to be compared.
func (e *traceExport) addJourneys(ctx context.Context, d *export.Document, which []string, in io.Reader) error {
	if d.Both && e.file == "-" {
		return errors.New(
			"trace export: both requests are looked for in the capture, which standard input has only once: write it to a file")
	}
	for _, one := range which {
		var chosen []*v1alpha1.Journey
		var err error
		if e.file != "" {
			chosen, err = chooseJourneys(e.file, one, in)
		} else {
			chosen, d.Server, err = e.fetchJourneys(ctx, one)
		}
		switch {
		case err != nil:
			return err
		case len(chosen) == 0:
			return fmt.Errorf("trace export: there is no request %q, and none that it matches as a filter", one)
		case d.Both && len(chosen) > 1:
			return fmt.Errorf("trace export: the filter %q matches %d requests: of two that are compared, each has to be one", one,
				len(chosen))
		}
		d.Journeys = append(d.Journeys, chosen...)
	}
	return nil
}

// exportOnScreen writes the screen's export as a document.
func exportOnScreen(out io.Writer, e *screen.Export) error {
	d := &export.Document{
		Server: e.Server, Saved: time.Now(), Language: e.Language, Journeys: e.Journeys, Others: e.Others, Files: e.Files, Both: e.Both,
	}
	if d.Files == nil {
		d.Files = ownSource
		for _, j := range d.Journeys {
			if journey.Fits(j, ownSource) != nil {
				d.Files, d.NoFiles = nil, otherSource
			}
		}
	}
	return d.Write(out, render.Format(e.Form))
}

// otherSource explains why a document of a capture has no code.
const otherSource = "the capture was made by a kx with other source than the one that wrote this page"

// addOthers adds the requests that explain refusals of the document's requests: they changed the objects before.
func (e *traceExport) addOthers(ctx context.Context, d *export.Document) (err error) {
	all := d.Journeys // standard input cannot be read twice, so its journeys are all
	if e.file != "" && e.file != "-" {
		if all, err = relatedIn(e.file, d.Journeys); err != nil {
			return err
		}
	}
	related := func(j *v1alpha1.Journey) ([]*v1alpha1.Journey, error) {
		return refusal.RelatedRequests(j, slices.Values(all)), nil
	}
	if e.file == "" {
		client, _, err := e.connect(1)
		if err != nil {
			return err
		}
		defer client.Close()
		related = func(j *v1alpha1.Journey) ([]*v1alpha1.Journey, error) { return client.Related(ctx, j) }
	}
	d.Others = map[string][]*v1alpha1.Journey{}
	for _, j := range d.Journeys {
		if d.Others[j.Name], err = related(j); err != nil {
			return err
		}
	}
	return nil
}

// relatedIn returns the journeys of a capture that [refusal.RelatedRequests] selects for any of the refused ones.
func relatedIn(file string, refused []*v1alpha1.Journey) (all []*v1alpha1.Journey, err error) {
	refused = slices.DeleteFunc(slices.Clone(refused), func(j *v1alpha1.Journey) bool { return refusal.RelatedFilter(j) == "" })
	if len(refused) == 0 {
		return nil, nil
	}
	size := int64(0)
	for other, err := range savedJourneys(file, nil) {
		if err != nil {
			return nil, err
		}
		one := slices.Values([]*v1alpha1.Journey{other})
		if !slices.ContainsFunc(refused, func(j *v1alpha1.Journey) bool { return len(refusal.RelatedRequests(j, one)) > 0 }) {
			continue
		}
		if size += capture.Size(other); size > memoryMost {
			return nil, errMemory
		}
		all = append(all, other)
	}
	return all, nil
}

// memoryMost limits the memory for the journeys of a capture that a command holds at a time.
const memoryMost = 512 << 20

var errMemory = fmt.Errorf("the requests take more than %d MiB of memory: give an ID, or a filter that wants fewer", memoryMost>>20)

// addCode adds the code that made the journeys, unless the capture is from a kx with other source.
func (e *traceExport) addCode(ctx context.Context, d *export.Document) (done func(), err error) {
	for i, j := range d.Journeys {
		if i > 0 && e.file == "" {
			break // one server made them all
		}
		if d.Files, done, err = e.files(ctx, j); err == nil {
			continue
		}
		if e.file == "" {
			return nil, err
		}
		d.Files, d.NoFiles = nil, otherSource
		return func() {}, nil
	}
	return done, nil
}

// chooseJourneys returns the journeys of a capture that match an ID or a filter.
func chooseJourneys(file, which string, in io.Reader) (all []*v1alpha1.Journey, err error) {
	wanted, wrong := filter.Parse(which, nil)
	names := subject.NewNames(server.Reasons().Names)
	size := int64(0)
	for j, err := range savedJourneys(file, in) {
		if err != nil {
			return nil, err
		}
		if j.Name == which {
			return []*v1alpha1.Journey{j}, nil
		}
		names.Add(j)
		// The request that after: names may come later in the capture. So a filter with after: is applied at the end.
		if wrong == nil && (wanted.Asks("after") || wanted.Match(subject.NewSubject(j))) {
			if size += capture.Size(j); size > memoryMost {
				return nil, errMemory
			}
			all = append(all, j)
		}
	}
	if wrong == nil {
		_, wrong = filter.Parse(which, names.List)
	}
	if wrong != nil {
		return nil, wrong
	}
	return subject.Select(all, wanted)
}

// asID matches the IDs that a server gives to journeys, and with an i to installs. Captures may contain other IDs.
var asID = regexp.MustCompile(`^[0-9a-f]+-i?[0-9]+$`)

// fetchJourneys returns the journeys of a server that match an ID or a filter.
func (e *traceExport) fetchJourneys(ctx context.Context, which string) (all []*v1alpha1.Journey, host string, err error) {
	client, host, err := e.connect(1)
	if err != nil {
		return nil, "", err
	}
	defer client.Close()
	if asID.MatchString(which) {
		j, err := client.Get(ctx, which)
		return []*v1alpha1.Journey{j}, host, err
	}
	wanted, err := e.filter([]string{which})
	if err != nil {
		return nil, "", err
	}
	ids, err := client.List(ctx, wanted)
	if err != nil {
		return nil, "", err
	}
	for _, id := range ids {
		j, err := client.Get(ctx, id)
		if errors.Is(err, session.ErrForgotten) {
			continue // the server has forgotten it meanwhile
		}
		if err != nil {
			return nil, "", err
		}
		all = append(all, j)
	}
	return all, host, nil
}
