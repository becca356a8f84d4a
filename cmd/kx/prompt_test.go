package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/cmd/get"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

// TestPrompt types the commands of testdata/prompt, one file a server, and compares what they say. -rewrite accepts it.
//
//	file <name>
//	    writes the input to a file of the directory in which the commands run
//	run
//	    runs each line of the input as a command, and shows what it writes to stdout, then to stderr behind "! ", and its
//	    exit code unless it is 0. 'quotes' keep words together, $ID is the journey that a --trace showed last, and $RV the
//	    resourceVersion that was written to stdout last. "# " begins a line that is only shown.
//
// What differs from run to run is named instead: <time>, <took>, <id>, <uid>, <rv>.
func TestPrompt(t *testing.T) {
	datadriven.Walk(t, "testdata/prompt", func(t *testing.T, path string) {
		p := newTyping(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				if err := os.WriteFile(filepath.Join(p.dir, d.CmdArgs[0].Key), []byte(d.Input), 0o600); err != nil {
					d.Fatalf(t, "%v", err)
				}
				return ""
			case "run":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					out.WriteString(p.typed(strings.TrimSpace(line)))
				}
				return out.String()
			case "await": // what was just granted counts a moment later
				for deadline := time.Now().Add(patience); strings.Contains(p.typed(strings.TrimSpace(d.Input)), "exit code"); {
					if time.Now().After(deadline) {
						d.Fatalf(t, "it still fails: %s", d.Input)
					}
				}
				return ""
			}
			d.Fatalf(t, "no such directive: %s", d.Cmd)
			return ""
		})
	})
}

// typing is somebody at a prompt, on a server of their own.
type typing struct {
	dir    string
	values map[string]string
}

func newTyping(t *testing.T) *typing {
	t.Helper()
	p := &typing{dir: t.TempDir(), values: map[string]string{}}
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "KUBECONFIG": "", "LANG": "C", "EDITOR": "", "KUBE_EDITOR": "", "KX_JOIN_ONLY": ""} {
		t.Setenv(name, value)
	}
	startServer(t, filepath.Join(home, ".kx"))
	return p
}

// startServer starts a server over a data directory in this process.
func startServer(t testing.TB, dir string) *server.Server {
	t.Helper()
	o := options.New()
	o.InitialObjects, o.Controllers = false, controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	o.DataDir, o.Listen = dir, "127.0.0.1:0"
	o.WatchCache.Enabled = false // how far a cache is differs from run to run
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	s, err := server.Start(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// answer is what a command said.
type answer struct {
	out, err string
	code     int
}

// settled runs a command, and anew as long as kubectl gives up since an object has no conditions at all yet: nobody has seen
// it.
func settled(run func() answer) answer {
	a := run()
	for late := time.Now().Add(patience); strings.Contains(a.err, "conditions accessor error") && time.Now().Before(late); {
		a = run()
	}
	return a
}

// typeCommand runs a command in this process.
func typeCommand(args ...string) answer {
	return settled(func() answer {
		var out, errOut bytes.Buffer
		code := run(context.Background(), args, kubectl.Streams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
		return answer{out.String(), errOut.String(), code}
	})
}

// typed runs a line and shows it with what it said.
func (p *typing) typed(line string) string {
	if line == "" || strings.HasPrefix(line, "#") {
		return line + "\n"
	}
	command := line
	for name, value := range p.values {
		command = strings.ReplaceAll(command, "$"+name, value)
	}
	args := words(command)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "./", p.dir+"/")
	}
	a := typeCommand(args[1:]...)
	p.remember(a)
	var b strings.Builder
	fmt.Fprintf(&b, "$ %s\n%s", line, a.out)
	if a.out != "" && !strings.HasSuffix(a.out, "\n") {
		b.WriteByte('\n')
	}
	for l := range strings.Lines(a.err) {
		b.WriteString(strings.TrimRight("! "+strings.TrimSuffix(l, "\n"), " ") + "\n")
	}
	if a.code != 0 {
		fmt.Fprintf(&b, "exit code %d\n", a.code)
	}
	return mask(strings.NewReplacer(p.dir, ".", os.Getenv("HOME"), "~").Replace(b.String()))
}

var (
	journeyID       = regexp.MustCompile(`\b[0-9a-f]{6}-\d+\b`)
	journeyShown    = regexp.MustCompile(`(?m)\b([0-9a-f]{6}-\d+)$`) // other requests stand within lines
	objectUID       = regexp.MustCompile(`\buid: ([0-9a-f-]{36})`)
	resourceVersion = regexp.MustCompile(`resourceVersion"?: "(\d+)"`)
)

func (p *typing) remember(a answer) {
	if ids := journeyShown.FindAllStringSubmatch(a.err, -1); ids != nil {
		p.values["ID"] = ids[len(ids)-1][1]
	}
	if uids := objectUID.FindAllStringSubmatch(a.out, -1); uids != nil {
		p.values["UID"] = uids[len(uids)-1][1]
	}
	if rv := resourceVersion.FindAllStringSubmatch(a.out, -1); rv != nil {
		p.values["RV"] = rv[len(rv)-1][1]
	}
}

// words splits a line as a shell does that knows nothing but spaces and single quotes.
func words(line string) (all []string) {
	var word strings.Builder
	quoted, begun := false, false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		all = append(all, word.String())
	}
	return all
}

// masks are what differs from run to run, and what is written instead. Those that are wider than what they replace in a
// column come with the spaces before.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{journeyID, "<id>"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`), "<time>"},
	{regexp.MustCompile(`\.go:\d+`), ".go:<line>"},
	{regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{6}`), "<time>"},
	{regexp.MustCompile(`(?m) +\d+(\.\d+)?(µs|ms|s)( |$)`), " <took>$3"},
	{regexp.MustCompile(`(?m)^(\S+ +\d+(/\d+)? <took>) +`), "$1 "}, // an age, in a table that is as wide as it needs
	{regexp.MustCompile(`(esourceVersion"?: )"\d+"`), `$1"<rv>"`},
	{regexp.MustCompile(`https://127\.0\.0\.1:\d+`), "https://<server>"},
	{regexp.MustCompile(`revision \d+`), "revision <rv>"},
	{regexp.MustCompile(`etcd has the key at \d+`), "etcd has the key at <rv>"},
	{regexp.MustCompile(`the oldest that it has seen is \d+`), "the oldest that it has seen is <rv>"},
	{regexp.MustCompile(`\d+ bytes`), "<n> bytes"},
}

func mask(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return text
}

// TestTraceJSON reads what --trace=json writes: behind the command's output, a whole journey a line.
func TestTraceJSON(t *testing.T) {
	newTyping(t)
	a := typeCommand("create", "configmap", "demo", "--from-literal=k=v", "--validate=false", "--trace=json")
	if a.code != 0 || a.out != "configmap/demo created\n" {
		t.Fatalf("%+v", a)
	}
	lines := strings.Split(strings.TrimSpace(a.err), "\n")
	var last v1alpha1.Journey
	for _, line := range lines {
		last = v1alpha1.Journey{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
	}
	objects := 0
	for _, s := range last.Status.Steps {
		if s.After != nil {
			objects++
		}
	}
	if last.Kind != "Journey" || last.Spec.Verb != "create" || last.Spec.Name != "demo" || last.Status.Code != 201 || objects == 0 {
		t.Errorf("the journey of the creation is %s, with %d objects", lines[len(lines)-1], objects)
	}
}

// TestAtATime reads as of a time, once the server has seen the revision of then.
func TestAtATime(t *testing.T) {
	newTyping(t)
	ask := func(args ...string) answer {
		t.Helper()
		a := typeCommand(args...)
		if a.code != 0 {
			t.Fatalf("kx %s: %+v", strings.Join(args, " "), a)
		}
		return a
	}
	sees := func(after string) {
		t.Helper()
		revision, err := strconv.ParseInt(after, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the server sees revision "+after, func() bool {
			var moment v1alpha1.Moment
			a := ask("get", "--raw", "/apis/kx.dev/v1alpha1/moments/0s")
			return json.Unmarshal([]byte(a.out), &moment) == nil && moment.Status.Revision >= revision
		})
	}
	version := []string{"-o", "jsonpath={.metadata.resourceVersion}"}
	sees(ask(append([]string{"create", "configmap", "demo", "--from-literal=a=1"}, version...)...).out)
	then := time.Now()
	sees(ask(append([]string{"patch", "cm", "demo", "-p", `{"data":{"a":"2"}}`}, version...)...).out)
	for _, what := range []string{"cm/demo", "cm"} {
		path := map[string]string{"cm/demo": "{.data.a}", "cm": "{.items[*].data.a}"}[what]
		a := ask("get", what, "-o", "jsonpath="+path, "--at", then.UTC().Format(time.RFC3339Nano))
		if a.out != "1" || !strings.Contains(a.err, "kx: as of revision ") {
			t.Errorf("%s at %s: %+v", what, then, a)
		}
		if a := ask("get", what, "-o", "jsonpath="+path, "--at", "-0s"); a.out != "2" {
			t.Errorf("%s now: %+v", what, a)
		}
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	a := typeCommand("get", "cm", "--server", other.URL, "--at", "-5m")
	if a.code != 1 {
		t.Errorf("a server that is no kx: %+v", a)
	}
}

// TestTraceElsewhere asks a server that is no kx which way requests went.
func TestTraceElsewhere(t *testing.T) {
	newTyping(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"theirs"}}`)
	}))
	defer other.Close()
	a := typeCommand("get", "--raw", "/api/v1/namespaces/default/configmaps/theirs", "--server", other.URL, "--trace")
	if a.code != 0 || !strings.Contains(a.out, "theirs") || a.err != "kx: 1 of the answers name no journey: those of kx's own group, of health checks and of servers that are no kx don't\n" {
		t.Errorf("%+v", a)
	}
}

// TestWarnings turns a server's warnings into a failure.
func TestWarnings(t *testing.T) {
	newTyping(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Warning", `299 - "this is old"`)
		fmt.Fprint(w, "{}")
	}))
	defer other.Close()
	for flag, code := range map[string]int{"--warnings-as-errors=false": 0, "--warnings-as-errors": 1} {
		a := typeCommand("get", "--raw", "/", "--server", other.URL, flag)
		if a.code != code || !strings.Contains(a.err, "Warning: this is old") || strings.Contains(a.err, "1 warning received") != (code == 1) {
			t.Errorf("%s: %+v", flag, a)
		}
	}
}

// listsAlone are what kubectl does with lists alone.
var listsAlone = regexp.MustCompile(`-l l|selector|items|sort-by|chunk`)

// TestSameBytes gets the same with kx and with kubectl's own code, which knows nothing but kx's kubeconfig.
func TestSameBytes(t *testing.T) {
	p, cache := newTyping(t), t.TempDir()
	for _, line := range []string{
		"kx create -f testdata/crontabs.yaml", "kx create configmap a --from-literal=k=v", "kx create configmap b", "kx label cm a l=1",
		"kx create secret generic s --from-literal=k=v", "kx create deployment web --image=nginx --replicas=2",
		"kx create service clusterip svc --tcp=80",
	} {
		if a := typeCommand(words(line)[1:]...); a.code != 0 {
			t.Fatalf("%s: %s", line, a.err)
		}
	}
	if got := p.typed("kx wait --for=condition=Established crd --all"); strings.Contains(got, "exit code") {
		t.Fatal(got)
	}
	for _, format := range []string{
		"", "-o wide", "-o name", "-o yaml", "-o json", "-o yaml --show-managed-fields", "-o jsonpath={.items[*].metadata.name}",
		"-o jsonpath-as-json={.items[*].metadata}", "-o go-template={{range.items}}{{.metadata.name}}{{end}}", "-o kyaml",
		"-o custom-columns=N:.metadata.name,V:.metadata.resourceVersion", "--show-labels", "--no-headers", "-L l --show-kind",
		"--sort-by=.metadata.name", "--chunk-size=1", "-l l=1 -o name", "--field-selector=metadata.name=a",
	} {
		for _, what := range []string{"cm", "cm a", "cm,secret,deployments.apps,svc", "ns", "crontabs", "crd", "cm nobody --ignore-not-found"} {
			if one, several := strings.HasPrefix(what, "cm "), strings.Contains(what, ","); one && listsAlone.MatchString(format) ||
				several && strings.HasPrefix(format, "--sort-by") {
				continue // kubectl refuses these
			}
			args := words("get " + what + " " + format)
			// Ages go on between the two: then they are asked again. Where each takes longer than a second, ages alone may differ.
			var ours answer
			var theirs string
			for range 10 {
				ours, theirs = typeCommand(args...), kubectlGet(t, cache, args[1:])
				if ours.code == 0 && ours.out == theirs {
					break
				}
			}
			if ours.code != 0 || age.ReplaceAllString(ours.out, "<age> ") != age.ReplaceAllString(theirs, "<age> ") {
				t.Errorf("%v: exit code %d %s\nkx:\n%s\nkubectl:\n%s", args, ours.code, ours.err, ours.out, theirs)
			}
		}
	}
}

// age is how old an object was, with the spaces after it.
var age = regexp.MustCompile(`\b\d+[smh](\d+[smh])? *`)

// kubectlGet is what kubectl's own get writes. What the server has is asked once, and kept in cache.
func kubectlGet(t *testing.T, cache string, args []string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	cmdutil.BehaviorOnFatal(func(message string, code int) { t.Fatalf("kubectl get %v: exit code %d: %s", args, code, message) })
	flags := genericclioptions.NewConfigFlags(true)
	kubeconfig := filepath.Join(os.Getenv("HOME"), ".kx", "kubeconfig")
	flags.KubeConfig, flags.CacheDir = &kubeconfig, &cache
	cmd := get.NewCmdGet("kubectl", cmdutil.NewFactory(cmdutil.NewMatchVersionFlags(flags)), kubectl.Streams{Out: &out, ErrOut: &errOut})
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
