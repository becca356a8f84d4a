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
	"sync/atomic"
	"syscall"

	"github.com/kx-apiserver/kx/cmd/kx/internal/class"
	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/tui"
	"github.com/kx-apiserver/kx/tui/disk"
	screen "github.com/kx-apiserver/kx/tui/learn"
	"github.com/kx-apiserver/kx/tui/logs"
	"github.com/kx-apiserver/kx/tui/play"
	"github.com/kx-apiserver/kx/tui/theme"
)

// play plays a lesson on the screen, and then the lessons that the learner continues with.
func (o *learnOptions) play(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	all, err := learn.Catalogue(o.language)
	if err != nil {
		return err
	}
	e, err := learn.Find(all, name)
	if err != nil {
		return err
	}
	progress, err := o.progress()
	if err != nil {
		return err
	}
	if agreed, err := newAgreement(o.yes, o.language, in, out).ask(e, false); err != nil || !agreed {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // the terminal was closed: clean up
	defer stop()
	for {
		if lacks := play.Lacks(e.Needs); lacks != "" {
			return fmt.Errorf("the lesson %s needs %s, and it is not on this machine", e.ID, lacks)
		}
		after, way, err := o.playOne(ctx, e, all, progress)
		switch {
		case err != nil || after == screen.Nothing:
			return err
		case after == screen.NextLesson:
			if e, err = learn.Find(all, way.ID); err != nil {
				return err
			}
			if len(way.Tracks) == 1 {
				o.track = string(way.Tracks[0])
			}
		}
	}
}

// tracksOf returns the progress on a lesson's tracks without the lesson itself: the screen decides whether that is
// finished.
func tracksOf(e learn.Entry, all []learn.Entry, progress *play.Progress) []play.Track {
	if e.Number == 0 {
		return nil
	}
	var of []play.Track
	for _, t := range tracks(all, progress) {
		if !slices.Contains(e.Tracks, t.Track) {
			continue
		}
		if progress.Record(e.ID).Done != nil {
			t.Done, t.Left = t.Done-1, t.Left+e.Minutes
		}
		of = append(of, t)
	}
	return of
}

// nextLessons returns the lessons that come after e on the user's track, or else on the tracks of e, and the tracks
// that end with e.
func (o *learnOptions) nextLessons(e learn.Entry, all []learn.Entry) (ways []screen.Way, ends []lesson.Track) {
	tracks := e.Tracks
	if o.track != "" {
		tracks = []lesson.Track{lesson.Track(o.track)}
	}
	for _, track := range tracks {
		next := lessonAfter(all, e, track)
		if next == nil {
			ends = append(ends, track)
			continue
		}
		same := func(w screen.Way) bool { return w.ID == next.ID }
		if i := slices.IndexFunc(ways, same); i >= 0 {
			ways[i].Tracks = append(ways[i].Tracks, track)
		} else {
			ways = append(ways, screen.Way{ID: next.ID, Title: next.Title, Tracks: []lesson.Track{track}})
		}
	}
	return ways, ends
}

// lessonAfter returns the lesson after e on a track, or nil.
func lessonAfter(all []learn.Entry, e learn.Entry, track lesson.Track) *learn.Entry {
	for i := range all {
		if e.Number > 0 && all[i].Number > e.Number && slices.Contains(all[i].Tracks, track) {
			return &all[i]
		}
	}
	return nil
}

// playOne plays one lesson until the learner leaves the screen, and returns their choice of what comes next.
func (o *learnOptions) playOne(ctx context.Context, e learn.Entry, all []learn.Entry, progress *play.Progress) (
	after screen.After, way screen.Way, err error,
) {
	options := tui.Options{
		Language: o.language, Reasons: server.Reasons(), Log: &logs.Tail{}, Export: exportOnScreen,
		StateFile: filepath.Join(o.dataDir, "tui.json"),
	}
	if options.Theme, err = theme.Parse(os.Getenv(themeVariable)); err != nil {
		return after, way, fmt.Errorf("$%s: %w", themeVariable, err)
	}
	if config, err := os.UserConfigDir(); err == nil {
		options.KeysFile = filepath.Join(config, "kx", "keys.yaml")
	}
	taken := takeLogs(options.Log)
	defer func() { taken.restore(err == nil) }()
	if options.CrashDir, err = taken.keepNothing(); err != nil {
		return after, way, err
	}
	p := &lessonPlay{entry: e, language: o.language, log: io.MultiWriter(taken, options.Log), opened: make(chan struct{})}
	options.Start = p.start
	keepCopy := func(play.Record, bool) error { return nil }
	if o.copy != "" {
		p.copy = class.NewCopy(e.Lesson, o.language)
		keepCopy = func(r play.Record, over bool) error {
			data, err := p.copy.Page(r, over)
			if err == nil {
				err = disk.Replace(o.copy, data, 0o644) // other users read it
			}
			if err != nil {
				return fmt.Errorf("write the copy of the lesson: %w", err)
			}
			return nil
		}
		if err := keepCopy(*progress.Record(e.ID), false); err != nil {
			return after, way, err
		}
		defer func() { err = errors.Join(err, keepCopy(*progress.Record(e.ID), true)) }()
	}
	options.Lesson = &screen.Options{
		Lesson: e.Lesson, Open: p.open, Record: *progress.Record(e.ID),
		Keep: func(r play.Record) error {
			*progress.Record(e.ID) = r
			return errors.Join(progress.Save(), keepCopy(r, false))
		},
		Quick: o.questions, Tracks: tracksOf(e, all, progress),
		Leave: func(a screen.After, w screen.Way) { after, way = a, w },
	}
	options.Lesson.Ways, options.Lesson.Ends = o.nextLessons(e, all)
	defer func() { err = errors.Join(err, p.close()) }() // also if the screen panics
	err = o.show(ctx, options)
	return after, way, err
}

// lessonPlay is the play of a lesson. The screen calls start with its server, while the screen's lesson waits in
// open. The closing of opened publishes play and err to other goroutines.
type lessonPlay struct {
	entry    learn.Entry
	language lang.Language
	log      io.Writer
	output   atomic.Pointer[func(id, text string)]
	copy     *class.Copy // nil if no copy is kept

	begun  atomic.Bool   // start was called
	opened chan struct{} // closed once play or err is set
	play   *play.Play
	err    error
}

// start starts the lesson's server. The screen calls it as it starts any server.
func (p *lessonPlay) start(ctx context.Context) (tui.Server, error) {
	p.begun.Store(true)
	defer close(p.opened)
	binary, err := learn.Executable()
	if err == nil {
		p.play, err = play.Begin(ctx, play.Options{
			Lesson: p.entry.Lesson, Server: &learn.Server{Log: p.log}, Binary: binary, Env: learnEnv,
			Language: p.language,
			Output: func(id, text string) {
				if tell := p.output.Load(); tell != nil {
					(*tell)(id, text)
				}
			},
		}, nil)
	}
	if p.err = err; err != nil {
		return tui.Server{}, err
	}
	address := p.play.Address()
	return tui.Server{Config: address.Config, Kubeconfig: address.Kubeconfig, InProcess: true}, nil
}

// open waits until start has made the play.
func (p *lessonPlay) open(ctx context.Context, output func(id, text string)) (screen.Play, error) {
	p.output.Store(&output)
	select {
	case <-p.opened:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.err != nil {
		return nil, p.err
	}
	if p.copy != nil {
		return p.copy.Watch(p.play), nil
	}
	return p.play, nil
}

// close ends the play. It waits for a running start.
func (p *lessonPlay) close() error {
	if p.begun.Load() {
		<-p.opened
	}
	if p.play == nil {
		return nil
	}
	return p.play.Close()
}
