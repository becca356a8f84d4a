package handler

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// handleWatch sends the watcher's events until the client disconnects, the timeout passes, the server shuts down or the
// storage ends the watch. If it returns an error, nothing has been written yet.
func (l *lister) handleWatch(w http.ResponseWriter, req *http.Request) (err error) {
	scope := l.scope
	ctx, step := trace.Start(req.Context(), steps.HandlerWatch, req.URL.Path)
	defer step.End(&err)
	ctx, opts, mediaType, err := l.request(ctx, req)
	if err != nil {
		return err
	}
	if l.watcher == nil {
		err := apierrors.NewMethodNotSupported(scope.Resource.GroupResource(), "watch")
		return MethodNotSupported(ctx, "watch", []string{"list"}, err)
	}
	timeout := watchTimeout(opts, l.minRequestTimeout)
	step.Text("resourceVersion", opts.ResourceVersion)
	step.Text("timeout", timeout.String())

	if timeout > 0 {
		ctx = rest.WithWatchEnd(ctx, time.Now().Add(timeout))
	}
	// The storage's watch ends when this function returns, for any reason.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	trace.OnDrop(ctx, func() { cancel(trace.ErrDropped) })
	watcher, err := startWatch(ctx, l.watcher, scope, opts)
	if err != nil {
		return err
	}
	defer watcher.Stop()
	server, err := serveWatchHandler(watcher, scope, mediaType, req, timeout, isWatchList(opts))
	if err != nil {
		return err
	}
	if req = req.WithContext(ctx); isWebSocketRequest(req) {
		err = server.HandleWebSocket(w, req)
	} else {
		server.HandleHTTP(w, req)
	}
	step.WhyText(server.ended, server.failure)
	step.Int("events", server.sent)
	return err
}

// watchTimeout returns the duration of a watch; 0 means no limit. Watches without a timeout get a random one. Otherwise
// all clients of a restarted server would come back at the same moment for ever. A negative timeout ends the
// watch at once, and one that is too long for a Duration wraps around, as in a kube-apiserver.
func watchTimeout(opts *metainternalversion.ListOptions, minRequestTimeout time.Duration) time.Duration {
	if opts.TimeoutSeconds != nil {
		if timeout := time.Duration(*opts.TimeoutSeconds) * time.Second; timeout != 0 {
			return timeout
		}
	}
	return time.Duration(float64(minRequestTimeout) * (1 + rand.Float64()))
}

// isWatchList reports whether the client gets the existing objects first and a bookmark after them.
func isWatchList(opts *metainternalversion.ListOptions) bool {
	return opts.SendInitialEvents != nil && *opts.SendInitialEvents && opts.AllowWatchBookmarks
}

func startWatch(ctx context.Context, rw rest.Watcher, scope *RequestScope,
	opts *metainternalversion.ListOptions) (_ watch.Interface, err error) {
	ctx, step := trace.Start(ctx, steps.RESTWatch, scope.Resource.Resource)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return nil, err
	}
	watchMethod.note(step, rw)
	return rest.EncodedWatch(rw)(ctx, opts)
}

// WatchServer sends the events of one watch to one client.
//
// It runs on the request's goroutine. Events are encoded one by one into a buffer, which is sent when no further event
// is waiting or the buffer is large. So a busy watch costs one write for many events, and an idle one holds no buffer.
type WatchServer struct {
	Watching watch.Interface
	Scope    *RequestScope
	// Timeout limits the duration of the watch; 0 means no limit.
	Timeout time.Duration
	// ServerShuttingDownCh closes when the server stops. It may be nil.
	ServerShuttingDownCh <-chan struct{}

	format  *watchFormat
	encoder *watchEncoder
	gzip    bool
	// initialEvents is true if the client gets the existing objects first and a bookmark after them.
	initialEvents bool
	count         func(sizeBytes int) // for /metrics

	sent int64
	// ended is the reason for the end, and failure the error if there was one.
	ended   trace.Reason
	failure string
}

// serveWatchHandler prepares the WatchServer that sends watcher's events in the form that the client asked for.
func serveWatchHandler(watcher watch.Interface, scope *RequestScope, mediaType negotiation.MediaTypeOptions, req *http.Request,
	timeout time.Duration, initialEvents bool) (*WatchServer, error) {
	format := watchFormatFor(mediaType.Accepted.MediaType)
	if format == nil {
		_, supported := negotiation.MediaTypesForSerializer(scope.Serializer)
		return nil, negotiation.NewNotAcceptableError(supported)
	}
	encoder, err := newWatchEncoder(scope, mediaType, format, req)
	if err != nil {
		return nil, err
	}
	server := &WatchServer{
		Watching:      watcher,
		Scope:         scope,
		Timeout:       timeout,
		format:        format,
		encoder:       encoder,
		gzip:          initialEvents && responsewriters.AcceptsGzip(req),
		initialEvents: initialEvents,
		count:         scope.Metrics.WatchEvents(scope.Resource),
	}
	if signal := request.ServerShutdownSignalFrom(req.Context()); signal != nil {
		server.ServerShuttingDownCh = signal.ShuttingDown()
	}
	return server, nil
}

var clientUnreachable = trace.Because("client-unreachable",
	"the client can't be reached: {error:quote}",
	"无法连接客户端：{error:quote}")

// HandleHTTP sends the events as one endless response.
func (s *WatchServer) HandleHTTP(w http.ResponseWriter, req *http.Request) {
	stream := newHTTPStream(w, s.format, s.gzip)
	if err := stream.begin(); err != nil {
		s.ended, s.failure = clientUnreachable, err.Error()
		return
	}
	s.serve(req.Context(), stream)
}

// eventStream is the connection to a client.
type eventStream interface {
	// framed reports whether events share one stream of bytes, and so need frames.
	framed() bool
	// event is called after each event that is added to b. It may send b and empty it.
	event(b *watchBuffers) error
	// flush sends the content of b.
	flush(b *watchBuffers) error
	// done closes when the client is known to be gone. It may be nil.
	done() <-chan struct{}
}

var errWatchEncoding = errors.New("an event could not be encoded")

var (
	clientClosed     = trace.Because("client-closed", "the client closed the connection", "客户端关闭了连接")
	watchTimeUp      = trace.Because("watch-time-up", "the time of the watch is up", "监听到期")
	watchServerStops = trace.Because("watch-server-stops", "the server is shutting down", "服务正在关闭")
	watchEndedBelow  = trace.Because("watch-ended-below", "the storage ended the watch", "存储层结束了监听")
	watchFailed      = trace.Because("watch-failed", "{error:quote}", "{error:quote}")
)

// serve sends events until the watch ends, and sets s.ended to the reason.
func (s *WatchServer) serve(ctx context.Context, stream eventStream) {
	var timeout <-chan time.Time
	if s.Timeout != 0 {
		timer := time.NewTimer(s.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	if !s.initialEvents {
		rest.NotifyInitialized(ctx)
	}
	events := s.Watching.ResultChan()
	watcher := trace.FromContext(ctx) // nil once another goroutine asks it for the lag of events
	var pending *watchBuffers         // nil while idle
	defer func() {
		if pending != nil {
			// The client still gets the events that were encoded before the end. An error only means that it is gone.
			_ = stream.flush(pending)
			pending.release()
		}
	}()
	for {
		select {
		case <-s.ServerShuttingDownCh:
			s.ended = watchServerStops
			return
		case <-ctx.Done():
			s.ended = whyDone(ctx)
			return
		case <-stream.done():
			s.ended = clientClosed
			return
		case <-timeout:
			s.ended = watchTimeUp
			return
		case event, ok := <-events:
			if !ok {
				s.ended = watchEndedBelow
				if ctx.Err() != nil {
					s.ended = whyDone(ctx) // which also ended the storage's watch
				}
				return
			}
			if pending == nil {
				pending = newWatchBuffers()
			}
			var err error
			if lag := lagOf(watcher, event); lag.Delay > 0 {
				events, watcher = delayEvents(ctx, watcher, events, newLateEvent(event, lag)), nil
			} else {
				err = s.send(ctx, stream, pending, event)
			}
			if err == nil && len(events) == 0 {
				err = stream.flush(pending)
				pending.release()
				pending = nil
			}
			if err != nil {
				s.ended, s.failure = watchFailed, err.Error()
				return
			}
		}
	}
}

var (
	watchDropped = trace.Because("watch-dropped", "somebody dropped the watch", "有人中断了这个监听")
	clientGone   = trace.Because("client-gone", "the client is gone", "客户端已离开")
)

// whyDone returns the reason why the context of a watch has ended.
func whyDone(ctx context.Context) trace.Reason {
	if errors.Is(context.Cause(ctx), trace.ErrDropped) {
		return watchDropped
	}
	return clientGone
}

// send encodes event into b. If that fails, the watch ends with an ERROR event: a client that silently missed an event
// would have wrong state from then on.
func (s *WatchServer) send(ctx context.Context, stream eventStream, b *watchBuffers, event watch.Event) (err error) {
	ctx, step := trace.Start(ctx, steps.HandlerWatchEvent, string(event.Type))
	defer step.End(&err)
	describeEvent(step, event)
	if err := step.Err(); err != nil {
		if !errors.Is(err, trace.ErrDropped) {
			s.sendError(ctx, stream, b, err)
		}
		return err
	}

	before := b.out.Len()
	if encodeErr := s.encoder.encode(ctx, b, event, stream.framed()); encodeErr != nil {
		b.out.Truncate(before)
		s.sendError(ctx, stream, b, encodeErr)
		return errors.Join(errWatchEncoding, encodeErr)
	}
	step.Int("bytes", int64(b.size()-before))
	s.count(b.size() - before)
	s.sent++
	if err := stream.event(b); err != nil {
		return err
	}
	tellWriter(ctx, event)
	if event.Type == watch.Bookmark && endsInitialEvents(event.Object) {
		s.countListed(ctx)
		rest.NotifyInitialized(ctx)
	}
	if failed, ok := event.Object.(*metav1.Status); ok && event.Type == watch.Error {
		trace.AnswerFailed(ctx, int(failed.Code))
		return &apierrors.StatusError{ErrStatus: *failed} // nothing comes after it
	}
	return nil
}

// countListed counts for /metrics that the initial events of a watch have been sent.
func (s *WatchServer) countListed(ctx context.Context) {
	info, ok := request.RequestInfoFrom(ctx)
	received, known := request.ReceivedTimestampFrom(ctx)
	if ok && known {
		s.Scope.Metrics.WatchListed(info, time.Since(received))
	}
}

// sendError sends the client an ERROR event with the reason for the end, if it can be encoded.
func (s *WatchServer) sendError(ctx context.Context, stream eventStream, b *watchBuffers, why error) {
	status := statusOf(why)
	trace.AnswerFailed(ctx, int(status.Code))
	if s.encoder.encode(ctx, b, watch.Event{Type: watch.Error, Object: &status}, stream.framed()) == nil {
		_ = stream.event(b)
	}
}

// statusOf returns the Status of an ERROR event.
func statusOf(err error) metav1.Status {
	var carrier apierrors.APIStatus
	if !errors.As(err, &carrier) {
		carrier = apierrors.NewInternalError(err)
	}
	return carrier.Status()
}

// tellWriter links event to the request whose write caused it.
func tellWriter(ctx context.Context, event watch.Event) {
	if trace.FromContext(ctx) == nil || event.Type == watch.Bookmark || event.Type == watch.Error {
		return
	}
	if encoded, ok := event.Object.(*object.Encoded); ok {
		trace.RecordDelivery(ctx, string(event.Type), encoded.Revision())
		return
	}
	m, err := meta.Accessor(event.Object)
	if err != nil {
		return
	}
	if revision, err := strconv.ParseInt(m.GetResourceVersion(), 10, 64); err == nil {
		trace.RecordDelivery(ctx, string(event.Type), revision)
	}
}

// describeEvent adds the event's object to step, if the step is recorded.
func describeEvent(step *trace.Step, event watch.Event) {
	if !step.Recording() {
		return
	}
	if status, ok := event.Object.(*metav1.Status); ok {
		if step.Confidential() {
			status = mask.Status(status)
		}
		step.Text("error", status.Message)
		return
	}
	if encoded, ok := event.Object.(*object.Encoded); ok {
		step.Text("key", encoded.Key())
		step.Int("resourceVersion", encoded.Revision())
		return
	}
	m, err := meta.Accessor(event.Object)
	if err != nil {
		return // an object without metadata has no key
	}
	key := m.GetName()
	if namespace := m.GetNamespace(); namespace != "" {
		key = namespace + "/" + key
	}
	step.Text("key", key)
	step.Text("resourceVersion", m.GetResourceVersion())
}
