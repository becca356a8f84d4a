package shell

import (
	"fmt"
	"slices"
	"strings"
)

// Line joins words so that a shell reads each of them unchanged.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Quote quotes text as one word.
func Quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Option reports whether a program may read a word as an option where it expects a name.
func Option(word string) bool { return strings.HasPrefix(word, "-") }

// special reports whether a character may have a meaning to a shell.
func special(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,@%+=", r))
}

// Heredoc passes text to a command as its input. It adds a missing newline at the end.
func Heredoc(command, text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	end := "EOF"
	for i := 1; slices.Contains(strings.Split(text, "\n"), end); i++ {
		end = fmt.Sprintf("EOF%d", i)
	}
	return fmt.Sprintf("%s <<'%s'\n%s%s", command, end, text, end)
}
