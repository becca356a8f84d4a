package handler_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

// open sends a request for a watch and returns its response when the headers are there.
func open(t *testing.T, f *front, path, accept string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// readAll reads a watch to its end.
func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("the watch did not end as it should: %v, after %q", err, data)
	}
	return string(data)
}

// status is the Status that a request was refused with, as "code reason message".
func status(t *testing.T, res *http.Response) string {
	t.Helper()
	var s metav1.Status
	if err := yaml.Unmarshal([]byte(readAll(t, res.Body)), &s); err != nil {
		t.Fatal(err)
	}
	if int(s.Code) != res.StatusCode || s.Kind != "Status" || s.Status != metav1.StatusFailure {
		t.Errorf("code %d with %+v", res.StatusCode, s)
	}
	return fmt.Sprintf("%d %s %s", s.Code, s.Reason, s.Message)
}

const watchPath = "/api/v1/namespaces/default/configmaps?watch=true"

// TestWatchForms: what is on the wire, byte by byte, in each form that a watch can have.
func TestWatchForms(t *testing.T) {
	object := func(rv string) string {
		return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"uid-a","resourceVersion":"` + rv + `"},"data":{"k":"\u003cv\u003e"}}`
	}
	table := func(columns, row, rv, object string) string {
		return `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"` + rv + `"},"columnDefinitions":` + columns +
			`,"rows":[{"cells":["` + row + `"],"object":` + object + `}]}`
	}
	const (
		partial = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"default","uid":"uid-a","resourceVersion":"%s"}}`
		columns = `[{"name":"Name","type":"string","format":"","description":"","priority":0}]`
		expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}}` + "\n"
		booked  = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`
	)
	bookedPartial := `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`
	event := func(eventType, object string) string { return `{"type":"` + eventType + `","object":` + object + "}\n" }
	for _, tc := range []struct{ name, query, accept, contentType, want string }{
		{
			"JSON", "", "application/json", "application/json",
			event("ADDED", object("1")) + event("MODIFIED", object("2")) + event("DELETED", object("3")) + event("BOOKMARK", booked) + expired,
		},
		{
			"JSON stream", "", "application/json;stream=watch", "application/json",
			event("ADDED", object("1")) + event("MODIFIED", object("2")) + event("DELETED", object("3")) + event("BOOKMARK", booked) + expired,
		},
		{
			"Table", "", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json",
			event("ADDED", table(columns, "a", "1", fmt.Sprintf(partial, "1"))) +
				event("MODIFIED", table("null", "a", "2", fmt.Sprintf(partial, "2"))) +
				event("DELETED", table("null", "a", "3", fmt.Sprintf(partial, "3"))) +
				event("BOOKMARK", table("null", "", "9", bookedPartial)) + expired,
		},
		{
			"Table of objects", "&includeObject=Object", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json",
			event("ADDED", table(columns, "a", "1", object("1"))) +
				event("MODIFIED", table("null", "a", "2", object("2"))) +
				event("DELETED", table("null", "a", "3", object("3"))) +
				event("BOOKMARK", table("null", "", "9", booked)) + expired,
		},
		{
			"PartialObjectMetadata", "", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json", "application/json",
			event("ADDED", fmt.Sprintf(partial, "1")) + event("MODIFIED", fmt.Sprintf(partial, "2")) +
				event("DELETED", fmt.Sprintf(partial, "3")) + event("BOOKMARK", bookedPartial) + expired,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newConfigMaps()
			f := newFront(t, m, "configmaps", "ConfigMap")
			m.put(configMap("a", "k", "<v>"))
			last := m.put(m.objects["default/a"])
			m.remove(last)
			res := open(t, f, watchPath+tc.query, tc.accept)
			gone := apierrors.NewResourceExpired("too old resource version: 1 (2)").Status()
			m.emit(bookmark(&corev1.ConfigMap{}, 9), watch.Event{Type: watch.Error, Object: &gone})
			m.end()
			if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != tc.contentType {
				t.Errorf("%d with Content-Type %q; want 200 with %q", res.StatusCode, got, tc.contentType)
			}
			if got := readAll(t, res.Body); got != tc.want {
				t.Errorf("\ngot  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestWatchProtobuf(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	m.put(configMap("a", "k", "v"))
	m.put(configMap("b", "k", strings.Repeat("v", 100_000)))
	res := open(t, f, watchPath, runtime.ContentTypeProtobuf)
	gone := apierrors.NewResourceExpired("too old").Status()
	m.emit(watch.Event{Type: watch.Error, Object: &gone})
	m.end()
	if got := res.Header.Get("Content-Type"); got != "application/vnd.kubernetes.protobuf;stream=watch" {
		t.Errorf("Content-Type %q", got)
	}
	frames := protobuf.LengthDelimitedFramer.NewFrameReader(res.Body)
	var got []string
	buf := make([]byte, 1<<20)
	for {
		n, err := frames.Read(buf)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var event metav1.WatchEvent
		if err := event.Unmarshal(buf[:n]); err != nil {
			t.Fatal(err)
		}
		obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(event.Object.Raw, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		switch o := obj.(type) {
		case *corev1.ConfigMap:
			text = fmt.Sprintf("%s@%s, %d bytes", o.Name, o.ResourceVersion, len(o.Data["k"]))
		case *metav1.Status:
			text = string(o.Reason)
		}
		got = append(got, fmt.Sprintf("%s %s %s", event.Type, gvk, text))
	}
	want := "ADDED /v1, Kind=ConfigMap a@1, 1 bytes|ADDED /v1, Kind=ConfigMap b@2, 100000 bytes|ERROR /v1, Kind=Status Expired"
	if strings.Join(got, "|") != want {
		t.Errorf("\ngot  %s\nwant %s", strings.Join(got, "|"), want)
	}
}

// TestWatchRefused: what a client is told that can't have its watch.
func TestWatchRefused(t *testing.T) {
	f := newFront(t, newConfigMaps(), "configmaps", "ConfigMap")
	for _, tc := range []struct{ query, accept, want string }{
		{"", "text/plain", "406 NotAcceptable only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"},
		{"", "application/yaml", "406 NotAcceptable only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"},
		{"", "application/yaml, application/json", "406 NotAcceptable only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"},
		{"&includeObject=Some", "application/json;as=Table;v=v1;g=meta.k8s.io", `400 BadRequest Unable to convert to Table as requested: includeObject: Invalid value: "Some": must be 'Metadata', 'Object', 'None', or empty`},
		{"&sendInitialEvents=true", "", `422 Invalid ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`},
		{"&resourceVersionMatch=NotOlderThan&resourceVersion=1", "", `422 Invalid ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided`},
		{"&timeoutSeconds=x", "", `400 BadRequest strconv.ParseInt: parsing "x": invalid syntax`},
		{"&fieldSelector=spec.x=1", "", `400 BadRequest "spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"`},
	} {
		if got := status(t, open(t, f, watchPath+tc.query, tc.accept)); got != tc.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", tc.query, tc.accept, got, tc.want)
		}
	}
}

// TestWatchPaths: a watch may be of a collection, of one name, or at the old paths.
func TestWatchPaths(t *testing.T) {
	for _, path := range []string{
		"/api/v1/namespaces/default/configmaps?watch=1",
		"/api/v1/configmaps?watch=true",
		"/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=metadata.name%3Da",
		"/api/v1/watch/configmaps",
		"/api/v1/watch/namespaces/default/configmaps",
		"/api/v1/watch/namespaces/default/configmaps/a",
	} {
		m := newConfigMaps()
		f := newFront(t, m, "configmaps", "ConfigMap")
		m.put(configMap("a"))
		res := open(t, f, path, "")
		m.end()
		if got := readAll(t, res.Body); !strings.HasPrefix(got, `{"type":"ADDED"`) {
			t.Errorf("%s: %d %s", path, res.StatusCode, got)
		}
	}
}

// TestWatchEnds: every end of a watch is clean for a client that is still there, and stops the storage's watch.
func TestWatchEnds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, tc := range []struct {
		name, query string
		end         func(*front, *memory, *http.Response)
		why         string
	}{
		{"the storage", "", func(_ *front, m *memory, _ *http.Response) { m.end() }, "the storage ended the watch"},
		{"the server", "", func(f *front, _ *memory, _ *http.Response) { close(f.shutdown) }, "the server is shutting down"},
		{"the time", "&timeoutSeconds=1", func(*front, *memory, *http.Response) {}, "the time of the watch is up"},
		{"the client", "", func(_ *front, _ *memory, res *http.Response) { res.Body.Close() }, "the client is gone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newConfigMaps()
			f := newFront(t, m, "configmaps", "ConfigMap")
			m.put(configMap("a"))
			res := open(t, f, watchPath+tc.query, "")
			body := bufio.NewReader(res.Body)
			if line, err := body.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"type":"ADDED"`) {
				t.Fatalf("%q, %v", line, err)
			}
			tc.end(f, m, res)
			if tc.name != "the client" {
				if rest := readAll(t, body); rest != "" {
					t.Errorf("read %q at the end", rest)
				}
			}
			<-m.stopped
			f.Close()
			if why := step(t, f, steps.HandlerWatch).Why; why != tc.why {
				t.Errorf("ended because %q; want %q", why, tc.why)
			}
		})
	}
}

// step is the one step of its kind that was recorded.
func step(t *testing.T, f *front, id steps.ID) trace.StepRecord {
	t.Helper()
	taken := recorded(f, id)
	if len(taken) != 1 {
		t.Fatalf("%d steps %s; want 1", len(taken), id)
	}
	return taken[0]
}

func recorded(f *front, id steps.ID) []trace.StepRecord {
	var taken []trace.StepRecord
	journeys, _ := f.recorder.List()
	for _, j := range journeys {
		for _, s := range j.Journey.Record().Steps {
			if s.ID == id {
				taken = append(taken, s)
			}
		}
	}
	return taken
}

func TestWatchJourney(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	m.put(configMap("a"))
	res := open(t, f, watchPath, "")
	gone := apierrors.NewResourceExpired("too old").Status()
	m.emit(watch.Event{Type: watch.Error, Object: &gone})
	m.end()
	body := readAll(t, res.Body)
	<-m.stopped
	f.Close()

	var got []string
	journeys, _ := f.recorder.List()
	bytes := 0
	for _, s := range journeys[0].Journey.Record().Steps {
		if s.ID.Info().Fine {
			continue
		}
		line := s.ID.String() + " " + s.Subject
		for _, a := range s.Attrs {
			switch {
			case a.Name == "bytes":
				bytes += int(a.Int)
			case a.IsInt:
				line += fmt.Sprintf(" %s=%d", a.Name, a.Int)
			case a.Name != "timeout" && a.Name != "storage":
				line += fmt.Sprintf(" %s=%s", a.Name, a.Text)
			}
		}
		got = append(got, line)
	}
	want := []string{
		"handler.watch /api/v1/namespaces/default/configmaps resourceVersion= events=2",
		"rest.watch configmaps",
		"handler.watch-event ADDED key=default/a resourceVersion=1",
		"handler.watch-event ERROR error=too old",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("\ngot\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// The response had begun when the error came.
	record := journeys[0].Journey.Record()
	if last := record.Steps[len(record.Steps)-1]; record.WatchError != 410 || last.Error != "too old" ||
		step(t, f, steps.HandlerWatch).Why != "too old" {
		t.Errorf("%d: %+v", record.WatchError, last)
	}
	families, err := f.scope.Metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool {
		return f.GetName() == "apiserver_watch_events_total" && f.Metric[0].Counter.GetValue() >= 2
	}) {
		t.Error("the events are not counted")
	}
	if bytes != len(body) {
		t.Errorf("the events are said to have %d bytes; they have %d", bytes, len(body))
	}
}

// TestWatchEncodingFails: an event that can't be sent is not left out silently.
func TestWatchEncodingFails(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	m.put(configMap("a"))
	res := open(t, f, watchPath, "")
	m.emit(watch.Event{Type: watch.Modified, Object: &metainternalversion.List{}})
	lines := strings.Split(readAll(t, res.Body), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Internal error occurred: `) {
		t.Errorf("got %q", lines)
	}
	<-m.stopped
}

// TestWatchManyEvents: batches lose nothing, also when they are larger than any buffer.
func TestWatchManyEvents(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	const n = 3000
	for i := range n {
		m.put(configMap(fmt.Sprint("cm-", i), "k", strings.Repeat("x", i%700)))
	}
	m.put(configMap("large", "k", strings.Repeat("x", 2<<20)))
	res := open(t, f, watchPath, "")
	m.end()
	decoder := json.NewDecoder(res.Body)
	for i := range n + 1 {
		var event struct {
			Type   string
			Object corev1.ConfigMap
		}
		if err := decoder.Decode(&event); err != nil {
			t.Fatal(err)
		}
		if event.Type != "ADDED" || event.Object.ResourceVersion != fmt.Sprint(i+1) {
			t.Fatalf("event %d is %s at %s", i, event.Type, event.Object.ResourceVersion)
		}
	}
	if decoder.More() {
		t.Error("more events than were sent")
	}
}

// TestWatchListCompressed: a watch that begins with the present state is compressed, each flush by itself.
func TestWatchListCompressed(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	m.put(configMap("a"))
	res := open(t, f, watchPath+"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "", "Accept-Encoding", "gzip")
	if got := res.Header.Get("Content-Encoding"); got != "gzip" {
		t.Fatalf("Content-Encoding %q", got)
	}
	unzipped, err := gzip.NewReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	body := bufio.NewReader(unzipped)
	for _, want := range []string{"ADDED", "BOOKMARK"} {
		if line, err := body.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"type":"`+want) {
			t.Fatalf("got %q, %v; want %s", line, err, want)
		}
	}
	m.put(configMap("b")) // arrives though the stream goes on
	if line, err := body.ReadString('\n'); err != nil || !strings.Contains(line, `"name":"b"`) {
		t.Fatalf("got %q, %v", line, err)
	}
	m.end()

	other := open(t, f, watchPath, "", "Accept-Encoding", "gzip")
	m.end()
	if got := other.Header.Get("Content-Encoding"); got != "" {
		t.Errorf("a plain watch has Content-Encoding %q", got)
	}
}

// TestWatchSlowReader: a client that does not read holds up nobody, and its watch ends when it goes.
func TestWatchSlowReader(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	slow := open(t, f, watchPath, "")
	fast := open(t, f, watchPath, "")
	for i := range 100 {
		m.put(configMap(fmt.Sprint("cm-", i), "k", strings.Repeat("x", 200_000)))
	}
	decoder := json.NewDecoder(fast.Body)
	for range 100 {
		var event metav1.WatchEvent
		if err := decoder.Decode(&event); err != nil {
			t.Fatal(err)
		}
	}
	slow.Body.Close()
	<-m.stopped
	m.end()
}

// TestInformer: client-go's informers see everything, in JSON and in protobuf.
func TestInformer(t *testing.T) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			m := newConfigMaps()
			f := newFront(t, m, "configmaps", "ConfigMap")
			m.put(configMap("a"))
			client, err := kubernetes.NewForConfig(&rest.Config{Host: f.URL, ContentConfig: rest.ContentConfig{ContentType: contentType}})
			if err != nil {
				t.Fatal(err)
			}
			factory := informers.NewSharedInformerFactory(client, 0)
			informer := factory.Core().V1().ConfigMaps().Informer()
			seen := make(chan string, 10)
			if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: func(obj any) { seen <- "add " + obj.(*corev1.ConfigMap).Name },
				UpdateFunc: func(_, obj any) {
					seen <- "update " + obj.(*corev1.ConfigMap).Name + " " + obj.(*corev1.ConfigMap).Data["k"]
				},
				DeleteFunc: func(obj any) { seen <- "delete " + obj.(*corev1.ConfigMap).Name },
			}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer func() {
				cancel()
				factory.Shutdown()
			}()
			factory.StartWithContext(ctx)
			expect := func(want string) {
				t.Helper()
				select {
				case got := <-seen:
					if got != want {
						t.Errorf("got %q; want %q", got, want)
					}
				case <-ctx.Done():
					t.Fatalf("no event; want %q", want)
				}
			}
			expect("add a")
			m.put(configMap("b"))
			expect("add b")
			b := m.put(configMap("b", "k", "v"))
			expect("update b v")
			m.remove(b)
			expect("delete b")
		})
	}
}
