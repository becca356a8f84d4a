package cache

import (
	"strings"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/shell"
)

func (s *Screen) Foot() (same, state string) {
	look := s.host.Theme()
	if command := s.sameAs(); command != "" {
		same = look.SameAs(command)
	}
	switch {
	case s.Typing():
		state = look.Dim(screen.FindHelp(look.Words))
	case s.wrong != "":
		state = look.Bad(" ! " + look.Words.Phrase("no answer: %s; what is shown is from before", look.Words.Text(s.wrong)))
	case s.At() == cachesPart && s.one != nil && s.one.Status.Error != "":
		state = look.Bad(" ! " + draw.Clean(s.one.Status.Error))
	case s.At() == watchersPart:
		if w := s.watcherUnder(); w != nil {
			state = " " + draw.Clean(strings.TrimSpace(selection(w)+"  "+w.UserAgent))
			if w.Behind {
				state += look.Bad("  ! " + look.Words.Phrase("behind: it takes its events out of the history, at its own pace"))
			}
		}
	}
	return same, state
}

// sameAs returns the command that shows the same.
func (s *Screen) sameAs() string {
	switch {
	case s.At() == cachesPart || s.want == "":
		return "kx cache ls"
	case s.At() == resultPart && s.stream != nil:
		if s.watched.path == "" {
			return ""
		}
		q := s.stream.start.query()
		q.Set("watch", "true")
		return shell.Line("kubectl", "get", "--raw", s.watched.path+"?"+q.Encode())
	case s.At() == resultPart && s.report != nil:
		return s.report.command
	}
	return shell.Line("kx", "cache", "get", s.want)
}
