// Package quote writes values into error messages as every Kubernetes API server does.
//
// An error about a field quotes its value. Kubernetes validates objects of internal types, which have the fields of the
// versioned ones but no JSON names: clients read {"Name":"a","Command":null}. What comes in is a value of a versioned
// type; what goes out is a value that is marshalled with the names of Go and with nothing left out.
//
// Types of k8s.io/apimachinery, such as metadata, selectors, quantities and times, have no internal form and keep
// theirs.
package quote
