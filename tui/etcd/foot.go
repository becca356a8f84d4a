package etcd

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
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
	case s.unfollowed != "" && s.at == 0:
		state = look.Bad(" ! " + look.Words.Phrase("not followed: %s; %s reads all again",
			look.Words.Text(s.unfollowed), keys.Refresh.Key()))
	default:
		state = s.describeKey()
	}
	return same, state
}

// describeKey describes the key under the cursor in a line.
func (s *Screen) describeKey() string {
	r, ok := s.selectedRow()
	if s.At() == keysPart && ok && r.kind == keyRow && r.node.directory() {
		return " " + draw.Clean(r.node.key())
	}
	at := s.revisionUnder()
	if at == nil {
		return ""
	}
	words := []string{" " + draw.Clean(s.chosen.key), s.host.Theme().Words.Phrase("revision %d", at.Revision)}
	if at.Lease != "" {
		words = append(words, "lease "+draw.Clean(at.Lease))
	}
	if v := s.chosen.values[at.Revision]; v != nil && v.key.Status.Value != nil {
		if text := codec(v.key.Status.Value); text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, "  ")
}

// sameAs returns the command that shows the same.
func (s *Screen) sameAs() string {
	words := []string{"kx", "etcd"}
	r, ok := s.selectedRow()
	directory := s.At() == keysPart && (!ok || r.node.directory())
	at := s.revisionAt()
	key := ""
	if s.chosen != nil {
		key = s.chosen.key
	}
	switch {
	case directory && ok && r.node.parent != nil:
		words = append(words, "ls", r.node.exact())
	case directory:
		words = append(words, "ls")
	case key == "":
		return ""
	case s.At() == revisionsPart:
		return shell.Line(append(words, "history", key)...)
	case s.At() == valuePart && s.form == formDiff:
		if base, ok := s.base(); ok {
			return shell.Line(append(words, "diff", fmt.Sprint(base), fmt.Sprint(at), key)...)
		}
		return shell.Line(append(words, "history", "--diff", key)...)
	case s.At() == valuePart && at > 0:
		return shell.Line(append(words, "get", key, "--rev", fmt.Sprint(at), "-o", s.form.String())...)
	default:
		words = append(words, "get", key)
	}
	if s.at > 0 {
		words = append(words, "--rev", fmt.Sprint(s.at))
	}
	return shell.Line(words...)
}
