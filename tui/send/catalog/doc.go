// Package catalog reads resources, schemas and names from a server.
//
// It takes a client, and returns decoded answers. Its requests leave no journeys: they would only distract users who
// watch the server's requests.
package catalog
