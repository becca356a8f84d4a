// Package controllertest starts whole servers for the tests of controllers.
//
// In come options and a data directory. Out go a client of the API and a function that stops the server.
package controllertest
