// Package plugin defines an admission plugin as a value, and the server's interface for plugins.
//
// In comes a [Kit]: the storages, their scopes and the authorizer of the server. Out goes a [Plugin]: its name,
// the writes that it handles, and its functions.
//
// Invariants: A plugin is not called for writes that it does not handle, and leaves no step in their journeys.
// Other objects that it reads are no older than the request, unless it asks for less ([Objects.Recent]). The
// object of the write is not shared, so a mutating plugin may change it.
package plugin
