// Package policy has the roles and bindings that every cluster has from its start: those of the Kubernetes API server, and
// kx:admin and kx:viewer for the group kx.dev.
//
// Nothing comes in. Out go objects that the caller may change.
//
// The policy is text, one line a rule, because it is read more often than it is run: it is shorter than a Go table of the same
// rules, and costs commands nothing when they start. A server parses it once, when it reconciles its roles. A test compares each
// object with what a kube-apiserver makes, so a mistyped word fails the tests.
//
// # The format
//
//	# a comment
//	clusterrole NAME               or: role NAMESPACE/NAME
//	  says TEXT                    its description
//	  into ROLE                    its rules become those of ROLE too, by aggregation
//	  aggregates ROLE              its rules are those of all roles that go into ROLE
//	  VERBS RESOURCES [in GROUPS] [named NAMES]
//	  VERBS /PATHS
//	  to SUBJECTS [by BINDING]     its binding, of the same name unless BINDING says another
//
// Lists have commas and no spaces, but subjects are separated by a comma and a space: "user NAME", "group NAME", "account
// NAMESPACE/NAME", or "nobody". The group of a rule is core unless groups are given. The path * stands for all.
package policy
