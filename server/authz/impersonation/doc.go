// Package impersonation decides who may act as whom.
//
// In come a request's headers ([Wanted]) and its attributes with the user who sent it. Out goes the user to go on as ([Filter.As]), or
// the 403 of a kube-apiserver; and the answers of the authorizer, so that a journey can name the rules.
//
// There are two forms. The old one asks for the verb impersonate on users, groups, uids, userextras and serviceaccounts, and lets
// whoever has it do all that the other user may. The constrained one has a mode for each kind of user: associated-node, arbitrary-node,
// serviceaccount, and user-info for all others. It asks twice: for impersonate-on:MODE:VERB on what the request is about, and for
// impersonate:MODE on who is wanted. It gives nobody the group system:masters.
//
// Invariants: Each part of who is wanted, name, UID, groups and extra values, is authorized by itself, for the user who sent the
// request. Where modes fit, the first that allows is taken; the error is that of the first one that was tried.
package impersonation
