// Package catalog asks a server what it has: resources, schemas, names.
//
// What comes in is a client; what goes out is what the server said, read. These questions leave no journeys: nobody who
// looks at what happens means them.
package catalog
