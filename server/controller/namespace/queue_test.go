package namespace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/util/workqueue"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

type wholeStorage interface {
	rest.Storage
	collectionStorage
}

// counted counts the deletions of a collection.
type counted struct {
	wholeStorage
	n *atomic.Int64
}

func (c counted) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *metainternalversion.ListOptions) (apiruntime.Object, error) {
	c.n.Add(1)
	return c.wholeStorage.DeleteCollection(ctx, validate, options, list)
}

// TestManyNamespaces has many namespaces end at once. Half of them are held. They cost no goroutine each, and those that are not
// held end. KX_MANY in the environment says how many there are, if not 300.
func TestManyNamespaces(t *testing.T) {
	many := 300
	if n, err := strconv.Atoi(os.Getenv("KX_MANY")); err == nil {
		many = n
	}
	p := newParts(t, nil)
	p.Start(t.Context())
	p.add("first") // for it caches are made
	p.remove("first")
	p.untilGone("first")
	goroutines := runtime.NumGoroutine()
	began := time.Now()
	eachOf(many, func(i int) {
		name := fmt.Sprint("n-", i)
		p.add(name)
		p.addConfigMap(name, "o")
		if i%2 == 0 {
			p.hold(name, "held")
		}
		p.remove(name)
	})
	most, more := 0, 0
	for left, deadline := many, time.Now().Add(time.Duration(many)*time.Second); left > many/2 || more > many/4; {
		more = runtime.NumGoroutine() - goroutines
		most = max(most, more)
		got, err := p.etcd.Client.Get(t.Context(), p.etcd.Prefix+"/namespaces/n-", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		if left = int(got.Count); time.Now().After(deadline) {
			t.Fatalf("%d namespaces of %d are left, and %d goroutines more", left, many, more)
		}
	}
	t.Logf("%d of %d namespaces ended in %v, with %d goroutines more", many/2, many, time.Since(began), most)
	// Where attempts are slow, as many as may go on beside others do, with two goroutines each.
	if most > many/2+2*mostBeside {
		t.Errorf("there were %d goroutines more for %d namespaces", most, many)
	}
	if p.hasConfigMap("n-1", "o") || !p.hasConfigMap("n-0", "held") {
		t.Error("what is in namespaces that ended, or in those that are held, is not as it should be")
	}
}

// hanging does not answer about some namespaces, and counts the attempts that were cut off.
type hanging struct {
	wholeStorage
	about  string
	cutOff *atomic.Int64
}

func (h hanging) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *metainternalversion.ListOptions) (apiruntime.Object, error) {
	if strings.HasPrefix(request.NamespaceValue(ctx), h.about) {
		<-ctx.Done()
		h.cutOff.Add(1)
		return nil, ctx.Err()
	}
	return h.wholeStorage.DeleteCollection(ctx, validate, options, list)
}

// TestHanging has more namespaces than are worked on at a time in which a resource does not answer. Others end before an attempt at each
// of these was cut off, also those that have to be looked at again.
func TestHanging(t *testing.T) {
	p := newParts(t, nil)
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	var cutOff atomic.Int64
	p.all[secrets] = hanging{p.all[secrets].(wholeStorage), "hung-", &cutOff}
	p.Start(t.Context())
	const many = 10 * mostAtOnce
	for i := range many {
		name := fmt.Sprint("hung-", i)
		p.add(name)
		p.remove(name)
	}
	p.add("held")
	p.hold("held", "o")
	p.remove("held")
	p.add("other")
	p.remove("other")
	p.untilGone("other")
	p.letGo("held", "o")
	p.untilGone("held")
	// With no attempt beside another one, all but the last few would have been.
	if n := cutOff.Load(); n >= many-mostAtOnce {
		t.Errorf("%d attempts at %d namespaces were cut off before others ended", n, many)
	}
}

// TestLooksAgain looks again at what remained, and no more: the rest comes when that is gone.
func TestLooksAgain(t *testing.T) {
	p := newParts(t, nil)
	var looks atomic.Int64
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	p.all[secrets] = counted{p.all[secrets].(wholeStorage), &looks}
	p.add("a")
	p.hold("a", "held")
	p.remove("a")
	ns, err := p.get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	e := &endingNamespace{name: "a"}
	for attempt := range 3 {
		if done, err := p.empty(t.Context(), ns.UID, e); done || err != nil {
			t.Fatal(done, err)
		}
		if n := looks.Load(); n != 1 {
			t.Errorf("after attempt %d secrets were looked at %d times", attempt+1, n)
		}
	}
	p.letGo("a", "held")
	if done, err := p.empty(t.Context(), ns.UID, e); !done || err != nil {
		t.Error(done, err)
	}
	if n := looks.Load(); n != 2 {
		t.Errorf("in the end secrets were looked at %d times", n)
	}
}

// TestUnknownResources has a namespace wait until all resources are known.
func TestUnknownResources(t *testing.T) {
	p := newParts(t, nil)
	unknown := errors.New("some groups are not known")
	p.complete = func(context.Context) error { return unknown }
	p.add("a")
	p.hold("a", "held")
	p.remove("a")
	ns, err := p.get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	e := &endingNamespace{name: "a"}
	says := func(reason, message string) {
		t.Helper()
		if done, err := p.empty(t.Context(), ns.UID, e); done || err != nil {
			t.Fatal(done, err)
		}
		ns, err := p.get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if c := ns.Status.Conditions[0]; c.Reason != reason || c.Message != message {
			t.Errorf("%+v", c)
		}
	}
	says("DiscoveryFailed", unknown.Error())
	p.letGo("a", "held")
	says("DiscoveryFailed", unknown.Error())
	unknown = nil
	if done, err := p.empty(t.Context(), ns.UID, e); !done || err != nil {
		t.Error(done, err)
	}
}

// TestPauses has thousands look again for a while: together, they get so many looks a second.
func TestPauses(t *testing.T) { synctest.Test(t, testPauses) }

func testPauses(t *testing.T) {
	const many = 5000
	p := newPauses()
	uid := func(i int) types.UID { return types.UID(fmt.Sprint(i)) }
	for round := range soon {
		for i := range many {
			if pause := p.When(uid(i)); pause > 100*time.Millisecond<<round {
				t.Fatalf("in round %d, %d waits for %v", round, i, pause)
			}
		}
	}
	var longest time.Duration
	for i := range many {
		longest = max(longest, p.When(uid(i)))
	}
	if want := many / perSecond * time.Second; longest < want-2*time.Second || longest > want {
		t.Errorf("the last of %d waits for %v, and not for about %v", many, longest, want)
	}
	if pause := p.When("another"); pause != 100*time.Millisecond {
		t.Errorf("another one waits for %v", pause)
	}
}

// eachOf calls do with 0 to n-1, several at a time.
func eachOf(n int, do func(int)) {
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait()
}

// hold makes a config map that a finalizer holds, and letGo lets it go.
func (p parts) hold(namespace, name string) {
	p.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Finalizers: []string{"example.com/wait"}}}
	_, err := p.all[configMaps].(rest.Creater).Create(builtintest.Context(p.t, namespace), cm, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		p.t.Error(err)
	}
}

func (p parts) letGo(namespace, name string) {
	p.t.Helper()
	next := func(_ context.Context, _, old apiruntime.Object) (apiruntime.Object, error) {
		cm, err := builtin.As[*corev1.ConfigMap](old)
		if err == nil {
			cm = cm.DeepCopy()
			cm.Finalizers = nil
		}
		return cm, err
	}
	_, _, err := p.all[configMaps].(rest.Updater).Update(builtintest.Context(p.t, namespace), name, rest.DefaultUpdatedObjectInfo(nil, next), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
}

// TestOneAttemptAtATime has a namespace come out of a queue while an attempt at it goes on: it waits.
func TestOneAttemptAtATime(t *testing.T) {
	const uid = types.UID("1")
	e := &endingNamespace{name: "a", working: true}
	c := &Controller{
		ending: map[types.UID]*endingNamespace{uid: e}, working: 1, term: t.Context(), log: slog.New(slog.DiscardHandler),
		counts: work.NewMetrics(nil).Counts("n"), fresh: workqueue.NewTypedDelayingQueue[types.UID](),
		again: workqueue.NewTypedRateLimitingQueue(newPauses()), slow: workqueue.NewTypedRateLimitingQueue(newPauses()),
	}
	t.Cleanup(func() { c.fresh.ShutDown(); c.again.ShutDown(); c.slow.ShutDown() })
	c.take(uid, time.Second)
	if c.working != 1 || !e.working || e.failure != "" {
		t.Fatalf("there was a second attempt: %+v", e)
	}
	if got, over := c.fresh.Get(); got != uid || over {
		t.Errorf("%q comes out of the queue", got)
	}
}
