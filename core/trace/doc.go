// Package trace records what a request went through: a [Journey] is one request's trip, a [Step] is one call in one
// [Layer], a mark is a step made on a goroutine that requests share.
//
// What comes in: calls to [Start] and [Step.End] from every layer, with the request's context. What goes out: copies of
// journeys ([Record]) and a live feed of them, to whoever is entitled; this package does not ask who that is.
//
// # Use
//
//	ctx, step := trace.Start(ctx, trace.Etcd3Get, key)
//	defer step.End(&err)
//	step.Why(trace.CachedAtRevision, rev)
//	step.Int("revision", rev)
//
// A reason is declared once ([Reason]): a step records its kind and its values, and the sentence is made when somebody looks.
//
// A nil *Step is valid and does nothing: that is what Start returns for a request that nobody records, so the layers
// never ask. Arguments that cost something to make are made behind [Step.Recording] or [Step.Objects].
//
// A goroutine that requests share takes the moment with [At]; the journey that made the revision which it is about
// says so with [Await], and is told, then or later, by [Waiting.Mark].
//
// # Invariants
//
//  1. A step has one place in the code. Its function, file and line are therefore a property of its ID: the program
//     counter is stored when the step is first taken and resolved when somebody looks.
//  2. Steps of one goroutine nest: they end in the reverse order of their start. Work that a request does on several
//     goroutines at once goes through [Fork]. Until the first one its steps take no lock.
//  3. No step lies between a Lock and its Unlock.
//  4. A reader gets copies. What a journey holds is bounded, and what was cut is counted.
//  5. Objects are recorded as bytes, at the moment they are shown to the step. Package mask takes what is secret out of
//     objects, errors and URIs before they are recorded.
//  6. A step may be held, delayed or made to fail ([Control]), by its request's own will alone: others never wait for it.
//     What was done is an [Intervention] of the journey, for ever. Without rules this costs one atomic load a step.
package trace
