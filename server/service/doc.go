// Package service finds where services are, for requests that this server sends to them: those that APIServices leave to other servers,
// and those to webhooks.
//
// In come the flag --webhook-service-resolver, as [Addresses], and Services and EndpointSlices as the server's own storages have them. Out
// go addresses to dial.
//
// # Invariants
//
//  1. An address of the configuration is taken before any Service is read, which need not exist then.
//  2. Where a service is, is found out for each connection anew. Nothing here is kept.
package service
