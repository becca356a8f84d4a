// Package serviceaccount is the resource serviceaccounts: the identities of programs in the cluster.
package serviceaccount
