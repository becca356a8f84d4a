package etcd3_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// TestTranscripts runs the commands of testdata/transcripts, each file on an etcd of its own, so that revisions are
// known. What a command answers is its result and the steps that it took, as a tree. -rewrite writes them anew.
//
//	create <name> data=<data> [color=<label>] [ttl=<seconds>]
//	get <name> [rv=<resourceVersion>] [ignore-not-found]
//	list [limit=<n>] [color=<label>] [rv=<resourceVersion>] [match=<resourceVersionMatch>] [continue]
//	update <name> data=<data> [suggest] [meanwhile=<data>] [fail]
//	delete <name> [suggest] [uid=<precondition>] [unreadable]
//	watch events=<n> [after=<n>] [rv=<resourceVersion>] [color=<label>] [initial]
//	                  its input lines are commands, run after so many events
//	put <name>        what the input says is put into etcd, past the store
//	compact
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		client := embedtest.New(t).Client()
		t.Cleanup(func() { _ = client.Close() })
		p := &performer{t: t, client: client, known: map[string]*corev1.ConfigMap{}}
		plain := open(t, client, "/registry", func(o *etcd3.Options) {
			o.Decoder = etcd3.WithCorruptObjErrorHandlingDecoder(etcd3.NewDefaultDecoder(o.Codec, object.APIObjectVersioner{}))
		})
		p.store = etcd3.NewStoreWithUnsafeCorruptObjectDeletion(plain, configMaps)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			ctx, journey := trace.NewRecorder("t", trace.DefaultLimits).Begin(t.Context(), trace.Request{})
			out := p.perform(ctx, d)
			journey.Finish(trace.Response{})
			return out + "\n" + tree(journey.Record().Steps)
		})
	})
}

// performer runs the commands of one transcript.
type performer struct {
	t      *testing.T
	client *clientv3.Client
	store  store.Interface
	// known is what the last get of each object returned: what is suggested.
	known map[string]*corev1.ConfigMap
	token string
}

func (p *performer) perform(ctx context.Context, d *datadriven.TestData) string {
	name := ""
	if len(d.CmdArgs) > 0 && len(d.CmdArgs[0].Vals) == 0 {
		name = d.CmdArgs[0].Key
	}
	out := &corev1.ConfigMap{}
	var err error
	switch d.Cmd {
	case "create":
		obj := configMap(name, arg(d, "data"))
		if color := arg(d, "color"); color != "" {
			obj.Labels = map[string]string{"color": color}
		}
		ttl, _ := strconv.ParseUint(arg(d, "ttl"), 10, 64)
		err = p.store.Create(ctx, key(name), obj, out, ttl)
	case "get":
		err = p.store.Get(ctx, key(name), store.GetOptions{ResourceVersion: arg(d, "rv"), IgnoreNotFound: d.HasArg("ignore-not-found")}, out)
	case "list":
		return p.list(ctx, d)
	case "update":
		err = p.update(ctx, d, name, out)
	case "delete":
		var preconditions *store.Preconditions
		if uid := arg(d, "uid"); uid != "" {
			preconditions = store.NewUIDPreconditions(uid)
		}
		err = p.store.Delete(ctx, key(name), out, store.ValidateAllObjectFunc, store.DeleteOptions{Preconditions: preconditions, Suggestion: p.suggestion(d, name), ExpectTransformOrDecodeError: d.HasArg("unreadable")})
	case "watch":
		return p.watch(ctx, d)
	case "put":
		_, err = p.client.Put(p.t.Context(), "/registry/configmaps/ns/"+name, d.Input)
	case "compact":
		var resp *clientv3.GetResponse
		if resp, err = p.client.Get(p.t.Context(), "x"); err == nil {
			_, err = p.client.Compact(p.t.Context(), resp.Header.Revision)
		}
	default:
		p.t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	}
	if err != nil {
		return "error: " + err.Error()
	}
	if out.Name == "" {
		return "ok"
	}
	if d.Cmd == "get" {
		p.known[name] = out.DeepCopy()
	}
	return show(out)
}

func (p *performer) update(ctx context.Context, d *datadriven.TestData, name string, out runtime.Object) error {
	meanwhile := arg(d, "meanwhile")
	return p.store.GuaranteedUpdate(ctx, key(name), out, func(input runtime.Object, res store.ResponseMeta) (runtime.Object, *uint64, error) {
		if d.HasArg("fail") {
			return nil, nil, errors.New("not like this")
		}
		if meanwhile != "" {
			data := meanwhile
			meanwhile = ""
			if err := p.store.GuaranteedUpdate(p.t.Context(), key(name), &corev1.ConfigMap{}, setData(data), store.UpdateOptions{}); err != nil {
				return nil, nil, err
			}
		}
		return setData(arg(d, "data"))(input, res)
	}, store.UpdateOptions{Suggestion: p.suggestion(d, name)})
}

func (p *performer) suggestion(d *datadriven.TestData, name string) runtime.Object {
	if !d.HasArg("suggest") {
		return nil
	}
	return p.known[name].DeepCopy()
}

func (p *performer) list(ctx context.Context, d *datadriven.TestData) string {
	pred := selector(d)
	pred.Limit, _ = strconv.ParseInt(arg(d, "limit"), 10, 64)
	if d.HasArg("continue") {
		pred.Continue = p.token
	}
	list := &corev1.ConfigMapList{}
	err := p.store.GetList(ctx, "/configmaps/", store.ListOptions{
		Predicate: pred, Recursive: true, ResourceVersion: arg(d, "rv"),
		ResourceVersionMatch: metav1.ResourceVersionMatch(arg(d, "match")),
	}, list)
	if err != nil {
		return "error: " + err.Error()
	}
	p.token = list.Continue
	var b strings.Builder
	fmt.Fprintf(&b, "%d objects at %s", len(list.Items), list.ResourceVersion)
	if list.Continue != "" {
		b.WriteString(", more to come")
	}
	if list.RemainingItemCount != nil {
		fmt.Fprintf(&b, ": %d", *list.RemainingItemCount)
	}
	for i := range list.Items {
		b.WriteString("\n" + show(&list.Items[i]))
	}
	return b.String()
}

func (p *performer) watch(ctx context.Context, d *datadriven.TestData) string {
	want, err := strconv.Atoi(arg(d, "events"))
	if err != nil {
		p.t.Fatalf("%s: %v", d.Pos, err)
	}
	opts := store.ListOptions{Predicate: selector(d), Recursive: true, ResourceVersion: arg(d, "rv")}
	if d.HasArg("initial") {
		yes := true
		opts.SendInitialEvents, opts.Predicate.AllowWatchBookmarks = &yes, true
	}
	w, err := p.store.Watch(ctx, "/configmaps/", opts)
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	after, _ := strconv.Atoi(arg(d, "after"))
	for i := range want {
		if i == after {
			p.meanwhile(d)
		}
		e, ok := p.next(w)
		if !ok {
			b.WriteString("closed\n")
			break
		}
		if status, ok := e.Object.(*metav1.Status); ok {
			fmt.Fprintf(&b, "%s %d %s: %s\n", e.Type, status.Code, status.Reason, status.Message)
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", e.Type, show(e.Object.(*corev1.ConfigMap)))
	}
	w.Stop()
	// The steps are complete when the watch's goroutine has ended.
	for range w.ResultChan() {
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// meanwhile runs the commands that are a command's input.
func (p *performer) meanwhile(d *datadriven.TestData) {
	for line := range strings.Lines(d.Input) {
		cmd, args, err := datadriven.ParseLine(strings.TrimSpace(line))
		if err != nil {
			p.t.Fatalf("%s: %v", d.Pos, err)
		}
		p.perform(p.t.Context(), &datadriven.TestData{Pos: d.Pos, Cmd: cmd, CmdArgs: args})
	}
}

// next is the next event, which is never far away.
func (p *performer) next(w watch.Interface) (watch.Event, bool) {
	select {
	case e, ok := <-w.ResultChan():
		return e, ok
	case <-time.After(3 * time.Minute):
		p.t.Fatal("no event came in three minutes")
		return watch.Event{}, false
	}
}

func selector(d *datadriven.TestData) store.SelectionPredicate {
	color := arg(d, "color")
	if color == "" {
		return store.Everything
	}
	return store.SelectionPredicate{
		Label: labels.SelectorFromSet(labels.Set{"color": color}), Field: fields.Everything(),
		GetAttrs: store.DefaultNamespaceScopedAttr,
	}
}

func arg(d *datadriven.TestData, name string) string {
	for _, a := range d.CmdArgs {
		if a.Key == name && len(a.Vals) == 1 {
			return a.Vals[0]
		}
	}
	return ""
}

func show(cm *corev1.ConfigMap) string {
	s := fmt.Sprintf("%s data=%s resourceVersion=%s", cm.Name, cm.Data["data"], cm.ResourceVersion)
	if m, err := meta.Accessor(cm); err == nil && len(m.GetAnnotations()) > 0 {
		s += fmt.Sprint(" ", m.GetAnnotations())
	}
	return s
}

var leaseID = regexp.MustCompile(`lease( |=)[0-9a-f]+`)

// tree draws steps below those that called them, without what is another one each time: times and lease IDs.
func tree(steps []trace.StepRecord) string {
	var b strings.Builder
	for _, s := range steps {
		depth := 0
		for parent := s.Parent; parent >= 0; parent = steps[parent].Parent {
			depth++
		}
		indent := strings.Repeat("  ", depth)
		fmt.Fprintf(&b, "%s%s %s\n", indent, s.ID, s.Subject)
		for _, a := range s.Attrs {
			if a.IsInt {
				fmt.Fprintf(&b, "%s    %s=%d\n", indent, a.Name, a.Int)
			} else if a.Text != "" {
				fmt.Fprintf(&b, "%s    %s=%s\n", indent, a.Name, a.Text)
			}
		}
		if s.Why != "" {
			fmt.Fprintf(&b, "%s    why: %s\n", indent, s.Why)
		}
		if s.Error != "" {
			fmt.Fprintf(&b, "%s    error: %s\n", indent, s.Error)
		}
	}
	return leaseID.ReplaceAllString(b.String(), "lease${1}<id>")
}
