// Package policy has the roles and bindings that every cluster has from its start: those of a Kubernetes API server,
// plus kx:admin and kx:viewer for the group kx.dev.
//
// Nothing comes in. Out go objects that the caller may change.
//
// The policy is text, with one rule on each line. It is shorter than a Go table of the same rules, and costs commands
// nothing when they start. A server parses it once, when it reconciles its roles. A test compares each object with that
// of a kube-apiserver, so a mistyped word fails the tests.
//
// # The format
//
//	# a comment
//	clusterrole NAME               or: role NAMESPACE/NAME
//	  says TEXT                    its description
//	  into ROLE                    its rules become those of ROLE too, by aggregation
//	  aggregates ROLE              its rules come from all roles that go into ROLE
//	  VERBS RESOURCES [in GROUPS] [named NAMES]
//	  VERBS /PATHS
//	  to SUBJECTS [by BINDING]     its binding, of the same name unless BINDING says another
//
// Lists have commas and no spaces, but subjects are separated by a comma and a space: "user NAME", "group NAME",
// "account NAMESPACE/NAME", or "nobody". The group of a rule is core unless groups are given. The path * stands for
// all.
package policy
