package main

import (
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// TestQuestions asks what a newcomer asks, of a screen that nobody has touched since the request: each question is answered
// with as few keys as it says.
func TestQuestions(t *testing.T) {
	server := serve(t, "--ephemeral")
	client := recorded(t, server)
	maps, ctx := client.CoreV1().ConfigMaps("default"), context.Background()
	if _, err := maps.Create(ctx, configMap("asked"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	first, err := maps.Get(ctx, "asked", metav1.GetOptions{})
	if err != nil {
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
		if _, err := maps.Patch(ctx, "asked", types.MergePatchType, []byte(`{"data":{"v":"theirs"}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		mine := first.DeepCopy()
		mine.Data = map[string]string{"v": "mine"}
		if _, err := maps.Update(ctx, mine, metav1.UpdateOptions{}); err == nil {
			t.Fatal("an update on an old revision was accepted")
		}
	}
	for _, test := range []struct {
		question string
		happens  func(t *testing.T)
		row      string // of the list
		keys     []string
		answers  []string
	}{
		{"which code served my GET?", get, " get ", nil, []string{"getResourceHandler", "Cacher.Get", "store/cacher.(*Cacher).GetEncoded", "store/cacher/get.go:"}},
		{"the cache or etcd?", get, " get ", nil, []string{"cached bytes"}},
		{"where is this upstream?", get, " get ", nil, []string{"in the Kubernetes API server  v1.", "CacheDelegator.Get", "pkg/storage/cacher/"}},
		{"who set this field?", update, " update ", []string{"d"}, []string{"[Diff]", "v: new", "handler.decode", "etcd.txn"}},
		{"what did etcd get?", update, " update ", nil, []string{"mod(/registry/configmaps/default/asked) = ", "put /registry/configmaps/default/asked, "}},
		{"what did etcd get, and answer?", update, " update ", []string{"Z"}, []string{"[etcd]", "KV.Txn"}},
		{"who got the event, who did not, and why?", update, " update ", []string{"W"}, []string{"[Watchers]", "who got the event", "was not sent it", "app=other"}},
		{"why 409, and who was it?", stale, " 409 ", nil, []string{"409 Conflict", "you sent", "moved by", "patch of ", `"mine"`, `"theirs"`, "both", "data.v"}},
	} {
		t.Run(test.question, func(t *testing.T) {
			defer watching(t, "")()
			defer watching(t, "app=other")()
			p := playScreen(t, server.kubeconfig, "")
			defer p.leave()
			p.send(tea.WindowSizeMsg{Width: 200, Height: 60})
			p.see("live")
			test.happens(t)
			p.until("the request is open", func(frame string) bool { return strings.Contains(cursorRow(frame), test.row) })
			p.press(test.keys...)
			p.see(test.answers...)
		})
	}
}

// recorded is a client whose requests are recorded with their objects, as those to a server that kx tui starts.
func recorded(t *testing.T, server *process) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", server.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withObjects{next} })
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
	p.until("both are listed, and the second is open", func(frame string) bool { return strings.Count(frame, " update ") == 2 && open(frame) })
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
