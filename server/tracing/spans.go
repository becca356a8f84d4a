package tracing

import (
	"encoding/binary"
	"iter"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// serviceName is the same as upstream.
const serviceName = "apiserver"

// converter makes spans from journeys.
type converter struct {
	from  *resourcepb.Resource
	scope *commonpb.InstrumentationScope
}

// newConverter makes the converter of a process. It keeps the resource attributes in OTEL_RESOURCE_ATTRIBUTES.
func newConverter(process string) *converter {
	own := resource.NewSchemaless(semconv.ServiceName(serviceName), semconv.ServiceInstanceID(process))
	all, err := resource.Merge(resource.Environment(), own)
	if err != nil { // a conflict between two schemas; own has no schema
		all = own
	}
	c := &converter{from: &resourcepb.Resource{}, scope: &commonpb.InstrumentationScope{Name: "github.com/kx-apiserver/kx"}}
	for i := all.Iter(); i.Next(); {
		a := i.Attribute()
		c.from.Attributes = append(c.from.Attributes, text(a.Key, a.Value.String()))
	}
	return c
}

// resource returns the content of one message.
func (c *converter) resource(spans []*tracepb.Span) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{
		Resource: c.from, SchemaUrl: semconv.SchemaURL,
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: c.scope, Spans: spans, SchemaUrl: semconv.SchemaURL}},
	}}
}

// spans yields the spans of a journey, callers before callees.
func (c *converter) spans(r *trace.Record) iter.Seq[*tracepb.Span] {
	return func(yield func(*tracepb.Span) bool) {
		if !yield(ofRequest(r)) {
			return
		}
		events := make(map[int][]*tracepb.Span_Event)
		for _, i := range r.Interventions {
			events[i.Step] = append(events[i.Step], intervention(r, i))
		}
		for i := range r.Steps {
			if !yield(ofStep(r, i, events[i])) {
				return
			}
		}
	}
}

// sampledFlags marks a span as sampled, and its parent as known to be local or remote.
const sampledFlags = 1 | uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)

// ofRequest returns the span of the request itself.
func ofRequest(r *trace.Record) *tracepb.Span {
	s, q := r.Span, &r.Request
	route := routeOf(q)
	path, query, _ := strings.Cut(q.URI, "?")
	span := &tracepb.Span{
		TraceId: s.Trace[:], SpanId: spanID(s.ID), TraceState: s.State, Flags: sampledFlags,
		Name: escape.Line(strings.TrimSpace(q.Method + " " + route)), Kind: tracepb.Span_SPAN_KIND_SERVER,
		StartTimeUnixNano: at(r, 0), EndTimeUnixNano: at(r, r.Took),
		Attributes: attributes{}.
			text(semconv.HTTPRequestMethodKey, q.Method).
			text(semconv.HTTPRouteKey, route).
			text(semconv.URLSchemeKey, "https").
			text(semconv.URLPathKey, path).
			text(semconv.URLQueryKey, query).
			text("http.target", q.URI). // as upstream
			text(semconv.UserAgentOriginalKey, q.UserAgent).
			text(semconv.ClientAddressKey, q.SourceIP).
			number(semconv.HTTPResponseStatusCodeKey, int64(r.Response.Code)).
			number(semconv.HTTPResponseBodySizeKey, r.Response.Bytes).
			text("audit-id", q.AuditID). // as upstream
			text("kx.journey", r.ID).
			number("kx.cut", int64(r.Cut)).
			number("kx.watchError", int64(r.WatchError)),
	}
	if s.Parent != 0 {
		span.ParentSpanId = spanID(s.Parent)
		span.Flags |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	if s.Linked != (trace.Link{}) {
		span.Links = []*tracepb.Span_Link{{
			TraceId: s.Linked.Trace[:], SpanId: spanID(s.Linked.ID),
			Flags: uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK | tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK),
		}}
	}
	if r.Response.Code >= http.StatusInternalServerError {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
	}
	for _, m := range r.Marks {
		span.Events = append(span.Events, &tracepb.Span_Event{
			Name: m.ID.String(), TimeUnixNano: at(r, m.After), Attributes: code(m.ID).number("kx.revision", m.Revision),
		})
	}
	return span
}

// routeOf returns the path with placeholders for names, which is also upstream's name of a span; empty for a request
// for no resource.
func routeOf(q *trace.Request) string {
	if q.Resource == "" {
		return ""
	}
	route := "/api"
	if q.Group != "" {
		route = "/apis/" + q.Group
	}
	route += "/" + q.Version
	if q.Namespace != "" {
		route += "/namespaces/{:namespace}"
	}
	route += "/" + q.Resource
	if q.Name != "" && (q.Verb != "create" || q.Subresource != "") { // the name of a new object is in its body
		route += "/{:name}"
	}
	if q.Subresource != "" {
		route += "/" + q.Subresource
	}
	return route
}

// ofStep returns the span of a step.
func ofStep(r *trace.Record, index int, events []*tracepb.Span_Event) *tracepb.Span {
	step := &r.Steps[index]
	parent := r.Span.ID
	if step.Parent >= 0 {
		parent = r.Span.OfStep(step.Parent)
	}
	end := step.Start + step.Took
	if step.Took < 0 {
		end = r.Took // it did not end before the request
	}
	all := code(step.ID).
		text("kx.subject", step.Subject).
		text("kx.reason", step.Reason.String()).
		text("kx.why", step.Why)
	for _, a := range step.Attrs {
		if a.IsInt {
			all = append(all, number(attribute.Key("kx."+a.Name), a.Int))
		} else {
			all = all.text(attribute.Key("kx."+a.Name), a.Text)
		}
	}
	span := &tracepb.Span{
		TraceId: r.Span.Trace[:], SpanId: spanID(r.Span.OfStep(index)), ParentSpanId: spanID(parent), TraceState: r.Span.State,
		Flags: sampledFlags, Name: step.ID.String(), Kind: kindOf(step.ID),
		StartTimeUnixNano: at(r, step.Start), EndTimeUnixNano: at(r, end), Attributes: all, Events: events,
	}
	if step.Error != "" {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: escape.Line(step.Error)}
	}
	return span
}

// kindOf returns the kind client for steps that call another program.
func kindOf(id steps.ID) tracepb.Span_SpanKind {
	switch id {
	case steps.HandlerWebhook, steps.CRDWebhook, steps.HandlerAggregate:
		return tracepb.Span_SPAN_KIND_CLIENT
	}
	if id.Info().Layer == steps.LayerEtcd {
		return tracepb.Span_SPAN_KIND_CLIENT
	}
	return tracepb.Span_SPAN_KIND_INTERNAL
}

// intervention returns the event for a breakpoint, a fault or a command of a user, so that an injected error is never
// mistaken for a real one.
func intervention(r *trace.Record, i trace.Intervention) *tracepb.Span_Event {
	return &tracepb.Span_Event{
		Name: "kx." + strings.ToLower(i.Kind.String()), TimeUnixNano: at(r, i.At),
		Attributes: attributes{}.text("kx.rule", i.Rule).text("kx.message", i.Text).number("kx.tookNanos", int64(i.Took)),
	}
}

// code returns attributes with the place of a step in the source.
func code(id steps.ID) attributes {
	site := trace.SiteOfStep(id)
	return attributes{}.
		text("kx.layer", id.Info().Layer.String()).
		text(semconv.CodeFunctionNameKey, site.Function).
		text(semconv.CodeFilePathKey, site.File).
		number(semconv.CodeLineNumberKey, int64(site.Line))
}

// at returns the absolute time of a moment in the journey.
func at(r *trace.Record, after time.Duration) uint64 { return uint64(r.Started.Add(after).UnixNano()) }

func spanID(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

// attributes omits empty values.
type attributes []*commonpb.KeyValue

func (a attributes) text(key attribute.Key, value string) attributes {
	if value == "" {
		return a
	}
	return append(a, text(key, value))
}

func (a attributes) number(key attribute.Key, value int64) attributes {
	if value == 0 {
		return a
	}
	return append(a, number(key, value))
}

// text returns an attribute whose value is valid UTF-8. Protobuf refuses a whole message for one text that is not, and
// values may come from any client.
func text(key attribute.Key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: string(key),
		Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: escape.Line(value)}}}
}

func number(key attribute.Key, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: string(key), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}
