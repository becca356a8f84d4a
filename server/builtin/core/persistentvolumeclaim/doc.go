// Package persistentvolumeclaim is the resource persistentvolumeclaims: what pods ask for when they need storage.
//
// It owns their data sources, updates, columns and status. What a claim asks for is validated by core/claim.
package persistentvolumeclaim
