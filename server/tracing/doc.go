// Package tracing exports journeys as traces of OpenTelemetry, and joins them to the traces of other programs.
//
// What comes in is the file of --tracing-config-file, a TracingConfiguration ([New]); each request with its headers and
// its user, once those are known ([Tracer.Begin]); and its journey when it has ended ([Tracer.Export]). What goes out
// is the journey's [trace.Span], with which the server's own requests to others continue the trace, and spans, to a
// collector by OTLP over gRPC.
//
// # The form of a trace
//
// A journey is one trace, or a part of its client's trace. The request is a span of the kind server, with the name that
// a Kubernetes API server gives it. Each step is a span below the span of its caller. A mark has one time, so it is an
// event of the request's span. A breakpoint or fault is an event of its step's span. Spans are made from the journey
// when it has ended. So they hold what journeys hold, masked in the same way, and no objects.
//
// A watch is exported when it ends. The steps of a journey are limited, and so are its spans.
//
// # Invariants
//
//  1. A request decides once, by random numbers and a few comparisons, and hands its journey over at its end. It never
//     waits for a collector.
//  2. The journeys that wait for export are limited in number and bytes. Further ones are dropped, and counted.
//  3. The end of [Tracer.Run] takes at most [flushWait].
//  4. The trace of a client is continued only if its user is in system:masters or system:monitoring. Other requests
//     begin a trace of their own, with a link to the client's.
//  5. A nil Tracer exports nothing, and passes the trace of a client on in the server's own requests.
package tracing
