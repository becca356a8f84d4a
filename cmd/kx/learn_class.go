package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/class"
	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/tui"
)

// errLacks ends kx learn check with an exit code. The lines above name what is missing.
var errLacks = errors.New("this machine can't play all of these lessons")

func newLearnCheckCommand() *cobra.Command {
	o := &learnOptions{dataDir: options.New().DataDir}
	cmd := &cobra.Command{
		Use:   "check [LESSON...]",
		Short: "See whether this machine can play lessons",
		Long: `See whether this machine has what lessons need: a terminal, sh, a port of 127.0.0.1, room for the server's data, a place for the
progress, and what single lessons need besides. Nothing is played. Without a name it looks for all lessons.

It exits with 1 if something is missing.`,
		Example: `  kx learn check
  kx learn check 1 2 5`,
		ValidArgsFunction: completeLessons,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.check(cmd.OutOrStdout(), args)
		},
	}
	cmd.Flags().StringVar(&o.dataDir, "data-dir", o.dataDir, "directory that keeps what you have done")
	return cmd
}

func (o *learnOptions) check(out io.Writer, names []string) error {
	entries, err := learn.Catalogue(lang.English)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		if entries, _, err = lessonsToVerify(entries, names); err != nil {
			return err
		}
	}
	var rows [][]string
	missing := false
	for _, c := range class.Machine(entries, filepath.Join(o.dataDir, progressFile), tui.CheckTerminal) {
		row := []string{"ok", c.Name + neededBy(c.Lessons)}
		if c.Problem != "" {
			row[0], row[1], missing = "missing", row[1]+": "+escape.Line(c.Problem), true
		}
		rows = append(rows, row)
	}
	writeColumns(out, rows)
	if missing {
		return errLacks
	}
	return nil
}

// neededBy names the lessons that need something, unless all do.
func neededBy(lessons []learn.Entry) string {
	if len(lessons) == 0 {
		return ""
	}
	ids := make([]string, len(lessons))
	for i, e := range lessons {
		ids[i] = e.ID
	}
	return " (" + strings.Join(ids, ", ") + ")"
}

func newLearnHandoutCommand() *cobra.Command {
	var language lang.Language
	var file string
	var yes bool
	cmd := &cobra.Command{
		Use:   "handout LESSON",
		Short: "Write a lesson as one HTML page: text, questions, pictures, and tasks without solutions",
		Long: `Play a lesson without a screen, and write it as one HTML page, to print or to send: its text, its questions, a picture of each
request that it shows, and its tasks without their solutions. What answers a question is folded. The page loads nothing and runs nothing.

The commands of a file are shown before they run, and run only if you agree.`,
		Example: `  kx learn handout 1 --out first-get.html
  kx learn handout conflict --lang zh > conflict.html`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeLessons,
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, err := learn.Catalogue(language)
			if err != nil {
				return err
			}
			e, err := learn.Find(entries, args[0])
			if err != nil {
				return err
			}
			asks := newAgreement(yes, language, cmd.InOrStdin(), cmd.ErrOrStderr())
			if agreed, err := asks.ask(e, true); err != nil || !agreed {
				return err
			}
			binary, err := learn.Executable()
			if err != nil {
				return err
			}
			// Without this an interrupt would end kx alone: the lesson's commands run in process groups of their own.
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			player := learn.Verifier{Binary: binary, Env: learnEnv, Known: knownFlags(cmd.Root())}
			data, err := class.Handout(ctx, player, e, language)
			if err != nil {
				return err
			}
			if err := writeOut(file, cmd.OutOrStdout(), data); err != nil {
				return fmt.Errorf("write the handout: %w", err)
			}
			return nil
		},
	}
	outVar(cmd, &file)
	languageVar(cmd, &language)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, yesHelp)
	return cmd
}

func newLearnReportCommand() *cobra.Command {
	o := &learnOptions{dataDir: options.New().DataDir}
	var file string
	cmd := &cobra.Command{
		Use:   "report NAME",
		Short: "Write what you have done as a file to hand in",
		Long: `Write what you have done of the lessons, under a name, as a file to hand in: which are done, how many questions you answered as the
lesson does, how many tasks hold, and for how many of these you looked at the solution first. It is JSON that you can read before you
give it away. kx learn class makes a table of such files.`,
		Example: `  kx learn report Ann --out ann.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, err := learn.Catalogue(lang.English)
			if err != nil {
				return err
			}
			progress, err := o.progress()
			if err != nil {
				return err
			}
			data, err := json.MarshalIndent(class.ReportOf(args[0], time.Now(), entries, progress), "", "  ")
			if err != nil {
				return err
			}
			if err := writeOut(file, cmd.OutOrStdout(), append(data, '\n')); err != nil {
				return fmt.Errorf("write the report: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&o.dataDir, "data-dir", o.dataDir, "directory that keeps what you have done")
	outVar(cmd, &file)
	return cmd
}

func newLearnClassCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "class FILE|DIR...",
		Short: "Show what the learners of a class have done, from the files that they handed in",
		Long: `Show a table of what learners have done, from the files that kx learn report wrote. Of a directory it reads the files that end
in .json.

A report says what the learner's own file says: nobody has signed it. If a file is no report, the table shows the others, and the exit
code is 1.`,
		Example: `  kx learn class handed-in/`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, err := learn.Catalogue(lang.English)
			if err != nil {
				return err
			}
			reports, err := class.Collect(args)
			if len(reports) > 0 {
				writeColumns(cmd.OutOrStdout(), class.Table(reports, len(entries)))
			}
			return err
		},
	}
}
