// Package trace records what a request went through: a [Journey] is one request's trip, a [Step] is one call in one
// layer, a mark is a step made on a goroutine that requests share. Package steps has the table of them.
//
// What comes in are calls to [Start] and [Step.End] from every layer, with the request's context. What goes out are
// copies of journeys ([Record]) and a live feed of them. Callers decide who may see them.
//
// # Use
//
//	ctx, step := trace.Start(ctx, steps.Etcd3Get, key)
//	defer step.End(&err)
//	step.Why(cachedAtRevision, rev)
//	step.Int("revision", rev)
//
// A reason is declared once, in English and Chinese, by the package that gives it ([Because]). A step records the
// reason and its values, and readers make the sentence. A program puts the reasons of its packages together
// ([Catalogue]).
//
// A nil *Step is valid and does nothing. Start returns it for a request that is not recorded, so layers need no check.
// Code that makes expensive arguments asks [Step.Recording] or [Step.Objects] first.
//
// A goroutine that requests share takes the time of a mark with [MarkTime]. The journey that wrote the revision calls
// [NewMarker], and [Marker.Mark] adds the mark to it, even after its end.
//
// Work that the server does because of a revision calls [Journey.CausedBy]: that links it to the journey that wrote
// the revision.
//
// A journey may be a part of a distributed trace ([Span]). [Propagate] adds the present step to requests that the
// server sends. An exporter that needs a journey after its end keeps it until then ([Journey.Keep]).
//
// Work without a request writes [Notes] by [Note]. A [Way] makes a journey of them on demand.
//
// # Invariants
//
//  1. A step has one place in the code. Its function, file and line are therefore a property of its ID: the program
//     counter is stored when the step is first taken and resolved on the first look.
//  2. Steps of one goroutine nest: they end in the reverse order of their start. Work that a request does on several
//     goroutines at once goes through [Fork]. Until the first one its steps take no lock.
//  3. No step lies between a Lock and its Unlock.
//  4. A reader gets copies. The contents of a journey are bounded, and the parts cut off are counted. The cost of
//     a step's text is bounded too, since clients decide its length. A text that lists something is a [List]: it names
//     [MaxListed] entries of 256 bytes each, and counts the others. A step has at most [MaxAttrs] attributes of one
//     name. Texts are made after the limits of the request were met, and not at all for a step that is not recorded.
//  5. Objects are recorded as bytes at once, because they change later. Package mask removes secrets from objects,
//     errors and URIs before they are recorded.
//  6. A step may be held, delayed or made to fail ([Control]). Other requests never wait for that. The journey keeps
//     each [Intervention]. Without rules this costs one atomic load a step.
package trace
