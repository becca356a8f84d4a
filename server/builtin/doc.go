// Package builtin is what all built-in resources have in common, so that each of them says only what is special about it.
//
// It owns the Go types of the API groups that kx knows (with [Typer] to tell what an object is), a [Strategy] that does
// nothing special and is embedded in every other, a [StatusStrategy] for status subresources, and [Resource], which makes
// a registry.Store of a resource's description.
//
// A resource is a package below this one, group/resource, with
//
//   - strategy.go: a strategy that embeds [Strategy];
//   - storage.go: NewREST or NewStorage, which fill in a [Resource] and ask it for its [REST];
//   - defaults, validation and columns as far as it has any;
//   - AddToScheme, which registers its defaulting functions, its field labels and, if it is served in older versions, their
//     conversions. The table in server/builtin/scheme lists them all.
//
// Arrows: scheme imports the resources, the resources import this package, and this package knows neither. A resource
// that needs to know what kind an object has asks [Typer], not the scheme.
//
// There are no internal types: every resource has one storage version, whose Go type goes through rest, registry and
// store. Older versions are converted to it and back above rest, in the handlers.
package builtin
