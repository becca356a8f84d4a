// Package endpoint gives resources their paths.
//
// It owns the way from storages, by group, version and resource, to HTTP handlers: what a storage can do, which is the
// set of the core/rest interfaces it implements, decides which verbs its paths have. registerResourceHandlers is the
// only place in kx that looks for them, and the table of actions says which makes what.
//
// What comes in: [APIGroupInfo]s, one a group. What goes out: a [Router] that serves them, and what discovery and OpenAPI
// tell of them.
//
// # The call chain
//
//	InstallAPIs → InstallLegacyAPIGroup, InstallAPIGroups → installAPIResources → APIGroupVersion.InstallREST →
//	APIInstaller.Install → registerResourceHandlers
//
// # Invariants
//
//  1. A request is routed by the RequestInfo that its authorization was decided by, and by the shape of its path; a path
//     that RequestInfo reads differently from the table of places has no route.
//  2. A group version belongs to one server: its unknown resources are a 404, not the delegate's. All else is the
//     delegate's.
//  3. Routes are added, never changed; a reader takes no lock.
//  4. What is installed is noted, and so is what is not, with the reason: each server tells what it has made ([Installed]).
package endpoint
