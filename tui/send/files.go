package send

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/request"
)

// What comes of work with files.
type (
	fileMsg struct {
		path     string
		requests []request.Request // of one that was opened
		exists   []byte            // what was not saved, since there is such a file
		err      error
	}
	pathsMsg struct {
		picker *picker
		typed  string
		paths  []string
	}
)

// pathsMost is how many names of a directory are offered.
const pathsMost = 200

// ask opens a picker of a path.
func (s *Screen) askPath(title string, then func(path string) tea.Cmd) {
	p := &picker{title: title, note: "tab completes", free: true, then: func(path string) tea.Cmd {
		if path = home(path); path == "" {
			return nil
		}
		return then(path)
	}}
	p.line.Set(s.file)
	p.complete = func(typed string) tea.Cmd {
		if value, ok := p.current(); ok && p.chosen {
			typed = value
			p.line.Set(typed)
		}
		return s.host.Do(func() tea.Msg { return pathsMsg{p, typed, paths(typed)} })
	}
	s.picker = p
}

// home makes ~ the home directory.
func home(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	dir, err := os.UserHomeDir()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(dir, rest)
}

// paths are those that begin with what was typed.
func paths(typed string) []string {
	dir, prefix := filepath.Split(typed)
	list, err := os.ReadDir(home(orElse(dir, ".")))
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), prefix) || strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(prefix, ".") || len(all) == pathsMost {
			continue
		}
		name := dir + e.Name()
		if e.IsDir() {
			name += string(filepath.Separator)
		}
		all = append(all, name)
	}
	return all
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// completed takes paths into the picker that asked for them: what they have in common into its line.
func (s *Screen) completed(msg pathsMsg) {
	p := msg.picker
	if s.picker != p || p.line.String() != msg.typed {
		return // something else was typed meanwhile
	}
	if len(msg.paths) > 0 {
		common := msg.paths[0]
		for _, path := range msg.paths {
			for !strings.HasPrefix(path, common) {
				common = strings.ToValidUTF8(common[:len(common)-1], "")
			}
		}
		p.line.Set(common)
	}
	paths := slices.Clone(msg.paths)
	p.match = func(typed string) []pick {
		var all []pick
		for _, path := range paths {
			if strings.HasPrefix(path, typed) {
				all = append(all, pick{value: path})
			}
		}
		return all
	}
	p.refresh()
	if len(p.found) == 0 {
		p.note = "there is no such file yet: tab completes"
	} else {
		p.note = "tab completes"
	}
}

// save writes the request to a file.
func (s *Screen) save() tea.Cmd {
	data, err := request.Format(s.request())
	if err != nil {
		s.host.Complain(err.Error())
		return nil
	}
	s.askPath("save the request as", func(path string) tea.Cmd {
		return s.host.Do(func() tea.Msg { return write(path, data, os.O_EXCL) })
	})
	return nil
}

// write writes a file that only its owner can read: bodies may be secret.
func write(path string, data []byte, how int) fileMsg {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o600)
	if errors.Is(err, fs.ErrExist) && how == os.O_EXCL {
		return fileMsg{path: path, exists: data}
	}
	if err != nil {
		return fileMsg{path: path, err: fmt.Errorf("save the request: %w", err)}
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		err = fmt.Errorf("save the request: %w", err)
	}
	return fileMsg{path: path, err: err}
}

// open reads requests from a file.
func (s *Screen) open() tea.Cmd {
	s.askPath("open requests of the file", func(path string) tea.Cmd {
		return s.host.Do(func() tea.Msg { return read(path) })
	})
	return nil
}

func read(path string) fileMsg {
	info, err := os.Stat(path)
	if err != nil {
		return fileMsg{path: path, err: fmt.Errorf("open the requests: %w", err)}
	}
	if !info.Mode().IsRegular() || info.Size() > request.FileBytesMost {
		return fileMsg{path: path, err: fmt.Errorf("open the requests: %s is no file, or one of more than %s", path, size(request.FileBytesMost))}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fileMsg{path: path, err: fmt.Errorf("open the requests: %w", err)}
	}
	requests, err := request.Parse(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return fileMsg{path: path, requests: requests, err: err}
}

// filed takes what came of a file.
func (s *Screen) filed(msg fileMsg) tea.Cmd {
	switch {
	case msg.err != nil:
		s.host.Complain(msg.err.Error())
		return nil
	case msg.exists != nil:
		return s.host.Confirm(msg.path+" is there already: write over it?", func() tea.Cmd {
			return s.host.Do(func() tea.Msg { return write(msg.path, msg.exists, os.O_TRUNC) })
		})
	}
	s.file = msg.path
	if msg.requests == nil {
		s.host.Say("saved: kx send -f " + msg.path + " sends it too")
		return nil
	}
	for i := len(msg.requests) - 1; i >= 0; i-- {
		s.history.add(&entry{request: msg.requests[i]})
	}
	s.load(msg.requests[0])
	s.GoTo(requestPart)
	if n := len(msg.requests); n > 1 {
		s.host.Say(fmt.Sprintf("the first of %d requests is here, all are in the history", n))
	} else {
		s.host.Say("opened " + msg.path)
	}
	return s.wantSchemas()
}
