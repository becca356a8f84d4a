package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// muxed is a program in a terminal of tmux.
type muxed struct {
	t      *testing.T
	socket string
}

// mux starts a command in a terminal of 120x40. When it has ended, its code is written and the terminal stays.
func mux(t *testing.T, command *exec.Cmd) *muxed {
	t.Helper()
	return muxOf(t, 120, 40, command)
}

// muxOf is mux with another size.
func muxOf(t *testing.T, w, h int, command *exec.Cmd) *muxed {
	t.Helper()
	program, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("there is no tmux")
	}
	m := &muxed{t: t, socket: filepath.Join(t.TempDir(), "tmux")}
	words := []string{"-S", m.socket, "-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "sh", "-c", `"$0" "$@"; echo "left with $?"; exec cat`}
	start := exec.Command(program, append(append(words, command.Path), command.Args[1:]...)...)
	start.Env = append(slices.DeleteFunc(command.Environ(), func(v string) bool { return strings.HasPrefix(v, "TMUX") }), "NO_COLOR=", "KX_THEME=dark", "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(program, "-S", m.socket, "kill-server").Run() })
	return m
}

// tell gives tmux a command.
func (m *muxed) tell(words ...string) string {
	m.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", m.socket}, words...)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v %s", words, err, out)
	}
	return string(out)
}

func (m *muxed) press(keys ...string) {
	m.t.Helper()
	for _, key := range keys {
		m.tell("send-keys", "--", key)
	}
}

// see waits until all texts are on the screen, and returns it.
func (m *muxed) see(texts ...string) string {
	m.t.Helper()
	late := time.Now().Add(patience)
	for {
		shown := m.tell("capture-pane", "-p")
		missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.Contains(shown, text) })
		if len(missing) == 0 {
			return shown
		}
		if time.Now().After(late) {
			m.t.Fatalf("%q are not on the screen:\n%s", missing, shown)
		}
		time.Sleep(20 * time.Millisecond) // tmux does not say when something changes
	}
}

// resize changes the size, and waits until the frame has it.
func (m *muxed) resize(w, h int, texts ...string) {
	m.t.Helper()
	m.tell("resize-window", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h))
	lines := strings.Split(strings.TrimSuffix(m.see(texts...), "\n"), "\n")
	if len(lines) > h {
		m.t.Errorf("at %dx%d there are %d lines", w, h, len(lines))
	}
	for _, line := range lines {
		if ansi.StringWidth(line) > w {
			m.t.Errorf("at %dx%d a line has %d cells: %s", w, h, ansi.StringWidth(line), line)
		}
	}
}

// TestTUIInATerminal walks through kx tui as a user does: from an empty list to the steps of a request, and out again.
func TestTUIInATerminal(t *testing.T) {
	t.Parallel()
	m := mux(t, kx(t, "tui", "--ephemeral", "--listen=127.0.0.1:0"))
	shown := m.see("1 Capture", "press T for a demo", "live")
	file := regexp.MustCompile(`KUBECONFIG=(\S+) kubectl`).FindStringSubmatch(shown)
	if file == nil {
		t.Fatalf("no kubeconfig is named:\n%s", shown)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file[1])
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("seen"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.see("default/seen", "201", "Steps")
	m.press("T")
	m.see("default/nightly", "the demo is there") // how many requests it took is up to the controller of definitions, too

	m.press("/")
	m.press("name:seen", "Enter")
	m.see("/ name:seen", "1 of 1")
	m.press("Enter", "g", "j", "d")
	m.see("[Diff]", "createHandler", "by the request")
	m.press("?")
	m.see("Keys in ")
	m.press("Escape")
	m.press(":", "the log", "Enter")
	m.see("[Log]")
	m.press("Escape")
	m.see("[1 Capture]")
	for _, name := range []string{"2 Send", "3 etcd", "4 Cache", "5 Structure", "1 Capture"} {
		m.press(name[:1])
		m.see("["+name+"]", "q quit")
	}

	m.resize(80, 24, "[1 Capture]", "q quit")
	m.resize(60, 15, "[1 Capture]", "q quit")
	m.resize(50, 10, "kx needs 60x15")
	m.resize(200, 50, "[1 Capture]", "q quit")
	m.resize(120, 40, "[1 Capture]", "q quit")

	m.press("q")
	m.see("left with 0")
	const clean = "0 1 0 0"
	if modes := strings.TrimSpace(m.tell("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_flag}")); modes != clean {
		t.Errorf("the terminal is left with %s, not with %s (alternate screen, cursor, mouse, keypad)", modes, clean)
	}
}
