package kubectl

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// asKubectl makes the test binary run as kubectl.
const asKubectl = "KX_TEST_RUN_AS_KUBECTL"

func TestMain(m *testing.M) {
	if os.Getenv(asKubectl) != "" {
		if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
			util.CheckErr(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// machine is a home with a kubeconfig, and the two programs.
type machine struct {
	home, kx string
	// url is where the server is, if it is a kx.
	url string
}

// answer is all that a program says.
type answer struct {
	out, err string
	code     int
}

func (m *machine) run(t *testing.T, program string, args ...string) answer {
	t.Helper()
	var out, errOut bytes.Buffer
	c := exec.CommandContext(t.Context(), program, args...)
	c.Env = append(os.Environ(), "HOME="+m.home, "KUBECONFIG="+filepath.Join(m.home, "kubeconfig"), "LANG=C", "KUBE_EDITOR=sed -i s/web:2/web:7/", asKubectl+"=yes")
	c.Stdout, c.Stderr, c.Dir = &out, &errOut, m.home
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return answer{out.String(), errOut.String(), c.ProcessState.ExitCode()}
}

func (m *machine) kubectl(t *testing.T, args ...string) answer { return m.run(t, os.Args[0], args...) }

var readyLine = regexp.MustCompile(`^kx: serving (https://\S+)  kubeconfig: (.+)$`)

// build builds kx.
func build(t *testing.T) string {
	t.Helper()
	kx := filepath.Join(t.TempDir(), "kx")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", kx, ".")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build kx: %v\n%s", err, out)
	}
	return kx
}

// serve starts a kx that keeps nothing.
func serve(t *testing.T, kx string, flags ...string) *machine {
	t.Helper()
	m := &machine{home: t.TempDir(), kx: kx}
	args := append([]string{"serve", "--ephemeral", "--listen=127.0.0.1:0", "--kubeconfig-out", filepath.Join(m.home, "kubeconfig")}, flags...)
	c := exec.Command(kx, args...)
	c.Env = append(os.Environ(), "HOME="+m.home)
	var errOut bytes.Buffer
	c.Stderr = &errOut
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	})
	lines := bufio.NewScanner(out)
	lines.Scan()
	ready := readyLine.FindStringSubmatch(lines.Text())
	if ready == nil {
		t.Fatalf("kx serve is not ready: %s", &errOut)
	}
	m.url = ready[1]
	return m
}

// files are what formats read their templates from.
var files = map[string]string{
	"columns":  "NAME          VERSION\nmetadata.name metadata.resourceVersion\n",
	"template": "{{range .items}}{{.metadata.name}} {{end}}\n",
	"path":     "{range .items[*]}{.metadata.name}{\"\\n\"}{end}",
}

// formats are all that get has, and flags that change what a table shows.
var formats = []string{
	"", "-o wide", "-o name", "-o json", "-o yaml", "-o kyaml", "-o json --show-managed-fields", "-o yaml --show-managed-fields",
	"-o jsonpath={.items[*].metadata.name}", "-o jsonpath-as-json={.items[*].metadata}", "-o jsonpath-file=path",
	"-o go-template={{range.items}}{{.metadata.uid}}{{end}}", "-o template --template={{.kind}}", "-o go-template-file=template",
	"-o templatefile --template=template", "-o custom-columns=N:.metadata.name,V:.metadata.resourceVersion", "-o custom-columns-file=columns",
	"--show-labels", "--no-headers", "-L l --show-kind", "--sort-by=.metadata.name", "--chunk-size=1", "-l l=1 -o name",
	"--field-selector=metadata.name=a", "--output-watch-events -w=false", "-o nonsense", "-o jsonpath={.items[",
}

// what is got: lists and single ones, built in and custom, several at once, and what is not there.
var what = []string{
	"cm", "cm a", "cm/a secret/s", "cm,secret,deployments.apps,svc,rs,sa", "ns", "crontabs", "ct mine", "crd", "all", "cm nobody",
	"cm nobody --ignore-not-found", "nonsense", "cm -A", "cm -n empty", "ev", "deploy/web --subresource=scale", "--raw=/api/v1/namespaces/default/configmaps/a", "--raw=/none",
}

// TestSameBytes compares every format of everything.
func TestSameBytes(t *testing.T) {
	m := serve(t, build(t))
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(m.home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"create -f " + data + "/crontabs.yaml", "create configmap a --from-literal=k=v", "create configmap b", "label cm a l=1", "create ns empty",
		"create secret generic s --from-literal=k=v", "create deployment web --image=nginx --replicas=2", "create service clusterip svc --tcp=80",
		"wait --for=condition=Established crd --all", "create -f " + data + "/crontab.yaml",
	} {
		if a := m.kubectl(t, strings.Fields(line)...); a.code != 0 {
			t.Fatalf("kubectl %s: %+v", line, a)
		}
	}
	if a, want := m.kubectl(t, "get", "cm", "a", "-o", "name"), (answer{out: "configmap/a\n"}); a != want {
		t.Fatalf("kubectl get: %+v, want %+v", a, want)
	}
	// Both ask the server, and neither is alone with it: a few at a time.
	var asking sync.WaitGroup
	asks := make(chan []string)
	for range 4 {
		asking.Go(func() {
			for args := range asks {
				m.compare(t, args)
			}
		})
	}
	for _, w := range what {
		for _, format := range formats {
			asks <- slices.Concat([]string{"get"}, strings.Fields(w), strings.Fields(format))
		}
	}
	close(asks)
	asking.Wait()
}

// age is how old an object was, with the spaces after it.
var age = regexp.MustCompile(`\b\d+[smh](\d+[smh])? *`)

// compare gets the same with both. An age may be more in the second of two: then it is that of the next try. On a machine so busy
// that each takes more than a second no try has the same; then ages alone may differ.
func (m *machine) compare(t *testing.T, args []string) {
	var kx, kubectl answer
	for range 3 {
		kubectl = m.kubectl(t, args...)
		kx = m.run(t, m.kx, args...)
		if kx == kubectl {
			return
		}
	}
	ageless := func(a answer) answer {
		a.out = age.ReplaceAllString(a.out, "<age> ")
		return a
	}
	if ageless(kx) != ageless(kubectl) {
		t.Errorf("%v\nkx: %d\n%s%s\nkubectl: %d\n%s%s", args, kx.code, kx.out, kx.err, kubectl.code, kubectl.out, kubectl.err)
	}
}
