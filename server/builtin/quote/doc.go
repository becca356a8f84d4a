// Package quote writes values into error messages as every Kubernetes API server does.
//
// An error about a field quotes its value. Kubernetes validates objects of internal types, which have the same fields
// as the versioned ones but no JSON names: clients read {"Name":"a","Command":null}. [Internal] wraps a value of a
// versioned type. The wrapped value marshals with the names of the Go fields, and with empty fields.
//
// Types of k8s.io/apimachinery, such as metadata, selectors, quantities and times, have no internal form and keep
// theirs.
package quote
