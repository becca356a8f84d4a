package shell

import (
	"os/exec"
	"strings"
	"testing"
)

// TestShell lets a shell read what was written for it.
func TestShell(t *testing.T) {
	words := []string{"", "a", "a b", "it's", `"$HOME"`, "`id`", "!x", "~", "a\nb", "*", "a=b", "#c", "{a,b}", `\`, "-n", "ü"}
	out, err := exec.Command("sh", "-c", "printf '%s\\0' "+Line(words...)).Output()
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || strings.Join(got, "|") != strings.Join(words, "|") {
		t.Errorf("%v: %q, want %q", err, got, words)
	}
	for _, text := range []string{"", "a\n", "$x `y` \\ 'z'\n", "EOF\nEOF1\n", "no newline"} {
		out, err := exec.Command("sh", "-c", Heredoc("cat", text)).Output()
		if err != nil || strings.TrimSuffix(string(out), "\n") != strings.TrimSuffix(text, "\n") {
			t.Errorf("%v: %q, want %q", err, out, text)
		}
	}
}

func TestLine(t *testing.T) {
	if got := Line("curl", "-H", "A: b", "https://x/y?z=1&a=2"); got != "curl -H 'A: b' 'https://x/y?z=1&a=2'" {
		t.Error(got)
	}
}
