// Package limitrange is the resource limitranges: how much pods, containers and claims of a namespace may ask for.
package limitrange
