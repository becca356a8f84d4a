//go:build linux

package soak

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/server/testdata/torture/system"
)

var (
	forFlag     = flag.Duration("soak.for", 0, "how long the soak is; 0 for the short form, in which nothing can be said of what grows")
	programFlag = flag.String("soak.program", "", "the kx to run (default: the one of this tree)")
)

func TestMain(m *testing.M) {
	system.Main()
	flag.Parse()
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// TestSoak lets a crowd work on a server for long, with backups made meanwhile: nothing may grow.
func TestSoak(t *testing.T) {
	dir := t.TempDir()
	k := serve(t, dir)
	config, err := k.Config()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCrowd(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	if *forFlag > 0 {
		ctx, stop = context.WithTimeout(t.Context(), *forFlag)
	}
	defer stop()
	working := make(chan error, 1)
	go func() { working <- c.work(ctx) }()
	levels := newLevels()
	begin := time.Now()
	for every := time.Tick(lookEvery); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
			continue
		case <-every:
		}
		values, err := look(t.Context(), k.Process.PID(), c.typed.Discovery().RESTClient(), k.Dir, filepath.Join(dir, "backups"))
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range levels {
			l.add(time.Since(begin), values[i])
		}
		if len(levels[0].at)%sayEvery == 1 {
			t.Logf("after %s: %s", time.Since(begin).Round(time.Second), said(levels))
		}
		if *forFlag == 0 && c.allWorked() {
			stop()
		}
	}
	if err := <-working; err != nil {
		t.Fatal(err)
	}
	report(t, c, levels, time.Since(begin))
	if err := k.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// lookEvery is when the levels are measured; each sayEvery-th time they are said.
const (
	lookEvery = 5 * time.Second
	sayEvery  = 60
)

// said is what the levels are now.
func said(levels []*level) (text string) {
	for i, l := range levels {
		if i > 0 {
			text += ", "
		}
		text += strings.TrimSpace(fmt.Sprintf("%s %.0f %s", l.name, l.is[len(l.is)-1], l.unit))
	}
	return text
}

// serve starts a server that makes backups.
func serve(t *testing.T, dir string) *system.KX {
	t.Helper()
	program := *programFlag
	if program == "" {
		var err error
		if program, err = system.Build(filepath.Join("..", "..", "..", ".."), t.TempDir(), false); err != nil {
			t.Fatal(err)
		}
	}
	k, err := system.NewKX(program, dir, "kx", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	interval, eventTTL := time.Minute, 5*time.Minute
	if *forFlag == 0 {
		interval = 2 * time.Second
	}
	k.Args("--backup-dir", filepath.Join(dir, "backups"), "--backup-interval", interval.String(), "--backup-keep", "3", "--event-ttl", eventTTL.String())
	if err := k.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Kill)
	return k
}

// allWorked is whether everybody has done what they do at least once.
func (c *crowd) allWorked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range jobs {
		if c.done[j.name] == 0 {
			return false
		}
	}
	return c.done["widgets seen by operators"] > 0
}

// report says what was done and how each level went. What grows is a failure, and so is what failed.
func report(t *testing.T, c *crowd, levels []*level, took time.Duration) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(c.done)) {
		t.Logf("%9d %s", c.done[what], what)
	}
	for _, fault := range c.faults[:min(len(c.faults), 20)] {
		t.Error(fault)
	}
	if n := len(c.faults); n > 20 {
		t.Errorf("and %d more faults", n-20)
	}
	if *forFlag == 0 {
		return
	}
	for _, l := range levels {
		line := l.trend(took/4, took)
		said := fmt.Sprintf("%-32s %8.1f %s, %+.2f ± %.2f an hour", l.name, line.mean, l.unit, line.hourly, line.doubt)
		if l.grows(line) {
			t.Errorf("%s: it grows", said)
		} else {
			t.Log(said)
		}
	}
}
