// Package service finds the addresses of services that this server asks: other API servers, as APIServices name them, and webhooks.
//
// In come the flag --webhook-service-resolver, as [Addresses], and Services and EndpointSlices as the server's own storages have them. Out
// go addresses to dial.
//
// # Invariants
//
//  1. An address of the configuration is taken before any Service is read, which need not exist then.
//  2. Nothing here is kept: each search reads the present state of the service.
package service
