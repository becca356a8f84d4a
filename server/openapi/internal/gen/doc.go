// Command gen writes the OpenAPI definitions of built-in types that server/openapi embeds.
//
// What comes in is the table of server/builtin/all, and the packages in main.go that are in no table. What goes out is one
// file, definitions.txt, with a line for each definition, in the order of their names. It runs when a developer says go
// generate, never in kx. A line has four columns with tabs between them:
//
//	"name":{…}      the member of an OpenAPI v3 document, as it is served; a reference that has neighbours is in an allOf
//	group/version/Kind …   the kinds it describes
//	name …          the definitions it refers to
//	{…}             its schema in OpenAPI v2, where that differs by more than references
//
// openapi-gen only writes Go source, 23,000 lines that nobody needs compiled into a server that is mostly never asked.
// So the source goes to a temporary directory together with a small program (dump.go.tmpl), which is run there once.
package main
