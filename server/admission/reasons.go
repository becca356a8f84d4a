package admission

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		accountGiven, accountThere, classAllowsExpansion, classByDefault, classNamed, devicesTolerated,
		finalizerAdded, keepsWithinNode, limitsAdded, limitsHeld, limitsThere, mirrorLeft, namespaceMade,
		namespaceInTransaction, namespaceThere, noDefaultClass, nodeAuthorized, nodeDeclares, nodeGrowsClaim, nodeHasPod, nodeHasRoom,
		nodeItself, nodeMirrors, nodeNamed, nodeSignerUsed, nodeTokenUsed, onlyDefault, overheadRight, ownersAllowed,
		pluginLeft, priorityKept, priorityOfClass, priorityOfNoClass, pullPoliciesSet, pullsAlways, quotasCharged,
		quotasHaveRoom, quotasUntouched, runtimeClassFound, securityHeld, securityWarned, signerAllowed,
		subjectHarmless, taintAdded, tolerationsAdded, topologyCopied,
	}
}
