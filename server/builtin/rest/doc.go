// Package rest makes API groups of the built-in resources.
//
// It owns what --runtime-config makes of the table of resources ([APIResourceConfig]), and a [RESTStorageProvider] for
// each group; and one for a group that another program declares ([Own]). In comes that configuration and a getter of
// storage options; out goes an endpoint.APIGroupInfo for each group.
//
// Invariants: a resource that is not served in any version has no storage. One that is served in several has one, which
// all of them share.
package rest
