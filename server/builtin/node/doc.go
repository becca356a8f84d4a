// Package node declares runtime classes.
package node
