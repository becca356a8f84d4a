package flow

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	flowrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	clientv1 "k8s.io/client-go/kubernetes/typed/flowcontrol/v1"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/controller/work"
)

// Config configures flow control.
type Config struct {
	// Seats limits the requests that run at once, apart from exempt ones.
	Seats int
	// Wait limits the wait for a seat of a request without a deadline, such as a watch. Other requests wait for up to a
	// quarter of their time. No request waits for more than a minute.
	Wait time.Duration
	Kit  *work.Kit
	// Sizes returns the number and the stored bytes of a resource's objects, as far as they are known without a query.
	Sizes func(schema.GroupResource) (items int, bytes int64)
	Log   *slog.Logger
}

// Control admits requests.
type Control struct {
	lib     flowcontrol.Interface
	levels  *kept[*flowcontrolv1.PriorityLevelConfiguration]
	schemas *kept[*flowcontrolv1.FlowSchema]
	writes  *writes
	wait    time.Duration
	sizes   func(schema.GroupResource) (items int, bytes int64)
	dropped flowcontrol.DroppedRequestsTracker
	queues  *queues
	log     *slog.Logger
}

// register adds the library's metrics to those of the process.
var register = sync.OnceFunc(metrics.Register)

// New returns a control with only the two mandatory levels, until it runs.
func New(c Config) (*Control, error) {
	register()
	levelObjects, err := newKept[*flowcontrolv1.PriorityLevelConfiguration]("prioritylevelconfigurations", c.Kit.Etcd, c.Kit.Decoder, c.Log)
	if err != nil {
		return nil, err
	}
	schemaObjects, err := newKept[*flowcontrolv1.FlowSchema]("flowschemas", c.Kit.Etcd, c.Kit.Decoder, c.Log)
	if err != nil {
		return nil, err
	}
	// The library makes only writes that writes carries out. Any other call would fail at once.
	client, err := clientv1.NewForConfig(&rest.Config{Host: "http://127.0.0.1:0"})
	if err != nil {
		return nil, fmt.Errorf("make the client of flow control: %w", err)
	}
	writer := c.Kit.Writer(flowcontrol.ConfigConsumerAsFieldManager, "")
	writer.User = work.APIServer
	allowed := &writes{
		FlowcontrolV1Interface: client, schemas: schemaObjects,
		objects: work.ObjectsOf[*flowcontrolv1.FlowSchema](c.Kit, writer, flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")),
	}
	found := &queues{}
	clock := eventclock.Real{}
	return &Control{
		levels: levelObjects, schemas: schemaObjects, writes: allowed, wait: c.Wait, sizes: c.Sizes, queues: found, log: c.Log,
		dropped: flowcontrol.NewDroppedRequestsTracker(),
		lib: flowcontrol.NewTestable(flowcontrol.TestableConfig{
			Name: "kx", Clock: clock, AsFieldManager: flowcontrol.ConfigConsumerAsFieldManager,
			FoundToDangling:        func(found bool) bool { return !found },
			InformerFactory:        informersOf(levelObjects, schemaObjects),
			FlowcontrolClient:      allowed,
			ServerConcurrencyLimit: c.Seats,
			ReqsGaugeVec:           metrics.PriorityLevelConcurrencyGaugeVec,
			ExecSeatsGaugeVec:      metrics.PriorityLevelExecutionSeatsGaugeVec,
			QueueSetFactory:        found.by(queueset.NewQueueSetFactory(clock)),
		}),
	}, nil
}

// Run follows the objects until ctx ends. After it returns, nothing writes any more.
func (c *Control) Run(ctx context.Context) {
	c.writes.begin(ctx)
	defer c.writes.end()
	var running sync.WaitGroup
	running.Go(func() { c.levels.feed.Run(ctx) })
	running.Go(func() { c.schemas.feed.Run(ctx) })
	running.Go(func() {
		if err := c.lib.Run(ctx.Done()); err != nil && ctx.Err() == nil {
			c.log.Error("flow control does not follow its objects", "error", err)
		}
	})
	running.Wait()
}

// Named identifies an object of flow control. A default that is not stored has no UID.
type Named struct {
	Name string
	UID  types.UID
}

// Request is a request to admit.
type Request struct {
	HTTP *http.Request
	Info *request.RequestInfo
	User user.Info
	// Gives is true if the request may give its seat back before it ends, which costs 5 to 10 µs.
	Gives bool
}

// Entry describes the classification and admission of a request.
type Entry struct {
	Schema, Level Named
	// Flow distinguishes the flows of a schema: a user, a namespace, or nothing.
	Flow   string
	Exempt bool
	// Queues is true if requests of the level may wait.
	Queues bool
	// Seats is the number of seats that the request takes.
	Seats int
	// Waited is the time that the request spent in a queue, and Queue the number of the queue, -1 if it is unknown.
	Waited time.Duration
	Queue  int
	// RetryAfter is the number of seconds after which a refused client should try again.
	RetryAfter int64
}

// Serve calls do once the request may run; a refused request never runs. Before that it calls judged, as soon as the
// decision is known. The seat is given back when do returns. do gets nil for a request that can't give it back earlier.
func (c *Control) Serve(r Request, judged func(e *Entry, admitted bool), do func(*Seat)) {
	visit := &visit{control: c, request: r}
	refuse := func() {
		c.dropped.RecordDroppedRequest(visit.entry.Level.Name)
		visit.entry.RetryAfter = c.dropped.GetRetryAfter(visit.entry.Level.Name)
		judged(&visit.entry, false)
	}
	if !r.Gives {
		served, w := false, visit.wait(r.HTTP.Context())
		c.lib.Handle(w, visit.digest(), visit.note, visit.estimate, w.note, func() {
			served = true
			w.finish(true)
			judged(&visit.entry, true)
			do(nil)
		})
		if !served {
			w.finish(false)
			refuse()
		}
		return
	}
	seat := &Seat{visit: visit}
	if !seat.take(r.HTTP.Context(), true) {
		refuse()
		return
	}
	defer seat.Pause()
	judged(&visit.entry, true)
	if r.Info.Verb == "watch" {
		if forget := c.lib.RegisterWatch(r.HTTP); forget != nil {
			defer forget()
		}
	}
	do(seat)
}

// visit is one request's way through the library.
type visit struct {
	control *Control
	request Request
	entry   Entry
}

func (v *visit) digest() flowcontrol.RequestDigest {
	return flowcontrol.RequestDigest{RequestInfo: v.request.Info, User: v.request.User}
}

// note records the classification of the request.
func (v *visit) note(fs *flowcontrolv1.FlowSchema, pl *flowcontrolv1.PriorityLevelConfiguration, distinguisher string) {
	v.entry = Entry{
		Schema: Named{fs.Name, fs.UID}, Level: Named{pl.Name, pl.UID}, Flow: distinguisher, Queue: -1,
		Exempt: pl.Spec.Type == flowcontrolv1.PriorityLevelEnablementExempt,
		Queues: pl.Spec.Limited != nil && pl.Spec.Limited.LimitResponse.Type == flowcontrolv1.LimitResponseTypeQueue,
	}
}

// estimate returns the work of the request. The library calls it after note.
func (v *visit) estimate() flowrequest.WorkEstimate {
	work := v.control.work(&v.request, v.entry.Level.Name)
	v.entry.Seats = work.MaxSeats()
	metrics.ObserveWorkEstimatedSeats(v.entry.Level.Name, v.entry.Schema.Name, v.entry.Seats)
	return work
}
