package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/tui"
	"github.com/kx-apiserver/kx/tui/theme"
)

// TestQuestions asks what a newcomer asks, of a screen that nobody has touched since the request: each question is answered
// with as few keys as it says. The server is another process, or that of the screen.
func TestQuestions(t *testing.T) {
	t.Run("joined", func(t *testing.T) {
		server := serve(t, "--ephemeral")
		askQuestions(t, server, func(t *testing.T) *played { return playScreen(t, server.kubeconfig, "") })
	})
	t.Run("with its server", func(t *testing.T) {
		o := options.New()
		o.Ephemeral, o.Listen, o.InitialObjects = true, "127.0.0.1:0", false
		o.Controllers = controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
		own := &ownServer{options: o, fail: func(err error) { t.Error(err) }}
		started, err := own.start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := own.stop(); err != nil {
				t.Error(err)
			}
		}()
		start := func(context.Context) (tui.Server, error) { return started, nil }
		askQuestions(t, &process{kubeconfig: started.Kubeconfig}, func(t *testing.T) *played { return playServer(t, start, "", theme.Dark) })
	})
}

// askQuestions asks the questions of screens of a server.
func askQuestions(t *testing.T, server *process, show func(*testing.T) *played) {
	client := recorded(t, server)
	maps, ctx := client.CoreV1().ConfigMaps("default"), context.Background()
	if _, err := maps.Create(ctx, configMap("asked"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watching := func(t *testing.T, selector string) func() {
		w, err := server.client(t).CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		return w.Stop
	}
	get := func(t *testing.T) {
		if _, err := maps.Get(ctx, "asked", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	updates := 0
	update := func(t *testing.T) {
		updates++
		if err := <-updating(t, client, "asked", fmt.Sprint("new", updates)); err != nil {
			t.Fatal(err)
		}
	}
	stale := func(t *testing.T) {
		updates++
		first, err := maps.Get(ctx, "asked", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		theirs := fmt.Sprintf(`{"data":{"v":"theirs%d"}}`, updates)
		if _, err := maps.Patch(ctx, "asked", types.MergePatchType, []byte(theirs), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		first.Data = map[string]string{"v": "mine"}
		if _, err := maps.Update(ctx, first, metav1.UpdateOptions{}); err == nil {
			t.Fatal("an update on an old revision was accepted")
		}
	}
	denied := func(t *testing.T) {
		if _, err := maps.Create(ctx, configMap("denied"), metav1.CreateOptions{}); err == nil {
			t.Fatal("it was accepted")
		}
	}
	stranger := recordedAs(t, server, "stranger")
	forbidden := func(t *testing.T) {
		if _, err := stranger.CoreV1().ConfigMaps("default").Get(ctx, "asked", metav1.GetOptions{}); err == nil {
			t.Fatal("it was accepted")
		}
	}
	policies := client.AdmissionregistrationV1()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "names"}}
	policy.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{"CREATE"},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}}}}
	policy.Spec.Validations = []admissionregistrationv1.Validation{{Expression: "object.metadata.name != 'denied'", Message: "no such name"}}
	if _, err := policies.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "names-bound"}}
	binding.Spec.PolicyName, binding.Spec.ValidationActions = "names", []admissionregistrationv1.ValidationAction{"Deny"}
	if _, err := policies.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		question string
		happens  func(t *testing.T)
		row      string // of the list
		keys     []string
		answers  []string
		// narrowKeys and narrow are the keys and answers where the detail is not beside the steps, or cut: below 200 columns, or below
		// wide.
		narrowKeys, narrow []string
		wide               int
	}{
		{"which code served my GET?", get, " get ", nil, []string{"getResourceHandler", "Cacher.Get", "store/cacher.(*Cacher).GetEncoded", "store/cacher/get.go:"},
			[]string{"v"}, []string{"store/cacher/get.go", "=>"}, 0},
		{"the cache or etcd?", get, " get ", nil, []string{"cached bytes"}, nil, nil, 0},
		{"where is this upstream?", get, " get ", nil, []string{"in the Kubernetes API server  v1.", "CacheDelegator.Get", "pkg/storage/cacher/"},
			[]string{"v"}, []string{"CacheDelegator.Get", "k8s.io/apiserver/pkg/storage/cacher"}, 0},
		{"who set this field?", update, " update ", []string{"d"}, []string{"[Diff]", "v: new", "handler.decode", "etcd.txn"}, nil, nil, 0},
		{"what did etcd get?", update, " update ", nil, []string{"mod(/registry/configmaps/default/asked) = ", "put /registry/configmaps/default/asked, "},
			[]string{"Z"}, []string{"[etcd]", "KV.Txn", "mod(", "put"}, 0},
		{"what did etcd get, and answer?", update, " update ", []string{"Z"}, []string{"[etcd]", "KV.Txn"}, nil, nil, 0},
		{"who got the event, who did not, and why?", update, " update ", []string{"W"}, []string{"[Watchers]", "who got the event", "was not sent it", "app=other"},
			[]string{"W"}, []string{"[Watchers]", "who got the event"}, 0},
		{"why 409, and who was it?", stale, " 409 ", nil, []string{"409 Conflict", "you sent", "moved by", "patch of ", `"mine"`, `"theirs`, "both", "data.v"},
			[]string{"P"}, []string{"409 Conflict", "you sent", "moved by", "patch of "}, 120},
		{"why forbidden?", forbidden, " 403 ", nil, []string{"403 Forbidden", "stranger"}, nil, []string{"403", "find out whether they may", `"stranger"`}, 0},
		{"which policy?", denied, " 422 ", nil, []string{"422", "names", "no such name", "object.metadata.name != 'denied'"},
			[]string{"tab"}, []string{"422", "no such name"}, 0},
	} {
		for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 120, Height: 40}, {Width: 200, Height: 60}} {
			t.Run(fmt.Sprintf("%s %dx%d", test.question, size.Width, size.Height), func(t *testing.T) {
				defer watching(t, "")()
				defer watching(t, "app=other")()
				p := show(t)
				defer p.leave()
				p.send(size)
				p.see("live")
				test.happens(t)
				p.until("the request is open", func(frame string) bool { return strings.Contains(cursorRow(frame), test.row) })
				keys, answers := test.keys, test.answers
				if size.Width < cmp.Or(test.wide, 200) && test.narrow != nil {
					keys, answers = test.narrowKeys, test.narrow
				}
				p.press(keys...)
				p.see(answers...)
			})
		}
	}
}

// recorded is a client whose requests are recorded with their objects, as those to a server that kx tui starts.
func recorded(t *testing.T, server *process) kubernetes.Interface { return recordedAs(t, server, "") }

// recordedAs is such a client that acts for a user.
func recordedAs(t *testing.T, server *process, user string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", server.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Impersonate.UserName = -1, user
	if server.Cmd != nil { // the server of a screen records them unasked
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withObjects{next} })
	}
	return kubernetes.NewForConfigOrDie(config)
}

type withObjects struct{ http.RoundTripper }

func (o withObjects) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Kx-Trace", "objects")
	return o.RoundTripper.RoundTrip(r)
}

// cursorRow is the row of the list that has the cursor.
func cursorRow(frame string) string {
	for line := range strings.Lines(frame) {
		if strings.HasPrefix(line, "┃>") {
			return line
		}
	}
	return ""
}

// TestRunOnScreen sends a request again, held at the step under the cursor, and runs it to the next layer, to its next change and
// to a step by name; and goes over its steps when it is over.
func TestRunOnScreen(t *testing.T) {
	server := serve(t, "--ephemeral", "--allow-breakpoints")
	client := recorded(t, server)
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("run"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := playScreen(t, server.kubeconfig, "")
	defer p.leave()
	p.see("live")
	for _, value := range []string{"1", "2"} { // sent again, the first changes the object
		if err := <-updating(t, client, "run", value); err != nil {
			t.Fatal(err)
		}
	}
	open := func(frame string) bool {
		id := strings.Fields(strings.Trim(cursorRow(frame), "┃>"))
		return len(id) > 0 && strings.Contains(frame, "Steps  "+id[0]) && strings.Contains(frame, "KV.Txn")
	}
	p.until("both are listed, and the second is open", func(frame string) bool { return strings.Count(frame, " update configmaps ") == 2 && open(frame) })
	p.press("k")
	p.until("the first is open", open)
	stepped := func(what string) func(string) bool {
		return func(frame string) bool { return strings.Contains(ansi.Strip(frame), what) }
	}
	p.press("{")
	p.see("transform.to-storage")
	p.press("enter", "f", "store.update", "enter")
	p.until("the cursor is there", regexp.MustCompile(`#\d+ store\.update `).MatchString)
	p.press(">")
	p.until("it is held where the cursor was", stepped("store.update since"))
	p.press("}")
	p.until("it is held in the next layer", func(frame string) bool {
		return strings.Contains(frame, "PAUSED") && !strings.Contains(frame, "store.update since") && !strings.Contains(frame, "dryrun.update since")
	})
	p.press(">")
	p.see("run to the step")
	p.press("nothing", "enter")
	p.see(`there is no step "nothing"`)
	p.press(">")
	p.see("run to the step")
	p.press("enter")
	p.until("it is held at the write", stepped("etcd.txn since"))
	p.press(")")
	p.until("it has written", func(frame string) bool {
		return !strings.Contains(frame, "etcd.txn since") || !strings.Contains(frame, "PAUSED")
	})
	p.press("c")
	p.until("it has ended", func(frame string) bool {
		return !strings.Contains(frame, "PAUSED") && !strings.Contains(frame, "|| held")
	})
	p.press("g")
	p.press("(")
	p.see("there is none of these before: a change")
}

// TestOtherWaysOnScreen draws an update, and sends it as a dry run and with an outdated revision, which are drawn below it: the object
// stays as it is. One that a breakpoint holds is given up.
func TestOtherWaysOnScreen(t *testing.T) {
	server := serve(t, "--ephemeral", "--allow-breakpoints")
	client := recorded(t, server)
	maps := client.CoreV1().ConfigMaps("default")
	made, err := maps.Create(t.Context(), configMap("ways"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := playScreen(t, server.kubeconfig, "")
	defer p.leave()
	p.see("live")
	made.Data = map[string]string{"v": "new"}
	was, err := maps.Update(t.Context(), made, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.until("the update is open", func(frame string) bool { return strings.Contains(cursorRow(frame), " update ") })
	p.press("_")
	p.see("PUT /api/v1/namespaces/default/configmaps/ways", "╰ a dry run  ╰ an outdated revision, as a dry run")
	p.press("|")
	p.see("?dryRun=All", "[a dry run]", "They part in the box Store. A: not a dry run: passed on. B: dry run: try the update once")
	p.press("|")
	p.see("[an outdated revision, as a dry run]", "409, stop", "● decided", "They part in the box Store.")
	p.press("|")
	p.until("the update is drawn again", func(frame string) bool {
		return !strings.Contains(frame, "dryRun=All") && strings.Contains(frame, "200, stop")
	})
	now, err := maps.Get(t.Context(), "ways", metav1.GetOptions{})
	if err != nil || now.ResourceVersion != was.ResourceVersion {
		t.Errorf("the object changed: revision %s, was %s: %v", now.ResourceVersion, was.ResourceVersion, err)
	}
	p.press("esc", "/", "verb:update", "enter")
	p.until("only updates are listed", func(frame string) bool {
		return strings.Contains(frame, "matching 3") && !strings.Contains(frame, " create configmaps ")
	})
	p.press("g")
	p.until("the first update is open", func(frame string) bool {
		row := strings.Fields(strings.Trim(cursorRow(frame), "┃>"))
		return len(row) > 0 && strings.Contains(frame, "Steps  "+row[0])
	})
	p.breakOnScreen("step:dryrun.update")
	p.press("_")
	p.see("╰ an outdated revision")
	p.press("|")
	p.see("|| held 1")
	p.press("|")
	p.see("it was given up")
	p.until("it is not held any more", func(frame string) bool { return !strings.Contains(frame, "held 1") })
}

// TestSaveOnScreen saves a request in each form, and opens what kx opens again.
func TestSaveOnScreen(t *testing.T) {
	server := serve(t, "--ephemeral")
	dir := t.TempDir()
	p := playScreen(t, server.kubeconfig, "")
	defer p.leave()
	p.see("live")
	if _, err := recorded(t, server).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("saved"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.until("it is open", func(frame string) bool { return strings.Contains(cursorRow(frame), " create ") })
	for _, form := range []struct{ choice, ending, has string }{
		{"as a page", "html", "<!DOCTYPE html>"}, {"as Markdown", "md", "```mermaid"}, {"as a drawing", "svg", "<svg"}, {"as a capture", "ndjson", "/configmaps"},
	} {
		file := filepath.Join(dir, "one."+form.ending)
		p.press("w")
		p.see("Save", form.choice)
		p.press(form.choice, "enter")
		p.see("save to")
		p.press("ctrl+u", file, "enter")
		p.until(fmt.Sprintf("%s is written", file), func(frame string) bool {
			return strings.Contains(frame, "saved ") && strings.Contains(frame, filepath.Base(file))
		})
		data, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(data), form.has) {
			t.Errorf("%s: %v, %.200s", file, err, data)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
		if form.ending == "html" || form.ending == "ndjson" {
			saved, err := readSaved(file, memoryMost)
			if err != nil || len(saved.Journeys) != 1 || saved.Journeys[0].Status.Phase != v1alpha1.JourneyComplete {
				t.Errorf("%s: %+v, %v", file, saved, err)
			}
		}
	}
}
