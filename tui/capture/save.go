package capture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/session"
)

// saveAll saves the requests of the list.
func (s *Screen) saveAll() tea.Cmd { return s.save(s.shown()) }

// saveOne saves the request under the cursor.
func (s *Screen) saveOne() tea.Cmd { return s.save([]string{s.list.Selected().Name}) }

// save asks for the name of a file, and saves the requests of the IDs there.
func (s *Screen) save(ids []string) tea.Cmd {
	name := "kx-" + time.Now().In(s.host.Zone()).Format("20060102-150405") + ".ndjson"
	what := fmt.Sprintf("save the %d requests that are shown to", len(ids))
	if len(ids) == 1 {
		what = "save request " + ids[0] + " to"
	}
	return s.host.Ask(what, name, func(file string) tea.Cmd {
		if file == "" {
			s.host.Complain("nothing is saved: the file has no name")
			return nil
		}
		if absolute, err := filepath.Abs(file); err == nil {
			file = absolute
		}
		return screen.Do(s.host, func() (int, error) { return s.saveTo(file, ids) }, func(saved int, err error) tea.Cmd {
			switch {
			case err != nil:
				s.host.Complain("nothing is saved: " + err.Error())
			case saved < len(ids):
				s.host.Say(fmt.Sprintf("saved %d requests in %s; the server has forgotten %d", saved, file, len(ids)-saved))
			default:
				s.host.Say(fmt.Sprintf("saved %d requests in %s: kx tui -r opens it", saved, file))
			}
			return nil
		})
	})
}

func (s *Screen) saveTo(file string, ids []string) (saved int, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(f)
	saved, err = s.write(s.host.Context(), out, ids)
	if err = errors.Join(err, out.Flush(), f.Close()); err != nil {
		os.Remove(file)
	}
	return saved, err
}

// write writes a capture. What the server has forgotten meanwhile is left out.
func (s *Screen) write(ctx context.Context, out io.Writer, ids []string) (saved int, err error) {
	w, err := capture.NewWriter(out, s.host.API().Host(), time.Now())
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		j, err := s.session.Get(ctx, id)
		if errors.Is(err, session.ErrForgotten) {
			continue
		}
		if err != nil {
			return saved, err
		}
		if err := w.Write(j); err != nil {
			return saved, err
		}
		saved++
	}
	return saved, nil
}

// shown are the IDs of the requests in the list.
func (s *Screen) shown() []string {
	ids := make([]string, s.ring.Len())
	for i := range ids {
		ids[i] = s.ring.At(i).Name
	}
	return ids
}
