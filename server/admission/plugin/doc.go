// Package plugin is what an admission plugin is, as one value, and what plugins ask of the server.
//
// In come, as a [Kit], the storages, their scopes and the authorizer of the server. Out goes a [Plugin]: its name, which writes it is about, and
// what it does with them.
//
// Invariants: A plugin is not asked about writes that it is not about, and leaves no step in their journeys. What it reads of other
// objects is no older than the request, unless it asks for less ([Objects.Recent]). It gets an object that nobody else has: it may
// change it, if it mutates.
package plugin
