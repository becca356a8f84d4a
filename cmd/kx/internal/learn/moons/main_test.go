package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// asMoons makes the test binary run as the program.
const asMoons = "KX_TEST_RUN_AS_MOONS"

func TestMain(m *testing.M) {
	if os.Getenv(asMoons) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestPage holds the program of the page against this one.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "docs", "own-storage.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.go", "storage.go"} {
		code, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, program, found := strings.Cut("\n"+string(code), "\npackage main\n") // the page itself says what the comment says
		if !found || !strings.Contains(string(page), "```go\npackage main\n"+program+"```\n") {
			t.Errorf("docs/own-storage.md does not have %s as it is", name)
		}
	}
}

// TestLesson compiles the program with the files that the lesson's solutions write. A method with other parameters than
// the interface has would compile, and be no verb.
func TestLesson(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "learn", "en", "26-own-storage.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"main.go": string(program), "verbs.go": `package main

import "github.com/kx-apiserver/kx/core/rest"

var (
	_ rest.GracefulDeleter = &moons{}
	_ rest.Patcher         = &moons{}
)
`}
	for _, file := range regexp.MustCompile(`(?s)cat > (\w+\.go) <<'EOF'\n(.*?)\nEOF\n`).FindAllStringSubmatch(string(page), -1) {
		files[file[1]] = file[2] // a solution comes after its starter
	}
	if len(files) != 5 {
		t.Fatalf("the lesson has other files than storage.go, delete.go and update.go: %d with the program's", len(files))
	}
	dir, args := t.TempDir(), []string{"build", "-o", os.DevNull}
	for name, code := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestProgram runs it as the page does.
func TestProgram(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "moons.kubeconfig")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--ephemeral", "--listen=127.0.0.1:0", "--initial-objects=false", "--kubeconfig-out", kubeconfig)
	cmd.Env = append(os.Environ(), asMoons+"=yes", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if lines := bufio.NewScanner(stdout); !lines.Scan() || !strings.HasPrefix(lines.Text(), "kx: serving https://127.0.0.1:") {
		t.Fatalf("it said %q", lines.Text())
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	moons := client.Resource(version.WithResource("moons"))
	io, err := moons.Get(t.Context(), "io", metav1.GetOptions{})
	if err != nil || io.GetKind() != "Moon" || io.Object["planet"] != "jupiter" {
		t.Errorf("%v, %v", io, err)
	}
	if _, err := moons.Get(t.Context(), "luna", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a moon that is not there: %v", err)
	}
	if err := moons.Delete(t.Context(), "io", metav1.DeleteOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("a verb that is not there: %v", err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
