package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/cache"
	"github.com/kx-apiserver/kx/tui/capture"
	"github.com/kx-apiserver/kx/tui/cmdlog"
	"github.com/kx-apiserver/kx/tui/compare"
	"github.com/kx-apiserver/kx/tui/etcd"
	"github.com/kx-apiserver/kx/tui/logs"
	"github.com/kx-apiserver/kx/tui/picture"
	"github.com/kx-apiserver/kx/tui/rules"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/send"
	"github.com/kx-apiserver/kx/tui/source"
	"github.com/kx-apiserver/kx/tui/story"
	"github.com/kx-apiserver/kx/tui/structure"
)

// maker makes a screen.
type maker struct {
	make func(screen.Host, *model) screen.Screen
	// asks reports that the screen needs a server: it is unreachable with a saved capture.
	asks bool
}

// makers lists the screens: the numbered ones in the order of their digits, then those that open above them.
var makers = []maker{
	{make: func(h screen.Host, m *model) screen.Screen { return capture.New(h, m.held, m.capture()) }},
	{make: func(h screen.Host, m *model) screen.Screen { return send.New(h, m.held.MadeBySend) }, asks: true},
	{make: func(h screen.Host, _ *model) screen.Screen { return etcd.New(h) }, asks: true},
	{make: func(h screen.Host, _ *model) screen.Screen { return cache.New(h) }, asks: true},
	{make: func(h screen.Host, _ *model) screen.Screen { return structure.New(h) }, asks: true},
	{make: func(h screen.Host, m *model) screen.Screen { return compare.New(h, m.saveShown) }},
	{make: func(h screen.Host, _ *model) screen.Screen { return story.New(h) }},
	{make: func(h screen.Host, m *model) screen.Screen { return picture.New(h, m.saveShown) }},
	{make: func(h screen.Host, _ *model) screen.Screen { return source.New(h) }, asks: true},
	{make: func(h screen.Host, m *model) screen.Screen { return rules.New(h, m.held) }, asks: true},
	{make: func(h screen.Host, m *model) screen.Screen { return logs.New(h, m.options.Log) }},
	{make: func(h screen.Host, m *model) screen.Screen { return cmdlog.New(h, m.commandLog) }, asks: true},
}

// numbered lists the screens that have a digit, in order.
var numbered = []screen.Name{screen.Capture, screen.Send, screen.Etcd, screen.Cache, screen.Structure}

// capture returns the options of the screen Capture.
func (m *model) capture() capture.Options {
	o := capture.Options{Own: func() bool { return m.server.InProcess }, Export: m.options.Export, Named: m.options.Lesson != nil}
	if s := m.options.Saved; s != nil {
		o.Saved, o.Dropped = s.Journeys, s.Dropped
	}
	return o
}

// saveShown offers to save requests that a screen above Capture shows. Capture has the forms.
func (m *model) saveShown(shown ...*v1alpha1.Journey) tea.Cmd {
	return m.screens[screen.Capture].(*capture.Screen).SaveShown(shown...)
}
