package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

// faultTest runs a command under test with faults and without them, and says what the faults did.
type faultTest struct {
	faults []string
	junit  string
}

// run runs what command returns, twice if there are faults.
func (o *faultTest) run(ctx context.Context, command func() *exec.Cmd) error {
	switch {
	case len(o.faults) == 0 && o.junit != "":
		return errors.New("test: --junit has the verdict about faults: give --fault")
	case len(o.faults) == 0:
		return runTest(ctx, command(), nil)
	}
	interrupted, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	with, without := &observation{faults: o.faults}, &observation{}
	first := command()
	observe := func(command *exec.Cmd, look *observation) error {
		err := runTest(ctx, command, look)
		if coded := (*exitError)(nil); errors.As(err, &coded) && coded.err == nil {
			err = nil // the command failed, and nothing beside it
		}
		if err == nil && interrupted.Err() != nil {
			return &exitError{code: max(look.code, 1), err: errors.New("test: interrupted before the verdict")}
		}
		return err
	}
	if err := observe(first, with); err != nil {
		return err
	}
	if with.missed == "" {
		fmt.Fprintln(first.Stderr, "kx: once more, without faults")
		if err := observe(command(), without); err != nil {
			return err
		}
	}
	return o.report(first, judge(with, without), cmp.Or(with.code, without.code), time.Since(began))
}

// report says what the verdict is. The error has the exit code, for which code is that of the command.
func (o *faultTest) report(command *exec.Cmd, v render.Verdict, code int, took time.Duration) error {
	fmt.Fprintf(command.Stderr, "kx: %s: %s\n", v.Verdict, escape.Line(v.Why))
	if o.junit != "" {
		v.Command, v.Faults, v.Took = strings.Join(command.Args, " "), o.faults, took
		var report bytes.Buffer
		if err := errors.Join(v.JUnit(&report), writeOut(o.junit, io.Discard, report.Bytes())); err != nil {
			return addTo(&exitError{code: max(code, 1)}, fmt.Errorf("test: write the verdict: %w", err))
		}
	}
	switch v.Verdict {
	case render.Failed:
		return &exitError{code: code}
	case render.Inconclusive:
		return &exitError{code: max(code, 1)}
	}
	return nil
}

// observation adds faults for a command under test, and counts what came of them. A nil observation does nothing.
type observation struct {
	// faults are added before the command starts, as kx fault add takes them.
	faults []string

	code int // the command's exit code
	// missed is the first fault that hit nothing.
	missed string
	// forgot says that the command made more requests than the server remembers.
	forgot bool
	// writes counts the writes that the server stored, and conflicts those that it refused, besides those of faults.
	writes, conflicts int
}

func (o *observation) begin(ctx context.Context, kubeconfig string) error {
	if o == nil {
		return nil
	}
	server := &serverOptions{kubeconfig: kubeconfig}
	for _, text := range o.faults {
		if err := addFault(ctx, server, text); err != nil {
			return fmt.Errorf("--fault %q: %w", text, err)
		}
	}
	return nil
}

// addFault adds a fault by the words of kx fault add, in one text.
func addFault(ctx context.Context, server *serverOptions, text string) error {
	add := newFaultAddCommand(server)
	kind, words, err := add.Find(strings.Fields(text))
	switch {
	case err != nil:
		return err
	case kind == add:
		return errors.New("it does not begin with a word that kx help fault add lists")
	}
	kind.Flags().SetInterspersed(false) // the filter ends the text, and may have several words
	if err := kind.ParseFlags(words); err != nil {
		return err
	}
	args := kind.Flags().Args()
	if last := strings.Count(kind.Use, " ") - 1; len(args) > last {
		args = append(args[:last:last], strings.Join(args[last:], " "))
	}
	if err := kind.ValidateArgs(args); err != nil {
		return err
	}
	kind.SetContext(ctx)
	kind.SetOut(io.Discard)
	return kind.RunE(kind, args)
}

const (
	// ofCommand leaves out the requests of the server's own controllers. Commands at the prompt are named kx, too.
	ofCommand = `!(user~"^system:(apiserver$|serviceaccount:kube-system:)" agent~"^kx/") `
	// Clients renew leases by the clock, events are news and no state, and reviews store nothing.
	storedWrites = ofCommand + "verb:create,update,patch,delete,deletecollection code<300 !resource:leases,events " +
		"!group:authentication.k8s.io,authorization.k8s.io"
	refusedWrites = ofCommand + "code:409 !verb:create"
)

func (o *observation) end(ctx context.Context, kubeconfig string, code int) error {
	if o == nil {
		return nil
	}
	t := &traceOptions{}
	t.kubeconfig = kubeconfig
	faults, _, err := t.faults(ctx)
	if err != nil {
		return err
	}
	for i := range faults {
		f := &faults[i]
		if f.Status.Hits == 0 {
			o.missed = cmp.Or(o.missed, f.Name+" at "+f.Spec.Filter)
		}
	}
	client, _, err := t.connect(1)
	if err != nil {
		return err
	}
	defer client.Close()
	all, err := client.List(ctx, "")
	if err != nil {
		return err
	}
	stored, err := client.List(ctx, storedWrites)
	if err != nil {
		return err
	}
	refused, err := client.Rows(ctx, refusedWrites)
	if err != nil {
		return err
	}
	refused = slices.DeleteFunc(refused, func(j *v1alpha1.Journey) bool { return slices.Contains(j.Status.Touched, trace.Failed.String()) })
	o.forgot, o.writes, o.conflicts = len(all) >= testJourneys, len(stored), len(refused)
	o.code = code
	return nil
}

// judge compares a run with faults to the one without them.
func judge(with, without *observation) render.Verdict {
	v := render.Verdict{Verdict: render.Inconclusive}
	switch {
	case with.missed != "":
		v.Why = "a fault hit nothing: " + with.missed
	case without.code != 0:
		v.Why = fmt.Sprintf("the command fails without faults too, with exit code %d", without.code)
	case with.code != 0:
		v.Verdict = render.Failed
		v.Why = fmt.Sprintf("the command fails with the faults, with exit code %d, and passes without", with.code)
	case with.forgot || without.forgot:
		v.Why = fmt.Sprintf("the command makes more than the %d requests that the server remembers", testJourneys)
	default:
		v.Verdict = render.Resilient
		if with.writes > without.writes || with.conflicts > without.conflicts {
			v.Verdict = render.Degraded
		}
		v.Why = fmt.Sprintf("the command passes; writes: %d, and %d without faults; conflicts: %d, and %d without",
			with.writes, without.writes, with.conflicts, without.conflicts)
	}
	return v
}
