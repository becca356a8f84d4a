package main

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/cmd/kx/internal/proc"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// asKX makes the test binary run as kx: the tests are of processes, and building another binary would take longer than
// they do.
const asKX = "KX_TEST_RUN_AS_KX"

// ofTheUser are the settings of whoever runs the tests. A test says itself what it needs of them.
var ofTheUser = []string{
	"XDG_CONFIG_HOME", "KUBECONFIG", "KUBECACHEDIR", "KUBE_EDITOR", "EDITOR", "VISUAL", "LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE", "NO_COLOR", themeVariable,
}

func TestMain(m *testing.M) {
	learnEnv = []string{asKX + "=yes", "GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE")}
	completeWait = patience
	if os.Getenv(asKX) != "" {
		main()
		os.Exit(0)
	}
	spoken := foreign()
	for _, name := range ofTheUser {
		os.Unsetenv(name)
	}
	if spoken {
		os.Exit(inEnglish())
	}
	proc.SendLogs(slog.NewTextHandler(os.Stderr, nil)) // before anything logs
	debug.SetGCPercent(100)                            // package atinit stopped the collector until main
	embedtest.AtOnce(6)
	os.Exit(m.Run())
}

// foreign says whether the environment wants another language than English.
func foreign() bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := os.Getenv(name); v != "" && !strings.HasPrefix(v, "C") && !strings.HasPrefix(v, "POSIX") && !strings.HasPrefix(v, "en") {
			return true
		}
	}
	return false
}

// inEnglish runs the tests in a process with this environment: kubectl has read its language before TestMain began.
func inEnglish() int {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	_ = cmd.Run() // its exit code says it
	return cmd.ProcessState.ExitCode()
}

// patience is how long a test waits for what must happen: with the race detector, each of the programs that it runs may take ten
// seconds on a machine that has much else to do.
const patience = 3 * time.Minute

// longest is how long a kx that does not end may run: a server is asked one question after the other.
const longest = 10 * time.Minute

func kx(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	temporary, err := os.MkdirTemp("", "kx") // a server that is killed leaves more than 100 MB there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temporary) })
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	// The race detector lets each process wait for a second before it ends, unless it is told not to.
	cmd.Env = append(os.Environ(), asKX+"=yes", "HOME="+t.TempDir(), "TMPDIR="+temporary, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	return cmd
}

// process is a kx serve that has said it is ready.
type process struct {
	*exec.Cmd
	kubeconfig string
	url        string
	stderr     *buffer

	wait func() error
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

var readyLine = regexp.MustCompile(`^kx: serving (https://\S+)  kubeconfig: (.+)$`)

// asUsual are the flags by which a server of a test is as any other.
var asUsual = []string{"--initial-objects", "--controllers=*"}

// serve starts kx serve on a free port and waits until it is ready.
func serve(t testing.TB, args ...string) *process {
	t.Helper()
	bare := []string{"serve", "--listen=127.0.0.1:0", "--initial-objects=false"}
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--controllers") }) {
		bare = append(bare, "--controllers=*,-serviceaccount,-root-ca-cert-publisher") // so that what is there is what the test made
	}
	p := &process{Cmd: kx(t, append(bare, args...)...), stderr: &buffer{}}
	p.Stderr = p.stderr
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.wait = sync.OnceValue(p.Cmd.Wait)
	t.Cleanup(func() {
		_ = p.Process.Kill()
		ended := p.wait()
		if said := p.stderr.String(); t.Failed() {
			t.Logf("the server at %s (%v) said: %s", p.url, ended, said[max(0, len(said)-4000):])
		}
	})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		_ = p.wait()
		t.Fatalf("kx serve ended without being ready: %s", p.stderr)
	}
	match := readyLine.FindStringSubmatch(lines.Text())
	if match == nil {
		t.Fatalf("kx serve said %q", lines.Text())
	}
	p.url, p.kubeconfig = match[1], match[2]
	return p
}

func (p *process) client(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestVersion(t *testing.T) {
	t.Parallel()
	out, err := kx(t, "version").Output()
	if err != nil || !regexp.MustCompile(`^kx \S+, Kubernetes v1\.37\.\d+\+kx, go\S+ \S+/\S+\n$`).Match(out) {
		t.Errorf("%q, %v", out, err)
	}
	out, err = kx(t, "version", "-o", "json").Output()
	if err != nil || !strings.Contains(string(out), `"minor": "37"`) {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := kx(t, "version", "-o", "xml").CombinedOutput(); err == nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%q, %v", out, err)
	}
}
