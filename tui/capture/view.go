package capture

import (
	"os"
	"strings"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/shell"
)

// phrase translates a text.
func (s *Screen) phrase(english string, values ...any) string {
	return s.host.Theme().Words.Phrase(english, values...)
}

func (s *Screen) Facts() []string {
	look := s.host.Theme()
	facts := s.heldFacts()
	switch s.state.Phase {
	case session.Live:
		facts = append(facts, look.Good(s.phrase("live")))
	case session.Connecting:
		facts = append(facts, look.Notice(s.phrase("connecting")))
	case session.AsSaved:
		facts = append(facts, look.Notice(s.phrase("saved")))
	case session.Retrying:
		facts = append(facts, look.Bad("! "+s.phrase("no answer")))
	case session.Foreign:
		return append(facts, look.Bad("! "+s.phrase("no kx")))
	}
	if s.applied != "" { // the server does not report how many more there are
		return append(facts, s.phrase("matching %d", s.ring.Len()))
	}
	return append(facts, s.phrase("REC %d", s.ring.Len()))
}

func (s *Screen) filterLine() string {
	look := s.host.Theme()
	w, _ := s.Size()
	if s.Typing() {
		_, err := s.parseFilter()
		verdict := look.Good(s.phrase("ok"))
		if err != nil {
			verdict = look.Bad("! " + s.phrase("error"))
		}
		verdict = " " + verdict + " "
		return " / " + s.Line().View(w-3-draw.Width(verdict)) + verdict
	}
	left := look.Dim(" / " + s.phrase("all requests"))
	missing := s.missing()
	if missing != "" && w < layout.Narrow {
		left = " /"
	}
	if n := s.ring.Folded(); n > 0 {
		left += look.Dim("   " + s.phrase("%d of clients' discovery hidden: %s shows them", n, keys.Hidden.Key()))
	}
	if s.applied != "" {
		left = " / " + s.applied
		if s.At() == layout.List && !s.Zoomed() {
			left += look.Dim("   " + s.phrase("esc shows all"))
		}
	}
	left += missing
	follow := s.phrase("follow off")
	if s.list.Following() {
		follow = s.phrase("follow on")
	} else if n := s.list.Newer(); n > 0 {
		follow = look.Notice(s.phrase("%d newer", n)) + " · " + look.Key(keys.Follow.Key())
	}
	return draw.Ends(left, follow+" ", w)
}

// missing tells which requests are not in the list, and why.
func (s *Screen) missing() string {
	text := ""
	if n := s.ring.LeftOut; n > 0 {
		text += "   " + s.phrase("%d left out: too many at once", n)
	}
	if n := s.ring.Dropped; n > 0 {
		text += "   " + s.phrase("%d dropped: the newest are kept", n)
	}
	if text == "" {
		return ""
	}
	return s.host.Theme().Notice(text)
}

func (s *Screen) Foot() (same, state string) {
	look := s.host.Theme()
	if s.Typing() {
		return s.caretLine(), s.filterState()
	}
	if row, command := s.sameAs(); command != "" {
		same = look.Dim(" "+s.phrase("same as")+"  ") + command
	} else if row != nil {
		same = look.Dim(" "+row.Spec.Method+" ") + row.Spec.URI
	}
	if state = s.pausedState(); state == "" && s.Context() == keys.Steps && s.open.journey != nil {
		state = s.legend()
	}
	if s.state.Phase == session.Retrying {
		state = look.Bad(" ! " + s.phrase("trying again: %s", draw.Clean(s.state.Reason)))
	}
	return same, state
}

// legend explains the letters above the lanes.
func (s *Screen) legend() string {
	w, _ := s.Size()
	var parts []draw.Part
	for i, letter := range steps.Lanes {
		parts = append(parts, draw.Part{Text: "  " + s.host.Theme().Lanes[i](string(letter)) + " " +
			s.host.Theme().Words.Text(steps.LaneName(i)), Weight: len(steps.Lanes) - i})
	}
	return draw.JoinFitting(w,
		append([]draw.Part{{Text: s.host.Theme().Dim(" " + s.phrase("lanes") + " "), Weight: len(steps.Lanes) + 1}}, parts...)...)
}

// caretLine marks the place of the typed filter's error.
func (s *Screen) caretLine() string {
	look := s.host.Theme()
	_, err := s.parseFilter()
	if err == nil {
		if s.Line().String() == "" {
			return look.Dim(" " + s.phrase("nothing: all requests"))
		}
		return ""
	}
	runes := []rune(s.Line().String())
	at := min(max(err.Column-1, 0), len(runes))
	text := " " + s.phrase("column %d:", err.Column) + " "
	rest := string(runes[at:])
	if rest == "" {
		rest = s.phrase("the end")
	}
	return look.Bad(text) + string(runes[:at]) + look.Bad("▶"+rest)
}

// filterState describes the error of the typed filter, or else its possible continuations.
func (s *Screen) filterState() string {
	look := s.host.Theme()
	found := s.candidates()
	word := s.completionPlace().Word
	values := s.values()
	_, err := s.parseFilter()
	// An unfinished filter is no mistake as long as it can be continued.
	unfinished := err != nil && err.Column > len([]rune(s.Line().String()))
	if unfinished && word != "" && len(values)+len(found) > 0 {
		err = nil
	}
	switch {
	case len(values) > 0 && (err == nil || word == "" || err.Unknown != nil) && (len(values) > 1 || values[0] != word):
		return look.Dim(" "+s.phrase("values:")+" ") + draw.Clean(strings.Join(values, " "))
	case err != nil:
		return look.Bad(" " + screen.FilterProblem(look.Words, err))
	case len(found) == 1:
		f := found[0]
		return " " + f.Name + ": " + look.Words.Text(f.Help) + look.Dim("  "+s.phrase("such as %s", f.Example))
	case len(found) > 1:
		var names []string
		for _, f := range found {
			names = append(names, f.Name)
		}
		return look.Dim(" "+s.phrase("fields:")+" ") + strings.Join(names, " ")
	}
	return look.Dim(" " + s.phrase("fields:") + " " + fieldNames())
}

// shellPath writes a path for a shell, shorter where it is in the user's home.
func shellPath(path string) string {
	if home, err := os.UserHomeDir(); err == nil {
		if rest, ok := strings.CutPrefix(path, home+"/"); ok && shell.Quote(rest) == rest {
			return "~/" + rest
		}
	}
	return shell.Quote(path)
}
