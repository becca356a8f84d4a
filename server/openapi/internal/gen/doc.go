// Command gen writes the OpenAPI definitions of built-in types that server/openapi embeds.
//
// What comes in is the table of server/builtin/all, and the packages in main.go that are in no table. What goes out is
// one file, definitions.txt, with a line for each definition, sorted by name. It runs when a developer runs go
// generate, never in kx. A line has four columns with tabs between them:
//
//	"name":{…}      the member of an OpenAPI v3 document, as served; a reference with siblings is in an allOf
//	group/version/Kind …   the kinds it describes
//	name …          the definitions it refers to
//	{…}             its schema in OpenAPI v2, where that differs by more than references
//
// openapi-gen can only write Go source. Its 23,000 lines would be a burden in a server that rarely needs them. So the
// source goes to a temporary directory together with a small program (dump.go.tmpl), which runs there once.
package main
