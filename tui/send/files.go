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
	"github.com/kx-apiserver/kx/tui/screen"
)

// pathsMost limits the offered names of a directory.
const pathsMost = 200

// askPath opens a picker for a path.
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
		return s.host.Do(func() func() tea.Cmd {
			found := paths(typed)
			return func() tea.Cmd {
				if s.picker == p && p.line.String() == typed { // else something else was typed meanwhile
					p.showPaths(found)
				}
				return nil
			}
		})
	}
	s.picker = p
}

// home replaces a leading ~ with the home directory.
func home(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	dir, err := os.UserHomeDir()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(dir, rest)
}

// paths lists the paths with a prefix.
func paths(typed string) []string {
	dir, prefix := filepath.Split(typed)
	list, err := os.ReadDir(home(orElse(dir, ".")))
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), prefix) ||
			strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(prefix, ".") || len(all) == pathsMost {
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

// showPaths shows paths in the picker, and puts their common prefix into its line.
func (p *picker) showPaths(paths []string) {
	if len(paths) > 0 {
		common := paths[0]
		for _, path := range paths {
			for !strings.HasPrefix(path, common) {
				common = strings.ToValidUTF8(common[:len(common)-1], "")
			}
		}
		p.line.Set(common)
	}
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
	s.askPath("save the request as", func(path string) tea.Cmd { return s.saveTo(path, data, os.O_EXCL) })
	return nil
}

// saveTo writes a file. It asks before it overwrites one.
func (s *Screen) saveTo(path string, data []byte, how int) tea.Cmd {
	return s.host.Do(func() func() tea.Cmd {
		err := write(path, data, how)
		return func() tea.Cmd {
			switch {
			case errors.Is(err, fs.ErrExist):
				return s.host.Confirm(s.host.Theme().Words.Phrase("%s is there already: write over it?", path),
					func() tea.Cmd { return s.saveTo(path, data, os.O_TRUNC) })
			case err != nil:
				s.host.Complain(s.host.Theme().Words.Phrase("save the request: %s", err.Error()))
			default:
				s.file = path
				s.host.Say(s.host.Theme().Words.Phrase("saved: kx send -f %s sends it too", path))
			}
			return nil
		}
	})
}

// write writes a file that only its owner can read: bodies may be secret.
func write(path string, data []byte, how int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// open reads requests from a file.
func (s *Screen) open() tea.Cmd {
	s.askPath("open requests of the file", func(path string) tea.Cmd {
		return screen.Do(s.host, func() ([]request.Request, error) { return read(path) },
			func(requests []request.Request, err error) tea.Cmd {
				if err != nil {
					s.host.Complain(err.Error())
					return nil
				}
				return s.openRequests(path, requests)
			})
	})
	return nil
}

func read(path string) ([]request.Request, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the requests: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > request.FileBytesMost {
		return nil, fmt.Errorf("open the requests: %s is no file, or one of more than %s", path, size(request.FileBytesMost))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open the requests: %w", err)
	}
	requests, err := request.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return requests, nil
}

// openRequests shows the first request of a file. The history has all of them.
func (s *Screen) openRequests(path string, requests []request.Request) tea.Cmd {
	s.file = path
	for _, r := range slices.Backward(requests) {
		s.history.add(&entry{request: r})
	}
	s.load(requests[0])
	s.GoTo(requestPart)
	if n := len(requests); n > 1 {
		s.host.Say(s.host.Theme().Words.Phrase("the first of %d requests is here, all are in the history", n))
	} else {
		s.host.Say(s.host.Theme().Words.Phrase("opened %s", path))
	}
	return s.wantSchemas()
}
