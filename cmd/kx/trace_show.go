package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/source"
)

// journeySource gets journeys from a server or a file.
type journeySource struct {
	*traceOptions
	file   string
	format render.Format
	// language is the language of titles and reasons in text output.
	language lang.Language
	source   bool
	story    bool
}

func (s *journeySource) addFlags(cmd *cobra.Command, usage string, formats ...render.Format) {
	cmd.Flags().StringVar(&s.file, "file", "",
		"a capture of kx trace save, or a page of kx trace export, instead of a server; - for standard input")
	languageVar(cmd, &s.language)
	formatVar(cmd, cmd.Flags(), &s.format, usage, append([]render.Format{render.Text}, formats...)...)
}

func newTraceShowCommand(o *traceOptions) *cobra.Command {
	s := &journeySource{traceOptions: o}
	cmd := &cobra.Command{
		Use:   "show [ID]",
		Short: "Show the way of one request: its steps, times and reasons, and what each step changed",
		Long: `Show the way of one request: the steps in the order in which they called each other, how long each took, why it went
the way it did, and, if the request was made with --trace, what each step changed in the object.

A terminal that is wide enough also shows the ID and the function of each step; -o wide always does.

With --story what a layer did is a sentence with the number of its steps, and each step that decided is one of its own.

With --source the code of each step is shown too: the lines around the one that ran, as the server has them compiled in.
For a capture it is this kx's own source, if all steps of the journey are at the same places in it; otherwise --source
is refused.

With --file and without an ID, the journeys of the capture are listed.`,
		Example: `  kx trace show 3f2a1c-17
  kx trace show 3f2a1c-17 --story               # in sentences
  kx trace show 3f2a1c-17 --source              # with the code that ran
  kx trace show 3f2a1c-17 -o wide               # with the steps' IDs and functions
  kx trace show 3f2a1c-17 -o yaml
  kx trace show --file slow.kxtrace             # which journeys are in it?
  kx trace show --file slow.kxtrace 3f2a1c-17`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completeID(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.show(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	s.addFlags(cmd, "wide (with the ID and function of each step, as on a wide terminal); json or yaml: the whole journey", render.Wide,
		render.JSON, render.YAML)
	cmd.Flags().BoolVar(&s.story, "story", false, "tell the way in sentences, folded by layer")
	cmd.Flags().BoolVar(&s.source, "source", false, "show the code of each step: the lines around the one that ran")
	cmd.MarkFlagsMutuallyExclusive("story", "source")
	return cmd
}

func (s *journeySource) show(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 && s.file == "" {
		return errors.New(
			"trace show: which one? Give its ID: the last word of a line of kx trace ls, or the header Kx-Journey of its answer")
	}
	if s.source && (s.format != render.Text || len(args) == 0) {
		return errors.New("trace show: --source shows the code of one journey as text: give its ID, and leave -o out")
	}
	if s.story && (s.format != render.Text || len(args) == 0) {
		return errors.New("trace show: --story tells one journey as text: give its ID, and leave -o out")
	}
	if len(args) == 0 {
		for j, err := range savedJourneys(s.file, in) {
			switch {
			case err != nil:
			case s.format == render.Text, s.format == render.Wide:
				err = journey.Line(out, j, journey.PaintFor(out))
			default:
				err = s.encode(out, j)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	j, err := s.journey(ctx, args[0], in)
	if err != nil {
		return err
	}
	if s.story {
		others, err := s.others(ctx, j)
		if err != nil {
			return err
		}
		journey.Story(out, j, others, journey.PaintFor(out).WithLanguage(s.language))
		return nil
	}
	if s.source {
		files, done, err := s.files(ctx, j)
		if err != nil {
			return err
		}
		defer done()
		journey.Source(out, j, files, journey.PaintFor(out).WithLanguage(s.language))
		return nil
	}
	if s.format != render.Text && s.format != render.Wide {
		return s.encode(out, j)
	}
	others, err := s.others(ctx, j)
	if err != nil {
		return err
	}
	journey.Objects(out, j, others, journey.PaintFor(out).WithLanguage(s.language), s.width(out))
	return nil
}

// width returns the width of lines. Output to a file or pipe has a fixed width unless the format is wide.
func (s *journeySource) width(out io.Writer) int {
	if s.format == render.Wide {
		return math.MaxInt
	}
	if !render.IsTerminal(out) {
		return 0
	}
	return widthOf(out)
}

// others returns the journeys that [refusal.RelatedRequests] selects. It returns none for a capture on standard input,
// which cannot be read twice.
func (s *journeySource) others(ctx context.Context, j *v1alpha1.Journey) ([]*v1alpha1.Journey, error) {
	wanted := refusal.RelatedFilter(j)
	switch {
	case wanted == "" || s.file == "-":
		return nil, nil
	case s.file != "":
		all, err := chooseJourneys(s.file, wanted, nil)
		return refusal.RelatedRequests(j, slices.Values(all)), err
	}
	client, _, err := s.connect(1)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Related(ctx, j)
}

// ownSource returns a file of this kx's own source.
func ownSource(file string) (string, error) {
	text, err := fs.ReadFile(server.Source(), file)
	return string(text), err
}

// files returns the source files of the code that made a journey: the server's or, for a capture, this kx's if they
// match the steps.
func (s *journeySource) files(ctx context.Context, j *v1alpha1.Journey) (files journey.Files, done func(), err error) {
	if s.file != "" {
		if err := journey.Fits(j, ownSource); err != nil {
			return nil, nil, fmt.Errorf(
				"the capture was made by a kx with other source than this one: %w; show it with that kx, or without --source", err)
		}
		return ownSource, func() {}, nil
	}
	config, err := s.server()
	if err != nil {
		return nil, nil, err
	}
	client, err := api.New(config)
	if err != nil {
		return nil, nil, err
	}
	return source.Reader(ctx, client), client.Close, nil
}

func (s *journeySource) encode(out io.Writer, j *v1alpha1.Journey) error {
	if s.format == render.YAML {
		if _, err := fmt.Fprintln(out, "---"); err != nil {
			return err
		}
	}
	return render.WriteOne(out, s.format, j)
}

// journey gets one journey with its steps.
func (s *journeySource) journey(ctx context.Context, id string, in io.Reader) (*v1alpha1.Journey, error) {
	if s.file == "" {
		return s.fetch(ctx, id)
	}
	for j, err := range savedJourneys(s.file, in) {
		if err != nil || j.Name == id {
			return j, err
		}
	}
	return nil, fmt.Errorf("%s has no journey %s: kx trace show --file %s lists those that it has", s.file, id, s.file)
}

func (s *journeySource) fetch(ctx context.Context, id string) (*v1alpha1.Journey, error) {
	client, _, err := s.connect(1)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Get(ctx, id)
}

// savedJourneys yields the journeys of a capture. It ends after an error.
func savedJourneys(file string, in io.Reader) iter.Seq2[*v1alpha1.Journey, error] {
	return func(yield func(*v1alpha1.Journey, error) bool) {
		if file != "-" {
			opened, err := os.Open(file)
			if err != nil {
				yield(nil, fmt.Errorf("open the capture: %w", err))
				return
			}
			defer opened.Close()
			in = opened
		}
		reasons := server.Reasons()
		reader, err := capture.NewReader(in)
		for err == nil {
			var j *v1alpha1.Journey
			if j, err = reader.Next(); err != nil {
				break
			}
			if lang.Complete(j, reasons); !yield(j, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, fmt.Errorf("%s: %w", file, err))
		}
	}
}

func newTraceSaveCommand(o *traceOptions) *cobra.Command {
	save := &traceOptions{}
	cmd := &cobra.Command{
		Use:   "save FILE [FILTER]",
		Short: "Save the journeys that the server remembers to a file, for kx trace show --file",
		Long: `Save the journeys that the server remembers, or those that the flags and the filter want, whole, to a file. Secrets
are masked in it, as they are in the server.`,
		Example: `  kx trace save today.kxtrace
  kx trace save slow.kxtrace --min 100ms
  kx trace save - 'code>=500' | gzip > errors.kxtrace.gz`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			save.serverOptions = o.serverOptions
			return save.save(cmd.Context(), args[0], args[1:], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	save.addFilterFlags(cmd)
	return cmd
}

// save writes a capture to a file that only its owner can read, since journeys hold objects of all users.
func (o *traceOptions) save(ctx context.Context, file string, args []string, out, errOut io.Writer) (err error) {
	wanted, err := o.filter(args)
	if err != nil {
		return err
	}
	client, host, err := o.connect(1)
	if err != nil {
		return err
	}
	defer client.Close()
	ids, err := client.List(ctx, wanted)
	if err != nil {
		return err
	}
	if file != "-" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("make the capture: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	saved, err := saveAll(ctx, client, host, ids, out)
	if err == nil {
		fmt.Fprintf(errOut, "kx: saved %d journeys\n", saved)
	}
	return err
}

func saveAll(ctx context.Context, client *session.Session, host string, ids []string, out io.Writer) (saved int, err error) {
	w, err := capture.NewWriter(out, host, time.Now())
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		j, err := client.Get(ctx, id)
		if errors.Is(err, session.ErrForgotten) {
			continue // the server has forgotten it meanwhile
		}
		if err != nil {
			return saved, err
		}
		if err := w.Write(j); err != nil {
			return saved, err
		}
		saved++
	}
	return saved, nil
}
