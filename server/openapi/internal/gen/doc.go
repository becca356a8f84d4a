// Command gen writes the OpenAPI definitions of built-in types that server/openapi embeds.
//
// What comes in is the list of packages below; what goes out is one file, definitions.json.gz: a JSON object from the
// name of each definition to its schema, the definitions it refers to, and its OpenAPI v2 form where that differs. It
// runs when a developer says go generate, never in kx.
//
// openapi-gen only writes Go source, 23,000 lines that nobody needs compiled into a server that is mostly never asked.
// So the source goes to a temporary directory together with a small program (dump.go.tmpl), which is run there once.
package main
