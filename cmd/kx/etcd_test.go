package main

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/store/embedded"
)

// TestEtcdScripts runs the scripts of testdata/etcd: commands as a user types them, on real etcds and files. -rewrite
// makes their outputs anew.
func TestEtcdScripts(t *testing.T) {
	rewrite := flag.Lookup("rewrite")
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "etcd"),
		UpdateScripts: rewrite != nil && rewrite.Value.String() == "true",
		Setup: func(env *testscript.Env) error {
			env.Values[runningKey] = running{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"kx":    scriptKX,
			"exits": scriptExits,
			"etcd":  scriptEtcd,
			"clean": scriptClean,
		},
	})
}

// scriptKX is "kx ARGS…"; with "!" it has to fail.
func scriptKX(ts *testscript.TestScript, fails bool, args []string) {
	if code := run(context.Background(), args, streamsOf(ts)); (code != 0) != fails {
		ts.Fatalf("kx %s ended with %d", strings.Join(args, " "), code)
	}
}

// scriptExits is "exits CODE kx ARGS…".
func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if code := run(context.Background(), args[2:], streamsOf(ts)); code != want {
		ts.Fatalf("kx %s ended with %d", strings.Join(args[2:], " "), code)
	}
}

func streamsOf(ts *testscript.TestScript) kubectl.Streams {
	return kubectl.Streams{In: strings.NewReader(""), Out: ts.Stdout(), ErrOut: ts.Stderr()}
}

// running are a script's etcds by their directories.
type running map[string]*embedded.Server

var runningKey = struct{ name string }{"etcds"}

// scriptEtcd is "etcd start DIR" and "etcd stop DIR": an etcd as kx serve has it.
func scriptEtcd(ts *testscript.TestScript, _ bool, args []string) {
	all, _ := ts.Value(runningKey).(running)
	dir := ts.MkAbs(args[1])
	switch args[0] {
	case "start":
		server, err := embedded.Start(context.Background(), embedded.Config{
			Dir: filepath.Join(dir, "etcd"), Ephemeral: true, Logger: slog.New(slog.DiscardHandler),
			Socket: filepath.Join(dir, embedded.SocketName),
		})
		ts.Check(err)
		ts.Defer(server.Close)
		all[dir] = server
	case "stop":
		all[dir].Close()
	}
}

var (
	times = regexp.MustCompile(`\d{8}T\d{6}\.\d{3}`)
	paths = regexp.MustCompile(`(unix://)?/\S*/(script-\w+)/`)
)

// scriptClean is "clean FILE": what differs from run to run is taken out of it.
func scriptClean(ts *testscript.TestScript, _ bool, args []string) {
	text := times.ReplaceAllString(ts.ReadFile(args[0]), "TIME")
	_, err := ts.Stdout().Write([]byte(paths.ReplaceAllString(text, "$$WORK/")))
	ts.Check(err)
}

// TestEtcdOfServe looks below a kx serve that runs in another process.
func TestEtcdOfServe(t *testing.T) {
	dir := t.TempDir()
	c := serve(t, "--data-dir", dir).client(t)
	ctx := context.Background()
	created, err := c.CoreV1().ConfigMaps("default").Create(ctx, configMap("seen"), metav1.CreateOptions{FieldManager: "first"})
	if err != nil {
		t.Fatal(err)
	}
	created.Data["key"] = "changed"
	if _, err := c.CoreV1().ConfigMaps("default").Update(ctx, created, metav1.UpdateOptions{FieldManager: "second"}); err != nil {
		t.Fatal(err)
	}
	etcd := func(args ...string) string {
		t.Helper()
		cmd := kx(t, append([]string{"etcd", "--data-dir", dir}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("kx etcd %s: %v: %s", strings.Join(args, " "), err, &stderr)
		}
		return string(out)
	}
	for want, args := range map[string][]string{
		"key: changed":         {"get", "configmaps/default/seen"},
		"ConfigMap  protobuf":  {"get", "configmaps/default/seen", "-o", "table"},
		"second":               {"history", "configmaps/default/seen"},
		"manager: first":       {"get", "configmaps/default/seen", "--rev", "-0"},
		"/registry/namespaces": {"top", "--by", "object"},
	} {
		if out := etcd(args...); !strings.Contains(out, want) {
			t.Errorf("kx etcd %v: %q is not in:\n%s", args, want, out)
		}
	}
	etcd("patch", "configmaps/default/seen", "-p", `{"data":{"key":"below"}}`, "--yes", "--undo-file", filepath.Join(dir, "undo.json"))
	// The API server sees it, in its watch cache too.
	until(t, "a read sees what was written below", func() bool {
		got, err := c.CoreV1().ConfigMaps("default").Get(ctx, "seen", metav1.GetOptions{})
		return err == nil && got.Data["key"] == "below"
	})
	etcd("undo", filepath.Join(dir, "undo.json"), "--yes", "--undo-file", filepath.Join(dir, "redo.json"))
	got, err := c.CoreV1().ConfigMaps("default").Get(ctx, "seen", metav1.GetOptions{})
	if err != nil || got.Data["key"] != "changed" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestEtcdHelp wants an example in the help of everything that does something.
func TestEtcdHelp(t *testing.T) {
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(newEtcdCommand())
}
