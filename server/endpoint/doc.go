// Package endpoint installs resources: it gives them paths and handlers.
//
// It turns storages, by group, version and resource, into HTTP handlers. The core/rest interfaces that a storage
// implements decide which verbs its paths have. Only registerResourceHandlers checks for these interfaces, by the table
// of actions.
//
// In come [APIGroupInfo]s, one for each group. Out go a [Router] that serves them, and their descriptions for discovery
// and OpenAPI. A [Group] holds the resources of another program (docs/own-storage.md).
//
// # The call chain
//
//	InstallAPIs → InstallLegacyAPIGroup, InstallAPIGroups → installAPIResources →
//	APIGroupVersion.InstallREST → APIInstaller.Install → registerResourceHandlers
//
// # Invariants
//
//  1. A request is routed by the RequestInfo that authorization used, and by the shape of its path. A path that
//     RequestInfo and the table of places read differently has no route.
//  2. A group version belongs to one server: its unknown resources are a 404. All other requests go to the delegate.
//  3. Routes are added, never changed. A reader takes no lock.
//  4. Each installation is noted: the routes that were made, and the reason for each one that was not ([Installation]),
//     and the steps that led there ([trace.Notes]).
package endpoint
