package join

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestElsewhere(t *testing.T) {
	dir := t.TempDir()
	own, other := filepath.Join(dir, "kubeconfig"), filepath.Join(t.TempDir(), "other")
	link := filepath.Join(t.TempDir(), "link")
	for _, file := range []string{own, other} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		flag, variable string
		want           bool
	}{
		{"", "", false},
		{own, "", false},
		{dir + "/./kubeconfig", "", false},
		{link, "", false},
		{other, "", true},
		{"/does/not/exist", "", true},
		{"", own, false},
		{"", other, true},
		{"", own + string(filepath.ListSeparator) + other, true},
		{own, other, false},
		{other, own, true},
	} {
		t.Setenv("KUBECONFIG", test.variable)
		if got := SelectsOther(dir, test.flag); got != test.want {
			t.Errorf("--kubeconfig %q, KUBECONFIG %q: elsewhere: %v, want %v", test.flag, test.variable, got, test.want)
		}
	}
}

// TestUsers: who has left, or never was, is not named.
func TestUsers(t *testing.T) {
	dir := t.TempDir()
	f, err := openUsers(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := enter(f); err != nil {
		t.Fatal(err)
	}
	parent := os.Getppid()
	if _, err := fmt.Fprintf(f, "%d get\n%d get\n%d apply\nnonsense\n\n", 1<<30, parent, parent); err != nil {
		t.Fatal(err)
	}
	if got, want := usersOf(dir), []string{fmt.Sprintf("kx get (process %d)", parent)}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	f.Close()
	if f, err = openUsers(dir, true); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got := usersOf(dir); got != nil {
		t.Errorf("after the end: %q", got)
	}
}

// TestNobodyAnswers: what an earlier owner left behind is no server.
func TestNobodyAnswers(t *testing.T) {
	dir := t.TempDir()
	lock := filepath.Join(dir, "kx.lock")
	for _, text := range []string{"", "pid 1", "pid 1 https://127.0.0.1:1\n", "nonsense"} {
		if err := os.WriteFile(lock, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if place, err := JoinRunning(dir); !errors.Is(err, ErrNone) {
			t.Errorf("lock %q: %+v, %v", text, place, err)
		}
	}
	if _, err := Look(dir); err == nil || !strings.Contains(err.Error(), "kx serve") {
		t.Errorf("%v", err)
	}
	// Nobody is left in the list of users.
	f, err := openUsers(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
