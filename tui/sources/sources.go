package sources

import (
	"context"
	"net/http"
	"net/url"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/pane/source"
	"github.com/kx-apiserver/kx/tui/screen"
)

// filesMost is how many files are kept.
const filesMost = 64

// Library has files. Its methods are called by one goroutine.
type Library struct {
	host    screen.Host
	arrived func() tea.Cmd
	files   map[string]*entry
	order   []string // the one that was looked at first goes first
}

// entry is a file, or why it is not there.
type entry struct {
	file *source.File
	note string
	// again says that it may be asked for again: the server did not say that it has none.
	again bool
}

// New makes an empty library. arrived is called after each answer.
func New(host screen.Host, arrived func() tea.Cmd) *Library {
	return &Library{host: host, arrived: arrived, files: map[string]*entry{}}
}

// fetching is what is said of a file that is asked for.
var fetching = &entry{note: "fetching the file from the server ..."}

// Get is a file as steps name it, or nil and why.
func (l *Library) Get(file string) (*source.File, string) {
	if e := l.files[file]; e != nil {
		return e.file, e.note
	}
	return nil, ""
}

// Want asks for a file, unless it is there.
func (l *Library) Want(file string) tea.Cmd {
	e := l.files[file]
	if file == "" || e != nil && !e.again {
		return nil
	}
	name := v1alpha1.SourceName(file)
	if name == "" {
		l.put(file, &entry{note: file + " is not of the server's own source: it was not compiled from this module"})
		return nil
	}
	if why := l.host.API().Absent(); why != "" {
		l.put(file, &entry{note: why, again: true})
		return nil
	}
	l.put(file, fetching)
	ctx, client := l.host.Context(), l.host.API()
	return l.host.Do(func() func() tea.Cmd {
		e := fetch(ctx, client, name)
		return func() tea.Cmd {
			l.put(file, e)
			return l.arrived()
		}
	})
}

// fetch gets a file and makes it ready.
func fetch(ctx context.Context, client *api.Client, name string) *entry {
	var s v1alpha1.Source
	err := client.Get(ctx, api.KX+"/sources/"+url.PathEscape(name), nil, &s)
	if api.Code(err) == http.StatusNotFound {
		return &entry{note: "the server has no source of this file"}
	}
	if err != nil {
		return &entry{note: draw.Clean(err.Error()), again: true}
	}
	file, err := source.Read(&s)
	if err != nil {
		return &entry{note: draw.Clean(err.Error())}
	}
	return &entry{file: file}
}

func (l *Library) put(name string, e *entry) {
	if l.files[name] == nil {
		l.order = append(l.order, name)
	}
	l.files[name] = e
	for len(l.order) > filesMost {
		delete(l.files, l.order[0])
		l.order = l.order[1:]
	}
}
