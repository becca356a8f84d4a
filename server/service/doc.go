// Package service finds the addresses of services that this server calls: other API servers that APIServices name, and
// webhooks.
//
// In come the flag --webhook-service-resolver, as [Addresses], and the Services and EndpointSlices in the server's own
// storages. Out go addresses to dial.
//
// # Invariants
//
//  1. A configured address takes precedence over the Service, which need not exist then.
//  2. Nothing is cached here: each search reads the current state of the service.
package service
