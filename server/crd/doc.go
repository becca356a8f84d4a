// Package crd serves custom resources: the resources that CustomResourceDefinitions describe, as long as they do.
//
// It owns crdHandler, which finds out for each request which definition it is about, and what a definition is served by:
// storages and request scopes for each version, made when the first request comes or the server starts, thrown away when the definition
// changes. The rooms below it have their own parts: definition serves the definitions themselves, lister knows them in
// this process, controller has what sets their conditions and empties those that are deleted, schema, conversion and
// customresource know what a definition's objects are, and openapi describes them.
//
// In come storage options, admission, authorization, and the places where the server tells of itself. Out goes a [Server]:
// an http.Handler that leaves what it does not know to a delegate, and the storages of all that is served now.
//
// # The call chain
//
//	crdHandler.ServeHTTP → getOrCreateServingInfoFor → serveResource, serveStatus, serveScale → handler.X → REST.X → Store.X
//
// # Several servers, no waiting
//
// A client that got a 201 for its definition from one server may send its first object to another a moment later.
// kube-apiserver makes that likely to work by waiting: 5 seconds before a definition is established, 2 seconds before the
// first create. Here a server that would have to say 404 reads the one definition from etcd first, and what is there it
// serves at once. So nobody waits, and it does not depend on how long the wait was.
//
// # Invariants
//
//  1. A request takes no lock, unless it is one of those that come before its definition is served by anything.
//  2. A request is served by what was made of the definition as it was known when the request came, or of a later state.
//  3. What requests are using is not destroyed: a changed definition's old storage goes when the last of its requests has
//     left. Watches are ended at once, so that none outlives its definition and clients come back to the new one.
//  4. Two states of a definition are the same to requests if spec and accepted names are. A condition that changes
//     disturbs nobody.
//  5. What only writes need is made when the first write comes: with many definitions few are ever written to.
package crd
