package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/docs"
	"github.com/kx-apiserver/kx/store/embedded"
)

// TestEtcdScripts runs the scripts of testdata/etcd: commands as a user types them, on real etcds and files. -rewrite
// makes their outputs anew.
func TestEtcdScripts(t *testing.T) { runScripts(t, "etcd") }

// TestStorageScripts runs those of testdata/storage.
func TestStorageScripts(t *testing.T) { runScripts(t, "storage") }

func runScripts(t *testing.T, dir string) {
	t.Parallel()
	rewrite := flag.Lookup("rewrite")
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", dir),
		UpdateScripts: rewrite != nil && rewrite.Value.String() == "true",
		Setup: func(env *testscript.Env) error {
			env.Values[runningKey] = running{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"kx":      scriptKX,
			"exits":   scriptExits,
			"healthy": scriptHealthy,
			"etcd":    scriptEtcd,
			"clean":   scriptClean,
		},
	})
}

// scriptKX is "kx ARGS…"; with "!" it has to fail.
func scriptKX(ts *testscript.TestScript, fails bool, args []string) {
	if code := runEtcd(ts, ts.Stdout(), args); (code != 0) != fails {
		ts.Fatalf("kx %s ended with %d", strings.Join(args, " "), code)
	}
}

// scriptExits is "exits CODE kx ARGS…".
func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if code := runEtcd(ts, ts.Stdout(), args[2:]); code != want {
		ts.Fatalf("kx %s ended with %d", strings.Join(args[2:], " "), code)
	}
}

var unhealthy = regexp.MustCompile(`(?m)^(warning|problem) +(\w+)`)

// scriptHealthy is "healthy kx etcd doctor ARGS…": it finds nothing wrong but the latency, which a busy machine has.
func scriptHealthy(ts *testscript.TestScript, _ bool, args []string) {
	var printed strings.Builder
	code := runEtcd(ts, io.MultiWriter(ts.Stdout(), &printed), args[1:])
	found := unhealthy.FindAllStringSubmatch(printed.String(), -1)
	slow := len(found) == 1 && found[0][2] == "latency"
	if code == 0 && len(found) > 0 || code != 0 && !slow {
		ts.Fatalf("kx %s ended with %d and found %v", strings.Join(args[1:], " "), code, found)
	}
}

// runEtcd runs kx with these groups of commands alone: scripts run at once, and not all of kubectl's commands can be made at
// once in one process.
func runEtcd(ts *testscript.TestScript, out io.Writer, args []string) int {
	streams := kubectl.Streams{In: strings.NewReader(""), Out: out, ErrOut: ts.Stderr()}
	root := &cobra.Command{Use: "kx", SilenceErrors: true, SilenceUsage: true}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.AddCommand(newEtcdCommand(), newStorageCommand())
	checkUse(root)
	return execute(context.Background(), root, args, streams)
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
	t.Parallel()
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

// TestRestoreObject puts objects of a snapshot back into a server that lost them.
func TestRestoreObject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, "--data-dir", dir)
	ctx := context.Background()
	core := p.client(t).CoreV1()
	if _, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	maps := core.ConfigMaps("shop")
	create := func(name string, owner *corev1.ConfigMap) *corev1.ConfigMap {
		t.Helper()
		cm := configMap(name)
		if owner != nil {
			cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
		}
		made, err := maps.Create(ctx, cm, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	owner := create("owner", nil)
	create("a-owned", owner)
	create("z-stays", nil)
	create("lost", create("other", nil))
	snapshot := filepath.Join(dir, "s.db")
	kxEtcd := func(args ...string) (string, error) {
		cmd := kx(t, append([]string{"etcd"}, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := kxEtcd("snapshot", "save", snapshot, "--data-dir", dir); err != nil {
		t.Fatal(out, err)
	}
	for _, name := range []string{"a-owned", "owner", "lost", "other"} {
		if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	out, err := kxEtcd("restore-object", "--file", snapshot, "--kubeconfig", p.kubeconfig, "configmaps/shop/a-owned", "configmaps/shop/owner", "configmaps/shop/z-stays", "configmaps/shop/lost")
	if err != nil {
		t.Fatal(out, err)
	}
	for _, want := range []string{`shop +owner +created`, `shop +a-owned +created`, `shop +z-stays +exists`, `shop +lost +created +its owner ConfigMap other is gone`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	live, err := maps.Get(ctx, "owner", metav1.GetOptions{})
	if err != nil || live.UID == owner.UID || live.Data["key"] != "value" {
		t.Fatalf("%+v, %v", live, err)
	}
	owned, err := maps.Get(ctx, "a-owned", metav1.GetOptions{})
	if err != nil || len(owned.OwnerReferences) != 1 || owned.OwnerReferences[0].UID != live.UID {
		t.Errorf("%+v, %v", owned, err)
	}
	if out, err := kxEtcd("restore-object", "--file", snapshot, "--kubeconfig", p.kubeconfig, "-n", "shop", "-o", "json"); err != nil || strings.Count(out, `"exists"`) != 5 {
		t.Errorf("the namespace: %v %s", err, out)
	}
	if out, err := kxEtcd("restore-object", "--file", snapshot, "--kubeconfig", p.kubeconfig, "-n", "none"); err == nil || !strings.Contains(out, "nothing to restore") {
		t.Errorf("another namespace: %v %s", err, out)
	}
	if out, err := kxEtcd("restore-object", "configmaps"); err == nil || !strings.Contains(out, "Give --file") {
		t.Errorf("without a file: %v %s", err, out)
	}
}

// TestEtcdHelp wants an example in the help of everything that does something, and its name in the page of its group.
func TestEtcdHelp(t *testing.T) {
	text, err := fs.ReadFile(docs.Files, "etcd.md")
	if err != nil {
		t.Fatal(err)
	}
	storage, err := fs.ReadFile(docs.Files, "storage.md")
	if err != nil {
		t.Fatal(err)
	}
	for page, group := range map[string]*cobra.Command{string(text): newEtcdCommand(), string(storage): newStorageCommand()} {
		for _, cmd := range group.Commands() {
			if !strings.Contains(page, cmd.Name()) {
				t.Errorf("the page of kx %s does not have %s", group.Name(), cmd.Name())
			}
		}
	}
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
	look(newStorageCommand())
}

// TestEtcdOfEmptyFlags: a flag that names an etcd with nothing does not select that of the data directory.
func TestEtcdOfEmptyFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"etcd", "ls", "--endpoints="}, {"etcd", "ls", "--file="}, {"etcd", "compact", "--endpoints="}, {"etcd", "members", "--endpoints", ""},
	} {
		out, err := kx(t, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), " is empty: leave it out to use the etcd of --data-dir") {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
}
