package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/theme"
)

// played is a program on whose screen a test plays: keys go in, and frames come out.
type played struct {
	t      *testing.T
	screen *tui.Screen
	model  tea.Model
	msgs   chan tea.Msg
	ctx    context.Context
	left   bool // the program was left
}

// playScreen shows the screen of the server of a kubeconfig.
func playScreen(t *testing.T, kubeconfig, state string) *played {
	t.Helper()
	return playIn(t, kubeconfig, state, "dark")
}

// playIn is playScreen in a theme.
func playIn(t *testing.T, kubeconfig, state string, look theme.Name) *played {
	t.Helper()
	return playServer(t, func(context.Context) (tui.Server, error) {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		return tui.Server{Config: config, Kubeconfig: kubeconfig}, err
	}, state, look)
}

// playServer shows the screen of a server.
func playServer(t *testing.T, start func(context.Context) (tui.Server, error), state string, look theme.Name) *played {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s, err := tui.New(ctx, tui.Options{Start: start, Theme: look, StateFile: state, Export: exportOnScreen, CrashDir: t.TempDir()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	p := &played{t: t, screen: s, model: s.Model(), msgs: make(chan tea.Msg, 64), ctx: ctx}
	t.Cleanup(cancel)
	p.run(p.model.Init())
	p.send(tea.WindowSizeMsg{Width: 150, Height: 50})
	return p
}

// run runs a command as Bubble Tea does.
func (p *played) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for _, c := range batch {
				p.run(c)
			}
			return
		}
		select {
		case p.msgs <- msg:
		case <-p.ctx.Done():
		}
	}()
}

func (p *played) send(msg tea.Msg) {
	if _, ok := msg.(tea.QuitMsg); ok {
		p.left = true
		return
	}
	next, cmd := p.model.Update(msg)
	p.model = next
	p.run(cmd)
}

var named = map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "ctrl+u": tea.KeyCtrlU, "ctrl+k": tea.KeyCtrlK, "ctrl+l": tea.KeyCtrlL}

// press presses keys: those with names, or all that a text has.
func (p *played) press(keys ...string) {
	for _, key := range keys {
		if kind, ok := named[key]; ok {
			p.send(tea.KeyMsg{Type: kind})
			continue
		}
		for _, r := range key {
			p.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	}
}

// until lets the program run until a frame is as it must be.
func (p *played) until(what string, yes func(frame string) bool) {
	p.t.Helper()
	deadline := time.After(patience)
	for !yes(ansi.Strip(p.model.View())) {
		select {
		case msg := <-p.msgs:
			p.send(msg)
		case <-deadline:
			p.t.Fatalf("it did not come to pass that %s:\n%s", what, p.model.View())
		}
	}
}

func (p *played) see(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		p.until(fmt.Sprintf("%q is seen", text), func(frame string) bool { return strings.Contains(frame, text) })
	}
}

// leave closes the screen, as at the end of the program.
func (p *played) leave() {
	p.t.Helper()
	if err := p.screen.Close(); err != nil {
		p.t.Error(err)
	}
}

// updating updates a config map, and says how that ended.
func updating(t *testing.T, client kubernetes.Interface, name, value string) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		o := configMap(name)
		o.Data = map[string]string{"v": value}
		_, err := client.CoreV1().ConfigMaps("default").Update(context.Background(), o, metav1.UpdateOptions{})
		done <- err
	}()
	return done
}

// breakOnScreen makes a breakpoint with the keys that a user would press.
func (p *played) breakOnScreen(filter string) {
	p.t.Helper()
	p.see("live")
	p.press("B")
	p.see("There are no breakpoints and no faults")
	p.press("b")
	p.see("break at:")
	p.press(filter, "enter")
	p.see("1 on, 0 off", `breakpoint "b1": hold at`)
	p.press("esc")
}

// transactions finds the rows of steps that are transactions of etcd.
var transactions = regexp.MustCompile(`\d [ +-]+KV\.Txn`)

// TestHoldOnScreen holds an update before it is written, for longer than it may take, while two other clients go on; has
// another writer steal its revision; and sees both of its attempts.
func TestHoldOnScreen(t *testing.T) {
	server := serve(t, "--ephemeral", "--allow-breakpoints", "--allow-faults")
	client, ctx := server.client(t), context.Background()
	maps := client.CoreV1().ConfigMaps("default")
	for _, name := range []string{"held", "other"} {
		if _, err := maps.Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p := playScreen(t, server.kubeconfig, "")
	defer p.leave()
	p.breakOnScreen("step:etcd.txn verb:update resource:configmaps name:held")
	p.press("/", "verb:update name:held", "enter")
	const limit = 5 * time.Second // of this request only: others take as long as a busy machine needs
	done := make(chan error, 1)
	go func() {
		o := configMap("held")
		o.Data = map[string]string{"v": "mine"}
		put := client.CoreV1().RESTClient().Put().Namespace("default").Resource("configmaps").Name("held")
		done <- put.Param("timeout", limit.String()).Body(o).Do(ctx).Error()
	}()
	p.see("PAUSED", "|| held 1", "KV.Txn")

	others := [2]kubernetes.Interface{server.client(t), server.client(t)}
	for n, until := 0, time.Now().Add(limit+limit/10); time.Now().Before(until); n++ {
		for _, other := range others {
			if err := <-updating(t, other, "other", fmt.Sprint(n)); err != nil {
				t.Fatal(err)
			}
			if _, err := other.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	select {
	case err := <-done:
		t.Fatalf("the held request has ended: %v", err)
	default:
	}
	p.see("PAUSED")
	p.press("x")
	p.see("another writer has committed")
	// It goes on to its second attempt, whose transaction is a match as well.
	p.press("c")
	p.until("both attempts are on the screen", func(frame string) bool {
		return len(transactions.FindAllString(frame, -1)) == 2 && strings.Contains(frame, "PAUSED")
	})
	p.press("c")
	p.until("it has ended", func(frame string) bool {
		return !strings.Contains(frame, "PAUSED") && strings.Contains(frame, " 200 ") && len(transactions.FindAllString(frame, -1)) == 2
	})
	if err := <-done; err != nil {
		t.Error(err)
	}
	got, err := maps.Get(ctx, "held", metav1.GetOptions{})
	if err != nil || got.Data["v"] != "mine" || got.Annotations[v1alpha1.StolenAnnotation] != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestStepOnScreen lets a held request go on step by step, breaks its call, and is asked before it is left held.
func TestStepOnScreen(t *testing.T) {
	server := serve(t, "--ephemeral", "--allow-breakpoints", "--allow-faults")
	client, ctx := server.client(t), context.Background()
	if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("held"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state.json")
	p := playScreen(t, server.kubeconfig, state)
	p.breakOnScreen("step:rest.update resource:configmaps name:held")
	p.press("/", "verb:update name:held", "enter")
	done := updating(t, client, "held", "1")
	p.see("PAUSED", "rest.update since")
	p.press("i")
	p.see("store.key since")
	p.press("i")
	p.see("store.update since")
	p.press("i", "i") // one after the other, however fast they are typed
	p.see("cacher.update since")
	p.press("n")
	p.see("handler.encode since")
	p.press("X")
	p.see("What goes wrong")
	p.press("ctrl+u", "1ms", "enter")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	p.until("it is said what was done", func(frame string) bool {
		return !strings.Contains(frame, "PAUSED") && !strings.Contains(frame, "|| held")
	})

	p.press("F") // a step has stopped following
	done = updating(t, client, "held", "2")
	p.see("PAUSED", "rest.update since", "|| held 1") // what leaving would do is known by the watch that counts
	p.press("q")
	p.see("1 request is held, and goes on when you leave")
	p.press("n")
	if p.left {
		t.Fatal("left without a yes")
	}
	p.press("q", "y")
	p.until("the program is left", func(string) bool { return p.left })
	select {
	case err := <-done:
		t.Fatalf("it is not held any more: %v", err)
	default:
	}
	p.leave()
	if err := <-done; err != nil {
		t.Error(err)
	}
	var list v1alpha1.BreakpointList
	if err := server.kx(t).Get(ctx, api.KX+"/breakpoints", nil, &list); err != nil || len(list.Items) > 0 {
		t.Errorf("what was made on the screen is left: %+v, %v", list.Items, err)
	}

	// The next time the breakpoint is there again.
	p = playScreen(t, server.kubeconfig, state)
	defer p.leave()
	p.see("live")
	p.press("B")
	p.see("step:rest.update", "1 on, 0 off")
}

// triedTwice finds the row of a write that was answered 200 after two tries: what it took, its revision, its tries.
var triedTwice = regexp.MustCompile(`200 +\S+ +\d+ +2 `)

// TestDemoOnScreen plays the demo, twice: a conflict, a patch that was tried twice, and last a GET, which is opened.
func TestDemoOnScreen(t *testing.T) {
	server := serve(t, "--ephemeral", "--allow-breakpoints", "--allow-faults")
	left := map[string]any{"metadata": map[string]any{"name": "demo-race"}, "spec": v1alpha1.FaultSpec{Filter: "name:none", Effect: v1alpha1.FaultDropWatch}}
	if err := server.kx(t).Create(t.Context(), api.KX+"/faults", left, nil); err != nil { // as by a screen that was killed
		t.Fatal(err)
	}
	p := playScreen(t, server.kubeconfig, "")
	defer p.leave()
	p.see("live")
	for range 2 {
		p.press("T")
		p.see("the demo is there", " get    crontabs", "getResourceHandler")
		p.press("/", "code:409 verb:update", "enter")
		p.until("the conflict is listed", func(frame string) bool { return strings.Contains(frame, " 409 ") && !strings.Contains(frame, " get ") })
		p.press("/")
		p.press("ctrl+u")
		p.press("verb:patch why:\"attempt 2\"", "enter")
		p.until("the patch was tried twice", triedTwice.MatchString)
		p.press("esc") // the filter is off
	}
	var faults v1alpha1.FaultList
	if err := server.kx(t).Get(t.Context(), api.KX+"/faults", nil, &faults); err != nil || len(faults.Items) > 0 {
		t.Errorf("faults are left behind: %+v, %v", faults.Items, err)
	}
}

// TestStaleOnScreen lets a cache fall behind and catch up with one key, and drops a watch with another.
func TestStaleOnScreen(t *testing.T) {
	server := serve(t, "--ephemeral", "--allow-breakpoints", "--allow-faults")
	client, ctx := server.client(t), context.Background()
	maps := client.CoreV1().ConfigMaps("default")
	w, err := maps.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	p := playScreen(t, server.kubeconfig, "")
	defer p.leave()
	p.see("live")
	p.press("/", "verb:watch resource:configmaps user:*admin*", "enter")
	p.see("watch")
	p.press("L")
	p.see("hears nothing new")
	if _, err := maps.Create(ctx, configMap("late"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := maps.List(ctx, metav1.ListOptions{ResourceVersion: "0", FieldSelector: "metadata.name=late"})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("the cache is not behind: %+v, %v", list.Items, err)
	}
	p.press("L")
	p.see("catches up")
	for e := range w.ResultChan() {
		if o, ok := e.Object.(*corev1.ConfigMap); ok && o.Name == "late" {
			break
		}
	}
	p.press("K")
	for range w.ResultChan() {
	}
	p.see("*")
}

// TestControlOutlivesTheServer follows a server that ends and comes back: what it no longer has is off until it is
// switched on again.
func TestControlOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, "--data-dir", dir, "--allow-breakpoints", "--allow-faults")
	client, ctx := server.kx(t), context.Background()
	changed := make(chan struct{}, 1)
	c := control.New(client, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}, func() {})
	defer c.Close()
	when := func(what string, yes func(control.View) bool) {
		t.Helper()
		deadline := time.After(patience)
		for !yes(c.View()) {
			select {
			case <-changed:
			case <-deadline:
				v := c.View()
				for _, r := range v.Rules {
					t.Logf("%s on: %v, mine: %v, %q", r.Key, r.On, r.Mine, r.Note)
				}
				t.Fatalf("it did not come to pass that %s: %d rules, %q", what, len(v.Rules), v.Problem)
			}
		}
	}
	c.Start()
	one := control.Spec{Breakpoint: &v1alpha1.BreakpointSpec{Filter: "step:etcd.txn key:*none*"}}
	key, err := c.Add(ctx, one)
	if err != nil || key.Name != "b1" {
		t.Fatal(key, err)
	}
	if _, err := c.Add(ctx, control.Spec{Fault: &v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch, Filter: "resource:none"}}); err != nil {
		t.Fatal(err)
	}
	when("both are on", func(v control.View) bool {
		return len(v.Rules) == 2 && v.Rules[0].On && v.Rules[0].Mine && v.Rules[1].On && v.Rules[1].Name == "f1"
	})

	_ = server.Process.Kill()
	_ = server.wait()
	when("the server is missed", func(v control.View) bool { return v.Problem != "" })
	serve(t, "--data-dir", dir, "--allow-breakpoints", "--allow-faults", "--listen="+strings.TrimPrefix(server.url, "https://"))
	when("what the new one does not have is off", func(v control.View) bool {
		return v.Problem == "" && len(v.Rules) == 2 && !v.Rules[0].On && !v.Rules[1].On && strings.Contains(v.Rules[0].Note, "no more")
	})
	if err := c.Switch(ctx, c.View().Rules[0], true); err != nil {
		t.Fatal(err)
	}
	when("it is on again", func(v control.View) bool { return v.Rules[0].On && v.Rules[0].Note == "" })
	if err := client.Delete(ctx, api.KX+"/breakpoints/b1"); err != nil {
		t.Fatal(err)
	}
	when("another's deletion is seen", func(v control.View) bool { return !v.Rules[0].On && strings.Contains(v.Rules[0].Note, "deleted") })

	// What another made has the first name: the next is taken.
	if err := client.Create(ctx, api.KX+"/breakpoints", map[string]any{"metadata": map[string]any{"name": "b2"}, "spec": one.Breakpoint}, nil); err != nil {
		t.Fatal(err)
	}
	if key, err = c.Add(ctx, one); err != nil || key.Name != "b3" {
		t.Errorf("%v, %v", key, err)
	}
	when("both are seen", func(v control.View) bool { return len(v.Rules) == 4 && !v.Rules[1].Mine && v.Rules[2].Mine })
	bad := control.Spec{Breakpoint: &v1alpha1.BreakpointSpec{Filter: "step:("}}
	if err := c.Replace(ctx, c.View().Rules[2], bad); err == nil || !strings.Contains(control.Reason(err), "spec.filter") {
		t.Errorf("%v", err)
	}
	when("what is refused changes nothing", func(v control.View) bool { return v.Rules[2].On })
	if revision, err := c.Compact(ctx); err != nil || revision == 0 {
		t.Errorf("compacted %d, %v", revision, err)
	}
}

// kx asks the server's own group.
func (p *process) kx(t *testing.T) *api.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := api.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
