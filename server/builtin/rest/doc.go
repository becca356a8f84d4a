// Package rest makes API groups from the built-in resources.
//
// [APIResourceConfig] applies --runtime-config to the table of resources. A [RESTStorageProvider] makes the
// endpoint.APIGroupInfo of a group from that configuration and a getter of storage options. [Own] does the same for a
// group that another program declares.
//
// Invariants: a resource that no version serves has no storage. A resource that several versions serve has one
// storage, which they share.
package rest
