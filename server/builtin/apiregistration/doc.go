// Package apiregistration declares APIServices, which say who serves which version of which group.
package apiregistration
