// Package tracing exports journeys as traces of OpenTelemetry, and joins them to the traces of other programs.
//
// What comes in is the file of --tracing-config-file, a TracingConfiguration ([New]); each request with its headers and its user, when
// those are known ([Tracer.Begin]); and its journey when it has ended ([Tracer.Ended]). What goes out is the journey's [trace.Span],
// by which whatever the server asks of others continues the trace, and spans, to a collector by OTLP over gRPC.
//
// # What becomes what
//
// A journey is one trace, or a part of the trace that its client belongs to. The request is a span of the kind server, named as the
// Kubernetes API server names it. Each step is a span below that of the step that called it. A mark happens at one time, so it is
// an event of the request's span; and what a breakpoint or a fault did is one of its step's. Spans are made of the
// journey when it has ended. So they hold what journeys hold, masked as it is there, and no objects.
//
// A watch is exported when it ends. A journey is bounded, so it has at most as many spans as steps fit into a journey.
//
// # Invariants
//
//  1. A request decides once, by random numbers and a few comparisons, and hands its journey over at its end. It never waits
//     for a collector.
//  2. What waits for export is bounded in number and bytes. Beyond that journeys are dropped, and counted.
//  3. The end of [Tracer.Run] takes at most [FlushWait].
//  4. The trace of a client is continued only if its user is in system:masters or system:monitoring. Others begin a trace of their own,
//     with a link to what they named.
//  5. A nil Tracer exports nothing, and lets the trace of a client pass through to those whom the server asks.
package tracing
