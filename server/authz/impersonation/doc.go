// Package impersonation decides which users may act as which others.
//
// In come a request's headers ([TakeUser]) and its attributes, with the user who sent it. Out goes the user to act as
// ([Filter.Authorize]), or the 403 of a kube-apiserver; and the answers of the authorizer, so that a journey can name
// the rules.
//
// There are two forms. The old one requires the verb impersonate on users, groups, uids, userextras and
// serviceaccounts, and then allows everything that the other user may do. The constrained form has a mode for each kind
// of user: associated-node, arbitrary-node, serviceaccount, and user-info for all others. It requires two permissions:
// impersonate-on:MODE:VERB on the resource of the request, and impersonate:MODE on the impersonated user. It never
// gives the group system:masters.
//
// Invariants: Each part of the impersonated user, name, UID, groups and extra values, is authorized separately, for the
// user who sent the request. Of the modes that fit, the first that allows is taken. If none does, the error is that of
// the first mode tried.
package impersonation
