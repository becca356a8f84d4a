// Package aggregator passes requests to other API servers, for the versions that APIServices register.
//
// In come requests for all resources, before any other server of the chain gets them; the APIServices that name a
// service; and the answers of those services. Out go the requests and their answers; the condition Available of each
// such APIService; the other servers' entries in this server's discovery and OpenAPI; and their collections, for the
// deletion of namespaces.
//
// # Invariants
//
//  1. Where no APIService names a service, a request costs one look at an empty table, and nothing runs.
//  2. The other server gets the user in headers that are set here, over a connection with the certificate of a front
//     proxy. Such headers of the client, and its credentials, do not leave this process.
//  3. The answer of another server about itself is limited, in bytes and in time, and its redirects are not followed.
//  4. An unreachable server gets no requests: they get a 503 until a check has reached it.
//  5. Each server is checked separately. A change of an APIService counts at once, even during checks. The check of a
//     removed server ends before its version gets another description.
package aggregator
