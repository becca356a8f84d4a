package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/tui"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/play"
)

// learnEnv is added to the environment of lessons' commands. Tests use it to make their binary act as kx.
var learnEnv []string

// progressFile is the file of a data directory with the user's progress in lessons.
const progressFile = "learn.json"

// yesHelp is the help of --yes, for all commands that run the commands of a lesson's file.
const yesHelp = "run the commands of a file without asking"

// learnOptions are the flags of kx learn.
type learnOptions struct {
	dataDir   string
	language  lang.Language
	track     string
	questions bool
	yes       bool
	copy      string

	// show shows the screen until it is left.
	show func(context.Context, tui.Options) error
}

func newLearnCommand() *cobra.Command {
	o := &learnOptions{dataDir: options.New().DataDir, show: tui.Run}
	cmd := &cobra.Command{
		Use:   "learn [LESSON]",
		Short: "Play lessons: each claim is a request that kx serves before your eyes",
		Long: `List the lessons, or play one: its text on one side, the live screen of kx tui on the other, on a server of its own.
Commands run in sh, in an empty directory, with a HOME and a KUBECONFIG of the lesson's. They have your rights.

A lesson is named by its number or its name, or is a file (docs/learn/README.md describes the format). The commands of a file are
shown before they run, and run only if you agree: a file can do with your own files whatever you can.

Whoever comes from one of the three articles on call chains of the API server begins with kx learn articles.`,
		Example: `  kx learn                    # the lessons, and which is next
  kx learn --track extend     # lessons for authors of controllers, definitions, storages
  kx learn 1
  kx learn --questions 5      # you know it already: the questions alone
  kx learn conflict
  kx learn ./my.md            # a file: shows its commands, and asks
  kx learn 5 --copy five.html # on a projector: who follows has the page five.html#now open`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeLessons,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.track != "" && !slices.Contains(trackNames(), o.track) {
				return fmt.Errorf("there is no track %q: expected %s", o.track, strings.Join(trackNames(), ", "))
			}
			if len(args) == 0 {
				return o.list(cmd.OutOrStdout())
			}
			if err := tui.CheckTerminal(); err != nil {
				return err
			}
			return o.play(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&o.dataDir, "data-dir", o.dataDir, "directory that keeps what you have done")
	languageVar(cmd, &o.language)
	cmd.Flags().StringVar(&o.track, "track", "", "only the lessons of a track: "+strings.Join(trackNames(), ", "))
	cmd.Flags().BoolVar(&o.questions, "questions", false, "stop at the questions alone and leave out the tasks, which stay to be done")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, yesHelp)
	cmd.Flags().StringVar(&o.copy, "copy", "", "an HTML page to keep as far as the lesson has come, for people who follow in a browser")
	_ = cmd.RegisterFlagCompletionFunc("track", cobra.FixedCompletions(trackNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(newLearnVerifyCommand(), newLearnNewCommand(), newLearnCheckCommand(), newLearnHandoutCommand(), newLearnReportCommand(),
		newLearnClassCommand(), newLearnArticlesCommand())
	return cmd
}

func completeLessons(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	entries, err := learn.Catalogue(lang.English)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID + "\t" + e.Title
	}
	return ids, cobra.ShellCompDirectiveDefault // or a file
}

// trackNames returns the values of --track.
func trackNames() []string {
	names := make([]string, len(lesson.Tracks))
	for i, t := range lesson.Tracks {
		names[i] = string(t)
	}
	return names
}

// catalogue returns the lessons, or those of the track that the user has chosen.
func (o *learnOptions) catalogue() ([]learn.Entry, error) {
	entries, err := learn.Catalogue(o.language)
	if o.track == "" {
		return entries, err
	}
	return slices.DeleteFunc(entries, func(e learn.Entry) bool { return !slices.Contains(e.Tracks, lesson.Track(o.track)) }), err
}

// tracks returns the user's progress on each track.
func tracks(entries []learn.Entry, progress *play.Progress) []play.Track {
	lessons := make([]*lesson.Lesson, len(entries))
	for i, e := range entries {
		lessons[i] = e.Lesson
	}
	all := make([]play.Track, len(lesson.Tracks))
	for i, t := range lesson.Tracks {
		all[i] = progress.Track(t, lessons)
	}
	return all
}

// progress reads the user's progress.
func (o *learnOptions) progress() (*play.Progress, error) {
	return play.LoadProgress(filepath.Join(o.dataDir, progressFile))
}

// list writes the tracks and the lessons, with marks for finished lessons and the next one.
func (o *learnOptions) list(out io.Writer) error {
	entries, err := o.catalogue()
	if err != nil {
		return err
	}
	progress, err := o.progress()
	if err != nil {
		return err
	}
	o.listTracks(out, entries, progress)
	next := nextLesson(entries, progress)
	rows := make([][]string, len(entries))
	for i, e := range entries {
		state := ""
		switch r := progress.Lessons[e.ID]; {
		case r != nil && r.Done != nil:
			state = o.language.Text("done")
		case r != nil && r.Answered != nil:
			state = o.language.Text("answered")
		case r != nil && r.Next > 0:
			state = o.language.Text("begun")
		case e.Number == next:
			state = o.language.Text("next")
		}
		rows[i] = []string{fmt.Sprintf("%2d", e.Number), e.ID, o.language.Phrase("%d min", e.Minutes), state, e.Title}
		if o.track == "" {
			rows[i] = slices.Insert(rows[i], 3, trackMarks(e.Tracks))
		}
	}
	writeColumns(out, rows)
	if next > 0 {
		command := fmt.Sprintf("kx learn --track %s %d", o.track, next)
		if o.track == "" {
			fmt.Fprintln(out)
			command = fmt.Sprintf("kx learn %d", next)
		}
		fmt.Fprintln(out, o.language.Phrase("%s opens the next one.", command))
	}
	return nil
}

// listTracks writes the tracks, or the one that the user has chosen.
func (o *learnOptions) listTracks(out io.Writer, entries []learn.Entry, progress *play.Progress) {
	var rows [][]string
	for _, t := range tracks(entries, progress) {
		if o.track != "" && t.Track != lesson.Track(o.track) {
			continue
		}
		rows = append(rows, []string{string(t.Track), o.language.Text(t.Title()), o.language.Phrase("%d lessons", t.Lessons),
			o.language.Phrase("%d min", t.Minutes), o.language.Phrase("%d done, %d min to go", t.Done, t.Left)})
	}
	writeColumns(out, rows)
	if o.track == "" { // a track has to fit on a screen of 24 lines
		fmt.Fprintln(out)
	}
}

// trackMarks returns the first letters of a lesson's tracks, each in its column.
func trackMarks(of []lesson.Track) string {
	var marks strings.Builder
	for _, t := range lesson.Tracks {
		if slices.Contains(of, t) {
			marks.WriteString(string(t[:1]))
		} else {
			marks.WriteString("·")
		}
	}
	return marks.String()
}

// writeColumns aligns rows whose cells may contain wide characters.
func writeColumns(out io.Writer, rows [][]string) {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], draw.Width(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = draw.Fit(cell, widths[i])
		}
		fmt.Fprintln(out, strings.TrimRight(strings.Join(row, "  "), " "))
	}
}

// nextLesson returns the number of the first unfinished lesson, or 0.
func nextLesson(entries []learn.Entry, progress *play.Progress) int {
	for _, e := range entries {
		if r := progress.Lessons[e.ID]; r == nil || r.Done == nil {
			return e.Number
		}
	}
	return 0
}

// knownFlags returns the flags that the texts of lessons may name.
func knownFlags(root *cobra.Command) learn.KnownNames {
	return learn.KnownNames{Flag: func(name string) bool { return hasFlag(root, name) }}
}

// hasFlag reports whether a command or one of its subcommands has a flag.
func hasFlag(c *cobra.Command, name string) bool {
	if c.Flags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil {
		return true
	}
	for _, sub := range c.Commands() {
		if hasFlag(sub, name) {
			return true
		}
	}
	return false
}

// errNotTrue ends kx learn verify with an exit code. The reports name the problems.
var errNotTrue = errors.New("some lessons do not hold")

func newLearnVerifyCommand() *cobra.Command {
	o := &verifyOptions{jobs: 2}
	cmd := &cobra.Command{
		Use:   "verify [LESSON...]",
		Short: "Run lessons without a screen, and see whether they tell the truth",
		Long: `Run lessons without a screen: every expectation must hold, every task must leave something to do with its starter and nothing with
its solution, and the steps, flags, functions and links that the text names must exist. Without a name all lessons are run, apart
from those that take long or need much: these are run by name.

The commands of a file are shown before they run, and run only if you agree. Without a terminal that needs --yes.`,
		Example: `  kx learn verify
  kx learn verify conflict 24
  kx learn verify ./my.md
  kx learn verify --yes ./my.md   # a file that you trust, also without a terminal`,
		RunE: func(cmd *cobra.Command, args []string) error {
			asks := newAgreement(o.yes, lang.English, cmd.InOrStdin(), cmd.ErrOrStderr())
			return o.verify(cmd.Context(), cmd.Root(), args, asks, cmd.OutOrStdout())
		},
		ValidArgsFunction: completeLessons,
	}
	cmd.Flags().IntVar(&o.jobs, "jobs", o.jobs, "how many lessons run side by side")
	cmd.Flags().BoolVar(&o.mutate, "mutate", false,
		"run each lesson with the change of the server that it names, and see an expectation fail")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, yesHelp)
	return cmd
}

type verifyOptions struct {
	jobs   int
	mutate bool
	yes    bool
}

func (o *verifyOptions) verify(ctx context.Context, root *cobra.Command, names []string, asks *agreement, out io.Writer) error {
	entries, err := learn.Catalogue(lang.English)
	if err != nil {
		return err
	}
	wanted, apart, err := lessonsToVerify(entries, names)
	if err != nil {
		return err
	}
	for _, e := range wanted {
		if agreed, err := asks.ask(e, true); err != nil {
			return err
		} else if !agreed {
			return fmt.Errorf("%s: you did not agree, so nothing was run", escape.Line(e.File))
		}
	}
	binary, err := learn.Executable()
	if err != nil {
		return err
	}
	// Without this an interrupt would end kx alone: the lessons' commands run in process groups of their own.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	v := &learn.Verifier{Binary: binary, Env: learnEnv, Known: knownFlags(root)}
	one := v.Verify
	if o.mutate {
		one = v.Mutate
	}
	bad := 0
	for r := range learn.SideBySide(ctx, wanted, o.jobs, one) {
		if len(r.Problems) > 0 {
			bad++
		}
		learn.Write(out, r, o.mutate)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(apart) > 0 {
		fmt.Fprintf(out, "not run, since they take long or need much: %s\n", o.command(apart))
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d lessons: %w", bad, len(wanted), errNotTrue)
	}
	return nil
}

// lessonsToVerify returns the named lessons. Without names it returns all lessons, and separately those that only run
// on request.
func lessonsToVerify(entries []learn.Entry, names []string) (wanted, apart []learn.Entry, err error) {
	for _, name := range names {
		e, err := learn.Find(entries, name)
		if err != nil {
			return nil, nil, err
		}
		wanted = append(wanted, e)
	}
	if len(names) > 0 {
		return wanted, nil, nil
	}
	for _, e := range entries {
		if e.Apart {
			apart = append(apart, e)
		} else {
			wanted = append(wanted, e)
		}
	}
	return wanted, apart, nil
}

// command returns the command line that verifies lessons by name with the same flags.
func (o *verifyOptions) command(lessons []learn.Entry) string {
	command := "kx learn verify"
	if o.mutate {
		command += " --mutate"
	}
	for _, e := range lessons {
		command += fmt.Sprintf(" %d", e.Number)
	}
	return command
}

func newLearnNewCommand() *cobra.Command {
	from := &journeySource{traceOptions: &traceOptions{serverOptions: newServerOptions()}}
	var id string
	var steps []string
	cmd := &cobra.Command{
		Use:   "new FILE",
		Short: "Write a lesson to begin from, commented or made of a journey",
		Long: `Write a lesson to begin from: a commented one, or with --from one that is made of a journey. That one sends the request again, asks what
the chosen steps call, and has the expectations that hold for the journey: its code, its steps in their order, their reasons. What a journey
does not have, such as a patch, is left to you, and the lesson says so.`,
		Example: `  kx learn new my.md
  kx learn new my.md --from 3f2a1c-17
  kx learn new my.md --from 3f2a1c-17 --steps store.get,cacher.get --file slow.kxtrace`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := args[0]
			if !strings.HasSuffix(file, ".md") {
				return fmt.Errorf("%s: a lesson is a Markdown file: give it a name that ends in .md", file)
			}
			data, err := learn.Template()
			if id != "" {
				data, err = from.lesson(cmd.Context(), id, file, steps, cmd.InOrStdin())
			}
			if err != nil {
				return err
			}
			if err := learn.WriteNew(file, data); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: play it with kx learn ./%s, run it without a screen with kx learn verify ./%s\n", file,
				file, file)
			return nil
		},
	}
	cmd.Flags().StringVar(&id, "from", "", "the ID of a journey that the lesson is made of")
	cmd.Flags().StringSliceVar(&steps, "steps", nil, "the steps that it is about (default: the way from the handler downward)")
	cmd.Flags().StringVar(&from.file, "file", "",
		"with --from: a capture of kx trace save, or a page of kx trace export, instead of a server; - for standard input")
	from.addKubeconfig(cmd.Flags(), from.dataDir)
	return cmd
}
