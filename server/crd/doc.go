// Package crd serves custom resources, the resources that CustomResourceDefinitions describe.
//
// It owns crdHandler, which finds the definition of each request, and the [crdInfo] that serves a definition:
// storages and request scopes for each version. A crdInfo is created at the first request or when the server
// starts, and dropped when the definition changes. The packages below have their own parts: definition serves
// the definitions themselves, lister keeps them in memory, controller sets their conditions and empties deleted
// ones, schema, conversion and customresource handle a definition's objects, and openapi describes them.
//
// In come storage options, admission, authorization, discovery and OpenAPI. Out goes a [Server]: an
// http.Handler that passes all other requests to a delegate, and the storages of the custom resources.
//
// # The call chain
//
//	crdHandler.ServeHTTP → getOrCreateServingInfoFor → serveResource, serveStatus, serveScale
//	→ handler.X → REST.X → Store.X
//
// # Several servers, no waiting
//
// A client that got a 201 for its definition from one server may send its first object to another a moment
// later. kube-apiserver makes that likely to work by waiting: 5 seconds before a definition is established, 2
// seconds before the first create. In kx, a server that would answer 404 first reads the definition from etcd,
// and serves it at once if it exists. So there is no wait that could be too short.
//
// # Invariants
//
//  1. A request takes no lock if its definition already has a crdInfo.
//  2. A request is served by the state of the definition that was known when the request arrived, or by a
//     later one.
//  3. A storage in use is not destroyed: that of a changed definition ends with its last request. Watches end
//     at once, so that none outlives its definition and clients watch the new one.
//  4. Two states of a definition are the same to requests if spec and accepted names are equal. A change of a
//     condition has no effect.
//  5. The parts that only writes need are created at the first write: of many definitions only few are ever
//     written to.
package crd
