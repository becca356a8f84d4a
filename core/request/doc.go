// Package request describes one request to the API as a user writes it: a verb, a resource, a name, options and a body;
// or a method and a path. It owns the files that hold such requests, the tables of verbs and options, and the
// conversion of both forms to HTTP and back.
//
// What comes in is text ([Parse]), a form that a user filled in, or an observed HTTP request ([ParseHTTP]). What goes
// out is text ([Format]) or an [HTTP]. The package sends nothing.
//
// [Sample] has the usual object of each kind whose schema alone would not give a valid one: a schema can't say that a
// selector must match labels. sample_builtin.yaml is generated from the table of built-in resources: a resource
// declares its own sample. sample_beside.yaml is written by hand, for kinds that other servers of the process serve.
//
// # Invariants
//
//  1. Parse reads what Format wrote as the same request.
//  2. From, then Build, gives the same method, path and query.
//  3. Build needs discovery ([Resources]) only where the request leaves something open: "v1/pods" needs none, "po"
//     does.
//  4. The server validates: Build refuses only a request that has no path.
package request
