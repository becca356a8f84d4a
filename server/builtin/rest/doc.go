// Package rest gathers the storages of the built-in resources into API groups.
//
// It owns which resources are served in which version: a table a group, and [APIResourceConfig], which is what
// --runtime-config makes of it. In comes that configuration and a getter of storage options; out go an
// endpoint.APIGroupInfo for each group, by a provider each, such as [LegacyRESTStorageProvider] for the core group.
//
// Invariants: a resource that is not served in any version has no storage. One that is served in several has one, which
// all of them share.
package rest
