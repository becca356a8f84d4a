// Package apiregistration declares APIServices, which name the server of each version of a group.
package apiregistration
