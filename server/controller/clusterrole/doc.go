// Package clusterrole gives cluster roles with an aggregation rule the rules of those that it selects, as kube-controller-manager's
// clusterrole-aggregation-controller does.
//
// In come all cluster roles that change: of each, its labels and its selectors are known, so that a change wakes only the roles that
// select it, or did. Out go rules, applied by the field manager of upstream's controller, which owns them from then on.
//
// # Invariants
//
//  1. What is known here only says whom to wake. Rules are made of the cluster roles that are there when they are made.
//  2. The rules of an aggregated role are in the order of its selectors, of names within a selector, each once. It does not
//     aggregate itself.
//  3. While a cluster role can't be read, or a selector can't be parsed, rules stay as they are: none is taken away by mistake.
package clusterrole
