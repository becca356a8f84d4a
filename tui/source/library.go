package source

import (
	"context"
	"net/http"
	"net/url"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/screen"
)

// filesMost limits the kept files.
const filesMost = 64

// Library fetches files of the server's source over its API, each once, and keeps the latest ones ready for display. If
// a server lacks a file, or there is no server, it explains that in a note. Its methods are called by one goroutine.
type Library struct {
	host    screen.Host
	arrived func() tea.Cmd
	files   map[string]*entry
	order   []string // the one that was looked at first goes first
	// ours and theirs are the files that were wanted last.
	ours, theirs string
}

// entry is a file, or the reason why it is missing.
type entry struct {
	file *File
	note string
	// place is the place in a file of another project.
	place Place
	// again reports that a retry makes sense once the user comes back to the file: it may be there by then.
	again bool
}

// NewLibrary makes an empty library. arrived is called after each answer.
func NewLibrary(host screen.Host, arrived func() tea.Cmd) *Library {
	return &Library{host: host, arrived: arrived, files: map[string]*entry{}}
}

// fetching stands for a file that is being fetched.
var fetching = &entry{note: "fetching the file from the server ..."}

// Get returns a file by its name in steps, or nil and the reason.
func (l *Library) Get(file string) (*File, string) {
	if e := l.files[file]; e != nil {
		return e.file, e.note
	}
	return nil, ""
}

// lacks reports whether to look for a file. Screens want a file whenever they draw, so a failure is not repeated until
// another file was wanted in between.
func (l *Library) lacks(file string, last *string) bool {
	e, back := l.files[file], file != *last
	*last = file
	return e == nil || e.again && back
}

// Want fetches a file, unless it is there.
func (l *Library) Want(file string) tea.Cmd {
	if file == "" || !l.lacks(file, &l.ours) {
		return nil
	}
	name := v1alpha1.SourceName(file)
	if name == "" {
		l.put(file, &entry{note: file + " is not of the server's own source: it was not compiled from this module"})
		return nil
	}
	if why := l.host.API().Absent(); why != "" {
		l.put(file, &entry{note: why, again: true})
		l.ours = "" // the server may come
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

// Upstream returns the upstream function that corresponds to the one at p: the file, or nil, with the place in it and
// its link, and the reason why the file is missing.
func (l *Library) Upstream(p Place) (file *File, at Place, note string) {
	if e := l.files[libraryName(p)]; e != nil {
		return e.file, e.place, e.note
	}
	return nil, Place{}, ""
}

// libraryName returns the library's name for the upstream code of a place. No file of the server begins like it.
func libraryName(p Place) string {
	return "upstream:" + p.Release + ":" + p.UpstreamFile + ":" + p.Upstream
}

// WantTheirs looks for the upstream code on this machine.
func (l *Library) WantTheirs(p Place) tea.Cmd {
	name := libraryName(p)
	if !l.lacks(name, &l.theirs) {
		return nil
	}
	if p.Upstream == "" {
		l.put(name, &entry{note: "there is nothing of the same name upstream"})
		return nil
	}
	l.put(name, &entry{note: "looking for the module on this machine ..."})
	return l.host.Do(func() func() tea.Cmd {
		e := find(upstreamSymbol{Name: p.Upstream, File: p.UpstreamFile, Release: p.Release})
		return func() tea.Cmd {
			l.put(name, e)
			return l.arrived()
		}
	})
}

// find reads a file of another project, and highlights it.
func find(symbol upstreamSymbol) *entry {
	e := &entry{place: Place{File: symbol.File, Function: symbol.Name, Link: symbol.link(0)}}
	code, err := localModules().Find(symbol)
	if err != nil {
		e.note, e.again = draw.Clean(err.Error()), true
		return e
	}
	symbol.Release = code.Release
	e.place = Place{File: draw.Clean(code.File), Line: code.Line, Function: symbol.Name, Link: symbol.link(code.Line)}
	if e.file, err = Read(&v1alpha1.Source{Spec: v1alpha1.SourceSpec{File: code.File, Text: code.Text}}); err != nil {
		e.note = draw.Clean(err.Error())
	}
	return e
}

// Reader returns a function that reads files of the server's source, each once, by their names in steps.
func Reader(ctx context.Context, client *api.Client) func(file string) (text string, err error) {
	read := map[string]string{}
	return func(file string) (string, error) {
		if text, ok := read[file]; ok {
			return text, nil
		}
		s, err := get(ctx, client, v1alpha1.SourceName(file))
		if err != nil {
			return "", err
		}
		read[file] = s.Spec.Text
		return s.Spec.Text, nil
	}
}

// get requests a file.
func get(ctx context.Context, client *api.Client, name string) (s v1alpha1.Source, err error) {
	err = client.Get(ctx, api.KX+"/sources/"+url.PathEscape(name), nil, &s)
	return s, err
}

// fetch requests a file and highlights it.
func fetch(ctx context.Context, client *api.Client, name string) *entry {
	s, err := get(ctx, client, name)
	if api.Code(err) == http.StatusNotFound {
		return &entry{note: "the server has no source of this file"}
	}
	if err != nil {
		return &entry{note: draw.Clean(err.Error()), again: true}
	}
	file, err := Read(&s)
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
