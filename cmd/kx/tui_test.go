package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/tui"
)

func newTUIOptions(show func(context.Context, tui.Options) error) *tuiOptions {
	o := &tuiOptions{server: options.New(), theme: "dark", show: show}
	o.server.InitialObjects = false
	o.server.Listen = "127.0.0.1:0"
	return o
}

// TestTUI has a server and its screen, sends a request, and looks at its steps.
func TestTUI(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	shown := false
	o := newTUIOptions(func(ctx context.Context, screen tui.Options) error {
		shown = true
		return lookAtCreate(ctx, t, screen)
	})
	o.server.Ephemeral = true
	if err := runTUI(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if !shown {
		t.Error("no screen was shown")
	}
	if left, _ := filepath.Glob(tmp + "/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func lookAtCreate(ctx context.Context, t *testing.T, screen tui.Options) error {
	var started tui.Server
	start := screen.Start
	screen.Start = func(ctx context.Context) (s tui.Server, err error) {
		started, err = start(ctx)
		return started, err
	}
	s, err := tui.New(ctx, screen, io.Discard)
	if err != nil {
		return err
	}
	tm := teatest.NewTestModel(t, s.Model(), teatest.WithInitialTermSize(120, 40))
	output := &buffer{} // all that was written: what is seen stays seen
	see := func(text string) {
		t.Helper()
		teatest.WaitFor(t, io.TeeReader(tm.Output(), output), func([]byte) bool { return strings.Contains(output.String(), text) }, teatest.WithDuration(patience))
	}
	see("kubectl create configmap demo")
	see("press T for a demo")
	client, err := kubernetes.NewForConfig(started.Config)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("seen"), metav1.CreateOptions{}); err != nil {
		return err
	}
	see("KV.Txn") // its steps are there without a key
	tm.Send(tea.KeyMsg{Type: tea.KeyEnter})
	tm.Type("g")
	see("createHandler")
	tm.Type("d")
	see("[Diff]")
	tm.Type("/verb:create name:seen")
	tm.Send(tea.KeyMsg{Type: tea.KeyEnter})
	see("/ verb:create name:seen")
	tm.Type("q")
	tm.WaitFinished(t, teatest.WithFinalTimeout(patience))
	frame := tm.FinalModel(t).View()
	for _, want := range []string{"verb:create name:seen", "[Diff]", "q quit"} {
		if !strings.Contains(frame, want) {
			t.Errorf("%q is not on the screen:\n%s", want, frame)
		}
	}
	return s.Close()
}

// TestTUIFollows follows a server that runs in another process: by its kubeconfig, and because it owns the data directory.
func TestTUIFollows(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, "--data-dir", dir)
	shown := 0
	show := func(ctx context.Context, screen tui.Options) error {
		shown++
		s, err := screen.Start(ctx)
		if err != nil || s.InProcess || s.Config.Host != p.url || s.Kubeconfig != p.kubeconfig {
			t.Errorf("the screen is of %+v, %v", s, err)
		}
		return nil
	}
	second := newTUIOptions(show)
	second.server.DataDir = dir
	if err := runTUI(context.Background(), second); err != nil {
		t.Error(err)
	}
	o := newTUIOptions(show)
	o.kubeconfig = p.kubeconfig
	if err := runTUI(context.Background(), o); err != nil || shown != 2 {
		t.Error(err, shown)
	}
	o.kubeconfig = "/does/not/exist"
	if err := runTUI(context.Background(), o); err == nil || !strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("a kubeconfig that is not there: %v", err)
	}
}

// TestTUIElsewhere starts the screen's own server where another process has the usual address.
func TestTUIElsewhere(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	busy := other.Addr().String()
	o := newTUIOptions(func(ctx context.Context, screen tui.Options) error {
		s, err := screen.Start(ctx)
		if err != nil {
			return err
		}
		if !strings.Contains(s.Note, busy) || !strings.Contains(s.Note, s.Config.Host) {
			t.Errorf("the note of %s is %q", s.Config.Host, s.Note)
		}
		client, err := kubernetes.NewForConfig(s.Config)
		if err == nil {
			_, err = client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		}
		return err
	})
	o.server.Listen, o.server.DataDir = busy, t.TempDir()
	if err := runTUI(t.Context(), o); err == nil || !strings.Contains(err.Error(), "choose another address") {
		t.Errorf("an address that was asked for is busy: %v", err)
	}
	o.anyPort = true
	if err := runTUI(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// TestTUIReads looks at a capture, without a server.
func TestTUIReads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kx.ndjson")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := capture.NewWriter(f, "https://elsewhere", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i := range tui.SavedMost + 2 {
		if err := w.Write(&v1alpha1.Journey{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("j-", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	o := newTUIOptions(func(_ context.Context, screen tui.Options) error {
		s := screen.Saved
		if screen.Start != nil || s == nil || s.File != file || len(s.Journeys) != tui.SavedMost || s.Dropped != 2 || s.Journeys[0].Name != "j-2" {
			t.Errorf("%+v", screen)
		}
		return nil
	})
	o.saved = file
	if err := runTUI(context.Background(), o); err != nil {
		t.Error(err)
	}
	few, err := readSaved(file, 10*capture.Size(&v1alpha1.Journey{ObjectMeta: metav1.ObjectMeta{Name: "j-10000"}}))
	if n := tui.SavedMost + 2; err != nil || len(few.Journeys) != 10 || few.Dropped != n-10 || few.Journeys[9].Name != fmt.Sprint("j-", n-1) {
		t.Errorf("with memory for ten: %d journeys, %d dropped, %v", len(few.Journeys), few.Dropped, err)
	}
	for _, file := range []string{"/does/not/exist", "tui_test.go"} {
		o.saved = file
		if err := runTUI(context.Background(), o); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestTUIRefuses(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"tui", "needs a terminal"},
		{"tui --kubeconfig x --ephemeral", "kubeconfig"},
		{"tui -r x --data-dir y", "read"},
		{"tui now", "now"},
	} {
		out, err := kx(t, strings.Fields(test.args)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), test.want) {
			t.Errorf("kx %s: %v %q", test.args, err, out)
		}
	}
	if err := runTUI(context.Background(), &tuiOptions{theme: "pink"}); err == nil || !strings.Contains(err.Error(), "light") {
		t.Errorf("a theme that is not there: %v", err)
	}
}

// TestContextOfKubeconfig: --context selects a context, and one that is not there is refused with those that are near.
func TestContextOfKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"home","clusters":[{"name":"a","cluster":{"server":"https://a:1"}},` +
		`{"name":"b","cluster":{"server":"https://b:2"}}],"contexts":[{"name":"home","context":{"cluster":"a"}},{"name":"class","context":{"cluster":"b"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "https://a:1", "class": "https://b:2"} {
		if config, used, err := clientOf(file, name); err != nil || config.Host != want || used != file {
			t.Errorf("%q: %+v, %q, %v", name, config, used, err)
		}
	}
	if _, _, err := clientOf(file, "clas"); err == nil || !strings.Contains(err.Error(), "it has class") {
		t.Errorf("a context that is not there: %v", err)
	}
}
