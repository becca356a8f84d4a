package handler

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		answerCutOff, bytesMade, bytesReused, clientClosed, clientGone, clientUnreachable, collectionNamed,
		deletionWaits, itemsMade, itemsMadeForOne, itemsReused, metadataAsked, metadataOfListed, namespaceNamed,
		noOptions, nothingNamed, objectAsItIs, objectConverted, objectNamed, objectNamedAlone, optionsInBody,
		optionsInQuery, optionsNotAllowed, otherKindAsked, ownerAsBefore, ownerChanged, ownerNoLonger, ownerOfAll,
		ownerOfFree, ownerOfNothing, ownersConflict, ownersMoved, patchedAgain, statusAsItIs, tableAsked,
		unconditionalUpdate, verbsThereAre, watchDropped, watchEndedBelow, watchFailed, watchServerStops, watchTimeUp,
	}
}
