// Package scheduling declares priority classes.
package scheduling
