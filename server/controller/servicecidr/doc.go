// Package servicecidr keeps ranges of addresses for services while addresses of them are in use, as kube-controller-manager's
// service-cidr-controller does.
//
// In come ranges and addresses that change. Out go a finalizer on each range, its condition Ready, and the end of the finalizer when the
// range is being deleted and each address in it is also in another one.
//
// # Invariants
//
//  1. What is known here only says whom to wake: a range is judged by the ranges and addresses that are there at that moment, and
//     stays if they can't be read.
//  2. A range stays for a grace period after its deletion, so that every server has seen that no more addresses come from it.
package servicecidr
